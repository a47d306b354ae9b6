# SPDX-License-Identifier: MIT
"""Executes the notebooks of docs/notebooks into a folder, one after the other: run_notebooks.py FOLDER [NAME...]

A cell that raises, or that writes to standard error, fails. Their kernel is this interpreter, with this environment."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys

NOTEBOOKS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "notebooks"
SKIPPED = 77


def environment(folder):
    """Whatever kernels and settings the user has are not looked at."""
    kernel = folder / "jupyter" / "kernels" / "python3" / "kernel.json"
    kernel.parent.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    return os.environ | {"JUPYTER_PATH": str(folder / "jupyter"), "JUPYTER_CONFIG_DIR": str(folder / "config"), "IPYTHONDIR": str(folder / "ipython"),
                         "MPLCONFIGDIR": str(folder / "matplotlib"), "PYDEVD_DISABLE_FILE_VALIDATION": "1", "MERGELANE_CACHE": str(folder / "cache")}


def complaints(notebook):
    """What is wrong with the outputs of an executed notebook."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and cell["execution_count"] is None:
            yield f"cell {cell['id']} was not executed"
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                yield f"cell {cell['id']}: {output['ename']}: {output['evalue']}"
            elif output.get("name") == "stderr":
                yield f"cell {cell['id']} wrote to standard error: {''.join(output['text'])}"


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    jupyter = shutil.which("jupyter")
    if jupyter is None or subprocess.run([sys.executable, "-c", "import ipykernel"], check=False).returncode != 0:
        print("skipped: needs jupyter nbconvert and ipykernel")
        return SKIPPED
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        if sys.argv[2:] and notebook.stem not in sys.argv[2:]:
            continue
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [jupyter, "nbconvert", "--log-level", "ERROR", "--to", "notebook", "--execute", "--output-dir", str(folder), str(notebook)]
        code = subprocess.run(command, env=environment(folder), check=False).returncode
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = [f"nbconvert ended with {code}"] if code != 0 else list(complaints(folder / notebook.name))
        failed = failed or bool(found)
        print(f"{notebook.name}: {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.1f} s of CPU time", *found, sep="\n    ", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
