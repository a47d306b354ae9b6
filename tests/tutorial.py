#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs docs/tutorial.md as written, in a folder of its own: tutorial.py --mergelane COMMAND --with nvcc|clang COMPILER

A comment before a block says what it is: `<!-- file: NAME -->` is written to a file, `<!-- prints -->` must be what the commands before
it print (a line `...` stands for any lines), `<!-- with nvcc -->` and `<!-- with clang -->` are commands for one of the two. What is
printed is compared with clang 14 only: another compiler's PTX takes another number of cycles. Exit code 77: the compiler is missing.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TUTORIAL = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"(?:^<!-- ([^\n]*) -->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def missing_line(shown, printed):
    """The first line of `shown` that does not follow in `printed`, or None."""
    lines = iter(printed.splitlines())
    for wanted in shown.splitlines():
        if wanted != "..." and not any(line.rstrip() == wanted.rstrip() for line in lines):
            return wanted
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mergelane", required=True)
    parser.add_argument("--with", dest="kind", choices=["nvcc", "clang"], required=True)
    parser.add_argument("compiler")
    options = parser.parse_args()
    compiler = shutil.which(options.compiler) if options.compiler else None
    if compiler is None:
        print(f"skipped: there is no {options.kind}, with which this test compiles")
        return 77
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    if options.kind == "nvcc" and "release 13." not in version:
        print(f"skipped: {compiler} is not of CUDA 13")
        return 77
    compare = options.kind == "clang" and "clang version 14." in version
    mergelane = pathlib.Path(options.mergelane).resolve()
    ran, shown = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        commands, work = pathlib.Path(folder) / "bin", pathlib.Path(folder) / "work"
        commands.mkdir()
        work.mkdir()
        (commands / "mergelane").symlink_to(mergelane)
        (commands / "mergelane-clang-cuda").symlink_to(ROOT / "scripts" / "clang-cuda")
        if options.kind == "nvcc":
            (commands / "nvcc").write_text(f'#!/bin/sh\nexec "{compiler}" "$@"\n')
            (commands / "nvcc").chmod(0o755)
        environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "CLANG": compiler, "MERGELANE_CUDART": str(mergelane.parent)}
        printed = ""
        for comment, language, text in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8")):
            if comment.startswith("file: "):
                (work / comment.removeprefix("file: ")).write_text(text, encoding="utf-8")
            elif comment == "prints":
                shown += 1
                line = missing_line(text, printed) if compare else None
                if line is not None:
                    sys.exit(f"{TUTORIAL.name} shows a line that was not printed (there):\n{line}\nprinted:\n{printed}")
            elif language == "sh" and comment in ("", f"with {options.kind}"):
                print(text, end="", flush=True)
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=work, env=environment, capture_output=True, text=True, check=False)
                printed = done.stdout + done.stderr
                if done.returncode != 0:
                    sys.exit(f"exit code {done.returncode}\n{printed}")
                ran += 1
            elif not comment.startswith("with "):
                sys.exit(f"a block of {TUTORIAL.name} says neither what it is nor sh:\n{text}")
    print(f"{ran} blocks of commands, {shown} outputs{'' if compare else ', not compared'}")
    return 0 if ran >= 6 and shown >= 4 else 1


if __name__ == "__main__":
    sys.exit(main())
