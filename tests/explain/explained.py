#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`mergelane explain` finds the planted bottlenecks (planted.toml): its first finding is the planted limiter.

  tests/explain/explained.py MERGELANE [NAME...]              by the accounts alone; at least 22 of 24
  tests/explain/explained.py MERGELANE [NAME...] --what-if    by the largest measured gain; at least 20 of 24
"""
import argparse
import json
import os
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST = {False: 22, True: 20}


def explain(mergelane, plant, what_if):
    words = [mergelane, "explain", "--quiet", "--gpu", plant["gpu"], "--json", "-"]
    for override in plant.get("overrides", []):
        words += ["--set", override]
    words += [os.path.join(HERE, plant["workload"])] + ["--what-if"] * what_if
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{plant['name']}: exit code {done.returncode} of {' '.join(words)}\n{done.stderr}")
    return json.loads(done.stdout)


def found(plant, explanation, what_if):
    """Whether the plant comes first; prints the first three findings."""
    first = explanation["findings"][:3]
    right = bool(first) and first[0]["id"] == plant["limiter"] and (not what_if or first[0]["confirmed"])
    shown = ", ".join(f"{f['id']} {100 * f['share']:.0f} %" + (f" x{f['gain']:.2f}" if f["gain"] else "") for f in first)
    print(f"{'ok ' if right else 'NOT'} {plant['name']:<24}{plant['limiter']:<20}{shown}", flush=True)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mergelane")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--plants", default=os.path.join(HERE, "planted.toml"), metavar="FILE", help="other plants, which are only reported")
    parser.add_argument("--what-if", action="store_true", help="simulate each what-if, too")
    arguments = parser.parse_intermixed_args()
    with open(arguments.plants, "rb") as file:
        plants = [p for p in tomllib.load(file)["plant"] if not arguments.names or p["name"] in arguments.names]
    right = sum(found(plant, explain(arguments.mergelane, plant, arguments.what_if), arguments.what_if) for plant in plants)
    print(f"{right} of {len(plants)} come first")
    return 0 if arguments.names or arguments.plants != parser.get_default("plants") or right >= LEAST[arguments.what_if] else 1


if __name__ == "__main__":
    sys.exit(main())
