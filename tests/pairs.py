#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who can meet whom: runs every mechanism, and every pair of them, on several machines, and compares the table in docs/mechanisms/pairs.md.

A pair *runs*, is *refused* (the configuration check says why), or is *vacuous*: it runs, and the named mechanism merges nothing in it.
Usage: pairs.py MERGELANE TOP [--write]"""
import concurrent.futures
import itertools
import json
import pathlib
import re
import subprocess
import sys

# Short name, title, overrides, the statistics that count what it merges (empty: it merges nothing by itself).
MECHANISMS = (
    ("ICC", "ICC+CC", ("cluster.icc.enabled=true", "cluster.cc.enabled=true"), ("icc.merged", "cc.hits")),
    ("WP", "WarpPool", ("lsu.front=warp_pool", "sm.shared_path=own"), ("warp_pool.merged",)),
    ("DC", "DC-L1", ("dcl1.enabled=true",), ()),
    ("CTA", "CTA clustering", ("dispatch.transform=agents",), ()),
    ("PC", "packet coalescing", ("noc.coalescing.enabled=true",), ("noc.coalescing.merged",)),
    ("LRC", "LRC", ("l2.lrc.enabled=true",), ("lrc.merged",)),
)
GPCS = ("gpu.clusters=8", "gpu.sms_per_cluster=15", "cluster.sizes=15,14,14,14,15,14,14,14", "cluster.network_ports=15",
        "cluster.packets_per_cycle=30", "gpc.sms=15,14,14,14,15,14,14,14", "cluster.icc.l1_bypassing_loads=true", "l2.lrc.enabled=false", "dcl1.nodes=8", "dcl1.clusters=8")
MACHINES = (
    ("`h2h64`", "h2h64", ()),
    ("`h2h64`, mesh", "h2h64", ("noc.kind=mesh",)),
    ("`dcl1-80`", "dcl1-80", ()),
    ("`h100-pcie`, SMs in GPCs", "h100-pcie", GPCS),
    ("`h100-pcie`, mesh", "h100-pcie", ("noc.kind=mesh", "l2.lrc.enabled=false", "dcl1.nodes=57", "dcl1.clusters=57")),
)
WORKLOAD = ("--workload", "b+tree", "--size", "tiny")
BEGIN, END = "<!-- pairs -->\n", "<!-- end -->\n"


def run(binary, gpu, overrides):
    command = [binary, "run", "--gpu", gpu, *WORKLOAD, "--json", "-"]
    for override in overrides:
        command += ["--set", override]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)["stats"], []
    if done.returncode != 2:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return None, done.stderr.strip().splitlines()


def number(statistic):
    return statistic["value"] if isinstance(statistic, dict) else statistic


def verdict(binary, machine, mechanisms):
    """What the table says, and the sentences of the check, if it refuses."""
    stats, problem = run(binary, machine[1], machine[2] + tuple(o for m in mechanisms for o in m[2]))
    if stats is None:
        return "refused", [re.sub(r"^(error: )?(--set \S+|\S+\.toml:\d+): ", "", line.strip()) for line in problem]
    idle = [m[0] for m in mechanisms if m[3] and sum(number(stats[s]) for s in m[3]) == 0]
    return (f"vacuous: {', '.join(idle)}" if idle else "runs"), []


def table(binary):
    cells = [(a,) for a in MECHANISMS] + list(itertools.combinations(MECHANISMS, 2))
    jobs = [(machine, pair) for pair in cells for machine in MACHINES]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda job: verdict(binary, *job), jobs))
    messages, lines = [], ["| | " + " | ".join(m[0] for m in MACHINES) + " |", "|---|" + "---|" * len(MACHINES)]
    for i, pair in enumerate(cells):
        row = []
        for j in range(len(MACHINES)):
            text, sentences = found[i * len(MACHINES) + j]
            messages += [sentence for sentence in sentences if sentence not in messages]
            row.append(" ".join([text] + [f"[{messages.index(sentence) + 1}]" for sentence in sentences]))
        lines.append(f"| {' with '.join(m[1] for m in pair)} | " + " | ".join(row) + " |")
    lines += [""] + [f"{n}. `{message}`" for n, message in enumerate(messages, 1)]
    return "\n".join(lines) + "\n"


def main():
    binary, page = sys.argv[1], pathlib.Path(sys.argv[2]) / "docs/mechanisms/pairs.md"
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    correct = before + BEGIN + table(binary) + END + after
    if sys.argv[3:] == ["--write"]:
        page.write_text(correct)
    elif correct != text:
        print(f"{page} is out of date; run {sys.argv[0]} {binary} {sys.argv[2]} --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
