#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of docs/trust.md: microbenchmarks of each GPU beside published measurements of silicon.

  validation/silicon/table.py build/release/apps/mergelane/mergelane            check that the page says what the command prints
  validation/silicon/table.py MERGELANE --write                                 write the tables into the page
  validation/silicon/table.py MERGELANE --results DIR                           from DIR/GPU.json of earlier runs, as far as they exist
"""
import argparse
import json
import os
import re
import subprocess
import sys

PAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "docs", "trust.md")
GPUS = ["a100", "h100-pcie", "v100"]


def results_of(arguments, gpu):
    file = os.path.join(arguments.results or "", f"{gpu}.json")
    if arguments.results and os.path.exists(file):
        with open(file, encoding="utf-8") as text:
            return json.load(text)
    done = subprocess.run([arguments.binary, "microbench", "--gpu", gpu, "--json", "-"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def readable(value):
    return f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def table(result):
    lines = [f"{result['summary'][0].upper()}{result['summary'][1:]}.", "", "| | simulated | silicon | error | |", "|---|---|---|---|---|"]
    for one in result["benchmarks"]:
        if not one["published"]:
            continue
        first, *others = one["published"]
        also = ", ".join(f"{other['value']:g} in {other['source']}" for other in others)
        lines.append(f"| {one['name']} | {readable(one['measured'])} {one['unit']} | {readable(first['value'])} | {one['error_percent']:+.1f} % | "
                     f"{first['role']}{'; also ' + also if also else ''} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--results", help="directory of outputs of `mergelane microbench --json`")
    arguments = parser.parse_args()
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    new = page
    for gpu in GPUS:
        block = re.compile(rf"(<!-- {gpu} -->\n).*?(<!-- end -->\n)", re.S)
        if len(block.findall(page)) != 1:
            sys.exit(f"{PAGE}: one block '<!-- {gpu} -->' to '<!-- end -->' is needed")
        text = table(results_of(arguments, gpu))
        new = block.sub(lambda match: match.group(1) + text + match.group(2), new)
    if arguments.write:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(new)
    elif new != page:
        sys.exit("docs/trust.md does not say what `mergelane microbench` measures; run this with --write")
    return 0


if __name__ == "__main__":
    sys.exit(main())
