# SPDX-License-Identifier: MIT
"""Reading with arbitrary files, paths and columns: an exception or a frame, never a crash."""

import os
import pathlib
import subprocess
import tempfile
import unittest
import warnings

import mergelane
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LONG = os.environ.get("MERGELANE_LONG") == "1"
TOP = pathlib.Path(__file__).resolve().parents[2]
PACKED = (TOP / "docs/reproduction/lrc.jsonl.zst").read_bytes()
COMMAND = os.environ["MERGELANE"]
FOLDER = tempfile.TemporaryDirectory()
NAMES = ("x.jsonl", "x.jsonl.zst", "x.json", "x.csv", "x.db", "x")


def setting(examples):
    return settings(max_examples=examples * (50 if LONG else 1), deadline=None, suppress_health_check=list(HealthCheck))


def inputs():
    """One of each kind of file."""
    folder = os.path.join(FOLDER.name, "inputs")
    os.makedirs(folder)
    sweep, store = os.path.join(folder, "sweep.toml"), os.path.join(folder, "store")
    pathlib.Path(sweep).write_text('machines = ["icc60"]\nworkloads = ["nn", "hotspot"]\nsizes = ["tiny"]\n', encoding="utf-8")
    for words in (["run", "--gpu", "icc60", "--workload", "nn", "--size", "tiny", "--json", folder + "/run.json", "--csv", folder + "/run.csv"],
                  ["campaign", "run", sweep, "--store", store, "-q"],
                  ["campaign", "export", sweep, "--store", store, "--sqlite", folder + "/runs.db", "--csv", folder + "/runs.csv"]):
        subprocess.run([COMMAND, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    plain = b"".join(file.read_bytes() for file in pathlib.Path(store).glob("*.jsonl"))
    return [plain, PACKED[:200000]] + [pathlib.Path(folder, name).read_bytes() for name in ("run.json", "run.csv", "runs.csv", "runs.db")]


INPUTS = inputs()


def loads(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            frame = mergelane.load(path, **options)
        except (mergelane.InputError, mergelane.SimulationError) as error:
            return str(error)
    return len(frame)


def file(name, content):
    path = os.path.join(FOLDER.name, name)
    with open(path, "wb") as out:
        out.write(content)
    return path


class Anything(unittest.TestCase):
    @setting(150)
    @given(st.sampled_from(NAMES), st.binary(max_size=2000))
    def test_bytes(self, name, content):
        self.assertTrue(loads(file(name, content)))

    @setting(150)
    @given(st.sampled_from(NAMES), st.sampled_from(range(len(INPUTS))), st.data())
    def test_changed_files(self, name, which, data):
        content = bytearray(INPUTS[which])
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(content)))
            content[at:at + data.draw(st.integers(0, 50))] = data.draw(st.binary(max_size=20))
        end = data.draw(st.one_of(st.none(), st.integers(0, len(content))))
        self.assertTrue(loads(file(name, bytes(content[:end]))))

    @setting(100)
    @given(st.one_of(st.none(), st.integers(), st.floats(), st.text(), st.binary(), st.lists(st.one_of(st.text(), st.integers(), st.none()))))
    def test_paths(self, path):
        self.assertTrue(loads(path))

    @setting(60)
    @given(st.one_of(st.none(), st.integers(), st.floats(), st.text(),
                     st.lists(st.one_of(st.sampled_from(["cycles", "l2.reads", "gpu", "key", "highest l2.reads"]), st.text(), st.floats()))))
    def test_columns(self, columns):
        for name, content in (("x.jsonl", INPUTS[0]), ("x.json", INPUTS[2]), ("x.csv", INPUTS[4]), ("x.db", INPUTS[5])):
            self.assertTrue(loads(file(name, content), columns=columns))

    @setting(100)
    @given(st.one_of(st.text(), st.integers(), st.none(), st.binary(), st.floats()))
    def test_names(self, name):
        for function in (mergelane.units, mergelane.meaning, mergelane.published):
            try:
                function(name)
            except mergelane.InputError:
                continue
            self.fail(f"{function} knows {name!r}")


if __name__ == "__main__":
    unittest.main()
