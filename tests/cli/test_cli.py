#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What scripts and people rely on in the mergelane command. Usage: test_cli.py PATH_TO_MERGELANE [unittest arguments]"""
import csv
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.path.abspath(sys.argv.pop(1))
TRACE_LIST = "no/such/kernelslist.g"
SMALL = ["--param", "ctas=60", "--param", "iterations=2"]


CACHE = tempfile.TemporaryDirectory()
os.environ["MERGELANE_CACHE"] = CACHE.name  # not the user's


def mergelane(*arguments, **options):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=120, **options)


class Results(unittest.TestCase):
    def test_json_has_the_promised_fields(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = mergelane("run", "--gpu", "icc60", "--synthetic", "tiled", *SMALL, "--threads", "2", "--json", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path) as file:
                result = json.load(file)
        for key in ("version", "config_hash", "digest", "cycles", "warp_instructions", "cpu_seconds", "kernels", "stats"):
            self.assertIn(key, result)
        for stat in ("l1.sector_accesses", "l1.sector_misses", "l2.sector_accesses", "dram.sector_reads"):
            self.assertIsInstance(result["stats"][stat], int)
            self.assertIn(stat, result["kernels"][0]["stats"])
            self.assertEqual(result["units"][stat], "sectors")
        self.assertTrue(result["complete"])
        self.assertEqual(result["stats"]["sm.warp_instructions"], result["warp_instructions"])
        self.assertEqual(result["config"]["l1.size_kib"], 48)
        self.assertEqual(result["workload"], "synthetic:tiled ctas=60 iterations=2")

    def test_kernels_add_up_to_the_total(self):
        done = mergelane("run", "--gpu", "gtx480", "--synthetic", "store", *SMALL, "--param", "kernels=3", "--json", "-")
        result = json.loads(done.stdout)
        self.assertEqual(len(result["kernels"]), 3)
        for stat, total in result["stats"].items():
            parts = sum(kernel["stats"][stat] for kernel in result["kernels"])
            # What is still on its way to memory when the last kernel ends belongs to the total only.
            (self.assertLessEqual if stat.startswith("dram.") else self.assertEqual)(parts, total, stat)

    def test_csv_loads_and_agrees_with_json(self):
        arguments = ["run", "--gpu", "icc60", "--synthetic", "stream", *SMALL]
        rows = list(csv.DictReader(io.StringIO(mergelane(*arguments, "--csv", "-").stdout)))
        stats = json.loads(mergelane(*arguments, "--json", "-").stdout)["stats"]
        totals = {row["stat"]: int(row["value"]) for row in rows if row["kernel"] == "total"}
        totals.pop("cycles")
        self.assertEqual(totals, stats)

    def test_reruns_are_identical(self):
        arguments = ["run", "--gpu", "v100", "--synthetic", "divergent", "--param", "ctas=40", "--param", "iterations=1", "--json", "-"]
        first, second = (json.loads(mergelane(*arguments).stdout) for _ in range(2))
        self.assertEqual(first["digest"], second["digest"])
        self.assertEqual(first["stats"], second["stats"])

    def test_cluster_mechanisms_appear_when_on(self):
        run = ["run", "--gpu", "icc60", "--synthetic", "tiled", *SMALL]
        switches = []
        for part in ("icc", "cc", "locality"):
            switches += ["--set", f"cluster.{part}.enabled=true"]
        off = json.loads(mergelane(*run, "--json", "-").stdout)
        self.assertFalse([stat for stat in off["stats"] if stat.startswith(("icc.", "cc.", "locality."))])
        results = [json.loads(mergelane(*run, *switches, "--threads", threads, "--json", "-").stdout) for threads in ("1", "2")]
        self.assertEqual(results[0]["digest"], results[1]["digest"])
        stats = results[0]["stats"]
        self.assertGreater(stats["icc.merged"], 0)
        self.assertLess(stats["l2.reads"], off["stats"]["l2.reads"])
        self.assertLessEqual(stats["locality.data_sharing_500"], stats["locality.data_sharing_2000"])
        for stat in ("icc.merged", "cc.hits", "icc.entry_cycles", "locality.line_sharing_1000"):
            self.assertTrue(results[0]["units"][stat])
            self.assertTrue(results[0]["meanings"][stat])
        text = mergelane(*run, *switches).stdout
        for word in ("Clusters", "L1 read misses merged", "merge table occupancy", "coalesced cache hit rate", "locality, 2000 cycles"):
            self.assertIn(word, text)

    def test_summary_shows_every_level(self):
        text = mergelane("run", "--gpu", "icc60", "--synthetic", "tiled", *SMALL).stdout
        for word in ("IPC", "L1 load hit rate", "L2 hit rate", "DRAM row hit rate", "Mean latency", "Bandwidth", "Scheduler cycles", "digest"):
            self.assertIn(word, text)


class RealKernels(unittest.TestCase):
    def test_a_kernel_runs_from_its_manifest(self):
        manifest = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx", "saxpy.toml")
        runs = [mergelane("run", "--gpu", "icc60", manifest, "--threads", threads, "--json", "-") for threads in ("1", "2")]
        self.assertEqual(runs[0].returncode, 0, runs[0].stderr)
        first, second = (json.loads(done.stdout) for done in runs)
        self.assertEqual(first["workload"], "saxpy")
        self.assertEqual([k["name"] for k in first["kernels"]], ["saxpy", "saxpy"])
        self.assertEqual(first["stats"], second["stats"])

    def test_a_benchmark_program_is_executed_once(self):
        with tempfile.TemporaryDirectory() as cache:
            run = ["run", "--workload", "hotspot", "--size", "tiny", "--json", "-"]
            results = []
            for extra in (["--no-cache"], ["--cache", cache], ["--cache", cache]):
                done = mergelane(*run, "--gpu", "icc60", *extra)
                self.assertEqual(done.returncode, 0, done.stderr)
                results.append(json.loads(done.stdout))
                files = os.listdir(cache)
                self.assertEqual(len(files), 0 if extra == ["--no-cache"] else 1, files)
            self.assertEqual(len({result["digest"] for result in results}), 1)
            self.assertEqual(results[0]["workload"], "suite:hotspot size=tiny")
            mergelane(*run, "--gpu", "gtx480", "--cache", cache)
            self.assertEqual(os.listdir(cache), files)
            with open(os.path.join(cache, files[0]), "r+b") as file:
                file.seek(100)
                file.write(b"damage")
            done = mergelane(*run, "--gpu", "icc60", "--cache", cache)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--no-cache", done.stderr)

    def test_some_kernels_of_a_benchmark_program(self):
        done = mergelane("run", "--gpu", "icc60", "--workload", "corr", "--size", "tiny", "--kernels", "2-3", "--json", "-")
        self.assertEqual([k["name"] for k in json.loads(done.stdout)["kernels"]], ["corr_deviation", "corr_scale"])


class Stopping(unittest.TestCase):
    def test_an_unwritable_file_is_noticed_before_the_run(self):
        done = mergelane("run", "--gpu", "icc60", "--synthetic", "spin", "--watchdog", "0", "--json", "/no/such/folder/x.json")
        self.assertEqual(done.returncode, 2)

    def test_max_cycles_leaves_a_partial_result(self):
        done = mergelane("run", "--gpu", "icc60", "--synthetic", "stream", "--max-cycles", "5000", "--json", "-")
        result = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0)
        self.assertFalse(result["complete"])
        self.assertEqual(result["stopped_because"], "cycle limit")
        self.assertEqual(result["cycles"], 5000)

    def test_interrupt_leaves_a_partial_result(self):
        process = subprocess.Popen([BINARY, "run", "--gpu", "icc60", "--synthetic", "spin", "--watchdog", "0", "--json", "-"], stdout=subprocess.PIPE, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(out)["stopped_because"], "interrupted")

    def test_livelock_is_reported(self):
        done = mergelane("run", "--gpu", "icc60", "--synthetic", "spin", "--watchdog", "20000")
        self.assertEqual(done.returncode, 3)
        self.assertIn("livelock", done.stderr)
        self.assertIn("--watchdog", done.stderr)


class Mistakes(unittest.TestCase):
    def assert_wrong_input(self, arguments, *words):
        done = mergelane(*arguments)
        self.assertEqual(done.returncode, 2, (arguments, done))
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertLess(len(done.stderr), 2000)

    def test_each_mistake_is_answered(self):
        run = ["run", "--gpu", "icc60"]
        self.assert_wrong_input(["run", "--gpu", "icc61", "--synthetic", "stream"], "icc60")
        self.assert_wrong_input([*run, "--synthetic", "sream"], "did you mean 'stream'")
        self.assert_wrong_input([*run], "--synthetic")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--param", "cta=3"], "ctas")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--param", "ctas=0"], "ctas", "1")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--param", "ctas=ten"], "ctas")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--set", "l1.sizekib=3"], "l1.size_kib")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--set", "l1.size_kib"], "l1.size_kib")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--threads", "0"], "threads")
        self.assert_wrong_input([*run, "--synthetic", "shared", "--param", "shared_bytes=1000000"], "shared memory")
        self.assert_wrong_input([*run, "--synthetic", "stream", *SMALL, "--json", "/no/such/folder/x.json"], "cannot write")
        self.assert_wrong_input(["rnu"], "did you mean 'run'")
        self.assert_wrong_input(["list", "gpu"], "did you mean 'gpus'")
        self.assert_wrong_input([*run, "--workload", "hotspt"], "did you mean 'hotspot'")
        self.assert_wrong_input([*run, "--workload", "hotspot", "--size", "huge"], "tiny, paper, large")
        self.assert_wrong_input([*run, "--workload", "hotspot", "--synthetic", "stream"], "give one")
        self.assert_wrong_input([*run, "kernel.toml", "--synthetic", "stream"], "kernel.toml", "give one")
        self.assert_wrong_input([*run, TRACE_LIST, "--workload", "hotspot"], "kernelslist.g", "give one")
        self.assert_wrong_input([*run, "no_such.toml"], "no_such.toml")
        self.assert_wrong_input([*run, TRACE_LIST], "kernelslist.g")
        self.assert_wrong_input([*run, "hotspot"], "--workload")
        self.assert_wrong_input([*run, "kernel.toml", "--param", "ctas=3"], "--param belongs to --synthetic")
        self.assert_wrong_input([*run, "kernel.toml", "--kernels", "1"], "--kernels")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--kernels", "1"], "--kernels")
        self.assert_wrong_input([*run, "--workload", "hotspot", "--kernels", "two"], "two")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--no-cache"], "--workload")
        self.assert_wrong_input([*run, "--workload", "hotspot", "--param", "ctas=3"], "--size")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--size", "tiny"], "--workload")
        self.assert_wrong_input(["list", "workloads", "--size", "huge"], "tiny, paper, large")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--max-cycles", "-5"], "max-cycles")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--json", "-", "--csv", "-"], "one of them")
        self.assert_wrong_input([])

    def test_lists_the_suite_with_its_launches(self):
        text = mergelane("list", "workloads", "--size", "tiny").stdout
        self.assertIn("hotspot", text)
        self.assertRegex(text, r"lud_internal +6 times +6x6 to 1 CTAs of 16x16")
        self.assertIn("size tiny", text)

    def test_every_command_explains_itself(self):
        for command in (["run"], ["bench"], ["describe"], ["config", "show"], ["config", "diff"], ["config", "check"], ["list", "gpus"], ["list", "synthetic"],
                        ["list", "workloads"]):
            done = mergelane(*command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Example", done.stdout, command)
            self.assertIn("mergelane " + " ".join(command), done.stdout, command)
        self.assertIn("mergelane run", mergelane("--help").stdout)


if __name__ == "__main__":
    unittest.main()
