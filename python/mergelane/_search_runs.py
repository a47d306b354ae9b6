# SPDX-License-Identifier: MIT
"""The runs of a search: made by `mergelane campaign`, kept in a store that any number of workers share."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

from . import _command, _core
from ._core import InputError
from ._search_plan import Level, Plan
from ._sweep import _campaign_file, _Files, _merged, _Point, _stop

__all__ = ["Failed", "Runs", "locked"]

_KEY = re.compile(rb'\{"schema":[0-9]+,"key":"([0-9a-f]{32})","status":"([a-z]+)"')
_RUN_FAILED = 3  # exit code of the command
_ATTEMPTS = 10  # to simulate, if the command is killed. It is small: what uses much memory, or hangs, is its simulations, whose end it records
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


class Failed(Exception):
    """A run of a point failed."""


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[IO[bytes]]:
    """Alone in this block, among all processes. A process that is killed gives its locks back."""
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


class Runs:
    """Finished runs by their keys, and whoever makes those that are missing."""

    def __init__(self, folder: pathlib.Path, jobs: int, timeout: float | None) -> None:
        self._folder, self._jobs, self._timeout = folder, jobs, timeout
        folder.mkdir(parents=True, exist_ok=True)
        self._files = _Files(folder)
        self._places: dict[str, int] = {}
        self._lines: dict[str, tuple[str, int, int, bool]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Looks for what has been added."""
        for entry in os.scandir(self._folder):
            if entry.name.endswith(".jsonl.zst"):
                raise InputError(f"'{self._folder}' is merged or packed, and a search reads single records; unpack it with 'mergelane store unpack'")
            if entry.name.endswith(".jsonl") and entry.stat().st_size > self._places.get(entry.name, 0):
                self._read(entry.name)

    def _read(self, name: str) -> None:
        at = self._places.get(name, 0)
        with open(self._folder / name, "rb") as file:
            file.seek(at)
            for line in file:
                if not line.endswith(b"\n"):  # torn, or not all of it is there yet
                    break
                if found := _KEY.match(line):
                    key, done = found[1].decode(), found[2] == b"done"
                    if done or key not in self._lines:
                        self._lines[key] = (name, at, len(line), done)
                at += len(line)
        self._places[name] = at

    def __len__(self) -> int:
        return len(self._lines)

    def find(self, key: str) -> tuple[bool, str, int, Mapping[str, int]] | None:
        """(finished, why not, cycles, statistics)"""
        if key not in self._lines:
            return None
        name, at, length, _ = self._lines[key]
        with open(self._folder / name, "rb") as file:
            file.seek(at)
            record = _core.record_of_line(file.read(length))
        if record is None:  # damaged
            del self._lines[key]
            return None
        return record[1:]

    def points(self, plan: Plan, level: Level, overrides: list[str]) -> list[_Point]:
        """The runs of a design."""
        settings: dict[str, Any] = dict(override.split("=", 1) for override in overrides)
        return [_Point({"gpu": plan.machine, "workload": workload, "size": level.size, **({"kernels": kernels} if kernels else {}), **settings}, self._files)
                for workload, kernels in level.workloads]

    def make(self, points: list[_Point], lock: IO[bytes]) -> list[tuple[int, Mapping[str, int]]]:
        """(cycles, statistics) of each. Whoever simulates holds the lock until it has ended, even if this process is killed."""
        missing = [point for point in points if self.find(point.key) is None]
        for attempt in range(1 + _ATTEMPTS):
            if missing:
                self.refresh()
                missing = [point for point in missing if self.find(point.key) is None]
            if missing and attempt < _ATTEMPTS:
                self._simulate(missing, lock)
        results = []
        for point in points:
            record = self.find(point.key)
            if record is None:
                raise Failed(f"{point.workload}: the run left no record in '{self._folder}'")
            finished, why, cycles, counted = record
            if not finished:
                raise Failed(f"{point.workload}: {why}")
            results.append((cycles, counted))
        return results

    def _simulate(self, points: list[_Point], lock: IO[bytes]) -> None:
        with tempfile.TemporaryDirectory(prefix="mergelane-search-") as folder, tempfile.TemporaryFile() as complaints:
            campaigns = []
            for number, block in enumerate(_merged(point.block() for point in points)):
                path = pathlib.Path(folder, f"search-{number}.toml")
                path.write_text(_campaign_file(block), encoding="utf-8")
                campaigns.append(str(path))
            words = [_command.path_of_same_version(), "campaign", "run", *campaigns, "--store", str(self._folder), "--jobs", str(self._jobs), "--quiet"]
            if self._timeout is not None:
                words += ["--timeout", repr(self._timeout)]
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints, start_new_session=True,
                                     pass_fds=[lock.fileno()], preexec_fn=_end_with_parent)
            try:
                child.wait()
            finally:
                if child.poll() is None:
                    _stop(child)
            if child.returncode > 0 and child.returncode != _RUN_FAILED:
                complaints.seek(0)
                text = complaints.read().decode(errors="replace").strip().removeprefix("error: ")
                raise InputError(text or f"mergelane campaign ended with code {child.returncode}")
