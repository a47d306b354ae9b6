#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The cost of a benchmark: CPU time of its simulation, and the size of its trace file.

    bench/suite.py build/release/apps/mergelane/mergelane                     # the ICC suite at paper size on icc60
    bench/suite.py build/release/apps/mergelane/mergelane --only spmv,bfs --trace
"""
import argparse
import os
import resource
import subprocess
import tempfile

from runner import check_binary, fail, print_table, run_json

ICC = "hotspot,b+tree,backprop,bfs,srad,lud,2dconv,matrixmul,nn,fdtd3d,dct8x8"


def child_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def trace_bytes(binary, workload, size):
    with tempfile.TemporaryDirectory(prefix="mergelane-bench-") as folder:
        path = os.path.join(folder, "w.mlt")
        done = subprocess.run([binary, "trace", "record", "--workload", workload, "--size", size, "-o", path], capture_output=True, text=True)
        if done.returncode != 0:
            fail(done.stderr.strip())
        return done.stdout.split("; ")[1].split(", ")[1].split()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--gpu", default="icc60")
    parser.add_argument("--size", default="paper")
    parser.add_argument("--only", default=ICC, help="workloads, separated by commas")
    parser.add_argument("--trace", action="store_true", help="record trace files, too")
    arguments = parser.parse_args()
    binary = check_binary(arguments.binary)
    rows, total, instructions = [], 0.0, 0
    for workload in arguments.only.split(","):
        before = child_seconds()
        words = [binary, "run", "--gpu", arguments.gpu, "--workload", workload, "--size", arguments.size, "--no-cache", "--quiet"]
        result, _ = run_json(words)
        seconds = child_seconds() - before
        total += seconds
        instructions += result["warp_instructions"]
        size = trace_bytes(binary, workload, arguments.size) if arguments.trace else "-"
        rows.append([workload, f"{result['warp_instructions'] / 1e6:.2f}", f"{result['cycles']:,}", f"{seconds:.2f}", size])
    rows.append(["all", f"{instructions / 1e6:.2f}", "", f"{total:.2f}", ""])
    print_table(["workload", "warp instr (M)", "cycles", "CPU s", "trace bytes/mem instr"], rows)


if __name__ == "__main__":
    main()
