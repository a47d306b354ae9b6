#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden digests: the model still computes what it computed when the lines were recorded.

digests.txt: every preset runs every synthetic workload and the whole suite at size tiny, without merging and, except on machines where it
is pointless, with intra-cluster coalescing (ICC) alone and with ICC and its coalesced cache. Benchmarks of language models run on v100 only, those of sm_90
on h100.
mechanisms.txt: every other mechanism, network kind, request order and scheduler on one machine each, with the workloads of WORKLOADS.
A line holds the simulated cycles and a hash of the counters that the head of its file names, so a counter added later changes no line.

  tests/golden/golden.py build/release/apps/mergelane/mergelane             check digests.txt
  tests/golden/golden.py MERGELANE --mechanisms [--threads 4]               check mechanisms.txt
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
# Machines on which no cluster shares anything, of papers whose mechanisms are in the kernels or in the network; and one of a study that tunes these mechanisms.
PLAIN = {"a100", "h100", "h100-pcie", "gtx570", "gtx570-16k", "k40", "k40-16k", "gtx980", "gtx1080", "pkt28", "pkt28-open", "pkt28-ispass",
         "h2h64"}
# Machines whose SMs are too small for some programs run those of their paper.
PROGRAMS = dict.fromkeys(["pkt28", "pkt28-open", "pkt28-ispass"],
                         {"bfs", "nn", "ray", "blackscholes", "aes", "lps", "lib", "mum", "wp", "cp", "nqu", "sto"})
MECHANISMS_FILE = os.path.join(HERE, "mechanisms.txt")
NODES = ["dcl1.enabled=true", "dcl1.nodes=40"]
MESH = ["noc.kind=mesh", "noc.mesh.width=6", "noc.mesh.height=6"]
MERGING = ["noc.coalescing.enabled=true"]
AGENTS = ["dispatch.transform=agents"]
ONE_CLOCK = ["noc.kind=output_queues", "gpu.core_mhz=1400", "gpu.noc_mhz=1400", "gpu.l2_mhz=1400"]
# The SMs of h100-pcie in eight SM clusters, each SM with a network port.
GPCS = ["gpu.clusters=8", "gpu.sms_per_cluster=15", "cluster.sizes=15,14,14,14,15,14,14,14", "cluster.network_ports=15", "cluster.packets_per_cycle=30"]
# machine: variants with their settings
MECHANISMS = {
    "gtx480": {
        "warp_pool": ["lsu.front=warp_pool"],
        "warp_pool.oldest": ["lsu.front=warp_pool", "lsu.warp_pool.policy=oldest"],
        "warp_pool.warp_id": ["lsu.front=warp_pool", "lsu.warp_pool.policy=warp_id"],
        "mrpb": ["lsu.front=mrpb"],
        "banked": ["lsu.front=banked"],
        "swl": ["sm.warp_limit=8"],
        "two_stage": ["noc.kind=two_stage"],
        "voq": ["noc.queueing=voq"],
        "islip": ["noc.queueing=voq", "noc.arbiter=islip"],
        "meters": ["lsu.meter.enabled=true", "l1.meter.enabled=true", "noc.meter.enabled=true", "dram.meter.enabled=true"],
        "warp_pool+mesh": ["lsu.front=warp_pool", *MESH],
    },
    "dcl1-80": {
        "Pr80": [*NODES, "dcl1.nodes=80", "dcl1.clusters=80", "dcl1.hit_latency=28"],
        "Pr40": [*NODES, "dcl1.clusters=40"],
        "Sh40": [*NODES, "dcl1.clusters=1"],
        "Sh40+C10": [*NODES, "dcl1.clusters=10"],
        "Sh40+C10.whole": [*NODES, "dcl1.clusters=10", "dcl1.sets=whole"],
        "Sh40+C10.line": [*NODES, "dcl1.clusters=10", "dcl1.home=line"],
        "Boost": [*NODES, "dcl1.clusters=10", "dcl1.local_mhz=1400"],
        "single": [*NODES, "dcl1.nodes=1", "dcl1.clusters=1", "dcl1.local=direct", "dcl1.hit_latency=28"],
        "CDXBar": [*NODES, "dcl1.clusters=10", "dcl1.caching=false"],
    },
    "gtx570": {
        "redirect": ["dispatch.transform=redirect"],
        "redirect.columns": ["dispatch.transform=redirect", "clustering.order=columns"],
        "agents": AGENTS,
        "agents.columns": [*AGENTS, "clustering.order=columns", "clustering.agents=2"],
        "agents.prefetch": [*AGENTS, "clustering.prefetch=4"],
        "rr_then_demand": ["dispatch.scheduler=rr_then_demand"],
        "rr_strict": ["dispatch.scheduler=rr_strict"],
        "random_per_turnaround": ["dispatch.scheduler=random_per_turnaround"],
    },
    "icc60": {
        "two_level_rr": ["dispatch.scheduler=two_level_rr"],
        "greedy": ["dispatch.scheduler=greedy"],
        "distributed": ["dispatch.scheduler=distributed"],
        "distributed_block": ["dispatch.scheduler=distributed_block"],
        "locality": ["cluster.locality.enabled=true"],
        "lrr": ["sm.scheduler=lrr"],
        "output_queues": ONE_CLOCK,
        "icc+output_queues": ["cluster.icc.enabled=true", *ONE_CLOCK],
        "mesh": MESH,
        "icc+mesh": ["cluster.icc.enabled=true", "cluster.cc.enabled=true", *MESH],
        "icc+agents": ["cluster.icc.enabled=true", *AGENTS],
    },
    "pkt28": {
        "fr_fcfs": ["dram.scheduler=fr_fcfs"],
        "fifo": ["dram.scheduler=fifo"],
        "fifo_serial": ["dram.scheduler=fifo_serial"],
        "banked_fifo": ["dram.scheduler=banked_fifo"],
        "dynamic": MERGING,
        "fr_fcfs+dynamic": [*MERGING, "dram.scheduler=fr_fcfs"],
        "fixed": [*MERGING, "noc.coalescing.policy=fixed"],
        "held": [*MERGING, "noc.coalescing.policy=fixed", "noc.coalescing.merge=false", "noc.coalescing.table_entries=0"],
        "links": [*MERGING, "noc.coalescing.hops=links", "noc.coalescing.table_entries=4", "noc.coalescing.most_requests=8"],
        "yx": ["noc.mesh.routing=yx"],
        "shared_mesh": ["noc.mesh.shared=true", "noc.mesh.virtual_channels=4"],
    },
    "h100-pcie": {
        "no_lrc": ["l2.lrc.enabled=false"],
        "lrc.2": ["l2.lrc.max_merged=2"],
        "whole_l2": ["l2.halves.enabled=false"],
        "halves.home": ["l2.halves.far=home"],
        "gpcs": GPCS,
        "icc+lrc": [*GPCS, "cluster.icc.enabled=true"],
    },
}
# Every kind of access at least once.
WORKLOADS = ["synthetic:stream", "synthetic:tiled", "synthetic:divergent", "synthetic:atomic", "synthetic:barrier", "hotspot", "bfs", "spmv", "nn", "gemm",
             "blackscholes", "atax"]
SYNTHETIC = ["--param", "ctas=96", "--param", "iterations=3"]


def fail(text):
    print(f"golden: {text}", file=sys.stderr)
    sys.exit(2)


def names_listed(binary, what):
    """First words of `mergelane list WHAT`, up to the first empty line."""
    return [line.split()[0] for line in lines_listed(binary, what)]


def lines_listed(binary, what):
    out = subprocess.run([binary, "list", what], capture_output=True, text=True, check=True).stdout
    table = out.split("\n\n")[0].splitlines()
    return [line for line in table if line and not line[0].isspace()]


def all_runs(binary):
    gpus = names_listed(binary, "gpus")[1:]
    synthetic = [name for name in names_listed(binary, "synthetic")[1:] if name != "spin"]  # which never ends
    table = lines_listed(binary, "workloads")[1:]
    suite = [line.split()[0] for line in table]
    models = {line.split()[0] for line in table if line.split()[1] == "LLM"}
    hopper = {line.split()[0] for line in table if line.endswith("(sm_90)")}
    workloads = [f"synthetic:{name}" for name in synthetic] + suite
    return [(gpu, workload, variant) for gpu in gpus for workload in workloads for variant in VARIANTS
            if (variant == "off" or gpu not in PLAIN) and (workload not in suite or workload in PROGRAMS.get(gpu, suite))
            and (workload not in models or (gpu, variant) == ("h100" if workload in hopper else "v100", "off"))]


def mechanism_runs():
    return [(gpu, workload, variant) for gpu, variants in MECHANISMS.items() for variant in variants for workload in WORKLOADS
            if workload.startswith("synthetic:") or workload in PROGRAMS.get(gpu, WORKLOADS)]


def simulate(binary, cache, threads, run):
    gpu, workload, variant = run
    command = [binary, "run", "--gpu", gpu, "--quiet", "--json", "-", "--threads", str(threads)]
    for setting in VARIANTS.get(variant) or MECHANISMS.get(gpu, {}).get(variant, []):
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
    parser.add_argument("--threads", type=int, default=1, help="of each simulation; lines do not depend on it")
    parser.add_argument("--mechanisms", action="store_true", help="the lines of mechanisms.txt instead of those of digests.txt")
    parser.add_argument("--file", default=None)
    arguments = parser.parse_args()
    arguments.file = arguments.file or (MECHANISMS_FILE if arguments.mechanisms else FILE)
    started = time.time()
    binary = os.path.abspath(arguments.binary)
    if not os.access(binary, os.X_OK):
        fail(f"{arguments.binary} is not a program; build it with: cmake --build --preset release --target mergelane_cli")

    runs = [run for run in (mechanism_runs() if arguments.mechanisms else all_runs(binary)) if re.search(arguments.only, " ".join(run))]
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
            outcomes.update(zip(part, pool.map(lambda run: simulate(binary, cache, arguments.threads, run), part)))
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
