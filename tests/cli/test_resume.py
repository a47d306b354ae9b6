#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sampled runs that are killed at any moment continue, and end with the result of a run that was left alone. Usage: test_resume.py PATH_TO_MERGELANE"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.path.abspath(sys.argv.pop(1))
KILLS = int(os.environ.get("MERGELANE_KILLS", "8"))
# An L2 of 1 KiB per slice: launches that are walked before a chosen one begin behind the one chosen before, so that there are segments.
SMALL_L2 = ("--set", "l2.size_kib=1", "--set", "l2.ways=4")
RUN = ("run", "--gpu", "icc60", *SMALL_L2, "--workload", "hotspot", "--size", "tiny", "--repeat", "16", "--sample", "--segment", "3000", "-q")


class Resume(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.kept = pathlib.Path(self.folder.name) / "kept"
        self.json = pathlib.Path(self.folder.name) / "result.json"
        self.environment = {**os.environ, "MERGELANE_CACHE": os.path.join(self.folder.name, "cache")}

    def start(self, *options, kept=None):
        command = [BINARY, *RUN, "--json", str(self.json), "--resume", str(kept or self.kept), *options]
        return subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)

    def finish(self, *options, kept=None):
        process = self.start(*options, kept=kept)
        _, error = process.communicate(timeout=120)
        return process.returncode, error

    def result(self):
        result = json.loads(self.json.read_text(encoding="utf-8"))
        for name in ("cpu_seconds", "wall_seconds"):
            result.pop(name)
        for name in ("signature_seconds", "simulation_seconds", "warming_seconds"):
            result["sample"].pop(name)
        return result

    def parts(self):
        return sorted(path.name for path in self.kept.glob("pass-*"))

    def test_killed_at_any_moment_the_result_is_the_same(self):
        begin = time.monotonic()
        self.assertEqual(self.finish(), (0, ""))
        whole = time.monotonic() - begin
        expected, parts = self.result(), self.parts()
        self.assertGreater(len(parts), 2, "several segments")
        self.json.unlink()
        draw = random.Random(1)
        killed = runs = continued = 0
        while killed < KILLS:
            self.kept = pathlib.Path(self.folder.name) / f"kept-{runs}"
            while True:
                continued += bool(self.parts())
                process = self.start()
                try:
                    _, error = process.communicate(timeout=draw.uniform(0, 1.2 * whole))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    process.communicate()
                    killed += 1
                    continue
                self.assertEqual((process.returncode, error), (0, ""))
                break
            self.assertEqual(self.result(), expected)
            self.assertEqual(self.parts(), parts)
            self.json.unlink()
            runs += 1
        print(f"{killed} kills in {runs} runs; {continued} starts continued with finished segments")

    def test_what_is_finished_is_not_done_again(self):
        self.assertEqual(self.finish(), (0, ""))
        expected = self.result()
        times = {path.name: path.stat().st_mtime_ns for path in self.kept.iterdir()}
        last = self.parts()[-1]
        (self.kept / last).unlink()
        self.assertEqual(self.finish(), (0, ""))
        self.assertEqual(self.result(), expected)
        changed = [path.name for path in self.kept.iterdir() if times[path.name] != path.stat().st_mtime_ns]
        self.assertEqual(changed, [last])

    def test_another_run_is_refused_by_what_differs(self):
        self.assertEqual(self.finish()[0], 0)
        for options, words in ((["--set", "l2.mshr_merges=61"], ("l2.mshr_merges is", "here it is 61")), (["--error", "5%"], ("--error is 0.02", "here it is 0.05")),
                               (["--seed", "2"], ("the workload is",)), (["--no-warming"], ("warming is on",)), (["--waves", "40"], ("--waves is 0", "here it is 40"))):
            code, error = self.finish(*options)
            self.assertEqual(code, 2, (options, error))
            for word in (*words, "name another folder"):
                self.assertIn(word, error)

    def test_damage_and_other_folders_are_noticed(self):
        self.assertEqual(self.finish()[0], 0)
        for name in ("signatures", self.parts()[0]):
            file = self.kept / name
            whole = file.read_bytes()
            for damaged in (whole[:-1], whole[:len(whole) // 2], b"", whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]):
                file.write_bytes(damaged)
                code, error = self.finish()
                self.assertEqual(code, 2)
                self.assertIn(f"{name}' is damaged", error)
            file.write_bytes(whole)
        other = pathlib.Path(self.folder.name) / "other"
        other.mkdir()
        (other / "notes.txt").write_text("mine", encoding="utf-8")
        code, error = self.finish(kept=other)
        self.assertEqual(code, 2)
        self.assertIn("name a new folder", error)
        done = subprocess.run([BINARY, "run", "--gpu", "icc60", "--synthetic", "stream", "--resume", str(other)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--sample", done.stderr)


if __name__ == "__main__":
    unittest.main()
