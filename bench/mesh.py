#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does a hop through a mesh cost the host, compared with a transfer through a crossbar?

Host instructions (callgrind) of the network's own step, including the links at its edge but not sources and sinks: per delivered packet and
hop of a mesh, and per delivered packet of a crossbar with as many ports. Both get the same packets. More than three times fails.
"""
import argparse
import re
import shutil
import sys

import runner

MOST = 3.0
STEPS = {"mesh": "mergelane::Mesh::step*", "crossbar": "mergelane::Crossbar::step*"}


def cost(binary, kind, arguments, load):
    """Host instructions per packet, or packet and hop; and hops per packet."""
    command = [binary, "bench", "network", "--kind", kind, "--width", str(arguments.side), "--height", str(arguments.side), "--flits",
               str(arguments.flits), "--pattern", "uniform", "--load", str(load), "--cycles", str(arguments.cycles)]
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--toggle-collect={STEPS[kind]}"]
    result, log = runner.run_json(command, prefix=valgrind)
    found = re.search(r"Collected\s*:\s*(\d+)", log)
    if not found:
        runner.fail(f"callgrind printed no instruction count:\n{log[-2000:]}")
    point = result["curves"][0]["points"][0]
    return int(found.group(1)) / (point["hops"] if kind == "mesh" else point["delivered"]), point


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="release build of mergelane")
    parser.add_argument("--side", type=int, default=6, help="nodes of a row and of a column (6)")
    parser.add_argument("--flits", type=int, action="append", help="of every packet; may be repeated (1 and 5)")
    parser.add_argument("--cycles", type=int, default=4000, help="that are measured (4000)")
    arguments = parser.parse_args()
    binary = runner.check_binary(arguments.binary)
    if not shutil.which("valgrind"):
        runner.fail("valgrind is not installed; its callgrind tool counts instructions")
    rows, failed = [], False
    for flits in arguments.flits or [1, 5]:
        arguments.flits = flits
        bound = min(1.0, 4 / arguments.side)  # of uniform traffic through the middle of the mesh
        for share in (0.2, 0.6):
            mesh, _ = cost(binary, "mesh", arguments, share)
            crossbar, _ = cost(binary, "crossbar", arguments, share * bound)
            failed = failed or mesh > MOST * crossbar
            rows.append([str(flits), f"{share * bound:.3f}", f"{mesh:.0f}", f"{crossbar:.0f}", f"{mesh / crossbar:.2f}"])
    runner.print_table(["flits", "offered", "mesh, per hop", "crossbar, per packet", "ratio"], rows)
    if failed:
        sys.exit(f"a hop costs more than {MOST:.0f} times a transfer through a crossbar")


if __name__ == "__main__":
    main()
