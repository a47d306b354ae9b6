#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes programs.csv: what `mergelane profile` says of every program of the study headtohead, and how fast each mechanism makes it. Speeds come
from the runs of a store; nothing is simulated. The rule is learnt from test programs; on training programs the mechanisms were tuned, and they check
the rule. Profiles are those of the file if it has them, unless --profile-again.

  programs.py MERGELANE STORE [--size SIZE] [--cache DIR] [--file FILE] [--profile-again]
"""
import argparse
import csv
import json
import pathlib
import subprocess

import command

HERE = pathlib.Path(__file__).resolve().parent
GROUPS = ("global_memory", "locality", "inter_warp_window", "mix", "caches", "shared_misses", "agents")
SPEED = "speed: "


def profile(binary, program, entry, size, cache):
    entry = {"program": entry} if isinstance(entry, str) else entry
    line = ["nice", "-n", "10", binary, "profile", "--gpu", command.study()["machine"], "--workload", entry["program"], "--size", size, "--json", "-", "-q"]
    line += ["--kernels", entry["kernels"]] if "kernels" in entry else []
    line += ["--cache", cache] if cache else []
    done = subprocess.run(line, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{program}: {done.stderr.strip()}")
        return {}
    total = json.loads(done.stdout)["total"]
    return {f"{group}.{name}": f"{value:.6g}" for group in GROUPS for name, value in total.get(group, {}).items()}


def speeds(binary, store, size):
    """Program -> mechanism -> speed, as the study prints it."""
    found = {}
    for experiment, title in (("H2H-2", "Speed, of the machine without it"), ("H2H-1", "The settings taken")):
        shown = command.table(command.printed(binary, store, size, "--experiment", experiment)["experiments"][0], title)
        found |= {row[0]: dict(zip(shown["columns"][1:], row[1:])) for row in shown["rows"]}
    return found


def read(path):
    """Profiles of the file: program -> metric -> value."""
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {row["program"]: {key: value for key, value in row.items() if "." in key and value} for row in csv.DictReader(file)}


def write(path, study, measured, profiles):
    mechanisms, training = study["list"]["mechanism"], study["list"]["training"]
    programs = study["list"]["test"] + training
    metrics = list(dict.fromkeys(key for p in programs for key in profiles.get(p, {})))
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["program", "use", *(SPEED + m for m in mechanisms), *metrics])
        for p in programs:
            shown = [measured.get(p, {}).get(m, "-") for m in mechanisms]
            own = profiles.get(p, {})
            # A mix names only the kinds of instructions that occur.
            out.writerow([p, "training" if p in training else "test", *("" if s == "-" else s for s in shown), *(own.get(key, "0" if key.startswith("mix.") and own else "") for key in metrics)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", metavar="MERGELANE")
    parser.add_argument("store")
    parser.add_argument("--size", default="paper")
    parser.add_argument("--cache", default="")
    parser.add_argument("--file", default=HERE / "programs.csv", type=pathlib.Path)
    parser.add_argument("--profile-again", action="store_true")
    parser.add_argument("--measured-only", action="store_true", help="profile only programs whose speeds are known")
    a = parser.parse_args()
    study = command.study()
    programs = study["list"]["test"] + study["list"]["training"]
    measured = speeds(a.binary, a.store, a.size)
    known = [p for p in programs if any(s != "-" for s in measured.get(p, {}).values())]
    profiles = {} if a.profile_again else {p: own for p, own in read(a.file).items() if own}
    for p in [p for p in (known if a.measured_only else programs) if p not in profiles]:
        print(f"profiling {p}", flush=True)
        profiles[p] = profile(a.binary, p, study["workloads"][p], a.size, a.cache)
        write(a.file, study, measured, profiles)
    write(a.file, study, measured, profiles)
    print(f"{a.file}: {len(programs)} programs, speeds of {len(known)}, profiles of {sum(map(bool, profiles.values()))}")


if __name__ == "__main__":
    main()
