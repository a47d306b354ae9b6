#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Campaigns on one host: shards, kills, other numbers of shards, full disks, changed programs. Several hosts: tests/slurm.
Usage: test_campaign.py PATH_TO_MERGELANE PATH_TO_MERGELANE_STUDY_FAULTS [unittest arguments]; MERGELANE_KILLS=1000 kills that often."""
import csv
import glob
import itertools
import json
import lzma
import os
import random
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.path.abspath(sys.argv.pop(1))
FAULTY = os.path.abspath(sys.argv.pop(1))
CACHE = tempfile.TemporaryDirectory()
os.environ["MERGELANE_CACHE"] = CACHE.name  # not the user's
KILLS = int(os.environ.get("MERGELANE_KILLS", "30"))
SWEEP = """title = "Sweep"
machines = ["icc60", "gtx480"]
workloads = ["hotspot", "bfs"]
sizes = ["tiny"]
seeds = [1, 2]
[grid]
l1.size_kib = [16, 32]
"""


def records(store):
    found = []
    for name in sorted(glob.glob(os.path.join(store, "*.jsonl"))):
        with open(name, encoding="utf-8") as file:
            found += [json.loads(line) for line in file if line.endswith("\n")]
    return found


def signed(record):
    """The line of a record that a test has changed."""
    return subprocess.run([FAULTY, "--sum"], input=json.dumps(record, separators=(",", ":")) + "\n", capture_output=True, text=True, check=True).stdout


def zstd_frame(byte, size):
    """A frame that unpacks to `size` times one byte: 4 bytes for every 128 KiB."""
    blocks = [min(131072, size - at) for at in range(0, size, 131072)]
    headers = [struct.pack("<I", (i == len(blocks) - 1) | 1 << 1 | length << 3)[:3] + byte for i, length in enumerate(blocks)]
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", size) + b"".join(headers)


def measured(words):
    """Exit code, messages, and the most memory that was used, in MB."""
    with tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen(words, stdout=messages, stderr=messages)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        messages.seek(0)
        return process.returncode, messages.read(), usage.ru_maxrss / 1000


def done(store):
    return [record["key"] for record in records(store) if record["status"] == "done"]


def exchange_bodies(one, other):
    """The kernels of one recording behind the key of another."""
    contents = []
    for path in (one, other):
        with open(path, "rb") as file:
            contents.append(file.read())
    key_ends = [16 + int.from_bytes(content[8:16], "little") for content in contents]
    for path, head, body in ((one, 0, 1), (other, 1, 0)):
        with open(path, "wb") as file:
            file.write(contents[head][:key_ends[head]] + contents[body][key_ends[body]:])


class Campaign(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.store = os.path.join(self.folder, "store")
        self.file = os.path.join(self.folder, "sweep.toml")
        self.write(SWEEP)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def campaign(self, command, *arguments, what=None, faults=None, **options):
        return subprocess.run([FAULTY if faults else BINARY, "campaign", command, what or self.file, "--store", self.store, *arguments], capture_output=True,
                              text=True, timeout=600, env=dict(os.environ, **(faults or {})), **options)

    def status(self):
        return json.loads(self.campaign("status", "--json").stdout)

    def test_from_plan_to_merge(self):
        plan = self.campaign("plan")
        self.assertEqual((plan.returncode, plan.stderr), (0, ""))
        self.assertIn("Sweep: 16 runs (4 machines, 4 workloads)", plan.stdout)
        self.assertIn("cannot be estimated", plan.stdout)
        listing = self.campaign("plan", "--list").stdout.splitlines()
        self.assertEqual(len(listing), 17)
        self.assertEqual(self.campaign("status").returncode, 4)
        first = self.campaign("run", "--shard", "0/3")
        self.assertEqual((first.returncode, first.stdout), (0, "shard 0/3: 6 runs completed, 0 found in the store, 0 failed\n"))
        self.assertEqual(self.campaign("merge").returncode, 4, "holes")
        self.assertIn("Estimated cost of the missing runs", self.campaign("plan").stdout)
        self.assertEqual(len(self.campaign("plan", "--list").stdout.splitlines()), 11)
        for shard in ("0/2", "1/2"):  # of a new plan: what was left
            answer = self.campaign("run", "--shard", shard)
            self.assertEqual((answer.returncode, answer.stdout), (0, f"shard {shard}: 5 runs completed, 0 found in the store, 0 failed\n"))
        self.assertEqual(len(set(done(self.store))), 16)
        merged = self.campaign("merge", "--remove-parts")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertEqual(sorted(os.path.splitext(name)[1] for name in os.listdir(self.store)), [".plan", ".zst"])
        status = self.status()
        self.assertEqual((status["finished"], status["duplicates"], status["conflicts"]), (16, 0, []))
        self.assertIn("0 runs completed", self.campaign("run").stdout)

    def test_a_store_stands_for_its_campaign(self):
        self.campaign("plan")
        for command, code in (("status", 4), ("run", 0), ("status", 0), ("merge", 0)):
            answer = subprocess.run([BINARY, "campaign", command, self.store], capture_output=True, text=True, timeout=300)
            self.assertEqual(answer.returncode, code, answer.stderr)

    def test_another_number_of_shards_without_a_new_plan(self):
        self.campaign("run", "--shard", "1/4")
        self.campaign("run", "--shard", "2/3")
        for shard in ("0/2", "1/2"):
            self.assertEqual(self.campaign("run", "--shard", shard).returncode, 0)
        self.assertEqual(sorted(done(self.store)), sorted(set(done(self.store))), "nothing twice")
        self.assertEqual(len(done(self.store)), 16, "nothing lost")

    def test_shards_at_the_same_time(self):
        shards = [subprocess.Popen([BINARY, "campaign", "run", self.file, "--store", self.store, "--shard", f"{i}/4", "--jobs", "1", "-q"])
                  for i in range(4)]
        self.assertEqual([shard.wait(timeout=300) for shard in shards], [0] * 4)
        self.assertEqual(len(done(self.store)), 16)
        self.assertEqual(len(set(done(self.store))), 16)

    def kill_until_complete(self, most):
        """SIGKILL of all processes, again and again, each time with another number of shards. How many were killed before all was done."""
        kills = 0
        kept = set()
        while kills < most and len(kept) < 240:
            n = random.randint(1, 4)
            if random.random() < 0.2:
                self.campaign("plan")
            shards = [subprocess.Popen([BINARY, "campaign", "run", self.file, "--store", self.store, "--shard", f"{i}/{n}", "--jobs", "1", "-q"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(n)]
            time.sleep(random.uniform(0.02, 0.5))
            for shard in shards:
                kills += shard.poll() is None
                shard.kill()
            for shard in shards:
                shard.wait()
            now = set(done(self.store))
            self.assertEqual(kept - now, set(), "what had finished is still there")
            kept = now
        for i in range(2):
            self.assertEqual(self.campaign("run", "--shard", f"{i}/2").returncode, 0)
        self.assertEqual(len(done(self.store)), 240, "nothing twice")
        self.assertEqual(self.campaign("merge").returncode, 0)
        status = self.status()
        self.assertEqual((status["finished"], status["missing"], status["failed"], status["duplicates"], status["conflicts"]), (240, 0, 0, 0, []))
        return kills

    def test_killed_often_on_changing_numbers_of_shards(self):
        random.seed(2)
        self.write(SWEEP.replace("seeds = [1, 2]", 'seeds = "1-30"'))
        kills = campaigns = 0
        while kills < KILLS:
            campaigns += 1
            self.store = os.path.join(self.folder, f"store{campaigns}")
            kills += self.kill_until_complete(KILLS - kills)
        print(f"{kills} kills in {campaigns} campaigns of 240 runs: 0 lost, 0 twice, 0 different", file=sys.stderr)

    def test_two_on_the_same_runs_agree(self):
        both = [subprocess.Popen([BINARY, "campaign", "run", self.file, "--store", self.store, "--jobs", "1", "-q"]) for _ in range(2)]
        self.assertEqual([one.wait(timeout=300) for one in both], [0, 0])
        self.assertEqual(self.campaign("merge").returncode, 0)
        self.assertEqual(self.status()["finished"], 16)
        self.assertEqual(self.status()["conflicts"], [])

    def test_sigterm_ends_in_order(self):
        process = subprocess.Popen([BINARY, "campaign", "run", self.file, "--store", self.store, "--jobs", "1"], stdout=subprocess.PIPE, text=True)
        while process.poll() is None and not records(self.store):
            time.sleep(0.01)
        process.terminate()
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted, repeat the command to resume", output)
        self.assertFalse([record for record in records(self.store) if record["status"] != "done"])

    def sampled(self, more=""):
        """Two workloads of more launches than are simulated, on two machines whose L2 is so small that passes have several segments."""
        self.write(f"""title = "Sampled"
machines = ["icc60", "gtx480"]
workloads = ["shortest_paths", "lud"]
sizes = ["tiny"]
set = ["l2.size_kib=1", "l2.ways=4"]
[sample]
error = "5%"
segment = 3000
{more}""")

    def table(self):
        """Rows of the export without what differs from host to host, and the columns."""
        name = os.path.join(self.folder, "runs.csv")
        self.assertIn(self.campaign("export", "--csv", name, "-q").returncode, (0, 4))
        with open(name, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            del row["seconds"]
        return rows

    def test_sampled_runs_have_intervals(self):
        self.sampled()
        answer = self.campaign("run")
        self.assertEqual((answer.returncode, answer.stdout), (0, "shard 0/1: 4 runs completed, 0 found in the store, 0 failed\n"))
        self.assertEqual(os.listdir(os.path.join(self.store, "unfinished")), [])
        for row in self.table()[:2]:
            self.assertEqual(row["sample"], "error=0.05 seed=1 by=stratified segment=3000")
            # As the command of one run says.
            one = subprocess.run([BINARY, "run", "--gpu", row["gpu"], "--set", "l2.size_kib=1", "--set", "l2.ways=4", "--workload", row["workload"], "--size",
                                  "tiny", "--sample", "--error", "5%", "--segment", "3000", "--json", "-"], capture_output=True, text=True, timeout=300)
            result = json.loads(one.stdout)
            self.assertEqual((int(row["cycles"]), row["digest"]), (result["cycles"], result["digest"]))
            self.assertAlmostEqual(float(row["cycles +-"]), result["sample"]["cycles"]["half_width"], delta=1e-5 * result["cycles"])
            self.assertEqual(int(row["sample.simulated_launches"]), result["sample"]["simulated_launches"])
            self.assertEqual(int(row["sample.kernel_cycles"]), result["kernel_cycles"])
            for name, estimate in result["sample"]["stats"].items():
                self.assertAlmostEqual(float(row[name + " +-"]), estimate["half_width"], delta=1e-5 * estimate["half_width"])
        before = self.table()
        merged = self.campaign("merge", "--remove-parts")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertEqual(sorted(os.path.splitext(name)[1] for name in os.listdir(self.store)), [".plan", ".zst"])
        self.assertEqual(self.table(), before)
        again = subprocess.run([BINARY, "store", "verify", self.store, "--resimulate", "50", "--store", os.path.join(self.folder, "again")],
                               capture_output=True, text=True, timeout=300)
        self.assertEqual((again.returncode, again.stdout), (0, "2 of 4 runs compared, 2 of them simulated now: all counters are equal\n"), again.stderr)

    def test_sampled_and_full_runs_in_one_table(self):
        self.sampled()
        full = os.path.join(self.folder, "full.toml")
        with open(self.file, encoding="utf-8") as file:
            text = file.read()
        with open(full, "w", encoding="utf-8") as file:
            file.write(text[:text.index("[sample]")])
        both = [BINARY, "campaign", "run", full, self.file, "--store", self.store]
        answer = subprocess.run(both, capture_output=True, text=True, timeout=300)
        self.assertEqual((answer.returncode, answer.stdout), (0, "shard 0/1: 8 runs completed, 0 found in the store, 0 failed\n"))
        export = subprocess.run([BINARY, "campaign", "export", self.store, "--csv", os.path.join(self.folder, "both.csv")], capture_output=True, text=True, timeout=60)
        self.assertEqual(export.returncode, 0, export.stderr)
        with open(os.path.join(self.folder, "both.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([bool(row["sample"]) for row in rows], [False] * 4 + [True] * 4)
        for exact, estimate in zip(rows, rows[4:]):
            self.assertEqual((exact["gpu"], exact["workload"]), (estimate["gpu"], estimate["workload"]))
            self.assertEqual((exact["cycles +-"], exact["sample.launches"]), ("", ""))
            self.assertLess(abs(int(exact["cycles"]) - int(estimate["cycles"])), 0.1 * int(exact["cycles"]))
            self.assertNotEqual(exact["key"], estimate["key"])

    def test_killed_sampled_runs_continue(self):
        """Killed again and again, with another number of shards each time, they end with the same table, and not from the beginning."""
        self.sampled()
        self.assertEqual(self.campaign("run").returncode, 0)
        expected, whole = self.table(), self.store
        self.store = os.path.join(self.folder, "killed")
        self.campaign("plan")
        chance, kept, kills = random.Random(3), 0, 0
        while self.status()["missing"] and kills < 200:
            shards = chance.choice((1, 2))
            workers = [subprocess.Popen([BINARY, "campaign", "run", self.store, "--shard", f"{i}/{shards}", "--jobs", "1", "-q"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) for i in range(shards)]
            # Until one more part of a run is kept, or a run has ended.
            parts = self.parts()
            deadline = time.monotonic() + 60
            while self.parts() == parts and any(worker.poll() is None for worker in workers) and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(chance.random() * 0.02)
            for worker in workers:
                worker.kill()
                worker.wait()
                kills += 1
            kept += bool(self.parts())
        self.assertGreater(kept, 3, "runs were continued with what was kept")
        self.assertEqual(self.status()["failed"], 0)
        self.assertEqual(self.table(), expected)
        self.assertEqual(self.campaign("merge", "--remove-parts").returncode, 0)
        self.assertFalse(os.path.exists(os.path.join(self.store, "unfinished")))
        self.assertEqual(self.table(), expected)
        self.store = whole

    def parts(self):
        return sorted(glob.glob(os.path.join(self.store, "unfinished", "*", "[sp]*")))

    def test_a_damaged_part_is_made_again(self):
        self.sampled()
        self.campaign("plan")
        worker = subprocess.Popen([BINARY, "campaign", "run", self.store, "--jobs", "1", "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not self.parts() and worker.poll() is None:
            time.sleep(0.001)
        worker.kill()
        worker.wait()
        for part in self.parts():
            with open(part, "r+b") as file:
                file.truncate(10)
        self.assertEqual(self.campaign("run").returncode, 0)
        self.assertEqual((self.status()["finished"], self.status()["failed"]), (4, 0))

    def test_a_full_disk_loses_nothing(self):
        """A limit on the size of files stands for the disk: the record that does not fit is torn."""
        def small_disk():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
        self.campaign("plan")
        self.campaign("run", "--shard", "0/8")  # recordings are there
        self.campaign("run", "--shard", "1/8")
        full = self.campaign("run", preexec_fn=small_disk)
        self.assertEqual(full.returncode, 2)
        self.assertRegex(full.stderr, r"cannot write '.*': (disk full|File too large); finished runs are kept; free disk space")
        before = len(set(done(self.store)))
        self.assertGreater(before, 4)
        self.assertEqual(self.status()["torn_lines"], 1)
        self.assertEqual(self.campaign("run").returncode, 0)
        self.assertEqual(len(done(self.store)), 16)
        self.assertEqual(self.campaign("merge").returncode, 0)

    def test_torn_and_damaged_files(self):
        self.campaign("run")
        (name,) = glob.glob(os.path.join(self.store, "*.jsonl"))
        with open(name, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        lines[3] = b"\0" * len(lines[3])                            # a hole, as network file systems leave them
        lines[5] = lines[5].replace(b'"cycles":', b'"cycles":1', 1)   # other numbers, still JSON
        with open(name, "wb") as file:
            file.write(b"".join(lines)[:-100])
        status = self.status()
        self.assertEqual((status["torn_lines"], status["damaged_lines"], status["missing"]), (1, 2, 4))  # a hole takes the next line along
        again = self.campaign("run")
        self.assertEqual(again.returncode, 0)
        self.assertIn("warning: ", again.stderr)
        self.assertEqual(self.status()["finished"], 16)
        self.assertEqual(self.campaign("merge").returncode, 0)

    def test_different_results_are_reported(self):
        self.campaign("run")
        (name,) = glob.glob(os.path.join(self.store, "*.jsonl"))
        with open(name, encoding="utf-8") as file:
            record = json.loads(file.readline())
        with open(os.path.join(self.store, "other\x1b]0;name\x07.jsonl"), "w", encoding="utf-8") as file:
            for _ in range(150):
                record["cycles"] += 1
                file.write(signed(record))
        for command in ("status", "merge", "plan", "run"):
            answer = self.campaign(command)
            self.assertEqual(answer.returncode, 3)
            self.assertIn("has two different results", answer.stdout + answer.stderr)
            self.assertNotIn("\x1b", answer.stdout + answer.stderr)
        self.assertFalse(glob.glob(os.path.join(self.store, "*.zst")))

    def test_failures_are_kept_apart(self):
        answer = self.campaign("run", faults={"MERGELANE_STUDY_FAULT": "fail:bfs"})
        self.assertEqual(answer.returncode, 3)
        self.assertEqual((self.status()["finished"], self.status()["failed"]), (8, 8))
        self.assertIn("this run was asked to fail", self.campaign("status").stdout)
        self.campaign("plan")
        self.assertEqual(self.campaign("run").stdout, "shard 0/1: 0 runs completed, 0 found in the store, 8 failed\n")
        self.assertEqual(self.campaign("run", "--retry-failed").returncode, 0)
        self.assertEqual(self.status()["finished"], 16)
        self.assertEqual(self.campaign("run").returncode, 0, "what the plan calls failed has been done since")

    def test_a_changed_machine_is_noticed(self):
        machine = os.path.join(self.folder, "mine.toml")
        with open(machine, "w", encoding="utf-8") as file:
            file.write('description = "mine"\nbase = "icc60"\n[gpu]\nnoc_mhz = 350\n')
        self.write(SWEEP.replace('"gtx480"', '"mine.toml"'))
        self.campaign("plan")
        with open(machine, "a", encoding="utf-8") as file:
            file.write("l2_mhz = 350\n")
        answer = subprocess.run([BINARY, "campaign", "run", self.store], capture_output=True, text=True, timeout=300, cwd="/")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("changed after the campaign was planned", answer.stderr)
        self.assertEqual(self.campaign("run").returncode, 0, "with its file it is planned anew")
        self.assertEqual(self.status()["finished"], 16)

    def test_own_files_are_known_by_their_content(self):
        trace = os.path.join(self.folder, "own.mlt")

        def record(workload):
            done = subprocess.run([BINARY, "trace", "record", "--workload", workload, "--size", "tiny", "-o", trace], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)

        record("hotspot")
        # Sizes and seeds are those of benchmarks; a file has one run for each machine.
        self.write(SWEEP.replace('["hotspot", "bfs"]', '["hotspot", "own.mlt", { program = "own.mlt", kernels = "1" }]'))
        self.assertEqual(self.campaign("run").returncode, 0)
        self.assertEqual(self.status()["finished"], 16)
        cycles = {}
        for one in records(self.store):
            cycles.setdefault((one["gpu"], tuple(one["overrides"])), {})[(os.path.basename(one["workload"]), one.get("kernels", ""), one["seed"])] = one["cycles"]
        for of_machine in cycles.values():
            self.assertEqual(of_machine[("hotspot", "", 1)], of_machine[("own.mlt", "", 0)])
            self.assertLess(of_machine[("own.mlt", "1", 0)], of_machine[("own.mlt", "", 0)])
        record("bfs")
        answer = subprocess.run([BINARY, "campaign", "run", self.store], capture_output=True, text=True, timeout=300, cwd="/")
        self.assertEqual(answer.returncode, 0, "all runs of the plan are done")
        self.assertEqual(self.campaign("plan").returncode, 0)
        self.assertEqual(self.status()["missing"], 8, "another content is another run")
        record("hotspot")
        answer = subprocess.run([BINARY, "campaign", "run", self.store], capture_output=True, text=True, timeout=300, cwd="/")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("own.mlt' changed after the campaign was planned", answer.stderr)
        self.write(SWEEP.replace('["hotspot", "bfs"]', '["missing.mlt"]'))
        answer = self.campaign("plan")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("sweep.toml:3", answer.stderr)

    def test_what_is_removed_while_someone_writes_is_written_again(self):
        """A merge that removes parts under a worker at rest: its name is not used again, nothing is lost."""
        self.write(SWEEP.replace("seeds = [1, 2]", 'seeds = "1-10"'))
        self.campaign("plan")
        worker = subprocess.Popen([BINARY, "campaign", "run", self.store, "--jobs", "1", "-q"])
        while len(records(self.store)) < 5:
            time.sleep(0.01)
        worker.send_signal(signal.SIGSTOP)
        self.assertEqual(self.campaign("merge", "--remove-parts").returncode, 4)
        self.assertFalse(glob.glob(os.path.join(self.store, "*.jsonl")))
        worker.send_signal(signal.SIGCONT)
        self.assertEqual(worker.wait(timeout=300), 0)
        status = self.status()
        self.assertEqual((status["finished"], status["missing"], status["damaged_lines"]), (80, 0, 0))

    def test_lines_that_cannot_be_read_are_not_called_merged(self):
        self.campaign("run")
        (name,) = glob.glob(os.path.join(self.store, "*.jsonl"))
        with open(name, "rb") as file:
            good = file.read()
        bad = bytearray(good)
        bad[good.index(b"\n") + 100] ^= 1
        with open(name, "r+b") as file:
            file.write(bad)
        self.assertEqual(self.campaign("merge", "--remove-parts").returncode, 4)
        self.assertEqual(self.status()["missing"], 1)
        with open(name, "r+b") as file:  # still there; and what was not seen comes back, as on a slow file system
            file.write(good)
        self.assertEqual(self.status()["missing"], 0)

    def test_no_terminal_obeys_a_store(self):
        self.campaign("run", "--shard", "0/16")
        packed = os.path.join(self.folder, "one.jsonl")
        with open(packed, "w", encoding="utf-8") as file:
            file.write(signed(dict(records(self.store)[0], digest="\x1b]0;x\x07")))
        answer = subprocess.run([BINARY, "store", "verify", packed, "--resimulate", "100", "--store", os.path.join(self.folder, "again")],
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(answer.returncode, 3)
        self.assertIn("digest was ?]0;x?, is ", answer.stderr)
        os.mkfifo(os.path.join(self.store, "\x1b]0;x\x07.jsonl"))
        for command in ("plan", "status", "merge"):
            answer = self.campaign(command)
            self.assertEqual(answer.returncode, 2)
            self.assertIn("?]0;x?.jsonl: is not a regular file", answer.stderr)
            self.assertNotIn("\x1b", answer.stderr + answer.stdout)

    def test_jobs_use_the_store_that_was_planned(self):
        os.makedirs(os.path.join(self.folder, "elsewhere", "deep"))
        os.symlink(os.path.join("elsewhere", "deep"), os.path.join(self.folder, "link"))
        self.store = os.path.join(self.folder, "link", "..", "st")
        answer = self.campaign("submit", "--script")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        real = os.path.join(os.path.realpath(self.folder), "elsewhere", "st")
        self.assertEqual(sorted(os.listdir(real)), ["campaign.plan", "jobs"])
        with open(os.path.join(real, "jobs", "campaign.sh"), encoding="utf-8") as file:
            self.assertIn(real, file.read())
        self.assertFalse(os.path.exists(os.path.join(self.folder, "st")))

    def test_nothing_of_a_refused_file_is_unpacked(self):
        self.campaign("run")
        packed, other = os.path.join(self.folder, "one.jsonl"), os.path.join(self.folder, "other")
        first, last = records(self.store)[0], records(self.store)[-1]
        os.mkdir(other)
        for name, lines in ((os.path.join(other, "a.jsonl"), [last]), (packed, [first, dict(last, cycles=1)])):
            with open(name, "w", encoding="utf-8") as file:
                file.write("".join(map(signed, lines)))
        answer = subprocess.run([BINARY, "store", "unpack", packed, other], capture_output=True, text=True, timeout=60)
        self.assertEqual(answer.returncode, 3, answer.stderr)
        self.assertIn("conflicting results", answer.stderr)
        self.assertEqual((os.listdir(other), records(other)), (["a.jsonl"], [last]))

    def test_a_part_that_is_damaged_after_a_merge_stays(self):
        self.campaign("run", "--shard", "0/2")
        self.assertEqual(self.campaign("merge").returncode, 4)
        (name,) = glob.glob(os.path.join(self.store, "*.jsonl"))
        with open(name, "r+b") as file:
            file.seek(600)
            file.write(bytes(100))
        self.campaign("run", "--shard", "1/2")
        merged = self.campaign("merge", "--remove-parts")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertEqual(glob.glob(os.path.join(self.store, "*.jsonl")), [name])
        self.assertEqual((self.status()["finished"], self.status()["missing"]), (16, 0))

    def test_another_program_in_the_middle_is_noticed(self):
        """Its results are not kept under keys of the model that was planned."""
        program = os.path.join(self.folder, "mergelane")
        shutil.copy(BINARY, program)
        worker = subprocess.Popen([program, "campaign", "run", self.file, "--store", self.store, "--jobs", "1", "-q"], stderr=subprocess.PIPE, text=True)
        while not records(self.store):
            time.sleep(0.01)
        os.remove(program)
        self.write_program(program)
        _, complaint = worker.communicate(timeout=300)
        self.assertEqual(worker.returncode, 2, complaint)
        self.assertIn("another model version", complaint)
        self.assertEqual({record["model"] for record in records(self.store)}, {records(self.store)[0]["model"]})

    def write_program(self, name):
        with open(name, "w", encoding="utf-8") as file:
            file.write(f"""#!/usr/bin/env python3
import re, subprocess, sys
words = [re.sub('"parent":[0-9]+', '"parent":0', word) for word in sys.argv[1:]]
text = subprocess.run(["{os.path.realpath(BINARY)}", *words], capture_output=True, text=True).stdout
text = re.sub('"model":[0-9]+', '"model":99', text)
print(subprocess.run(["{os.path.realpath(FAULTY)}", "--sum"], input=text, capture_output=True, text=True).stdout, end="")
""")
        os.chmod(name, 0o755)

    def test_a_damaged_plan_is_refused(self):
        self.campaign("plan")
        name = os.path.join(self.store, "campaign.plan")
        with open(name, encoding="utf-8") as file:
            text = file.read()
        with open(name, "w", encoding="utf-8") as file:
            file.write(text[:-3])
        answer = subprocess.run([BINARY, "campaign", "run", self.store], capture_output=True, text=True, timeout=300)
        self.assertEqual(answer.returncode, 2)
        self.assertIn("is corrupt or truncated; create a new plan", answer.stderr)

    def test_a_plan_is_not_replaced_in_silence(self):
        self.campaign("plan")
        self.assertEqual(self.campaign("plan").stderr, "")
        self.write(SWEEP.replace("seeds = [1, 2]", "seeds = [3]").replace("Sweep", "Other"))
        answer = self.campaign("plan")
        self.assertEqual(answer.returncode, 0)
        self.assertIn("('Sweep', 16 runs)", answer.stderr)

    def test_studies_are_campaigns(self):
        answer = self.campaign("plan", "--size", "tiny", what="icc")
        self.assertIn("icc: 550 runs", answer.stdout)
        papers = subprocess.run([BINARY, "campaign", "plan", "icc", "warppool", "--size", "tiny", "--store", self.store], capture_output=True, text=True,
                                timeout=300)
        self.assertIn("icc, warppool: ", papers.stdout)

    def test_export(self):
        nothing = self.campaign("export", "--csv", os.path.join(self.folder, "none.csv"))
        self.assertEqual((nothing.returncode, nothing.stderr, os.path.exists(os.path.join(self.folder, "none.csv"))),
                         (4, "no run has finished; nothing was written\n", False))
        self.campaign("run", "--shard", "0/2")
        names = {kind: os.path.join(self.folder, f"runs.{kind}") for kind in ("db", "csv")}
        half = self.campaign("export", "--csv", names["csv"])
        self.assertEqual((half.returncode, half.stdout.split(";")[1]), (4, " 8 runs are missing\n"))
        self.campaign("run")
        answer = self.campaign("export", "--sqlite", names["db"], "--csv", names["csv"], "--highest")
        self.assertEqual((answer.returncode, answer.stderr.replace("exporting, estimating\n", "")), (0, ""))  # on a slow host
        written = {record["key"]: record for record in records(self.store)}
        with open(names["csv"], encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["run"] for row in rows], [str(run) for run in range(16)])
        for row in rows:
            record = written[row["key"]]
            self.assertEqual({name: int(row[name]) for name in record["stats"]}, record["stats"])
            self.assertEqual({name: int(row["highest " + name]) for name in record["highest"]}, record["highest"])
            for name in ("gpu", "workload", "size", "digest", "config_hash", "version"):
                self.assertEqual(row[name], record[name])
            for name in ("cycles", "warp_instructions", "seed", "model"):
                self.assertEqual(int(row[name]), record[name])
            self.assertEqual(f"l1.size_kib={row['config.l1.size_kib']}", row["overrides"])
        with open(names["csv"] + ".columns.csv", encoding="utf-8") as file:
            columns = {row["name"]: row for row in csv.DictReader(file)}
        self.assertEqual(list(columns), list(rows[0]))
        self.assertEqual(columns["config.l1.size_kib"]["unit"], "KiB")
        self.assertTrue(all(column["meaning"] for column in columns.values()), "every column says what it is")
        base = sqlite3.connect(names["db"])
        self.assertEqual(base.execute("SELECT count(*), sum(cycles) FROM runs").fetchone(), (16, sum(r["cycles"] for r in written.values())))
        self.assertEqual(base.execute("SELECT type FROM columns WHERE name = 'config.l1.size_kib'").fetchone(), ("INTEGER",))
        self.assertEqual(base.execute("SELECT unit FROM columns WHERE name = 'l1.sector_hits'").fetchone(),
                         (columns["l1.sector_hits"]["unit"],))
        self.assertEqual(base.execute("SELECT DISTINCT typeof(\"config.l1.size_kib\") FROM runs").fetchall(), [("integer",)])
        base.close()
        self.assertEqual(self.campaign("export").returncode, 2)
        self.assertIn("cannot write", self.campaign("export", "--sqlite", "/nowhere/runs.db").stderr)
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith(".")], "nothing half-made is left")

    def bomb(self, name, data, words, command=("campaign", "status")):
        """A file of a few kilobytes is refused with its name, the limit and little memory."""
        path = os.path.join(self.store, name)
        with open(path, "wb") as file:
            file.write(data)
        code, messages, megabytes = measured([BINARY, *command, self.store, *(["new"] if command[0] == "store" else [])])
        os.remove(path)
        self.assertEqual(code, 2, (name, messages))
        self.assertIn(name, messages)
        self.assertIn(words, messages)
        self.assertLess(megabytes, 500, name)

    def test_bombs_are_refused(self):
        self.campaign("plan")
        self.bomb("a.jsonl.zst", zstd_frame(b"[", 1 << 30), "has a block of 1024 MiB; blocks of a store have at most 32")
        self.bomb("b.jsonl.zst", zstd_frame(b"\n", 32 << 20) * 100, "unpacks to more than 300 times its size")
        self.bomb("c.jsonl", b"[" * (60 << 20) + b"\n", "has a line of more than 16 MiB")
        self.bomb("d.jsonl.zst", b'\x28\xb5\x2f\xfd\x20\x0a\x51\0\0{"merged":', "is damaged or cut off")
        packer = lzma.LZMACompressor(preset=0)
        self.bomb("e.jsonl.xz", b"".join(packer.compress(b"[" * (1 << 20)) for _ in range(256)) + packer.flush(), "has a line of more than 16 MiB",
                  command=("store", "convert"))

    def test_deep_records_take_little_memory(self):
        """Nested arrays where a record has texts: with the right checksum, and twice, so that they are compared."""
        self.campaign("run", "--shard", "0/16")
        (record,) = records(self.store)
        lines = []
        for cycles in (1, 2):
            text = json.dumps(dict(record, cycles=cycles, launched="DEEP"), separators=(",", ":"))
            deep = "[" * (7 << 20) + "]" * (7 << 20)
            lines.append(subprocess.run([FAULTY, "--sum"], input=text.replace('"DEEP"', deep) + "\n", capture_output=True, text=True, check=True).stdout)
        with open(os.path.join(self.store, "deep.jsonl"), "w", encoding="utf-8") as file:
            file.write("".join(lines))
        for command in (("campaign", "status"), ("campaign", "merge"), ("store", "pack")):
            code, messages, megabytes = measured([BINARY, *command, self.store, *([os.path.join(self.folder, "p.jsonl.zst")] if command[0] == "store" else [])])
            self.assertIn(code, (0, 4), messages)
            self.assertIn("deep.jsonl:1 is damaged", messages)
            self.assertLess(megabytes, 500, command)

    def test_a_machine_file_whose_name_is_not_utf8(self):
        folder = os.path.join(os.fsencode(self.folder), b"d\xff")
        os.mkdir(folder)
        with open(os.path.join(folder, b"mine.toml"), "w", encoding="utf-8") as file:
            file.write('description = "mine"\nbase = "icc60"\n')
        with open(os.path.join(folder, b"sweep.toml"), "w", encoding="utf-8") as file:
            file.write(SWEEP.replace('"gtx480"', '"mine.toml"'))
        answer = subprocess.run([BINARY, "campaign", "run", os.path.join(folder, b"sweep.toml"), "--store", self.store], capture_output=True, timeout=300)
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertIn(b"is not valid UTF-8", answer.stderr)

    def test_leftovers_of_killed_writers_go(self):
        self.campaign("run")
        host, old = os.uname().nodename, time.time() - 1200
        names = [f"{folder}/.{name}.{host}-999999999-0123456789abcdef.unfinished" for folder in (self.store, self.folder)
                 for name in ("merged.0.jsonl.zst", "runs.db")]
        for name in names:
            with open(name, "w", encoding="utf-8"):
                os.utime(name, (old, old))
        with open(os.path.join(self.store, ".removed.part.jsonl"), "w", encoding="utf-8") as file:
            file.write(signed(records(self.store)[0]))
        self.assertEqual(self.campaign("merge", "--remove-parts").returncode, 0)
        self.assertEqual(self.campaign("export", "--csv", os.path.join(self.folder, "runs.csv")).returncode, 0)
        left = [name for folder in (self.store, self.folder) for name in os.listdir(folder) if name.startswith(".")]
        self.assertEqual(left, [])

    def test_recordings_are_copied_limited_and_mended(self):
        shared, local = os.path.join(self.folder, "shared"), os.path.join(self.folder, "local")
        caches = ["--cache", shared, "--local-cache", local]
        self.assertEqual(self.campaign("run", *caches, "--shard", "0/3").returncode, 0)
        self.assertEqual(sorted(os.listdir(local)), sorted(os.listdir(shared)), "each is copied, nothing half-made is left")
        for folder in (shared, local):
            for name in os.listdir(folder):  # what is damaged is executed anew, not simulated and not a failure
                with open(os.path.join(folder, name), "r+b") as file:
                    file.seek(os.path.getsize(file.name) // 2)
                    file.write(b"\0" * 64)
        damaged = self.campaign("run", *caches, "--shard", "1/3")
        self.assertEqual(damaged.returncode, 0, damaged.stdout + damaged.stderr)
        for folder in (shared, local):  # nor is a recording of another seed used, whose size may be the same
            for one, other in itertools.combinations(sorted(os.listdir(folder)), 2):
                if one.rsplit("-", 1)[0] == other.rsplit("-", 1)[0]:
                    exchange_bodies(os.path.join(folder, one), os.path.join(folder, other))
        exchanged = self.campaign("run", *caches)
        self.assertEqual(exchanged.returncode, 0, exchanged.stdout + exchanged.stderr)
        digests = {record["key"]: record["digest"] for record in records(self.store)}
        healthy = os.path.join(self.folder, "healthy")
        subprocess.run([BINARY, "campaign", "run", self.file, "--store", healthy, "-q"], check=True, timeout=300)
        self.assertEqual({record["key"]: record["digest"] for record in records(healthy)}, digests)
        old = time.time() - 7200
        for name in os.listdir(shared):
            os.utime(os.path.join(shared, name), (old, old))
        self.write(SWEEP.replace("seeds = [1, 2]", "seeds = [3]"))
        self.assertEqual(self.campaign("run", "--cache", shared, "--cache-limit", "0.000001").returncode, 0)
        self.assertEqual(len(os.listdir(shared)), 2, "old ones went, those of the last hour stay")

    def test_mistakes(self):
        for arguments, words in ((["--shard", "4/4"], "is not a shard"), (["--shard", "1"], "is not a shard")):
            answer = self.campaign("run", *arguments)
            self.assertEqual(answer.returncode, 2)
            self.assertIn(words, answer.stderr)
        for what, words in (("none.toml", "no such file"), ("icd", "did you mean 'icc'"), (self.folder + "/", "is neither a store with a plan nor a study")):
            answer = self.campaign("plan", what=what)
            self.assertEqual(answer.returncode, 2)
            self.assertIn(words, answer.stderr)
        answer = subprocess.run([BINARY, "campaign", "status", "--store", self.store], capture_output=True, text=True, timeout=300)
        self.assertEqual(answer.returncode, 2)
        self.assertIn("has no plan", answer.stderr)


if __name__ == "__main__":
    unittest.main()
