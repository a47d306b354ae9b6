#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do many short kernels cost the same from a trace file (.mlt) as from a list of Accel-Sim traces?

Writes traces of tiny kernels, packs them into a trace file, simulates both and prints CPU time and memory per launch. Fails if the
trace file takes more than 1.5 times as long.
"""

import argparse
import os
import sys
import tempfile

import runner

MAX_RATIO = 1.5
FEW = 50  # launches of the run that memory is compared with

HEADER = "-kernel name = tiny{number}\n-grid dim = ({ctas},1,1)\n-block dim = (64,1,1)\n-nregs = 16\n-accelsim tracer version = 5\n\n#traces format\n\n"


def tiny_kernel(number, ctas):
    """Two warps per CTA; each loads, adds and stores one line."""
    text = HEADER.format(number=number, ctas=ctas)
    for cta in range(ctas):
        text += f"#BEGIN_TB\n\nthread block = {cta},0,0\n\n"
        for warp in range(2):
            at = 0x7F4B00000000 + ((number * ctas + cta) * 2 + warp) * 128
            text += f"warp = {warp}\ninsts = 4\n0010 ffffffff 1 R4 LDG.E.SYS 1 R2 4 1 0x{at:x} 4 0\n0020 ffffffff 1 R5 FADD 2 R4 R4 0 0\n"
            text += f"0030 ffffffff 0 STG.E.SYS 2 R2 R5 4 1 0x{at + 0x10000000:x} 4 0\n0040 ffffffff 0 EXIT 0 0 0\n\n"
        text += "#END_TB\n\n"
    return text


def write_traces(folder, launches, ctas):
    names = [f"kernel-{number + 1}.traceg" for number in range(launches)]
    for number, name in enumerate(names):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(tiny_kernel(number, ctas))
    path = os.path.join(folder, "kernelslist.g")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(names) + "\n")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="release build of mergelane")
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("--launches", type=int, default=1000, help="(default 1000)")
    parser.add_argument("--ctas", type=int, default=2, help="per launch (default 2)")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="repetitions, of which the fastest counts (default 3)")
    arguments = parser.parse_args()
    binary = runner.check_binary(arguments.binary)
    if min(arguments.repeat, arguments.ctas) < 1 or arguments.launches < 2 * FEW:
        runner.fail(f"--repeat and --ctas must be at least 1, --launches at least {2 * FEW}")

    with tempfile.TemporaryDirectory() as folder:
        traces = write_traces(folder, arguments.launches, arguments.ctas)
        packed = os.path.join(folder, "packed.mlt")
        runner.measure([binary, "trace", "convert", traces, "-o", packed, "--quiet"])
        rows, seconds, growth, digests = [], {}, {}, set()
        for path in (traces, packed):
            words = [binary, "run", "--gpu", arguments.gpu, "--quiet", path]
            result, few = runner.run_measured([*words, "--kernels", f"1-{FEW}"])
            runs = [runner.measure(words) for _ in range(arguments.repeat)]
            digests.add(result["digest"])
            seconds[path] = min(usage.ru_utime + usage.ru_stime for usage in runs)
            growth[path] = (runs[0].ru_maxrss - few.ru_maxrss) / (arguments.launches - FEW)
            rows.append([os.path.basename(path), f"{seconds[path]:.2f}", f"{seconds[path] * 1e6 / arguments.launches:.0f}", f"{growth[path]:.1f}"])
    runner.print_table([f"{arguments.launches} launches", "CPU seconds", "us per launch", "kB per launch"], rows)
    ratio = seconds[packed] / seconds[traces]
    print(f"trace file / list: {ratio:.2f} (at most {MAX_RATIO:g})")
    if len(digests) != 1:
        runner.fail("the two give different results")
    return 0 if ratio <= MAX_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
