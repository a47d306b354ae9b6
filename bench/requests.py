#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Host instructions per L2 request: callgrind's total of a whole run, including set-up and trace parsing.

The traces run on `v100` without launch latency, stream on `icc60`. With --misses also the data misses of a simulated
1 MiB host cache, which stands for a large machine on a small private cache. Exceeding a limit fails.

    bench/requests.py build/release/apps/mergelane/mergelane
    bench/requests.py build/release/apps/mergelane/mergelane --only vecadd --misses
"""

import argparse
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import runner

# name: most host instructions per L2 request, most misses of the host's cache per L2 request (None: not limited)
LIMITS = {
    "stream": (7500, None),
    "vecadd": (4200, 55),
    "gather": (8000, None),
    "transpose": (3500, None),
    "matmul_tiled": (9500, None),
}
STREAM = {"ctas": 480, "iterations": 3}
HOST_CACHE = "--LL=1048576,16,64"


def words_of(binary, name, traces):
    if name == "stream":
        return runner.command(binary, "stream", STREAM)
    return runner.trace_command(binary, runner.trace(traces, name))


def measure(binary, name, traces, misses):
    """Host instructions and host cache misses per L2 request."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    if misses:
        valgrind += ["--cache-sim=yes", HOST_CACHE]
    result, log = runner.run_json(words_of(binary, name, traces), prefix=valgrind)
    found = re.search(r"Collected\s*:\s*([\d ]+)", log)
    if not found:
        runner.fail(f"callgrind printed no instruction count:\n{log[-2000:]}")
    # Ir, and with a simulated cache: Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
    counts = [int(word) for word in found.group(1).split()]
    requests = result["stats"]["l2.requests"]
    return counts[0] / requests, (counts[7] + counts[8]) / requests if misses else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="release build of mergelane")
    parser.add_argument("--only", choices=LIMITS, action="append", help="measure only this; may be repeated")
    parser.add_argument("--misses", action="store_true", help="simulate the host's cache too (three times as slow)")
    parser.add_argument("--traces", default=runner.TRACES, metavar="FOLDER", help="where traces are, or will be written (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time; counts do not depend on it (default: %(default)s)")
    arguments = parser.parse_args()
    binary = runner.check_binary(arguments.binary)
    names = arguments.only or list(LIMITS)
    for name in names:
        words_of(binary, name, arguments.traces)  # writes traces before anything runs beside it
    with ThreadPoolExecutor(arguments.jobs) as pool:
        measured = list(pool.map(lambda name: measure(binary, name, arguments.traces, arguments.misses), names))

    rows, over = [], []
    for name, (instructions, misses) in zip(names, measured):
        most, most_misses = LIMITS[name]
        rows.append([name, f"{instructions:,.0f}", f"{most:,}", f"{misses:.1f}" if misses is not None else "-", str(most_misses or "-")])
        if instructions > most:
            over.append(f"{name} needs {instructions:,.0f} host instructions per L2 request, more than {most:,}")
        if misses is not None and most_misses is not None and misses > most_misses:
            over.append(f"{name} misses the host's cache {misses:.1f} times per L2 request, more than {most_misses}")
    runner.print_table(["per L2 request", "instructions", "limit", "misses of 1 MiB", "limit"], rows)
    for sentence in over:
        print(f"over: {sentence}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
