#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A host that loses its power: nothing that a campaign reported as finished is lost.

Two shards and a merge that removes its parts, twice, are recorded with power.cpp preloaded. For each moment in between, the store is built
anew as a disk may have kept it, and must be readable and have every run that a command which had ended called finished.
  power.py MERGELANE POWER_SO [--most N]   --most: moments, spread evenly (default 0: all)
"""
import argparse
import copy
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

CAMPAIGN = 'title = "Power"\nmachines = ["icc60"]\nworkloads = ["bfs", "nn"]\nsizes = ["tiny"]\nseeds = [1, 2, 3]\n'


class File:
    def __init__(self):
        self.data, self.synced = b"", b""


class Disk:
    """Contents of files and names of a folder, as they are and as they were when they were last synced."""

    def __init__(self):
        self.names, self.synced, self.inodes = {}, {}, {}

    def apply(self, operation):
        kind, _, rest = operation.partition(" ")
        if kind == "create":
            number, _, path = rest.partition(" ")
            self.names[path] = self.inodes[number] = File()
        elif kind == "write":
            number, offset, digits = rest.split(" ")
            file, offset = self.inodes[number], int(offset)
            file.data = file.data[:offset].ljust(offset, b"\0") + bytes.fromhex(digits) + file.data[offset + len(digits) // 2:]
        elif kind == "sync":
            self.inodes[rest].synced = self.inodes[rest].data
        elif kind == "names":
            inside = {path for path in (*self.names, *self.synced) if os.path.dirname(path) == rest}
            for path in inside:
                self.synced.pop(path, None)
            self.synced.update({path: self.names[path] for path in inside if path in self.names})
        elif kind in ("rename", "link"):
            source, _, target = rest.partition("\t")
            self.names[target] = self.names.pop(source) if kind == "rename" else self.names[source]
        elif kind == "remove":
            self.names.pop(rest, None)
        else:
            sys.exit(f"a call that this test does not know: {operation}")


def survivors(disk, draw):
    """What the disk may have: by name of the outcome, contents by path."""
    yield "only what was synced", {path: file.synced for path, file in disk.synced.items()}
    yield "all names, only synced contents", {path: file.synced for path, file in disk.names.items()}
    yield "all names and lengths", {path: file.synced.ljust(len(file.data), b"\0") for path, file in disk.names.items()}
    some = {path: draw.choice([names[path] for names in (disk.names, disk.synced) if path in names])
            for path in sorted({*disk.names, *disk.synced})
            if (path in disk.names and path in disk.synced) or draw.random() < 0.5}
    yield "some of what was not synced", {path: file.data[:draw.randint(len(file.synced), len(file.data))] if file.data.startswith(file.synced) else file.synced
                                          for path, file in some.items()}


class Power:
    def __init__(self, options):
        self.binary, self.library, self.most = os.path.abspath(options.mergelane), os.path.abspath(options.library), options.most
        self.top = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="mergelane-power-")))
        self.store, self.log = self.top / "store", self.top / "log"
        self.file = self.top / "power.toml"
        self.file.write_text(CAMPAIGN)
        self.store.mkdir()
        self.promises = []  # (number of operations, runs that were called finished by then)

    def call(self, *words, store=None, recorded=True):
        environment = dict(os.environ, MERGELANE_CACHE=str(self.top / "cache"))
        if recorded:
            environment.update(LD_PRELOAD=self.library, MERGELANE_POWER_ROOT=str(self.store), MERGELANE_POWER_LOG=str(self.log))
        return subprocess.run([self.binary, "campaign", words[0], str(self.file), "--store", str(store or self.store), *words[1:]], capture_output=True, text=True,
                              timeout=120, env=environment, check=False)

    def finished(self, store):
        answer = self.call("status", "--json", store=store, recorded=False)
        if answer.returncode not in (0, 4):
            return None, answer.stderr
        status = json.loads(answer.stdout)
        return (None, status["conflicts"]) if status["conflicts"] else (status["finished"], "")

    def record(self):
        for words, codes in ((("run", "--shard", "0/3", "--jobs", "1"), (0,)), (("merge", "--remove-parts"), (4,)), (("run", "--shard", "1/3", "--jobs", "1"), (0,)),
                             (("plan",), (0,)), (("run", "--jobs", "2"), (0,)), (("merge",), (0,)), (("merge", "--remove-parts"), (0,))):
            answer = self.call(*words)
            if answer.returncode not in codes:
                sys.exit(f"{words}: exit code {answer.returncode}\n{answer.stderr}")
            self.promises.append((len(self.log.read_text().splitlines()), self.finished(self.store)[0]))

    def build(self, contents, name):
        store = self.top / name
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir()
        for path, data in contents.items():
            (store / os.path.basename(path)).write_bytes(data)
        return store

    def check(self):
        operations = self.log.read_text().splitlines()
        step = max(1, len(operations) // self.most) if self.most else 1
        disk, draw, seen, wrong, states = Disk(), random.Random(1), set(), [], 0
        for moment, operation in enumerate(operations, 1):
            disk.apply(operation)
            if moment % step and moment not in {at for at, _ in self.promises}:
                continue
            promised = max([runs for at, runs in self.promises if at <= moment], default=0)
            for outcome, contents in survivors(copy.deepcopy(disk), draw):
                state = (promised, frozenset(contents.items()))
                if state in seen:
                    continue
                seen.add(state)
                states += 1
                kept, problem = self.finished(self.build(contents, "after"))
                if kept is None or kept < promised:
                    wrong.append(f"power lost after '{operation[:80]}' ({moment}), {outcome}: {kept} of {promised} runs are left {problem}")
        last = self.call("run", "--jobs", "2", store=self.top / "after", recorded=False)
        if last.returncode != 0:
            wrong.append(f"the campaign cannot be continued: {last.stderr}")
        print(f"{len(operations)} operations, {states} states of the disk, {len(wrong)} problems")
        return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mergelane")
    parser.add_argument("library")
    parser.add_argument("--most", type=int, default=0)
    power = Power(parser.parse_args())
    power.record()
    wrong = power.check()
    shutil.rmtree(power.top, ignore_errors=True)
    for line in wrong[:20]:
        print(line)
    sys.exit(1 if wrong else 0)


main()
