#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the table of launches of the benchmarks with what their host programs launch.

  suite_launches.py PROGRAM tiny      compares one size
  suite_launches.py PROGRAM --write   makes the table again; half a minute
"""

import pathlib
import subprocess
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "src/workload/suite/launches.inc"
HEAD = "// Made by tests/suite_launches.py --write: workload, size, kernel, block, smallest and largest grid, launches, CTAs of all launches.\n"


def measured(program, sizes):
    return subprocess.run([program, *sizes], check=True, capture_output=True, text=True).stdout


def main():
    program, what = sys.argv[1:]
    if what == "--write":
        TABLE.write_text(HEAD + "".join(measured(program, [size]) for size in ("tiny", "paper")), encoding="utf-8")
        return 0
    rows = "".join(line for line in TABLE.read_text(encoding="utf-8").splitlines(keepends=True) if f", Size::{what}, " in line)
    if rows == measured(program, [what]):
        return 0
    print(f"{TABLE.name} differs from what the benchmarks launch at size {what}; tests/suite_launches.py {program} --write")
    return 1


sys.exit(main())
