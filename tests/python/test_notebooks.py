# SPDX-License-Identifier: MIT
"""The notebooks as they are in the repository: no outputs, cells that parse, links that lead somewhere. `run_notebooks.py` executes them."""

import ast
import json
import pathlib
import re
import unittest

import mergelane

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDER = TOP / "docs" / "notebooks"
NAMES = {"first-result", "a-papers-figure", "own-access-pattern", "sweep-pareto", "where-cycles-go"}


class Notebooks(unittest.TestCase):
    def setUp(self):
        self.notebooks = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.ipynb"))}

    def cells(self, kind):
        for path, notebook in self.notebooks.items():
            for cell in notebook["cells"]:
                if cell["cell_type"] == kind:
                    with self.subTest(notebook=path.name, cell=cell["id"]):
                        yield path, cell, "".join(cell["source"])

    def test_all_are_there_and_linked(self):
        self.assertEqual({path.stem for path in self.notebooks}, NAMES)
        page = (TOP / "docs" / "python.md").read_text(encoding="utf-8")
        for path in self.notebooks:
            self.assertIn(f"](notebooks/{path.name})", page)

    def test_format(self):
        for path, notebook in self.notebooks.items():
            with self.subTest(notebook=path.name):
                self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5))
                self.assertEqual(notebook["metadata"]["kernelspec"]["name"], "python3")
                self.assertEqual(path.read_text(encoding="utf-8"), json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
                ids = [cell["id"] for cell in notebook["cells"]]
                self.assertEqual(len(set(ids)), len(ids))
                self.assertTrue(6 <= len(ids) <= 14)

    def test_no_outputs(self):
        for _, cell, _ in self.cells("code"):
            self.assertEqual((cell["outputs"], cell["execution_count"], cell["metadata"]), ([], None, {}))

    def test_every_cell_parses_and_names_what_exists(self):
        for _, _, source in self.cells("code"):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "mergelane":
                    self.assertTrue(hasattr(mergelane, node.attr), node.attr)

    def test_links(self):
        for path, _, source in self.cells("markdown"):
            for link in re.findall(r"\]\(([^)\s]+)\)", source):
                if not link.startswith("https:"):
                    self.assertTrue((path.parent / link.partition("#")[0]).exists(), link)


if __name__ == "__main__":
    unittest.main()
