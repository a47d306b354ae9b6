# SPDX-License-Identifier: MIT
"""Every Python block of docs/python.md is executed; doctests show what they print."""

import doctest
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import matplotlib

import mergelane

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "python.md"
COMMAND = os.environ["MERGELANE"]


def prepare(folder):
    """The files that the page's examples read."""
    def command(*arguments):
        subprocess.run([COMMAND, *arguments], check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    command("reproduce", "icc", "--size", "tiny", "--experiment", "ICC-2", "--store", "out/reproduce-icc")
    (folder / "docs").symlink_to(TOP / "docs")
    mergelane.sweep({"gpu": "icc60", "workload": "hotspot", "size": "tiny"}, store=folder / "sweep", progress=False)
    command("campaign", "export", "sweep", "--sqlite", "runs.db")
    run = ("run", "--gpu", "icc60", "--workload", "hotspot", "--size", "tiny")
    command(*run, "--json", "base.json")
    command(*run, "--set", "noc.flit_bytes=128", "--json", "wide.json")


class Page(unittest.TestCase):
    def test_every_block(self):
        matplotlib.use("Agg")
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 8)
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        names = {}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            prepare(folder)
            self.addCleanup(os.chdir, os.getcwd())
            os.chdir(folder)
            for number, block in enumerate(blocks):
                with self.subTest(block=block):
                    if ">>>" in block:
                        test = parser.get_doctest(block, names, f"block {number}", str(PAGE), 0)
                        runner.run(test, clear_globs=False)
                        names.update(test.globs)
                    else:
                        exec(compile(block, f"block {number} of {PAGE}", "exec"), names)
        self.assertEqual(runner.summarize(verbose=False).failed, 0)

    def test_examples_of_classes(self):
        """Classes say that they are of the package `mergelane`, so the tests of its modules do not find their examples."""
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        for kind in (getattr(mergelane, name) for name in mergelane.__all__ if isinstance(getattr(mergelane, name), type)):
            for test in doctest.DocTestFinder().find(kind, module=False, globs={}):
                runner.run(test)
        self.assertGreater(runner.tries, 10)
        self.assertEqual(runner.failures, 0)


if __name__ == "__main__":
    unittest.main()
