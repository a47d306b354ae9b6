#!/usr/bin/env python3
"""What every DRAM constraint changes: the suite on three machines, with the plain and with the detailed controller.

    python3 validation/dram/suite/suite.py [--write | --check] [--only WORKLOAD,...] [--store DIRECTORY] [--jobs N] [MERGELANE]

Runs the campaign suite.toml (finished runs are kept in --store, default build/dram_suite) and prints a table. --write makes suite.csv
and the table in docs/dram.md; --check compares the runs with suite.csv, and the table with what this script makes of it. --only runs
these workloads. MERGELANE is the command (build/release/apps/mergelane/mergelane).
"""
import argparse
import csv
import math
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
TABLE = os.path.join(HERE, "suite.csv")
PAGE = os.path.join(TOP, "docs", "dram.md")
BLOCK = re.compile(r"(?<=<!-- begin: validation/dram/suite -->\n).*?(?=<!-- end -->)", re.S)
# Core clock in MHz, for bytes per second.
MACHINES = {"gtx980": 1125, "icc60": 1400, "v100": 1132}
STATISTICS = ["dram.requests", "dram.row_misses", "dram.sector_reads", "dram.sector_writes"]
COLUMNS = ["gpu", "controller", "workload", "size", "cycles", *STATISTICS]


def run(command, store, jobs, only):
    """Lines of the table, in the order of the campaign."""
    campaign, out = os.path.join(store, "suite.toml"), os.path.join(store, "runs.csv")
    os.makedirs(store, exist_ok=True)
    with open(os.path.join(HERE, "suite.toml")) as file:
        text = file.read()
    if only:
        text += '\n[[only]]\nworkload = ["%s"]\n' % '", "'.join(only)
    with open(campaign, "w") as file:  # its machines are beside the original
        file.write(re.sub(r'"([\w-]+\.toml)"', lambda found: '"%s"' % os.path.join(os.path.abspath(HERE), found[1]), text))
    for words in (["run", campaign, "--jobs", str(jobs)], ["export", campaign, "--csv", out]):
        subprocess.run([command, "campaign", *words, "--store", store], check=True, stdout=subprocess.DEVNULL)
    with open(out, newline="") as file:
        for line in csv.DictReader(file):
            gpu = os.path.basename(line["gpu"]).removesuffix(".toml")
            detailed = gpu.endswith("-detailed")
            yield {"gpu": gpu.removesuffix("-detailed"), "controller": "detailed" if detailed else "plain",
                   **{name: line[name] for name in COLUMNS[2:]}}


def read_table():
    with open(TABLE, newline="") as file:
        return list(csv.DictReader(file))


def gigabytes(line):
    sectors = int(line["dram.sector_reads"]) + int(line["dram.sector_writes"])
    return 32 * sectors / int(line["cycles"]) * MACHINES[line["gpu"]] / 1000


def hits(line):
    requests = int(line["dram.requests"])
    return 100 * (1 - int(line["dram.row_misses"]) / requests) if requests else 0


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def page_table(lines):
    """A row per workload at size paper; the others and the means at the end."""
    of = {(line["gpu"], line["controller"], line["workload"]): line for line in lines}
    workloads = list(dict.fromkeys((line["workload"], line["size"]) for line in lines))
    out = ["| | " + " | ".join("%s: cycles | GB/s | row hits, %%" % gpu for gpu in MACHINES) + " |", "|---|" + "---|" * (3 * len(MACHINES))]
    ratios = {(gpu, size): [] for gpu in MACHINES for size in ("paper", "tiny")}
    for workload, size in workloads:
        row = [workload]
        for gpu in MACHINES:
            plain, detailed = (of[gpu, controller, workload] for controller in ("plain", "detailed"))
            ratio = int(detailed["cycles"]) / int(plain["cycles"])
            ratios[gpu, size].append(ratio)
            row += ["%.3f" % ratio, "%.1f → %.1f" % (gigabytes(plain), gigabytes(detailed)), "%.0f → %.0f" % (hits(plain), hits(detailed))]
        if size == "paper":
            out.append("| " + " | ".join(row) + " |")
    for size in ("paper", "tiny"):
        count = sum(s == size for _, s in workloads)
        row = ["**mean of these %d**" % count if size == "paper" else "**mean of %d others, `tiny`**" % count]
        for gpu in MACHINES:
            row += ["**%.3f**" % mean(ratios[gpu, size]), "%.3f to %.3f" % (min(ratios[gpu, size]), max(ratios[gpu, size])), ""]
        out.append("| " + " | ".join(row) + " |")
    return "\n".join(out) + "\n"


def check(lines):
    committed = read_table()
    wrong = ["%s %s %s: %s" % (line["gpu"], line["controller"], line["workload"], line) for line in lines if line not in committed]
    with open(PAGE) as file:
        if BLOCK.search(file.read())[0] != page_table(committed):
            wrong.append("the table of docs/dram.md is not what suite.csv makes")
    for text in wrong:
        print("changed: " + text + "; run suite.py --write")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--store", default=os.path.join(TOP, "build", "dram_suite"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("command", nargs="?", default=os.path.join(TOP, "build/release/apps/mergelane/mergelane"))
    options = parser.parse_args()
    lines = list(run(options.command, options.store, options.jobs, list(filter(None, options.only.split(",")))))
    print(page_table(lines), end="")
    if options.write:
        with open(TABLE, "w", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(lines)
        with open(PAGE) as file:
            page = file.read()
        with open(PAGE, "w") as file:
            file.write(BLOCK.sub(lambda _: page_table(lines), page))
    return check(lines) if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
