# SPDX-License-Identifier: MIT
"""Machines as objects: every change is checked, and a machine survives copies and files."""

import copy
import doctest
import os
import pathlib
import pickle
import subprocess
import tempfile
import unittest

import numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mergelane
import mergelane._machines

COMMAND = os.environ["MERGELANE"]
LONG = bool(os.environ.get("MERGELANE_LONG"))


def load_tests(loader, tests, ignored):
    tests.addTests(doctest.DocTestSuite(mergelane._machines, optionflags=doctest.NORMALIZE_WHITESPACE))
    return tests


def command(*words):
    return subprocess.run([COMMAND, *words], check=True, capture_output=True, text=True).stdout


class Machines(unittest.TestCase):
    def test_keys_are_attributes(self):
        machine = mergelane.Machine("h100")
        self.assertEqual(machine.cluster.cc.enabled, machine["cluster.cc.enabled"])
        self.assertEqual(machine.dram.timing.tCL, machine["dram.timing.tCL"])
        self.assertIn("size_kib", dir(machine.l1))
        self.assertIn("l1", dir(machine))
        self.assertIn("l1.size_kib", repr(machine.l1))
        self.assertEqual(len(machine), len(list(machine)))

    def test_a_change_is_checked_and_leaves_the_machine_as_it_was_if_it_is_wrong(self):
        machine = mergelane.Machine("icc60")
        machine.l1.size_kib = 32
        machine.cluster.icc.enabled = True
        machine["sm.scheduler"] = "lrr"
        before = machine.config_hash
        for key, value in (("l1.size_kib", 0), ("l1.size_kib", 33.5), ("sm.scheduler", "ltr"), ("l1.ways", None), ("l1.sise_kib", 1), ("l1", 1)):
            with self.subTest(key=key), self.assertRaises((mergelane.InputError, TypeError)):
                machine[key] = value
        with self.assertRaisesRegex(AttributeError, "did you mean 'l1.size_kib'"):
            machine.l1.sise_kib = 1
        with self.assertRaisesRegex(AttributeError, "is a section"):
            machine.l1 = 1
        self.assertFalse(hasattr(machine, "l7"))
        self.assertEqual(machine.config_hash, before)
        self.assertEqual(machine.changes, {"l1.size_kib": 32, "cluster.icc.enabled": True, "sm.scheduler": "lrr"})

    def test_the_hash_is_that_of_the_command(self):
        machine = mergelane.Machine("v100", set=["l1.size_kib=64", "sm.scheduler=lrr"])
        shown = command("config", "show", "v100", "--set", "l1.size_kib=64", "--set", "sm.scheduler=lrr")
        self.assertIn(machine.config_hash, shown)
        self.assertEqual(mergelane.run(machine, "synthetic:stream ctas=4").config_hash, machine.config_hash)

    def test_keys_that_belong_together_change_together(self):
        machine = mergelane.Machine("icc60")
        with self.assertRaises(mergelane.InputError):
            machine.noc.kind = "output_queues"  # which wants one clock
            machine.gpu.noc_mhz = 700
        machine = mergelane.Machine("gtx480").with_({"noc.kind": "output_queues", "gpu.core_mhz": 1400, "gpu.noc_mhz": 1400, "gpu.l2_mhz": 1400})
        self.assertEqual(machine.noc.kind, "output_queues")

    def test_copies_are_independent(self):
        machine = mergelane.Machine("icc60").with_({"l1.ways": 8})
        for other in (copy.copy(machine), copy.deepcopy(machine), pickle.loads(pickle.dumps(machine)), mergelane.Machine(machine)):
            self.assertEqual(other, machine)
            other.l1.ways = 2
            self.assertEqual(machine.l1.ways, 8)
            self.assertNotEqual(other, machine)

    def test_diff_is_that_of_the_command(self):
        frame = mergelane.Machine("icc60").diff("v100")
        rows = [line.split()[0] for line in command("config", "diff", "icc60", "v100").split("\n\n")[0].splitlines()[1:]]
        self.assertEqual(frame.index.tolist(), rows)
        self.assertEqual(frame.columns.tolist(), ["icc60", "v100", "unit"])
        self.assertTrue(frame.loc["gpu.core_mhz", "icc60"] == 1400)
        self.assertTrue(mergelane.Machine("icc60").diff("icc60").empty)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for gpu in mergelane.machines().index:
                machine = mergelane.Machine(gpu)
                if machine.l1.size_kib == 16:
                    machine = machine.with_({"l1.size_kib": 32})
                for complete in (False, True):
                    path = pathlib.Path(folder, f"{gpu}-{complete}.toml")
                    machine.save(path, complete=complete)
                    self.assertEqual(mergelane.Machine(path).config_hash, machine.config_hash)
            derived = mergelane.Machine(pathlib.Path(folder, "icc60-False.toml")).with_({"l1.ways": 2})
            derived.save(pathlib.Path(folder, "derived.toml"))
            self.assertEqual(mergelane.Machine(pathlib.Path(folder, "derived.toml")), derived)
            with self.assertRaises(mergelane.InputError):
                derived.save(pathlib.Path(folder, "derived.json"))

    def test_meanings(self):
        machine = mergelane.Machine("icc60")
        for key in machine:
            self.assertTrue(machine.meaning(key))
        self.assertIn("lrr", machine.meaning("sm.scheduler"))
        with self.assertRaisesRegex(KeyError, "did you mean"):
            machine.meaning("l1.wais")
        self.assertEqual(machine.to_frame().loc["l1.size_kib", "unit"], "KiB")

    def test_lists(self):
        machines, workloads = mergelane.machines(), mergelane.workloads()
        self.assertIn("h100", machines.index)
        self.assertEqual(machines.loc["icc60", "network_to_dram"], 1)
        self.assertIn("synthetic:stream", workloads.index)
        self.assertGreater(len(workloads), 70)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "broken.toml").write_text("[l1]\nsize = 3\n")
            os.environ["MERGELANE_GPUS"] = folder
            try:
                self.assertIn("unknown key", mergelane.machines().loc["broken", "validated"])
            finally:
                del os.environ["MERGELANE_GPUS"]


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(), st.text(max_size=10), st.binary(max_size=5),
                   st.lists(st.integers(), max_size=3), st.just(numpy.arange(2)), st.just(numpy.uint8(3)), st.just(object()))
MACHINE = mergelane.Machine("icc60")


class AnyValue(unittest.TestCase):
    @settings(max_examples=5000 if LONG else 500, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(st.sampled_from(list(MACHINE)), st.text(max_size=10)), VALUES)
    def test_a_value_is_taken_or_refused(self, key, value):
        machine = MACHINE.with_({})
        try:
            machine[key] = value
            machine.with_({key: machine[key]})  # what it gives, it takes
        except (ValueError, TypeError):
            self.assertEqual(machine, MACHINE)

    @settings(max_examples=2000 if LONG else 200, deadline=None)
    @given(st.text(max_size=10))
    def test_any_name_is_known_or_unknown(self, name):
        for owner in (MACHINE, MACHINE.l1):
            try:
                getattr(owner, name)
            except AttributeError:
                pass


if __name__ == "__main__":
    unittest.main()
