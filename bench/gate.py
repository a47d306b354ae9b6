#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The performance gate: host instructions per simulated warp instruction, counted by callgrind.

Instruction counts do not depend on the load of the host, so they can be compared in CI. Every workload runs in two
sizes and only the difference counts: start-up, construction of the machine and output cancel.
"""

import argparse
import json
import os
import re
import shutil
import sys

import runner

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.json")
TOLERANCE = 0.05

# name: (workload, small size, large size, result key of the unit, name of the unit). Sizes are small because callgrind
# is slow: no run takes more than some ten seconds.
MEASURES = {
    "compute": ("compute", {"ctas": 480, "iterations": 1}, {"ctas": 480, "iterations": 4}, None, "warp instruction"),
    "stream": ("stream", {"ctas": 240, "iterations": 1}, {"ctas": 240, "iterations": 4}, None, "warp instruction"),
    "divergent": ("divergent", {"ctas": 60, "iterations": 1}, {"ctas": 180, "iterations": 1}, "l1.line_requests", "line request"),
}


def count(binary, workload, params):
    """Host instructions of one run, and its result."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    result, log = runner.run_json(runner.command(binary, workload, params), prefix=valgrind)
    found = re.search(r"Collected\s*:\s*(\d+)", log) or re.search(r"I\s+refs:\s*([\d,]+)", log)
    if not found:
        runner.fail(f"callgrind printed no instruction count:\n{log[-2000:]}")
    return int(found.group(1).replace(",", "")), result


def measure(binary, name):
    workload, small, large, key, _ = MEASURES[name]
    units = lambda result: result["stats"][key] if key else result["warp_instructions"]
    small_cost, small_result = count(binary, workload, small)
    large_cost, large_result = count(binary, workload, large)
    return (large_cost - small_cost) / (units(large_result) - units(small_result))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="release build of mergelane")
    parser.add_argument("--record", action="store_true", help="write the counts of now to bench/recorded.json")
    parser.add_argument("--recorded", default=RECORD, metavar="FILE", help="compare with (or write) this file instead")
    parser.add_argument("--only", choices=MEASURES, action="append", help="measure only this; may be repeated")
    arguments = parser.parse_args()
    binary = runner.check_binary(arguments.binary)
    if not shutil.which("valgrind"):
        runner.fail("valgrind is not installed; the gate needs its callgrind tool")
    if arguments.record and arguments.only:
        runner.fail("--record writes all counts; leave out --only")
    recorded = {}
    if not arguments.record:
        try:
            with open(arguments.recorded, encoding="utf-8") as file:
                recorded = json.load(file)["instructions"]
        except FileNotFoundError:
            runner.fail(f"{arguments.recorded} does not exist; run bench/gate.py --record first")
        except (ValueError, KeyError, TypeError) as error:
            runner.fail(f"{arguments.recorded} cannot be read ({error!r}); run bench/gate.py --record again")

    now = {}
    for name in arguments.only or MEASURES:
        print(f"counting {name} ...", file=sys.stderr)
        now[name] = measure(binary, name)

    if arguments.record:
        with open(arguments.recorded, "w", encoding="utf-8") as file:
            json.dump({"unit": "host instructions per warp instruction; divergent: per L1 line request",
                       "instructions": {name: round(value, 1) for name, value in now.items()}}, file, indent=2)
            file.write("\n")

    rows, slower, faster = [], [], []
    for name, value in now.items():
        before = recorded.get(name)
        change = value / before - 1 if before else None
        rows.append([name, f"per {MEASURES[name][4]}", f"{before:.1f}" if before else "-", f"{value:.1f}", f"{change:+.1%}" if before else "-"])
        if change is None and not arguments.record:
            slower.append(f"{name} has no recorded count")
        elif change is not None and change > TOLERANCE:
            slower.append(f"{name} needs {change:.1%} more host instructions")
        elif change is not None and change < -TOLERANCE:
            faster.append(f"{name} needs {-change:.1%} fewer host instructions")
    runner.print_table(["host instructions", "unit", "recorded", "now", "change"], rows)
    if arguments.record:
        print(f"recorded in {os.path.relpath(arguments.recorded)}")
    if faster:
        print(f"note: {'; '.join(faster)}; run bench/gate.py --record to keep the gain")
    if slower:
        print(f"slower: {'; '.join(slower)}; if this is intended, run bench/gate.py --record and say why in the commit")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
