# SPDX-License-Identifier: MIT
"""Runs from Python: the same as those of the command, safe in threads, and stopped by Ctrl-C."""

import concurrent.futures
import doctest
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy
import pandas
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mergelane
import mergelane._running

COMMAND = os.environ["MERGELANE"]
LONG = bool(os.environ.get("MERGELANE_LONG"))
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "golden.py"
SMALL = "synthetic:stream ctas=4 iterations=1"
SPIN = "synthetic:spin"  # never ends
TIMES = ("cpu_seconds", "wall_seconds")


def load_tests(loader, tests, ignored):
    tests.addTests(doctest.DocTestSuite(mergelane._running, optionflags=doctest.NORMALIZE_WHITESPACE))
    return tests


def setUpModule():
    global CACHE
    CACHE = tempfile.TemporaryDirectory()
    os.environ["MERGELANE_CACHE"] = CACHE.name


def tearDownModule():
    CACHE.cleanup()


def golden():
    spec = importlib.util.spec_from_file_location("golden", GOLDEN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command_json(*words):
    return json.loads(subprocess.run([COMMAND, "run", "--quiet", "--json", "-", *words], check=True, capture_output=True).stdout)


def untimed(result):
    return {name: value for name, value in result.items() if name not in TIMES}


class SameAsTheCommand(unittest.TestCase):
    def test_the_json_of_a_run_is_that_of_the_command(self):
        cases = [
            (("icc60", "hotspot", {"size": "tiny", "set": {"cluster.icc.enabled": True}}),
             ["--gpu", "icc60", "--workload", "hotspot", "--size", "tiny", "--set", "cluster.icc.enabled=true"]),
            (("v100", "synthetic:tiled", {"params": {"ctas": 96, "iterations": 3}, "interval": 1000, "by_instruction": True}),
             ["--gpu", "v100", "--synthetic", "tiled", "--param", "ctas=96", "--param", "iterations=3", "--interval", "1000", "--by-instruction"]),
            (("gtx480", "atax", {"size": "tiny", "seed": 7, "kernels": 1, "energy": "gpuwattch_gtx480_40nm", "max_cycles": 5000}),
             ["--gpu", "gtx480", "--workload", "atax", "--size", "tiny", "--seed", "7", "--kernels", "1", "--energy", "gpuwattch_gtx480_40nm",
              "--max-cycles", "5000"]),
        ]
        for (gpu, workload, options), words in cases:
            with self.subTest(gpu=gpu, workload=workload):
                self.assertEqual(untimed(mergelane.run(gpu, workload, **options).json), untimed(command_json(*words)))

    def test_mechanisms_are_as_recorded(self):
        table = golden()
        head, recorded = table.read_file(table.MECHANISMS_FILE)
        runs = []  # each variant with one workload, not always the same
        for gpu, variants in table.MECHANISMS.items():
            for variant in variants:
                known = [run for run in table.mechanism_runs() if run[0] == gpu and run[2] == variant]
                runs.append(known[len(runs) % len(known)])
        self.assertGreaterEqual(len(runs), 40)
        for gpu, workload, variant in runs if LONG else runs[::5]:
            with self.subTest(gpu=gpu, workload=workload, variant=variant):
                what = {"params": dict(word.split("=") for word in table.SYNTHETIC[1::2])} if workload.startswith("synthetic") else {"size": "tiny"}
                result = mergelane.run(gpu, workload, set=table.MECHANISMS[gpu][variant], **what)
                self.assertEqual(table.line_of((gpu, workload, variant), result.json, head["counters"]), recorded[gpu, workload, variant])
                words = ["--gpu", gpu] + [word for setting in table.MECHANISMS[gpu][variant] for word in ("--set", setting)]
                words += ["--synthetic", workload.split(":")[1], *table.SYNTHETIC] if ":" in workload else ["--workload", workload, "--size", "tiny"]
                self.assertEqual(result.digest, command_json(*words)["digest"])

    def test_the_summary_is_the_text_of_the_command(self):
        text = subprocess.run([COMMAND, "run", "--gpu", "icc60", "--synthetic", "stream", "--param", "ctas=4", "--param", "iterations=1"],
                              check=True, capture_output=True, text=True).stdout
        without_times = lambda summary: re.sub(r"Simulated in .*", "", summary)
        self.assertEqual(without_times(mergelane.run("icc60", SMALL).summary), without_times(text))

    def test_threads_do_not_change_the_result(self):
        digests = {mergelane.run("icc60", "synthetic:tiled ctas=48", threads=threads).digest for threads in (1, 2, 4)}
        self.assertEqual(len(digests), 1)


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = mergelane.run("icc60", "atax", size="tiny", interval=1000, by_instruction=True, energy=True)

    def test_it_is_a_mapping(self):
        result = self.result
        self.assertEqual(result["l2.sector_accesses"], dict(result)["l2.sector_accesses"])
        self.assertIn("l2.sector_accesses", result)
        self.assertNotIn("l2.sectr_accesses", result)
        self.assertIsNone(result.get("nothing"))
        with self.assertRaisesRegex(mergelane.InputError, "did you mean 'l2.sector_accesses'"):
            result["l2.sectr_accesses"]
        with self.assertRaises(KeyError):
            result["nothing"]

    def test_series_and_frames_agree(self):
        result = self.result
        series = result.series
        self.assertEqual(series.to_dict(), result.stats)
        self.assertEqual(series.attrs["units"]["l1.sector_accesses"], "sectors")
        self.assertIn("l1.sector_accesses", series.attrs["meanings"])
        names = list(result)
        for frame in (result.kernels, result.intervals):
            left = series - frame[names].sum()
            self.assertTrue((left >= 0).all())
        self.assertTrue((result.intervals[names].sum() == series).all())
        self.assertEqual(len(result.kernels), 2)
        self.assertEqual(result.kernels["cycles"].sum(), result.kernel_cycles)
        self.assertTrue((result.highest <= series).all())
        self.assertEqual(result.by_instruction["executions"].sum(), result.warp_instructions)
        self.assertEqual(result.by_instruction.attrs["units"]["latency"], "core cycles")
        self.assertIn("summed over loads", result.by_instruction.attrs["meanings"]["latency"])
        self.assertEqual(sum(result.per_unit["sm.warp_instructions"]), result.warp_instructions)

    def test_accounts_add_up(self):
        accounts, loads = self.result.accounts, self.result.load_times
        self.assertAlmostEqual(accounts["share"].sum(), 1)
        self.assertEqual(accounts.loc["issued", "slots"], self.result.warp_instructions)
        self.assertAlmostEqual(loads["share"].sum(), 1)
        self.assertGreater(loads["per_load"].sum(), 10)

    def test_energy_adds_up(self):
        energy = self.result.energy
        for table, joules in energy.attrs["joules"].items():
            self.assertAlmostEqual(energy[energy["table"] == table]["fj"].sum() * 1e-15, joules)

    def test_what_was_not_asked_for_says_how_to(self):
        plain = mergelane.run("icc60", SMALL)
        for name, remedy in (("intervals", "interval=1000"), ("by_instruction", "by_instruction=True"), ("energy", "energy=True")):
            with self.assertRaisesRegex(mergelane.InputError, remedy):
                getattr(plain, name)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, start in (("json", "{"), ("html", "<!DOCTYPE html>"), ("csv", "gpu,"), ("txt", "suite:atax")):
                path = pathlib.Path(folder, f"result.{kind}")
                self.result.save(path)
                self.assertTrue(path.read_text().startswith(start), path.read_text()[:40])
            with self.assertRaisesRegex(mergelane.InputError, "unknown ending"):
                self.result.save(pathlib.Path(folder, "result.pdf"))
            with self.assertRaises(mergelane.InputError):
                self.result.save(pathlib.Path(folder, "none", "result.json"))

    def test_a_notebook_shows_the_first_screen(self):
        html = self.result._repr_html_()
        self.assertIn("of the issue slots", html)
        self.assertNotIn("<script", html)
        self.assertLess(len(html), 8000)

    def test_explanation(self):
        explanation = mergelane.run("icc60", SMALL).explain(what_if=True)
        self.assertIn(explanation.headline, str(explanation))
        self.assertEqual(explanation.findings["id"].tolist(), [finding["id"] for finding in explanation.json["findings"]])
        self.assertIn("<html", explanation.page())


class Errors(unittest.TestCase):
    def test_the_message_is_that_of_the_command(self):
        for words, options in ((["--gpu", "icc6", "--workload", "bfs"], ("icc6", "bfs", {})),
                               (["--gpu", "icc60", "--workload", "bsf"], ("icc60", "bsf", {})),
                               (["--gpu", "icc60", "--workload", "bfs", "--size", "small"], ("icc60", "bfs", {"size": "small"})),
                               (["--gpu", "icc60", "--workload", "bfs", "--set", "l1.ways=0"], ("icc60", "bfs", {"set": {"l1.ways": 0}})),
                               (["--gpu", "icc60", "--synthetic", "stream", "--param", "ctsa=1"],
                                ("icc60", "synthetic:stream", {"params": {"ctsa": 1}})),
                               (["--gpu", "icc60", "none.mlt"], ("icc60", "none.mlt", {})),
                               (["--gpu", "icc60", "--workload", "bfs", "--energy", "bottom"], ("icc60", "bfs", {"energy": "bottom"}))):
            said = subprocess.run([COMMAND, "run", *words], capture_output=True, text=True).stderr.strip()
            gpu, workload, rest = options
            with self.assertRaises(mergelane.InputError) as raised:
                mergelane.run(gpu, workload, **rest)
            self.assertEqual("error: " + str(raised.exception), said)

    def test_kernels_that_are_never_launched(self):
        for use in (lambda: mergelane.run("icc60", "hotspot", size="tiny", kernels=99),
                    lambda: mergelane.sweep({"gpu": "icc60", "workload": "hotspot", "size": "tiny", "kernels": "3-4"}, progress=False)):
            with self.assertRaisesRegex(mergelane.InputError, "hotspot launches 2 kernels at size tiny; there is no kernel (99|3)"):
                use()

    def test_a_livelock_is_no_input_error(self):
        self.assertFalse(issubclass(mergelane.SimulationError, ValueError))

    def test_types(self):
        for wrong in ({"threads": 1.5}, {"threads": True}, {"threads": "2"}, {"set": "l1.ways=4"}, {"set": {"l1.ways": None}}, {"set": [1]},
                      {"size": 3}, {"seed": None}, {"params": [1]}, {"kernels": 1.5}, {"interval": "x"}, {"energy": 3}):
            with self.subTest(wrong=wrong), self.assertRaises(TypeError):
                mergelane.run("icc60", "bfs", **wrong)
        for wrong in ({"threads": 0}, {"threads": 10**9}, {"seed": -1}, {"interval": 0}, {"max_cycles": 1 << 60}, {"kernels": 0},
                      {"kernels": range(4, 1)}, {"seed": 10**10000}, {"set": {"l1.ways": 10**5000}}, {"set": {"l1.ways": float("nan")}}):
            with self.assertRaises(mergelane.InputError):
                mergelane.run("icc60", "bfs", **wrong)


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from([10**400, -1, 2**63, 2**64]), st.floats(), st.text(max_size=20),
              st.binary(max_size=20), st.just(object()), st.just(numpy.nan), st.just(numpy.arange(3)), st.just(numpy.zeros((0, 2))),
              st.just(pandas.NA), st.just(pandas.DataFrame()), st.complex_numbers(), st.dates(), st.just(numpy.float32(2)), st.just(print)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3), st.tuples(inner)), max_leaves=5)
KEYS = st.sampled_from(list(mergelane.Machine("icc60")))
PARAMS = st.dictionaries(st.sampled_from(["warps", "iterations", "stride", "footprint_kib", "kernels", "reuse"]), ANYTHING, max_size=2)
# Any value of any argument, and likely values of some.
ARGUMENTS = st.one_of(
    *(st.fixed_dictionaries({name: ANYTHING}) for name in ("set", "size", "seed", "params", "kernels", "interval", "max_cycles", "energy")),
    st.fixed_dictionaries({"set": st.dictionaries(KEYS, ANYTHING, max_size=2)}), st.fixed_dictionaries({"params": PARAMS}),
    st.fixed_dictionaries({"threads": st.one_of(st.integers(-5, 6), st.floats(), st.text(max_size=3))}))


class AnyArgument(unittest.TestCase):
    """Every argument is taken, or refused with an exception."""

    @settings(max_examples=2000 if LONG else 150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(ARGUMENTS)
    def test_keyword(self, arguments):
        try:
            result = mergelane.run("icc60", SMALL, **{"max_cycles": 3000, **arguments})
            self.assertGreaterEqual(result.cycles, 0)
        except (ValueError, TypeError):  # InputError and UnicodeEncodeError are ValueErrors
            pass

    @settings(max_examples=1000 if LONG else 100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(ANYTHING, ANYTHING)
    def test_machine_and_workload(self, gpu, workload):
        for arguments in ((gpu, SMALL), ("icc60", workload)):
            with self.assertRaises((ValueError, TypeError)):
                mergelane.run(*arguments, max_cycles=3000)


class Interrupts(unittest.TestCase):
    def stopped_within(self, gpu, workload, after=0.3, **options):
        sent = []

        def send():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(after, send)
        timer.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                mergelane.run(gpu, workload, **options)
            return time.monotonic() - sent[0]
        finally:
            timer.join()

    def test_ctrl_c_stops_within_a_second(self):
        self.assertLess(self.stopped_within("icc60", SPIN), 1)
        self.assertLess(self.stopped_within("v100", "synthetic:stream ctas=1000000", threads=2), 1)
        self.assertLess(self.stopped_within("icc60", "gemm", size="large"), 1)  # most likely still executing it
        # The machine that takes longest to build: it cannot be stopped, but is not waited for.
        self.assertLess(self.stopped_within("icc60", SMALL, set={"gpu.clusters": 512, "gpu.sms_per_cluster": 16}), 1.5)

    def test_other_threads_go_on(self):
        counted = 0
        stop = threading.Event()

        def count():
            nonlocal counted
            while not stop.is_set():
                counted += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        self.stopped_within("icc60", SPIN, after=0.5)
        stop.set()
        thread.join()
        self.assertGreater(counted, 20)

    def test_interrupts_at_any_moment(self):
        class Stop(BaseException):
            pass

        def stop(*_):
            raise Stop

        before = signal.signal(signal.SIGALRM, stop)
        digest = mergelane.run("icc60", SMALL).digest
        try:
            for moment in range(200 if LONG else 40):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0005 + moment * 0.0007 % 0.03)
                    while True:
                        mergelane.run("icc60", SMALL, threads=1 + moment % 2)
                except Stop:
                    pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(mergelane.run("icc60", SMALL).digest, digest)

    def test_an_exception_of_the_progress_function_ends_the_run(self):
        def fail(kernel, cycles, done, total):
            self.assertEqual(kernel, 1)
            raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            mergelane.run("icc60", SPIN, progress=fail)

    def test_the_interpreter_may_end_during_a_run(self):
        code = (f"import mergelane, threading, time\n"
                f"threading.Thread(target=lambda: mergelane.run('icc60', '{SPIN}'), daemon=True).start()\ntime.sleep(0.3)")
        ended = subprocess.run([sys.executable, "-c", code], timeout=30, capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))


class Parallel(unittest.TestCase):
    def test_runs_in_several_threads(self):
        cases = [("icc60", "hotspot"), ("v100", "bfs"), ("gtx480", "atax"), ("icc60", "bfs")] * 3
        simulate = lambda case: mergelane.run(*case, size="tiny").digest
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            together = list(pool.map(simulate, cases))
        self.assertEqual(together, [simulate(case) for case in cases])


if __name__ == "__main__":
    unittest.main()
