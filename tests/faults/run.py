#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes system calls and allocations of a command fail one by one and checks that nothing bad comes of it.

For each call that can fail, the command runs in a fresh copy of its folder with inject.cpp preloaded. It must end by itself with
a documented exit code. If it claims success, its files equal those of an undisturbed run; otherwise it says why, old results are
intact and no temporary file is left. Afterwards the same command, undisturbed, must give what it always gives.
`cuda` also fails calls of the CUDA program that replaces the command; without clang 14 to compile it, the exit code is 77.
  run.py MERGELANE INJECT_SO COMMAND [--most N]   --most: points per class, spread evenly (default 60; 0: all)
  run.py --list
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cuda"))
import run as cuda_programs  # noqa: E402

CLASSES = ("open", "write", "fsync", "rename", "close", "mmap", "alloc")
DOCUMENTED = (0, 1, 2, 3, 4, 5)
OLD = "an old result\n"
CAMPAIGN = 'title = "Faults"\nmachines = ["icc60"]\nworkloads = ["bfs"]\nsizes = ["tiny"]\nseeds = [1, 2]\n'
TIMES = re.compile(r'"(cpu_seconds|wall_seconds|host_seconds|seconds|started|finished|host|time)": ?[^,}\n]*')
STREAM = ["--synthetic", "stream", "--param", "ctas=2"]


def without_times(path):
    return TIMES.sub("", path.read_text())


def rows(path):
    """Of all tables of an SQLite file, without what differs between two runs of the same command."""
    with sqlite3.connect(path) as base:
        tables = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {table: base.execute(f'SELECT * FROM "{table}"').fetchall() for table in tables}


def records(folder):
    """Of a store: what each run gave; a run that is there twice is an error."""
    found = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(errors="replace").splitlines(keepends=True):
            if not line.endswith("\n"):
                continue  # torn by the fault; readers pass over it
            record = json.loads(line)
            if record.get("status") == "done":
                assert record["key"] not in found, f"run {record['key']} is in the store twice"
                found[record["key"]] = record["digest"]
    return found


def scripts(folder):
    """Of a store: what a scheduler would run."""
    return {file.name: file.read_text().replace(str(folder.parent), "") for file in folder.rglob("*.sh")}


class Command:
    """`words` in a folder that `prepare` has filled; `results`: what it writes, with a function that makes two of them comparable;
    `old`: results of these names exist before; `keeps`: the runs of the store stay finished, whatever fails; `program`: program.cu is
    there, compiled, and its success needs its result, whatever else was said, while a program that failed may leave the result of what
    it did; `inside`: faults are those of the program, the last word,
    which the command starts as a process of its own."""

    def __init__(self, words, results, prepare=(), old=(), keeps=False, program=False, inside=False):
        self.words, self.results, self.prepare, self.old, self.keeps = words, results, prepare, old, keeps
        self.program, self.inside = program, inside


COMMANDS = {
    "run": Command(["run", "--gpu", "icc60", *STREAM, "--json", "out.json", "--csv", "out.csv"], {"out.json": without_times, "out.csv": without_times},
                   old=["out.json", "out.csv"]),
    "trace_record": Command(["trace", "record", *STREAM, "-o", "t.mlt"], {"t.mlt": pathlib.Path.read_bytes}, old=["t.mlt"]),
    "campaign_run": Command(["campaign", "run", "c.toml", "--store", "store", "--jobs", "1"], {"store": records}),
    "campaign_merge": Command(["campaign", "merge", "store", "--remove-parts"], {}, keeps=True, prepare=[["campaign", "run", "c.toml", "--store", "store", "--jobs", "1"]]),
    "campaign_export": Command(["campaign", "export", "store", "--sqlite", "t.db", "--csv", "t.csv"], {"t.db": rows, "t.csv": pathlib.Path.read_text},
                               prepare=[["campaign", "run", "c.toml", "--store", "store", "--jobs", "1"]], old=["t.db", "t.csv"]),
    "campaign_submit": Command(["campaign", "submit", "c.toml", "--store", "store", "--script"], {"store": scripts}),
    "store_pack": Command(["store", "pack", "store", "p.jsonl.zst"], {"p.jsonl.zst": pathlib.Path.read_bytes},
                          prepare=[["campaign", "run", "c.toml", "--store", "store", "--jobs", "1"]], old=["p.jsonl.zst"]),
    "store_unpack": Command(["store", "unpack", "p.jsonl.zst", "new"], {"new": records},
                            prepare=[["campaign", "run", "c.toml", "--store", "store", "--jobs", "1"], ["store", "pack", "store", "p.jsonl.zst"]]),
    "reproduce": Command(["reproduce", "warppool", "--size", "tiny", "--experiment", "WP-9", "--store", "store", "--jobs", "1", "--json", "r.json", "--html", "r.html"],
                         {"r.json": without_times}, old=["r.json", "r.html"],
                         prepare=[["reproduce", "warppool", "--size", "tiny", "--experiment", "WP-9", "--store", "store", "--jobs", "1"]]),
    "cuda": Command(["cuda", "--gpu", "icc60", "--json", "out.json", "--keep-ptx", ".", "./program"], {"out.json": without_times}, old=["out.json"], program=True),
    "cuda_trace": Command(["cuda", "--trace", "t.mlt", "./program"], {"t.mlt": pathlib.Path.read_bytes}, old=["t.mlt"], program=True),
    "cuda_trace_program": Command(["cuda", "--trace", "t.mlt", "./program"], {"t.mlt": pathlib.Path.read_bytes}, old=["t.mlt"], program=True, inside=True),
}


class Faults:
    def __init__(self, options):
        self.binary, self.inject = os.path.abspath(options.mergelane), os.path.abspath(options.inject)
        self.name, self.command = options.command, COMMANDS[options.command]
        self.words = [self.binary, *self.command.words]
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="mergelane-faults-"))
        self.environment = dict(os.environ, MERGELANE_CACHE=str(self.top / "cache"))
        self.seed = self.top / "seed"
        self.seed.mkdir()
        (self.seed / "c.toml").write_text(CAMPAIGN)
        if self.command.program:
            self.compile(options.clang)
        for words in self.command.prepare:
            self.call([self.binary, *words], self.seed)
        for name in self.command.old:
            (self.seed / name).write_text(OLD)
        self.reference = self.copy("reference")
        self.call(self.words, self.reference)
        self.expected = self.contents(self.reference)
        assert all(self.expected.values()), "a result is empty, so that nothing would be compared"

    def compile(self, clang):
        clang = cuda_programs.find(clang, "clang 14 (cmake -DMERGELANE_CLANG_CUDA=/path/to/clang++-14)")
        test = cuda_programs.Test(argparse.Namespace(work=self.top, name="program", clang=clang, mergelane=self.binary))
        shutil.copy(cuda_programs.clang_compile(test, "../faults/program", made="program"), self.seed)

    def call(self, words, folder, fault=None, counts=None):
        settings = {}
        if fault or counts:
            settings = {"LD_PRELOAD": self.inject, "MERGELANE_FAULT": fault or "none:0"}
            if counts:
                settings["MERGELANE_FAULT_COUNTS"] = str(counts)
        if settings and self.command.inside:
            settings["MERGELANE_FAULT_CALLS"] = "0"
            words, settings = [*words[:-1], "env", *(f"{name}={value}" for name, value in settings.items()), words[-1]], {}
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120, env={**self.environment, **settings}, check=False)
        if fault is None and done.returncode != 0:
            sys.exit(f"{' '.join(words)} without a fault: exit code {done.returncode}\n{done.stderr}")
        return done

    def copy(self, name):
        return pathlib.Path(shutil.copytree(self.seed, self.top / name))

    def contents(self, folder):
        return {name: read(folder / name) if (folder / name).exists() else None for name, read in self.command.results.items()}

    def points(self, most):
        counts = self.top / "counts"
        self.call(self.words, self.copy("counted"), counts=counts)
        numbers = {kind: int(count) for kind, count in (line.split() for line in counts.read_text().splitlines())}
        chosen = []
        for kind in CLASSES:
            count = numbers[kind]
            step = 1 if most == 0 or count <= most else count / most
            some = sorted({int(i * step) + 1 for i in range(min(count, most) if most else count)})
            chosen += [f"{kind}:{n}" for n in some] + ([f"{kind}:{some[len(some) // 2]}+"] if some else [])
        return numbers, chosen

    def check(self, fault):
        """What is wrong when this call fails, or None."""
        folder = self.copy(fault.replace(":", "-").replace("+", "p"))
        try:
            done = self.call(self.words, folder, fault)
            return self.judge(folder, done) or self.again(folder)
        except subprocess.TimeoutExpired:
            return "does not end"
        except Exception as error:  # a file that cannot be read as a result
            return f"{type(error).__name__}: {error}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def judge(self, folder, done):
        if done.returncode not in DOCUMENTED:
            return f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
        if done.returncode != 0 and not done.stderr.strip():
            return f"exit code {done.returncode} without a message"
        if "internal error" in done.stderr or "Please report" in done.stderr:
            return f"called internal: {done.stderr.strip()[-300:]}"
        if self.command.keeps and self.finished(folder) != self.finished(self.seed):
            return f"runs were lost (exit code {done.returncode}: {done.stderr.strip()[-200:]})"
        left = [str(path.relative_to(folder)) for path in folder.rglob("*.unfinished")]
        if left:
            return f"left behind: {left}"
        if done.returncode == 0 and (self.command.program or not done.stderr.strip()):
            return None if self.contents(folder) == self.expected else "exit code 0 with other results"
        for name in self.command.old:
            now = folder / name
            if not now.exists() or (now.read_bytes() != OLD.encode() and not self.whole(now, name)):
                return f"the old '{name}' is gone or torn (exit code {done.returncode}: {done.stderr.strip()[-200:]})"
        return None

    def whole(self, path, name):
        if self.command.program and name.endswith(".json"):
            return "digest" in json.loads(path.read_text())
        return name not in self.command.results or self.command.results[name](path) == self.expected[name]

    def finished(self, folder):
        return json.loads(self.call([self.binary, "campaign", "status", "store", "--json"], folder).stdout)["finished"]

    def again(self, folder):
        done = self.call(self.words, folder)
        if done.returncode != 0:
            return f"a second run fails: {done.stderr.strip()[-300:]}"
        if self.command.keeps and self.finished(folder) != self.finished(self.seed):
            return "runs were lost after a second run"
        return None if self.contents(folder) == self.expected else "a second run gives other results"


def main():
    if "--list" in sys.argv:
        print(" ".join(COMMANDS))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mergelane")
    parser.add_argument("inject")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--most", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--clang", default="clang++-14")
    options = parser.parse_args()
    faults = Faults(options)
    numbers, points = faults.points(options.most)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        wrong = [(point, problem) for point, problem in zip(points, pool.map(faults.check, points)) if problem]
    shutil.rmtree(faults.top, ignore_errors=True)
    for point, problem in wrong:
        print(f"{options.command} {point}: {problem}")
    calls = ", ".join(f"{count} {kind}" for kind, count in numbers.items() if count)
    print(f"{options.command}: {len(points)} faults ({calls}), {len(wrong)} problems")
    sys.exit(1 if wrong else 0)


main()
