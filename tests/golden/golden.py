#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden digests: what the model computed when the lines of digests.txt were recorded, it still computes.

Every preset runs every synthetic workload and the whole suite at size tiny, without merging and, but for a few machines where that is
pointless, with intra-cluster coalescing, and with its coalesced cache as well. A line of digests.txt holds the simulated cycles and a hash of the counters that the head of the file
names, so a counter that is added later changes no line.

  tests/golden/golden.py build/release/apps/mergelane/mergelane             check all lines
  tests/golden/golden.py MERGELANE --only 'icc60 .*hotspot'                 check some
  tests/golden/golden.py MERGELANE --record                                 after the model has changed and its version was raised
  tests/golden/golden.py MERGELANE --record --changed-preset gtx480         after the values of a preset have changed
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "digests.txt")
VARIANTS = {
    "off": [],
    "icc": ["cluster.icc.enabled=true"],
    "icc+cc": ["cluster.icc.enabled=true", "cluster.cc.enabled=true"],
}
# Machines on which no cluster shares anything, of papers whose mechanisms are in the kernels or in the network.
PLAIN = {"gtx570", "gtx570-16k", "k40", "k40-16k", "gtx980", "gtx1080", "pkt28", "pkt28-open"}
# Machines whose SMs are too small for some programs run those of their paper.
PROGRAMS = dict.fromkeys(["pkt28", "pkt28-open"], {"bfs", "nn", "ray", "blackscholes", "aes", "lps", "lib", "mum", "wp", "cp", "nqu", "sto"})
SYNTHETIC = ["--param", "ctas=96", "--param", "iterations=3"]


def fail(text):
    print(f"golden: {text}", file=sys.stderr)
    sys.exit(2)


def names_listed(binary, what):
    """First words of `mergelane list WHAT`, up to the first empty line."""
    out = subprocess.run([binary, "list", what], capture_output=True, text=True, check=True).stdout
    table = out.split("\n\n")[0].splitlines()
    return [line.split()[0] for line in table if line and not line[0].isspace()]


def all_runs(binary):
    gpus = names_listed(binary, "gpus")[1:]
    synthetic = [name for name in names_listed(binary, "synthetic")[1:] if name != "spin"]  # which never ends
    suite = names_listed(binary, "workloads")[1:]
    workloads = [f"synthetic:{name}" for name in synthetic] + suite
    return [(gpu, workload, variant) for gpu in gpus for workload in workloads for variant in VARIANTS
            if (variant == "off" or gpu not in PLAIN) and (workload not in suite or workload in PROGRAMS.get(gpu, suite))]


def simulate(binary, cache, run):
    gpu, workload, variant = run
    command = [binary, "run", "--gpu", gpu, "--quiet", "--json", "-"]
    for setting in VARIANTS[variant]:
        command += ["--set", setting]
    if workload.startswith("synthetic:"):
        command += ["--synthetic", workload.split(":")[1]] + SYNTHETIC
    else:
        command += ["--workload", workload, "--size", "tiny", "--cache", cache]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, f"{' '.join(run)}: exit {done.returncode}: {done.stderr.strip()}"
    return json.loads(done.stdout), None


def line_of(run, result, counters):
    """The counters of the head that this machine has, and the cycles of each kernel."""
    text = hashlib.blake2b(digest_size=12)
    for name in counters:
        if name in result["stats"]:
            text.update(f"{name}={result['stats'][name]}\n".encode())
    for kernel in result["kernels"]:
        text.update(f"{kernel['name']} {kernel['start']} {kernel['cycles']}\n".encode())
    return f"{' '.join(run)} {result['cycles']} {text.hexdigest()}"


def read_file(path):
    head, lines = {}, {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line.startswith("#") or not line:
                continue
            words = line.split()
            if words[0] in ("model", "counters"):
                head.setdefault(words[0], []).extend(words[1:])
            else:
                lines[tuple(words[:3])] = line
    return head, lines


def model_of(result):
    return str(result.get("model", 1))


def write_file(path, model, counters, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.write("# Machine, workload, variant, simulated core cycles, hash of kernels and counters: see golden.py, which wrote this.\n")
        file.write(f"model {model}\n")
        for at in range(0, len(counters), 6):
            file.write(f"counters {' '.join(counters[at:at + 6])}\n")
        file.writelines(line + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the mergelane command to check")
    parser.add_argument("--record", action="store_true", help="write digests.txt anew; refused while the model's version is the recorded one")
    parser.add_argument("--same-model", action="store_true", help="with --record: only counters were renamed, split or added; cycles and all that are still there must be equal")
    parser.add_argument("--changed-preset", action="append", default=[], metavar="GPU", help="with --record: its values were changed on purpose; all other lines must be equal")
    parser.add_argument("--only", default="", metavar="REGEX", help="check only lines that match")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", default=FILE)
    arguments = parser.parse_args()
    started = time.time()
    binary = os.path.abspath(arguments.binary)
    if not os.access(binary, os.X_OK):
        fail(f"{arguments.binary} is not a program; build it with: cmake --build --preset release --target mergelane_cli")

    runs = [run for run in all_runs(binary) if re.search(arguments.only, " ".join(run))]
    if not runs:
        fail(f"no run matches '{arguments.only}'")
    # Each program executes once; its other machines replay, so those that execute come first.
    with tempfile.TemporaryDirectory() as cache, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        first = {}
        for run in runs:
            first.setdefault(run[1], run)
        executing = list(first.values())
        order = executing + [run for run in runs if first[run[1]] != run]
        outcomes = {}
        for part in (order[:len(executing)], order[len(executing):]):
            outcomes.update(zip(part, pool.map(lambda run: simulate(binary, cache, run), part)))
    problems = [problem for _, problem in outcomes.values() if problem]
    if problems:
        fail("\n".join(problems[:5]))
    results = {run: outcomes[run][0] for run in runs}
    model = model_of(next(iter(results.values())))
    known = os.path.exists(arguments.file)
    head, recorded = read_file(arguments.file) if known else ({}, {})
    if not known and not arguments.record:
        fail(f"{arguments.file} does not exist; record it with --record")

    if arguments.record:
        counters = sorted({name for result in results.values() for name in result["stats"]})
        if arguments.only:
            fail("--record writes all lines; leave out --only")
        lost = sorted(set(head.get("counters", [])) - set(counters))
        if arguments.same_model:
            kept = [name for name in head["counters"] if name not in lost]
            other = [line for run, line in recorded.items() if run in results and run[0] not in arguments.changed_preset and
                     (line.split()[3] != str(results[run]["cycles"]) or (not lost and line_of(run, results[run], kept) != line))]
            if other:
                fail(f"{len(other)} runs differ in cycles or counters, so the model has changed; raise its version instead. The first: {other[0]}")
            print(f"golden: new counters {' '.join(sorted(set(counters) - set(kept))) or 'none'}; gone {' '.join(lost) or 'none'}; "
                  f"{'cycles' if lost else 'cycles and all old counters'} equal in {len(recorded)} runs")
        elif known and head["model"] == [model]:
            same = all(line_of(run, results[run], head["counters"]) == line for run, line in recorded.items()
                       if run in results and run[0] not in arguments.changed_preset)
            if not same:
                fail(f"results differ, but the model's version still is {model}; raise kModelVersion (src/core/model_version.hpp) and "
                     "say in CHANGELOG.md what changed")
        write_file(arguments.file, model, counters, [line_of(run, results[run], counters) for run in runs])
        print(f"golden: recorded {len(runs)} runs with {len(counters)} counters, model {model}")
        return 0

    different = []
    if head["model"] != [model]:
        different.append(f"digests are of model {head['model'][0]}, this is model {model}; record them anew with --record")
    for run in runs:
        line = line_of(run, results[run], head["counters"])
        if run not in recorded:
            different.append(f"{' '.join(run)}: not recorded")
        elif recorded[run] != line:
            was, now = recorded[run].split()[3:], line.split()[3:]
            what = f"cycles {was[0]} -> {now[0]}" if was[0] != now[0] else f"same cycles {was[0]}, other counters"
            different.append(f"{' '.join(run)}: {what}")
    lost = set() if arguments.only else set(recorded) - set(results)
    different += [f"{' '.join(run)}: recorded, but there is no such run any more" for run in sorted(lost)]
    for text in different[:20]:
        print(text)
    took = time.time() - started
    if different:
        print(f"golden: {len(different)} of {len(runs)} lines differ ({took:.0f} s). If the model was meant to change, raise kModelVersion in "
              "src/core/model_version.hpp and record them anew (--record); else find out what changed.")
        return 1
    print(f"golden: {len(runs)} runs as recorded, in {took:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
