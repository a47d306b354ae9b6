#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Is a second thread worth as much as a second process?

Two independent processes show the maximum gain of the second core (they share only caches and memory). One process with
two threads should reach at least 0.8 of that. Wall clock, minimum of interleaved repetitions: run it on an otherwise
idle machine.
"""

import argparse
import json
import subprocess
import sys
import time

import runner

SIZES = {
    "compute": {"iterations": 24},
    "stream": {"iterations": 12},
    "divergent": {"ctas": 240, "iterations": 1},
    "tiled": {"iterations": 24},
    "atomic": {"ctas": 240, "iterations": 1},
    "store": {"iterations": 12},
}
REQUIRED = 0.8


def wall(commands):
    """Seconds until all of them, started together, have ended."""
    start = time.monotonic()
    processes = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for words in commands]
    errors = [process.communicate()[1] for process in processes]
    seconds = time.monotonic() - start
    for process, words, error in zip(processes, commands, errors):
        if process.returncode != 0:
            runner.fail(f"'{' '.join(words)}' ended with code {process.returncode}:\n{error.strip()[-2000:]}")
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="release build of mergelane")
    parser.add_argument("--gpu", default="icc60")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="repetitions, of which the fastest counts (default 5)")
    parser.add_argument("--only", choices=SIZES, action="append", help="measure only this workload; may be repeated")
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    binary = runner.check_binary(arguments.binary)
    if arguments.repeat < 1:
        runner.fail("--repeat must be at least 1")

    figures, rows = {}, []
    for kind in arguments.only or SIZES:
        print(f"measuring {kind} ...", file=sys.stderr)
        words = lambda threads: runner.command(binary, kind, SIZES[kind], gpu=arguments.gpu, extra=["--threads", str(threads)])
        one, two, pair = [], [], []
        for _ in range(arguments.repeat):
            one.append(wall([words(1)]))
            two.append(wall([words(2)]))
            pair.append(wall([words(1), words(1)]))
        t1, t2, t_pair = min(one), min(two), min(pair)
        f = {"seconds_one": t1, "seconds_two_threads": t2, "seconds_pair": t_pair, "gain_threads": t1 / t2, "gain_processes": 2 * t1 / t_pair}
        f["ratio"] = f["gain_threads"] / f["gain_processes"]
        figures[kind] = f
        rows.append([kind, *(f"{f[key]:.2f}" for key in f), "yes" if f["ratio"] >= REQUIRED else "NO"])
    runner.print_table(["workload", "1 thread s", "2 threads s", "2 processes s", "gain threads", "gain processes", "ratio", f">= {REQUIRED}"], rows)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"gpu": arguments.gpu, "repeat": arguments.repeat, "required_ratio": REQUIRED, "workloads": figures}, file, indent=2)
            file.write("\n")
    return 0 if all(f["ratio"] >= REQUIRED for f in figures.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
