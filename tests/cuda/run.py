#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles a CUDA program of this folder and runs it with `mergelane cuda`, functionally and timed."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Test:
    def __init__(self, options):
        self.options = options
        self.work = pathlib.Path(options.work) / options.name
        self.work.mkdir(parents=True, exist_ok=True)

    def call(self, command, expect=0, environment=None):
        done = subprocess.run([str(word) for word in command], cwd=self.work, capture_output=True, text=True, check=False,
                              env={**os.environ, **(environment or {})})
        if done.returncode != expect:
            sys.exit(f"{' '.join(str(w) for w in command)}\nexit code {done.returncode}, not {expect}\n{done.stdout}{done.stderr}")
        return done

    def compile(self, sources, name, *flags):
        program = self.work / name
        self.call([self.options.nvcc, "-std=c++17", "-arch=sm_75", "-cudart", "shared", *flags, *[HERE / s for s in sources], "-o", program])
        return program

    def run(self, *words, expect=0):
        return self.call([self.options.mergelane, "cuda", *words], expect)

    def works(self, program, says, stderr=None):
        """Prints `says`, with and without timing; timing does not depend on run or threads."""
        done = self.run(program)
        assert says in done.stdout, done.stdout
        assert (done.stderr == "") if stderr is None else (stderr in done.stderr), done.stderr
        done = self.run("--gpu", "icc60", program)
        assert says in done.stdout and "icc60" in done.stderr and "digest" in done.stderr, done.stderr
        results = []
        for threads in (1, 2):
            file = self.work / f"result{threads}.json"
            self.run("--gpu", "v100", "--threads", threads, "--json", file, program)
            results.append(json.loads(file.read_text()))
        assert results[0]["digest"] == results[1]["digest"] and results[0]["cycles"] > 0
        return results[0]


def compression(test):
    for name, flags in {"plain": ["--no-compress"], "zstd": [], "lz4": ["-compress-mode=speed"]}.items():
        program = test.compile(["vector_add.cu"], name, *flags)
        assert "1000 sums are right" in test.run(program, "1000").stdout


def wrong_flags(test):
    static = test.work / "static"
    test.call([test.options.nvcc, "-arch=sm_75", HERE / "vector_add.cu", "-o", static])
    assert "-cudart shared" in test.run(static, expect=2).stderr
    sass = test.work / "sass"
    test.call([test.options.nvcc, "-gencode", "arch=compute_75,code=sm_75", "-cudart", "shared", HERE / "vector_add.cu", "-o", sass])
    assert "no PTX" in test.run(sass, expect=2).stderr
    assert "no program" in test.run("surely-no-such-program", expect=2).stderr
    assert "--gpu" in test.run("--json", "x.json", "true", expect=2).stderr
    assert test.run("false", expect=1).stderr == ""


def unsupported(test):
    program = test.compile(["unsupported.cu"], "unsupported")
    done = test.run("--keep-ptx", test.work, program)
    assert "unsupported: refused" in done.stdout
    assert "instruction 'tex." in done.stderr and "1 of 2 launches failed" in done.stderr, done.stderr
    # The line that is named is there to be looked at.
    line = int(done.stderr.split("unsupported.1.ptx:")[1].split(":")[0])
    assert "tex." in (test.work / "unsupported.1.ptx").read_text().splitlines()[line - 1]


def clang(test, name, says):
    program = test.work / name
    test.call([ROOT / "scripts" / "clang-cuda", HERE / f"{name}.cu", program], environment={
        "CLANG": test.options.clang, "MERGELANE_CUDART": str(pathlib.Path(test.options.mergelane).parent)})
    test.works(program, says)


TESTS = {
    "vector_add": lambda t: t.works(t.compile(["vector_add.cu"], "app"), "10000 sums are right"),
    "reduction": lambda t: t.works(t.compile(["reduction.cu"], "app"), "the sum is"),
    "streams_events": lambda t: t.works(t.compile(["streams_events.cu"], "app"), "all as expected"),
    "templates": lambda t: t.works(t.compile(["templates.cu"], "app"), "all as expected"),
    "rdc": lambda t: t.works(t.compile(["rdc_main.cu", "rdc_other.cu"], "app", "-rdc=true"), "both files agree"),
    "thrust_sort": lambda t: t.works(t.compile(["thrust_sort.cu"], "app"), "sorted, scanned, reduced"),
    "errors": lambda t: t.works(t.compile(["errors.cu"], "app"), "all as expected", "calls cudaGraphCreate"),
    "unsupported": unsupported,
    "compression": compression,
    "wrong_flags": wrong_flags,
    "abi": lambda t: t.compile(["abi_check.cu"], "abi", "-I", ROOT / "apps" / "cudart"),
    "clang_vector_add": lambda t: clang(t, "vector_add", "10000 sums are right"),
    "clang_reduction": lambda t: clang(t, "reduction", "the sum is"),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mergelane", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--nvcc")
    parser.add_argument("--clang")
    parser.add_argument("name", choices=TESTS)
    options = parser.parse_args()
    options.mergelane = str(pathlib.Path(options.mergelane).resolve())
    TESTS[options.name](Test(options))


if __name__ == "__main__":
    main()
