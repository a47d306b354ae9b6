# SPDX-License-Identifier: MIT
"""Sweeps: a row for each run, nothing twice, and Ctrl-C ends all children."""

import contextlib
import doctest
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mergelane
import mergelane._sweep

COMMAND = os.environ["MERGELANE"]
GRID = {"gpu": ["icc60", "v100"], "workload": ["hotspot", "bfs"], "size": "tiny", "l1.size_kib": [16, 32]}
COLUMNS = ["cycles", "digest"]


def load_tests(loader, tests, ignored):
    tests.addTests(doctest.DocTestSuite(mergelane._sweep, optionflags=doctest.NORMALIZE_WHITESPACE))
    return tests


def setUpModule():
    global CACHE
    CACHE = tempfile.TemporaryDirectory()
    os.environ["MERGELANE_CACHE"] = CACHE.name


def tearDownModule():
    CACHE.cleanup()


def children_of(process):
    answer = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True).stdout.split()
    return [int(pid) for pid in answer] + [pid for child in answer for pid in children_of(int(child))]


class Sweeps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.store = pathlib.Path(folder.name, "store")

    def test_a_row_for_each_combination_as_run_alone(self):
        frame = mergelane.sweep(GRID, store=self.store, columns=COLUMNS, progress=False)
        self.assertEqual(len(frame), 8)
        self.assertEqual(frame.columns.tolist(), ["gpu", "workload", "size", "l1.size_kib", *COLUMNS][:4] + [c for c in frame.columns if c in COLUMNS])
        for _, row in frame.iloc[::3].iterrows():
            alone = mergelane.run(row["gpu"], row["workload"], size="tiny", set={"l1.size_kib": row["l1.size_kib"]})
            self.assertEqual((row["cycles"], row["digest"]), (alone.cycles, alone.digest))

    def test_a_second_call_runs_only_what_is_missing(self):
        mergelane.sweep(GRID, store=self.store, progress=False)
        lines = lambda: sum(path.read_text().count("\n") for path in self.store.glob("*.jsonl"))
        self.assertEqual(lines(), 8)
        larger = {**GRID, "l1.size_kib": [16, 32, 64]}
        frame = mergelane.sweep(larger, store=self.store, progress=False)
        self.assertEqual((len(frame), lines()), (12, 12))
        self.assertEqual(len(mergelane.sweep(GRID, store=self.store, progress=False)), 8)  # not what else is in the store
        self.assertEqual(lines(), 12)

    def test_machines_and_workloads_of_all_kinds(self):
        machine = mergelane.Machine("icc60", {"cluster.icc.enabled": True})
        trace = self.store.parent / "mine.mlt"
        subprocess.run([COMMAND, "trace", "record", "-q", "--synthetic", "tiled", "--param", "ctas=8", "-o", trace], check=True)
        grid = {"gpu": ["icc60", machine], "workload": ["synthetic:tiled ctas=8", trace, "atax"], "size": "tiny", "seed": [1, 2], "kernels": 1}
        frame = mergelane.sweep(grid, store=self.store, columns=COLUMNS, progress=False)
        self.assertEqual(len(frame), 12)
        own = frame[frame["gpu"] == "icc60: cluster.icc.enabled = True"]
        self.assertEqual(len(own), 6)
        self.assertEqual(own["digest"].iloc[0], mergelane.run(machine, "synthetic:tiled ctas=8").digest)
        self.assertEqual(own["digest"].iloc[0], own["digest"].iloc[2])
        self.assertEqual(own["digest"].iloc[5], mergelane.run(machine, "atax", size="tiny", seed=2, kernels=1).digest)

    def test_a_list_of_runs(self):
        runs = [{"gpu": "icc60", "workload": "hotspot", "size": "tiny"}, {"gpu": "v100", "workload": "bfs", "size": "tiny", "l1.ways": 8}]
        frame = mergelane.sweep(runs, progress=False)
        self.assertEqual(frame["workload"].tolist(), ["hotspot", "bfs"])
        self.assertTrue(frame["l1.ways"].isna()[0])

    def test_columns(self):
        grid = {"gpu": "icc60", "workload": "hotspot", "size": "tiny", "l1.size_kib": [16, 32]}
        whole = mergelane.sweep(grid, store=self.store, progress=False)
        for columns, found in (("l2.reads", ["l2.reads"]), (["l2.reads", "key"], ["key", "l2.reads"]), ([], []),
                               (["gpu", "l1.size_kib", "icc.merged", "l2.reads"], ["l2.reads"])):  # this machine has no merge table
            frame = mergelane.sweep(grid, store=self.store, columns=columns, progress=False)
            self.assertEqual(sorted(frame.columns), sorted([*grid, *found]))
            self.assertTrue(frame.equals(whole[frame.columns]))
        self.assertEqual(mergelane.sweep(grid, store=self.store, columns="l2.reads", progress=False).attrs["units"], {"l2.reads": "requests"})
        with self.assertRaisesRegex(mergelane.InputError, "must be names"):
            mergelane.sweep(grid, store=self.store, columns=[3])

    def test_equal_runs_are_done_once_and_shown_for_each(self):
        frame = mergelane.sweep({"gpu": "icc60", "workload": "hotspot", "size": "tiny", "l1.size_kib": [16, 16], "dcl1.nodes": [40, 80]},
                                store=self.store, progress=False)
        self.assertEqual((len(frame), frame["digest"].nunique()), (4, 1))

    def test_more_combinations_than_a_campaign_file_has(self):
        blocks = mergelane._sweep._merged([(("a",), (f"variant {n}",), ("w",), ("s",), ("1",)) for n in range(600)])
        self.assertEqual([len(block[1]) for block in blocks], [256, 256, 88])

    def test_failed_runs_are_left_out(self):
        runs = [{"gpu": "icc60", "workload": "hotspot", "size": "tiny"}, {"gpu": "icc60", "workload": "gemm_wgmma", "size": "tiny"}]
        for kept in ({}, {"store": pathlib.Path(self.store, "alone")}):  # the reason is there even if nothing is kept
            with self.assertRaisesRegex(mergelane.SimulationError, "1 of 1 runs failed; the first: gemm_wgmma on icc60: kernel .*shared memory"):
                mergelane.sweep(runs[1:], progress=False, **kept)
        with self.assertWarnsRegex(RuntimeWarning, "1 of 2 runs failed; the first: gemm_wgmma on icc60: "):
            self.assertEqual(len(mergelane.sweep(runs, store=self.store, progress=False)), 1)
        with self.assertRaisesRegex(mergelane.SimulationError, "1 of 1 runs failed"):
            mergelane.sweep(runs[1:], store=self.store, progress=False)

    def test_time_follows_the_clock(self):
        runs = mergelane.sweep({"gpu": "icc60", "workload": "hotspot", "size": "tiny", "gpu.core_mhz": [700, 1400]}, progress=False)
        for mhz, cycles, time in zip(runs["gpu.core_mhz"], runs["cycles"], runs["microseconds"]):
            self.assertAlmostEqual(time, cycles / mhz)
        self.assertEqual(runs.attrs["units"]["microseconds"], "us")
        only = mergelane.sweep({**GRID, "gpu": "icc60"}, columns=["microseconds"], progress=False)
        self.assertEqual(list(only), ["gpu", "workload", "size", "l1.size_kib", "microseconds"])

    def test_unknown_columns_are_refused_before_any_run(self):
        with self.assertRaisesRegex(mergelane.InputError, "did you mean 'cycles'"):
            mergelane.sweep(GRID, columns=["cycels"], store=self.store)
        self.assertFalse(pathlib.Path(self.store).exists() and list(pathlib.Path(self.store).glob("*.jsonl")))

    def test_kernels_have_different_names(self):
        first, second = (mergelane.kernel(numpy.arange(256).reshape(2, 4, 32) * step) for step in (4, 128))
        with self.assertRaisesRegex(mergelane.InputError, "two workloads are named 'kernel'"):
            mergelane.sweep({"gpu": "icc60", "workload": [first, second]}, progress=False)
        named = mergelane.kernel(numpy.arange(256).reshape(2, 4, 32) * 128, name="every line")
        runs = mergelane.sweep({"gpu": "icc60", "workload": [first, named]}, store=self.store, progress=False)
        self.assertEqual(list(runs["workload"]), ["kernel", "every line"])
        self.assertTrue(any("every_line-" in name for name in mergelane.load(self.store)["workload"]))

    def test_progress(self):
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            mergelane.sweep({**GRID, "seed": [1, 2, 3]}, jobs=1)
        self.assertIn("of 24 runs", shown.getvalue())
        self.assertTrue(shown.getvalue().endswith("\r"))

    def test_errors_come_before_any_run(self):
        for wrong, said in (({"gpu": "icc60"}, "no 'workload'"), ({**GRID, "gpu": "icc6"}, "did you mean 'icc60'"),
                            ({**GRID, "workload": "bsf"}, "did you mean 'bfs'"), ({**GRID, "l1.size": 3}, "unknown key"),
                            ({**GRID, "size": "small"}, "unknown size"), ({**GRID, "gpu": []}, "has no values"), ([], "is empty"),
                            ({**GRID, "workload": "none.mlt"}, "none.mlt"), ({**GRID, "l1.ways": range(1, 10**6)}, "at most"),
                            ({**GRID, "workload": "synthetic:strem"}, "did you mean 'stream'")):
            with self.subTest(said=said), self.assertRaisesRegex(mergelane.InputError, said):
                mergelane.sweep(wrong, store=self.store)
        for wrong in (3, "icc60", [3], {**GRID, "size": 3}, {**GRID, "l1.ways": None}):
            with self.subTest(wrong=wrong), self.assertRaises(TypeError):
                mergelane.sweep(wrong, store=self.store)
        self.assertFalse(list(self.store.glob("*.jsonl")))

    def test_ctrl_c_ends_all_children(self):
        code = ("import mergelane\n"
                f"mergelane.sweep({{'gpu': 'icc60', 'workload': 'synthetic:spin', 'seed': [1, 2]}}, jobs=2, store={str(self.store)!r})")
        # A trace of a kernel that never ends cannot be recorded: one that takes long is used.
        code = code.replace("synthetic:spin", "synthetic:stream ctas=4000 iterations=200").replace("'seed': [1, 2]", "'l1.ways': [2, 4]")
        process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
        for _ in range(300):
            if len(children_of(process.pid)) >= 3:
                break
            time.sleep(0.1)
        children = children_of(process.pid)
        self.assertGreaterEqual(len(children), 3)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        self.assertIn("KeyboardInterrupt", process.communicate(timeout=20)[1])
        self.assertLess(time.monotonic() - started, 6)
        time.sleep(0.2)
        for child in children:
            self.assertFalse(os.path.exists(f"/proc/{child}"), child)

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(st.one_of(st.sampled_from(["gpu", "workload", "size", "seed", "kernels", "l1.ways"]), st.text(max_size=8)),
                           st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.integers(), max_size=3), st.just(object())),
                           max_size=4))
    def test_any_grid_is_refused_with_an_exception(self, grid):
        with self.assertRaises((ValueError, TypeError)):
            mergelane.sweep(grid, progress=False)

    def test_another_version_of_the_command_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as other:
            other.write("#!/bin/sh\necho mergelane 9.9.9, model 7\n")
        self.addCleanup(os.unlink, other.name)
        os.chmod(other.name, 0o755)
        code = f"import mergelane\nmergelane.sweep({GRID!r})"
        ended = subprocess.run([sys.executable, "-c", code], env={**os.environ, "MERGELANE_COMMAND": other.name}, capture_output=True, text=True)
        self.assertIn("set MERGELANE_COMMAND", ended.stderr)


if __name__ == "__main__":
    unittest.main()
