#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A campaign on a real Slurm with four nodes on loopback, while tasks, nodes and the controller are killed and files are damaged: every
run ends exactly once.
Usage: test_slurm.py PATH_TO_MERGELANE [--runs 40] [--faults 13] [--seed 1] [--papers]; exit code 77: skipped, Slurm is not installed."""
import argparse
import collections
import glob
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import cluster as slurm

SWEEP = """title = "Faults"
machines = ["icc60", "mine.toml"]
workloads = ["hotspot", "nn"]
sizes = ["tiny"]
seeds = "1-{seeds}"
[grid]
l1.size_kib = [16, 32]
"""
MACHINE = 'description = "mine"\nbase = "icc60"\n[gpu]\nnoc_mhz = 350\n'


class Faults:
    def __init__(self, program, top, cluster, runs):
        self.program, self.top, self.cluster = program, top, cluster
        self.store = os.path.join(top, "store")
        self.file = os.path.join(top, "sweep.toml")
        self.machine = os.path.join(top, "mine.toml")
        self.runs = runs
        self.write(self.file, SWEEP.format(seeds=runs // 8))
        self.write(self.machine, MACHINE)
        self.counts = collections.Counter()
        self.submissions = 0
        self.helpers = []

    @staticmethod
    def write(name, text):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def campaign(self, *words, **options):
        return subprocess.run([self.program, "campaign", *words], capture_output=True, text=True, timeout=3000, **options)

    def status(self):
        return json.loads(self.campaign("status", self.store, "--json").stdout)

    def submit(self, *words):
        answer = self.campaign("submit", self.file, "--store", self.store, "--slurm", "--retry-failed", *words)
        if answer.returncode != 0:
            print(f"submit: {answer.stderr.strip()}", flush=True)  # the controller may be down; the next round tries again
        self.submissions += answer.returncode == 0

    # Each of these does one harm and says whether there was anything to harm.

    def processes(self, *words):
        return [pid for pid in slurm.all_processes() if all(word.encode() in slurm.command(pid) for word in words)]

    def kill_any(self, *words):
        found = self.processes(*words)
        if found:
            slurm.kill(random.choice(found))
        return bool(found)

    def kill_task(self):
        return self.kill_any("campaign run", self.store)

    def kill_batch_shell(self):
        return self.kill_any("slurm_script", self.top)

    def kill_simulation(self):
        return self.kill_any("--study-child", self.store)

    def kill_node(self):
        self.cluster.kill_node(random.choice(self.cluster.nodes))
        return True

    def kill_controller(self):
        self.cluster.kill_controller()
        return True

    def power_cut(self):
        for helper in self.helpers:
            helper.kill()
        self.cluster.power_cut()
        return True

    def requeue(self):
        return self.tell_a_task("scontrol", "requeue")

    def cancel(self):
        return self.tell_a_task("scancel")

    def tell_a_task(self, *words):
        running = [job for job, state in self.cluster.jobs() if state == "RUNNING"]
        return bool(running) and subprocess.run([*words, random.choice(running)], capture_output=True, timeout=60).returncode == 0

    def resubmit_subset(self):
        """Tasks that run or have run, a second time beside the first: two hosts on one key."""
        script = os.path.join(self.store, "jobs", "shard.sh")
        log = os.path.join(self.store, "logs", "%A_%a.log")
        answer = subprocess.run(["sbatch", "--array=0,2", f"--output={log}", script, "0"], capture_output=True, timeout=60)
        return answer.returncode == 0

    def full_disk(self):
        """A worker whose files may not grow: its last record is torn."""
        words = f"ulimit -f 24; trap '' XFSZ; exec '{self.program}' campaign run '{self.store}' --shard {random.randrange(5)}/5 --jobs 1 --quiet"
        self.helpers.append(subprocess.Popen(["bash", "-c", words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                             env=dict(os.environ, MERGELANE_CACHE=os.path.join(self.store, "recordings"))))
        return True

    def files_at_rest(self):
        in_use = {os.path.realpath(link) for pid in self.processes("campaign run", self.store) for link in glob.glob(f"/proc/{pid}/fd/*")}
        return [name for name in glob.glob(os.path.join(self.store, "*.jsonl")) if os.path.realpath(name) not in in_use and os.path.getsize(name) > 200]

    def tear(self):
        files = self.files_at_rest()
        if files:
            name = random.choice(files)
            os.truncate(name, os.path.getsize(name) - random.randrange(1, 200))
        return bool(files)

    def hole(self):
        files = self.files_at_rest()
        if files:
            name = random.choice(files)
            with open(name, "r+b") as file:
                file.seek(random.randrange(os.path.getsize(name) - 100))
                file.write(b"\0" * 100)
        return bool(files)

    def other_version(self):
        """What is planned is no longer what is run: shards that notice must end and keep nothing."""
        self.write(self.machine, MACHINE + "l2_mhz = 350\n")
        time.sleep(0.5)
        self.write(self.machine, MACHINE)
        return True

    KINDS = (kill_task, kill_batch_shell, kill_simulation, kill_node, kill_controller, power_cut, requeue, cancel, resubmit_subset, full_disk, tear, hole,
             other_version)

    def total(self):
        return sum(count for kind, count in self.counts.items() if not kind.startswith("("))

    def inject(self, number):
        kind = self.KINDS[number] if number < len(self.KINDS) else random.choice(self.KINDS)
        if kind(self):
            self.counts[kind.__name__] += 1

    def torment(self, faults, deadline):
        moved, before = time.monotonic(), -1
        while time.monotonic() < deadline:
            self.helpers = [helper for helper in self.helpers if helper.poll() is None]
            total = self.total()
            finished = self.status()["finished"]
            jobs = self.cluster.jobs()
            if finished != before or any(state == "RUNNING" for _, state in jobs):
                moved, before = time.monotonic(), finished
            stuck = time.monotonic() - moved > 12  # a controller that was killed forgets jobs and keeps what waits for them
            self.cluster.tidy(stuck)
            self.counts["(jobs that never start cancelled)"] += stuck and bool(jobs)
            if not jobs:
                if finished == self.runs and total >= faults:
                    return
                if finished == self.runs:  # too quick for us: lose some
                    self.counts["tear"] += self.tear()
                self.submit("--shards", str(random.choice((3, 8, 12, 20))), "--timeout", "60")
            if os.environ.get("VERBOSE"):
                print(f"{time.monotonic():.0f} {finished} finished, {total} faults, {jobs}", flush=True)
            if total < faults * (finished + 5) / self.runs + 1:
                self.inject(total)
            time.sleep(random.uniform(0.1, 0.8))
        raise AssertionError(f"not over in time: {self.status()}, {self.cluster.jobs()[:5]}")

    def check(self):
        for helper in self.helpers:
            helper.wait(timeout=120)
        merged = self.campaign("merge", self.store, "--remove-parts")
        assert merged.returncode == 0, merged.stdout + merged.stderr
        before = self.status()
        assert (before["finished"], before["failed"], before["missing"], before["conflicts"]) == (self.runs, 0, 0, []), before
        table = os.path.join(self.top, "runs.db")
        assert self.campaign("export", self.store, "--sqlite", table).returncode == 0
        rows = dict(sqlite3.connect(table).execute("SELECT key, digest FROM runs").fetchall())
        assert len(rows) == self.runs
        alone = os.path.join(self.top, "alone")  # the same without Slurm and without faults
        cache = os.path.join(self.store, "recordings")
        assert self.campaign("run", self.file, "--store", alone, "--cache", cache).returncode == 0
        assert self.campaign("export", self.file, "--store", alone, "--sqlite", table).returncode == 0
        same = dict(sqlite3.connect(table).execute("SELECT key, digest FROM runs").fetchall())
        assert same == rows, "digests differ from those of an undisturbed campaign"
        return merged.stdout


def papers(program, top, cluster):
    """All studies at size tiny as one campaign by one command, and each by `reproduce` in a store of its own: the same digests."""
    store, alone = os.path.join(top, "papers"), os.path.join(top, "reproduced")
    begin = time.monotonic()
    answer = subprocess.run([program, "campaign", "submit", "all", "--size", "tiny", "--store", store, "--slurm", "--shards", "24"],
                            capture_output=True, text=True, timeout=300)
    print(answer.stdout + answer.stderr, flush=True)
    while cluster.jobs():
        time.sleep(1)
    status = subprocess.run([program, "campaign", "status", store], capture_output=True, text=True, timeout=300)
    print(f"{status.stdout}{time.monotonic() - begin:.0f} s", flush=True)
    assert status.returncode == 0
    for paper in sorted(os.listdir(os.path.join(os.path.dirname(__file__), "..", "..", "studies"))):
        reproduce = [program, "reproduce", paper, "--size", "tiny", "--cache", os.path.join(store, "recordings")]
        subprocess.run([*reproduce, "--store", alone, "--quiet"], check=True, timeout=3600)
    digests = []
    for directory in (store, alone):
        table = os.path.join(top, "runs.db")
        subprocess.run([program, "campaign", "export", "all", "--size", "tiny", "--store", directory, "--sqlite", table, "-q"], check=True, timeout=300)
        digests.append(dict(sqlite3.connect(table).execute("SELECT key, digest FROM runs").fetchall()))
    assert digests[0] == digests[1], "digests differ from those of reproduce"
    print(f"{len(digests[0])} runs have the same digests as by reproduce", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--faults", type=int, default=13)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--papers", metavar="FOLDER", help="instead: all studies at size tiny, kept there")
    a = parser.parse_args()
    if slurm.missing():
        print(f"skipped: not installed: {', '.join(slurm.missing())} (Debian: slurmctld slurmd slurm-client munge)")
        return 77
    random.seed(a.seed)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    os.environ.pop("MERGELANE_CACHE", None)
    top = tempfile.mkdtemp(prefix="mergelane_slurm_")
    os.mkdir(os.path.join(top, "slurm"))
    cluster = None
    try:
        begin = time.monotonic()
        cluster = slurm.Cluster(os.path.join(top, "slurm"), max_array=9)  # a small one, so that arrays are split
        if a.papers:
            os.makedirs(a.papers, exist_ok=True)
            papers(a.program, os.path.abspath(a.papers), cluster)
            return 0
        faults = Faults(a.program, top, cluster, a.runs - a.runs % 8)
        faults.submit("--shards", "20")
        again = faults.campaign("submit", faults.file, "--store", faults.store, "--slurm")
        assert again.returncode == 2 and "jobs of a previous submission still use" in again.stderr, again
        faults.torment(a.faults, time.monotonic() + 60 * a.minutes)
        report = faults.check()
        print(f"{faults.runs} runs, {faults.total()} faults in {faults.submissions} submissions, {time.monotonic() - begin:.0f} s: "
              f"{dict(faults.counts)}\n{report}0 lost, each run once after the merge, 0 different")
        return 0
    finally:
        if cluster:
            cluster.stop()
        if sys.exc_info()[0] is None:
            shutil.rmtree(top, ignore_errors=True)
        else:
            print(f"what was left is in {top}")


if __name__ == "__main__":
    sys.exit(main())
