#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every planted bottleneck (planted.toml) limits its run: lifting it, and nothing else, makes the run at least 1.15 times as fast.

  tests/explain/planted.py MERGELANE [NAME...]            all plants, or some
  tests/explain/planted.py MERGELANE [NAME...] --others   and no other limit of the machine, lifted instead, gains as much
  tests/explain/planted.py MERGELANE --plants unseen.toml the plants of another file of this folder
"""
import argparse
import json
import os
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST_SPEED_UP = 1.15
# limiter: how many plants have it
LIMITERS = {
    "uncoalesced": 3,
    "bank_conflicts": 2,
    "occupancy": 2,
    "partial_wave": 1,
    "sm_imbalance": 1,
    "hot_slice": 2,
    "l1_mshrs": 1,
    "l1_merges": 1,
    "l2_mshrs": 1,
    "l2_merges": 1,
    "network_bandwidth": 1,
    "dram_bandwidth": 2,
    "row_conflicts": 1,
    "too_few_warps": 2,
    "atomics_one_address": 1,
    "barriers": 1,
    "launch_bound": 1,
}


def with_overrides(overrides, further):
    """Those of a plant and what lifts a limit, each key once."""
    keys = {override.split("=")[0] for override in further}
    return [override for override in overrides if override.split("=")[0] not in keys] + further


def cycles_of(mergelane, plant, lifted):
    words = [mergelane, "run", "--quiet", "--gpu", plant["gpu"], "--json", "-"]
    for override in with_overrides(plant.get("overrides", []), lifted.get("overrides", [])):
        words += ["--set", override]
    words.append(os.path.join(HERE, lifted.get("workload", plant["workload"])))
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{plant['name']}: exit code {done.returncode} of {' '.join(words)}\n{done.stderr}")
    return json.loads(done.stdout)[plant.get("measure", "kernel_cycles")]


def strongest_other(mergelane, plant, cycles, others):
    """The speed-up and the limiter of the other limit whose lifting gains most."""
    gains = [(cycles / cycles_of(mergelane, plant, other), other["limiter"]) for other in others if other["limiter"] != plant["limiter"]]
    return max(gains)


def load(name):
    with open(os.path.join(HERE, name), "rb") as file:
        return tomllib.load(file)


def check_counts(plants, expected=LIMITERS):
    """Every limiter is known; if `expected` is given, there are as many plants of each."""
    counts = {limiter: 0 for limiter in LIMITERS}
    for plant in plants:
        if plant["limiter"] not in counts:
            sys.exit(f"{plant['name']}: unknown limiter '{plant['limiter']}'; known: {', '.join(LIMITERS)}")
        counts[plant["limiter"]] += 1
    if expected is not None and counts != expected:
        sys.exit(f"planted.toml has other numbers of plants than LIMITERS: {counts}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mergelane")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--others", action="store_true", help="lift other limits instead, too; takes a minute")
    parser.add_argument("--plants", default="planted.toml", metavar="FILE", help="a file of this folder; the other limits are always those of planted.toml")
    arguments = parser.parse_intermixed_args()
    planted = load(arguments.plants)
    others = load("planted.toml")["other"]
    check_counts(planted["plant"], LIMITERS if arguments.plants == "planted.toml" else None)
    unknown = set(arguments.names) - {plant["name"] for plant in planted["plant"]}
    if unknown:
        parser.error(f"no plant named {', '.join(sorted(unknown))}")

    failed = []
    print(f"{'plant':24}{'limiter':21}{'machine':16}{'cycles':>9}{'lifted':>9}{'speed-up':>10}{'   strongest other' if arguments.others else ''}")
    for plant in planted["plant"]:
        if arguments.names and plant["name"] not in arguments.names:
            continue
        cycles = cycles_of(arguments.mergelane, plant, {})
        lifted = cycles_of(arguments.mergelane, plant, plant["lifted"])
        speed_up = cycles / lifted
        good = speed_up >= LEAST_SPEED_UP
        line = f"{plant['name']:24}{plant['limiter']:21}{plant['gpu']:16}{cycles:9,}{lifted:9,}{speed_up:10.2f}"
        if arguments.others:
            gain, limiter = strongest_other(arguments.mergelane, plant, cycles, others)
            good = good and gain < speed_up
            line += f"   {gain:.2f} {limiter}"
        if not good:
            failed.append(plant["name"])
        print(line + ("" if good else "   FAILED"), flush=True)
    if failed:
        sys.exit(f"not limited as planted: {', '.join(failed)}")


if __name__ == "__main__":
    main()
