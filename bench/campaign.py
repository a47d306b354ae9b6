#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Overhead of campaigns.
    campaign.py overhead MERGELANE             tiny runs, one at a time: a campaign and a shell loop over the same processes, alternately
    campaign.py million MERGELANE SYNTHETIC    a million synthetic records (6 GB): plan, status, merge, export; sqlite3's .import for comparison
SYNTHETIC is the program mergelane_synthetic_store; FOLDER=DIR keeps everything there."""
import csv
import io
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import time

SMALL = 'machines = ["icc60"]\nworkloads = ["hotspot"]\nsizes = ["tiny"]\nseeds = "1-100"\n'
BIG = """title = "A million"
machines = ["icc60", "v100"]
workloads = ["hotspot", "bfs", "atax", "lud", "nn"]
sizes = ["tiny"]
seeds = "1-250"
[grid]
l1.size_kib = [32, 64]
l1.mshrs = [16, 32, 48, 64, 128]
gpu.noc_mhz = [350, 500, 700, 900]
sm.registers = [32768, 65536]
l2.mshrs = [16, 32, 64, 96, 128]
"""


def timed(words, **options):
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(words, **options)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode != 0:
        sys.exit(f"{shlex.join(words)}: exit code {process.returncode}")
    return time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, usage.ru_maxrss / 1024


def overhead(mergelane, folder):
    os.environ["MERGELANE_CACHE"] = os.path.join(folder, "cache")
    sweep = os.path.join(folder, "sweep.toml")
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(SMALL)
    run = [mergelane, "campaign", "run", sweep, "--jobs", "1", "-q", "--store"]
    timed([*run, os.path.join(folder, "recordings first")])
    listing = subprocess.run([mergelane, "campaign", "plan", sweep, "--store", os.path.join(folder, "list"), "--list"], capture_output=True, text=True).stdout
    script = os.path.join(folder, "loop.sh")
    with open(script, "w", encoding="utf-8") as file:
        for row in csv.DictReader(io.StringIO(listing)):
            order = {"gpu": row["gpu"], "overrides": row["overrides"].split(), "workload": row["workload"], "size": row["size"], "seed": int(row["seed"]),
                     "kernels": "", "key": row["key"], "cache": os.environ["MERGELANE_CACHE"], "prepare": False, "memory": 8 << 30, "parent": 0,
                     "config_hash": "", "recording": "", "local": ""}
            file.write(f"{shlex.quote(mergelane)} --study-child {shlex.quote(json.dumps(order))} >> results.jsonl\n")
    campaigns, loops = [], []
    for turn in range(9):
        campaigns.append(timed([*run, os.path.join(folder, f"store{turn}")]))
        loops.append(timed(["sh", script], cwd=folder))
        print(f"campaign {campaigns[-1][0]:.2f} s ({campaigns[-1][1]:.2f} s CPU), shell loop {loops[-1][0]:.2f} s ({loops[-1][1]:.2f} s CPU)", flush=True)
    wall, cpu = (min(c[i] for c in campaigns) / min(l[i] for l in loops) for i in (0, 1))
    median = sorted(c[0] / l[0] for c, l in zip(campaigns, loops))[4]
    print(f"100 runs: campaign over shell loop, least of nine each: {wall:.3f} of wall-clock time, {cpu:.3f} of CPU time (median of pairs {median:.3f})")


def million(mergelane, synthetic, folder):
    sweep, store, table = (os.path.join(folder, name) for name in ("big.toml", "big", "runs"))
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(BIG)
    if not os.path.isdir(store):
        template = os.path.join(folder, "template")
        timed([mergelane, "compare", "icc60", "icc60", "--workloads", "hotspot", "--size", "tiny", "--store", template, "-q"])
        timed([mergelane, "campaign", "plan", sweep, "--store", store])
        timed([synthetic, store, template, "400"])

    def show(name, words, **options):
        wall, cpu, mib = timed(words, **options)
        print(f"{name:<10}{wall:8.1f} s {cpu:8.1f} s CPU {mib:8.0f} MiB", flush=True)

    for command in ("plan", "status", "merge", "status"):
        show(command, [mergelane, "campaign", command, store], stdout=subprocess.DEVNULL)
    show("CSV", [mergelane, "campaign", "export", store, "--csv", table + ".csv", "-q"])
    for _ in range(2):
        show("SQLite", [mergelane, "campaign", "export", store, "--sqlite", table + ".db", "-q"])
        schema = subprocess.run(["sqlite3", table + ".db", ".schema runs"], capture_output=True, text=True).stdout
        if os.path.exists(table + ".imported"):
            os.remove(table + ".imported")
        show(".import", ["sqlite3", table + ".imported", schema, "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", ".mode csv",
                         f".import --skip 1 {table}.csv runs"], stdout=subprocess.DEVNULL)
    for name in sorted(os.listdir(folder)):
        if name.startswith("runs"):
            print(f"{name:<24}{os.path.getsize(os.path.join(folder, name)) / 1e6:10.1f} MB")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("overhead", "million"):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.abspath(os.environ.get("FOLDER", temporary))
        os.makedirs(folder, exist_ok=True)
        (overhead if sys.argv[1] == "overhead" else million)(*map(os.path.abspath, sys.argv[2:]), folder)


if __name__ == "__main__":
    main()
