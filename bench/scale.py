#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does the cost of a warp instruction stay constant when the machine grows?

Runs one, 16 and 160 copies of the GPU (`gpu.groups`) with constant work per copy and one thread, and prints CPU time
per warp instruction and peak memory. Construction of the machine is included.
"""

import argparse
import json
import sys

import runner

# Work of one group: at 160 groups each run takes some ten seconds.
SIZES = {
    "compute": {"ctas": 240, "iterations": 1},
    "stream": {"ctas": 120, "iterations": 1},
    "divergent": {"ctas": 24, "iterations": 1},
}
MAX_RATIO = 2.2
MAX_RSS_MB = 650.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="release build of mergelane")
    parser.add_argument("--gpu", default="icc60")
    parser.add_argument("--groups", type=int, nargs="+", default=[1, 16, 160], help="the first one is the yardstick (default 1 16 160)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="repetitions, of which the fastest counts (default 3)")
    parser.add_argument("--only", choices=SIZES, action="append", help="measure only this workload; may be repeated")
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    arguments = parser.parse_args()
    binary = runner.check_binary(arguments.binary)
    if arguments.repeat < 1 or min(arguments.groups) < 1:
        runner.fail("--repeat and --groups must be at least 1")

    figures, rows, good = [], [], True
    for kind in arguments.only or SIZES:
        yardstick = None
        for groups in arguments.groups:
            print(f"measuring {kind} with {groups} groups ...", file=sys.stderr)
            params = dict(SIZES[kind], ctas=SIZES[kind]["ctas"] * groups)
            words = runner.command(binary, kind, params, gpu=arguments.gpu, settings=[f"gpu.groups={groups}"], extra=["--threads", "1"])
            runs = [runner.run_measured(words) for _ in range(arguments.repeat)]
            instructions = runs[0][0]["warp_instructions"]
            nanoseconds = min(usage.ru_utime + usage.ru_stime for _, usage in runs) * 1e9 / instructions
            megabytes = max(usage.ru_maxrss for _, usage in runs) * 1024 / 1e6
            yardstick = yardstick or nanoseconds
            ratio = nanoseconds / yardstick
            fine = ratio <= MAX_RATIO and megabytes < MAX_RSS_MB
            good = good and fine
            figures.append({"workload": kind, "groups": groups, "warp_instructions": instructions, "ns_per_warp_instruction": nanoseconds, "ratio": ratio, "peak_rss_mb": megabytes})
            rows.append([kind, str(groups), f"{instructions:,}", f"{nanoseconds:.1f}", f"{ratio:.2f}", f"{megabytes:.0f}", "yes" if fine else "NO"])
    runner.print_table(["workload", "groups", "warp instructions", "ns each", "ratio", "peak RSS MB", f"<= {MAX_RATIO:g} and < {MAX_RSS_MB:g} MB"], rows)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"gpu": arguments.gpu, "max_ratio": MAX_RATIO, "max_rss_mb": MAX_RSS_MB, "runs": figures}, file, indent=2)
            file.write("\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
