#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much faster is one binary than another?

Both run in one session on one host, interleaved, with one thread. Reports user CPU seconds, minimum over repetitions.
The traces run on `v100` without launch latency, the synthetic workloads on `icc60`. Fails if the geometric mean or
one workload is below its limit.

    bench/compare.py BASE NEW
    bench/compare.py BASE NEW --only vecadd --repeat 9 --least-mean 1
"""

import argparse
import json
import sys

import runner

TRACED = ("vecadd", "transpose", "gather", "matmul_tiled")
SYNTHETIC = {"stream": {"iterations": 6}, "compute": {"iterations": 12}}
NAMES = (*TRACED, *SYNTHETIC)


def words_of(binary, name, traces):
    if name in SYNTHETIC:
        return runner.command(binary, name, SYNTHETIC[name])
    return runner.trace_command(binary, runner.trace(traces, name))


def measure(base, new, name, arguments):
    """User CPU seconds of each, and whether both simulated the same number of cycles."""
    seconds, cycles = {base: [], new: []}, {}
    for k in range(arguments.repeat):
        # Who comes first alternates: what the one leaves in the host's caches and clocks meets both.
        for binary in (base, new) if k % 2 == 0 else (new, base):
            result, usage = runner.run_measured(words_of(binary, name, arguments.traces))
            seconds[binary].append(usage.ru_utime)
            cycles[binary] = result["cycles"]
    return min(seconds[base]), min(seconds[new]), cycles[base] == cycles[new]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="release build of mergelane to compare with")
    parser.add_argument("new", help="release build of mergelane that should be faster")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each, of which the fastest counts (default: %(default)s)")
    parser.add_argument("--only", choices=NAMES, action="append", help="measure only this; may be repeated")
    parser.add_argument("--least-mean", type=float, default=1.6, metavar="RATIO", help="geometric mean asked for (default: %(default)s)")
    parser.add_argument("--least", type=float, default=1.2, metavar="RATIO", help="asked for of every workload (default: %(default)s)")
    parser.add_argument("--traces", default=runner.TRACES, metavar="FOLDER", help="where traces are, or will be written (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    base, new = runner.check_binary(arguments.base), runner.check_binary(arguments.new)
    if base == new:
        runner.fail("both binaries are the same file")
    if arguments.repeat < 1:
        runner.fail("--repeat must be at least 1")

    figures, rows, below = {}, [], []
    for name in arguments.only or NAMES:
        words_of(base, name, arguments.traces)  # writes the trace if need be
        print(f"measuring {name} ...", file=sys.stderr)
        before, now, same = measure(base, new, name, arguments)
        ratio = before / now
        figures[name] = {"base_seconds": before, "new_seconds": now, "ratio": ratio, "same_cycles": same}
        rows.append([name, f"{before:.3f}", f"{now:.3f}", f"{ratio:.2f}", "yes" if same else "NO"])
        if ratio < arguments.least:
            below.append(f"{name} is {ratio:.2f} times as fast, asked for {arguments.least:g}")
    mean = runner.geometric_mean([f["ratio"] for f in figures.values()])
    rows.append(["geometric mean", "", "", f"{mean:.2f}", ""])
    if mean < arguments.least_mean:
        below.append(f"the geometric mean is {mean:.2f}, asked for {arguments.least_mean:g}")
    runner.print_table(["user CPU seconds", "base", "new", "ratio", "same cycles"], rows)
    for sentence in below:
        print(f"below: {sentence}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"repeat": arguments.repeat, "least": arguments.least, "least_mean": arguments.least_mean, "geometric_mean": mean,
                       "workloads": figures}, file, indent=2)
            file.write("\n")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
