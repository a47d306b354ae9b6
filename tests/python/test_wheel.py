# SPDX-License-Identifier: MIT
"""The wheel, built from the build directory of the tests, installed in a fresh virtual environment."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["MERGELANE"]).parents[2]
SCRIPT = """
import pathlib, mergelane
here = pathlib.Path(mergelane.__file__).parent
assert "site-packages" in str(here), here
assert set(mergelane.machines().file.map(lambda file: pathlib.Path(file).is_relative_to(here))) == {True}
print(mergelane.run("v100", "hotspot", size="tiny").digest)
frame = mergelane.sweep({"gpu": ["v100", "icc60"], "workload": ["hotspot"], "size": ["tiny"]}, store="store")
assert len(frame) == 2
assert not mergelane.published("icc").empty
"""


def output(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **more).stdout


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MERGELANE", "MERGELANE_COMMAND")}
        cls.clean = environment | {"MERGELANE_CACHE": str(cls.folder / "cache"), "HOME": str(cls.folder)}
        output(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-C", f"build-dir={BUILD}", "-o", cls.folder / "dist", TOP, env=environment)
        cls.wheel, = (cls.folder / "dist").glob("*.whl")
        output(sys.executable, "-m", "venv", "--system-site-packages", cls.folder / "env")
        cls.bin = cls.folder / "env/bin"
        output(cls.bin / "pip", "install", "--no-index", "--no-deps", cls.wheel, env=cls.clean)

    def ran(self, *command):
        return output(*command, env=self.clean, cwd=self.folder)

    def test_runs_outside_the_source_tree(self):
        digest = self.ran(self.bin / "python", "-c", SCRIPT).split()[-1]
        answer = self.ran(self.bin / "mergelane", "run", "--gpu", "v100", "--workload", "hotspot", "--size", "tiny")
        self.assertIn(f"digest {digest}", answer)
        self.assertEqual(self.ran(self.bin / "python", "-m", "mergelane", "--version"), self.ran(self.bin / "mergelane", "--version"))

    def test_brings_its_libraries_and_no_links(self):
        package, = (self.folder / "env/lib").glob("python3*/site-packages/mergelane")
        for binary in [*package.glob("_core*.so"), package / "bin/mergelane"]:
            for line in output("ldd", binary).splitlines():
                if any(name in line for name in ("libfmt", "libmetis", "libsqlite3")):
                    self.assertIn(str(package.resolve()), line)

    def test_a_second_build_gives_the_same_bytes(self):
        output(sys.executable, "-m", "build", "--wheel", "--no-isolation", "-C", f"build-dir={BUILD}", "-o", self.folder / "again", TOP)
        self.assertEqual(self.wheel.read_bytes(), (self.folder / "again" / self.wheel.name).read_bytes())

    def test_uninstalls_without_a_trace(self):
        output(sys.executable, "-m", "venv", "--system-site-packages", self.folder / "other")
        files = lambda: {path for path in (self.folder / "other").rglob("*") if "__pycache__" not in path.parts}
        before = files()
        pip = self.folder / "other/bin/pip"
        output(pip, "install", "--no-index", "--no-deps", "--no-compile", self.wheel, env=self.clean)
        output(pip, "uninstall", "-y", "mergelane", env=self.clean)
        self.assertEqual(before, files())


if __name__ == "__main__":
    unittest.main()
