# SPDX-License-Identifier: MIT
"""Sweeps: many runs in parallel, by `mergelane campaign`, which keeps every finished one."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _command, _core
from ._core import InputError, SimulationError
from ._machines import Machine
from ._reading import _names, loaded, meaning
from ._running import _integer, _kernels, _path, _text, _value

if TYPE_CHECKING:
    import pandas

__all__ = ["sweep"]

_FIXED = ("gpu", "workload", "size", "seed", "kernels")  # every other key of a grid is one of the configuration
_MOST_RUNS = 1_000_000
_MOST_VARIANTS = 256  # of a campaign file
_RUN_FAILED = 3  # exit code


_Block = tuple[tuple[str, ...], ...]  # of a campaign file: machines, variants, workloads, sizes, seeds


class _Point:
    """One run of a sweep."""

    def __init__(self, given: Mapping[str, Any], files: _Files) -> None:
        for name in ("gpu", "workload"):
            if name not in given:
                raise InputError(f"the grid has no '{name}'; give at least 'gpu' and 'workload'")
        self.given = given
        self.gpu = files.machine(given["gpu"])
        self.workload = files.workload(given["workload"])
        self.size = _text("size", given.get("size", "paper"))
        self.seed = _integer("seed", given.get("seed", 1), 0, (1 << 63) - 1)
        self.kernels = _kernels(given.get("kernels"))
        self.set = [f"{_text('a key', key)}={_value(key, value)}" for key, value in given.items() if key not in _FIXED]
        if _core.is_workload_file(self.workload):  # which has neither
            self.size, self.seed = "", 0
        what = (self.workload, self.size, self.seed, self.kernels)
        self.core_mhz = files.core_mhz(self.gpu, tuple(self.set))
        self.key = _core.run_key(files.config_hash(self.gpu, tuple(self.set)), *what, files.recording_key(*what))

    def block(self) -> _Block:
        kernels = f", kernels = {_quoted(self.kernels)}" if self.kernels else ""
        return ((_quoted(self.gpu),), (f"[[variant]]\nset = [{', '.join(map(_quoted, self.set))}]",),
                (f"{{ program = {_quoted(self.workload)}{kernels} }}",), (_quoted(self.size) if self.size else "",), (str(self.seed) if self.size else "1",))


class _Files:
    """What the runs of a sweep read: files for machines and workloads that have none yet."""

    def __init__(self, store: pathlib.Path) -> None:
        self._folder = store / "inputs"
        self._machines: dict[int, str] = {}
        self._workloads: dict[Any, str] = {}
        self.config_hash = functools.lru_cache(maxsize=None)(lambda gpu, changes: _core.config_hash(gpu, list(changes)))
        self.core_mhz = functools.lru_cache(maxsize=None)(lambda gpu, changes: int(_core.machine(gpu, list(changes))["values"]["gpu.core_mhz"][0]))
        self.recording_key = functools.lru_cache(maxsize=None)(_core.recording_key)
        self._kept: list[Any] = []  # so that no id is used twice

    def machine(self, gpu: Any) -> str:
        if not isinstance(gpu, Machine):
            name = _path("gpu", gpu)
            return os.path.abspath(name) if name.endswith(".toml") or os.sep in name else name
        if not gpu.changes:
            return self.machine(gpu._gpu)
        if id(gpu) not in self._machines:
            self._kept.append(gpu)
            path = self._folder / f"{gpu.name}-{gpu.config_hash[:12]}.toml"
            self._folder.mkdir(parents=True, exist_ok=True)
            gpu.save(path)
            self._machines[id(gpu)] = str(path)
        return self._machines[id(gpu)]

    def workload(self, workload: Any) -> str:
        if hasattr(workload, "_core_workload"):
            key: Any = id(workload)
            self._kept.append(workload)
        else:
            key = name = _path("workload", workload)
            if not name.startswith("synthetic:"):
                if os.path.isdir(name):
                    name = os.path.join(name, "kernelslist.g")
                return os.path.abspath(name) if _core.is_workload_file(name) else name
        if key not in self._workloads:
            self._workloads[key] = self._recorded(workload)
        return self._workloads[key]

    def _recorded(self, workload: Any) -> str:
        """A trace of a workload that only this process knows. Its content is part of the runs' keys, its name is not."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if not isinstance(workload, str):
            part = self._folder / f"part-{os.getpid()}.mlt"
            workload.save(part)
            with open(part, "rb") as file:
                path = self._folder / f"{_file_name(workload)}-{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}.mlt"
            os.replace(part, path)
            return str(path)
        kind, *params = workload.removeprefix("synthetic:").split()
        path = self._folder / f"{hashlib.sha256(workload.encode()).hexdigest()[:16]}.mlt"
        options = [word for param in params for word in ("--param", param)]
        answer = subprocess.run([_command.path_of_same_version(), "trace", "record", "-q", "--synthetic", kind, *options, "-o", str(path)], capture_output=True,
                                text=True, check=False)
        if answer.returncode != 0:
            raise InputError(answer.stderr.strip().removeprefix("error: "))
        return str(path)


def _file_name(workload: Any) -> str:
    """The name of a kernel as part of a file's, so that whoever reads the store can tell which it was."""
    return re.sub(r"[^A-Za-z0-9_.+-]+", "_", str(getattr(workload, "name", "kernel")))[:64].lstrip(".") or "kernel"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(value: Any) -> list[Any]:
    """One value of a grid is as good as a list of one."""
    if isinstance(value, (str, os.PathLike, Machine, Mapping)) or hasattr(value, "_core_workload") or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _points(grid: Any) -> list[Mapping[str, Any]]:
    """Every combination of a mapping's lists, in the order of the mapping; or a list of runs."""
    if isinstance(grid, Mapping):
        axes = {key: _listed(values) for key, values in grid.items()}
        total = 1
        for key, values in axes.items():
            if not values:
                raise InputError(f"'{key}' has no values; give at least one")
            total *= len(values)
        if total > _MOST_RUNS:
            raise InputError(f"the grid has {total:,} runs; use at most {_MOST_RUNS:,}")
        return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]
    points = list(grid)
    if not all(isinstance(point, Mapping) for point in points):
        raise TypeError("the grid is neither a mapping nor a list of mappings; write for example {'gpu': ['icc60'], 'workload': ['bfs']}")
    if not points:
        raise InputError("the grid is empty; give at least one run")
    return points


def _merged(blocks: Iterable[_Block]) -> list[_Block]:
    """Fewer blocks with the same runs: those that differ in one dimension become one."""
    for dimension in range(5):
        groups: dict[_Block, dict[str, None]] = {}
        for block in blocks:
            rest = (*block[:dimension], (), *block[dimension + 1:])
            groups.setdefault(rest, {}).update(dict.fromkeys(block[dimension]))
        blocks = [(*rest[:dimension], tuple(values), *rest[dimension + 1:]) for rest, values in groups.items()]
    return [(block[0], block[1][first:first + _MOST_VARIANTS], *block[2:]) for block in blocks for first in range(0, len(block[1]), _MOST_VARIANTS)]


def _campaign_file(block: _Block) -> str:
    machines, _, workloads, sizes, seeds = (", ".join(values) for values in block)
    size_line = f"sizes = [{sizes}]\n" if all(block[3]) else ""
    variants = "\n".join(block[1])
    return f"title = \"sweep\"\nmachines = [{machines}]\nworkloads = [{workloads}]\n{size_line}seeds = [{seeds}]\n{variants}\n"


def _records(store: pathlib.Path, places: dict[str, int]) -> int:
    """Lines that were added to the files of a store since the last call."""
    added = 0
    for path in store.glob("*.jsonl"):
        with open(path, "rb") as file:
            file.seek(places.get(path.name, 0))
            while block := file.read(1 << 20):
                added += block.count(b"\n")
            places[path.name] = file.tell()
    return added


class _Bar:
    """Progress on standard error, in a terminal and in a notebook."""

    def __init__(self, total: int, shown: bool) -> None:
        self._total, self._shown, self._started, self._length = total, shown and total > 0, time.monotonic(), 0

    def update(self, done: int) -> None:
        if not self._shown:
            return
        spent = time.monotonic() - self._started
        left = f", about {spent * (self._total - done) / done:.0f} s left" if 0 < done < self._total else ""
        line = f"[{'#' * (20 * done // self._total):<20}] {done} of {self._total} runs{left}"
        print("\r" + line.ljust(self._length), end="", file=sys.stderr, flush=True)
        self._length = len(line)

    def end(self) -> None:
        if self._shown:
            print("\r" + " " * self._length, end="\r", file=sys.stderr, flush=True)


def _campaign(words: list[str], store: pathlib.Path, missing: int, progress: bool) -> int:
    """Runs the command and shows how far it is. Whatever ends this function ends the command and its children."""
    places: dict[str, int] = {}
    _records(store, places)
    bar, done = _Bar(missing, progress), 0
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        # In a session of its own, so that Ctrl-C reaches it once, from here.
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints, start_new_session=True)
        try:
            while child.poll() is None:
                bar.update(done)
                try:
                    child.wait(0.2)
                except subprocess.TimeoutExpired:
                    done = min(missing, done + _records(store, places))
        finally:
            bar.end()
            if child.poll() is None:
                _stop(child)
        if child.returncode not in (0, _RUN_FAILED):
            complaints.seek(0)
            raise InputError(complaints.read().strip().removeprefix("error: ") or f"mergelane campaign ended with code {child.returncode}")
    return child.returncode


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGINT)  # an orderly end, which finished runs survive
    try:
        child.wait(5)
    except BaseException:  # it hangs, or Ctrl-C again; its children end with it
        child.kill()
        child.wait()
        raise


def _found(points: list[_Point], store: pathlib.Path, columns: Iterable[str] | None) -> tuple[pandas.DataFrame, list[_Point]]:
    """A row for each point, and the points without a result."""
    import pandas

    given = {key for point in points for key in point.given}
    timed = columns is None or "microseconds" in columns
    wanted = None if columns is None else [name for name in columns if name not in given and name != "microseconds"]
    if wanted is not None and timed and "cycles" not in wanted:
        wanted.append("cycles")
    runs = loaded(str(store), wanted, refuse_unknown=False)  # not every machine counts everything, and what was simulated is returned
    attrs = runs.attrs
    kept = [point for point in points if point.key in runs.index]
    lost = [point for point in points if point.key not in runs.index]
    results = runs.loc[[point.key for point in kept]].reset_index()
    if timed:
        results.insert(int(results.columns.get_loc("cycles")) + 1, "microseconds", results["cycles"] / [point.core_mhz for point in kept])
        attrs["units"]["microseconds"] = "us"
        attrs["meanings"]["microseconds"] = "the same in time, at the core clock of the machine"
    head = pandas.DataFrame([{key: _label(value) for key, value in point.given.items()} for point in kept])
    hidden = [name for name in results.columns if name in head.columns or (columns is not None and name not in columns)]
    frame = pandas.concat([head, results.drop(columns=hidden)], axis=1)
    frame.attrs.update(attrs)
    return frame, lost


def _label(value: Any) -> Any:
    """What stands for a machine or a kernel in a frame."""
    if isinstance(value, Machine):
        return repr(value)[len("<Machine "):-1]
    if hasattr(value, "_core_workload"):
        return getattr(value, "name", "kernel")
    return str(value) if isinstance(value, os.PathLike) else value


def sweep(grid: Any, *, jobs: int | None = None, store: str | os.PathLike[str] | None = None, columns: Iterable[str] | None = None,
          progress: bool = True, timeout: float | None = None, retry_failed: bool = False) -> pandas.DataFrame:
    """Simulate every combination of a grid in parallel processes, and return a frame with a row for each run.

    >>> import mergelane
    >>> runs = mergelane.sweep({"gpu": "icc60", "workload": ["hotspot", "bfs"], "size": "tiny", "l1.size_kib": [16, 32]}, progress=False)
    >>> runs[["workload", "l1.size_kib", "cycles"]]
      workload  l1.size_kib  cycles
    0  hotspot           16    3703
    1  hotspot           32    3703
    2      bfs           16   25589
    3      bfs           32   25589

    grid: a mapping from "gpu", "workload", "size", "seed", "kernels" and configuration keys to a value or a list of them, or a list of
        mappings, one for each run. Machines may be `Machine` objects, workloads what `kernel()` returns or "synthetic:stream ctas=96".
    jobs: simulations at a time; all host cores if it is None.
    store: a directory that keeps finished runs: the same sweep, or a larger one, then runs only what is missing, even after it was
        killed. `mergelane campaign status STORE` and `mergelane.load(STORE)` read it, too. None: nothing is kept.
    columns: the statistics of interest, and "microseconds"; fewer take less memory.
    timeout: seconds of one run; a run that takes longer fails.
    retry_failed: also repeat runs that failed before.

    Ctrl-C stops all runs. Runs that fail are left out with a warning.
    """
    count = len(os.sched_getaffinity(0)) if jobs is None else _integer("jobs", jobs, 1, 4096)
    given = _points(grid)
    if store is None:
        with tempfile.TemporaryDirectory(prefix="mergelane-sweep-") as folder:
            return _swept(given, pathlib.Path(folder), count, columns, progress, timeout, retry_failed)
    return _swept(given, pathlib.Path(os.path.abspath(os.fspath(store))), count, columns, progress, timeout, retry_failed)


def _check_names(given: list[Mapping[str, Any]]) -> None:
    """Rows of different kernels must differ."""
    names: dict[str, Any] = {}
    for point in given:
        workload = point.get("workload")
        if hasattr(workload, "_core_workload") and names.setdefault(_label(workload), workload) is not workload:
            raise InputError(f"two workloads are named '{_label(workload)}'; give kernels names: mergelane.kernel(..., name=\"mine\")")


def _swept(given: list[Mapping[str, Any]], store: pathlib.Path, jobs: int, columns: Iterable[str] | None, progress: bool,
           timeout: float | None, retry_failed: bool) -> pandas.DataFrame:
    columns = _names(columns)
    for name in columns or ():
        if name != "microseconds" and not any(name in point for point in given):
            meaning(name)  # refuses what no run has
    _check_names(given)
    files = _Files(store)
    points = [_Point(point, files) for point in given]
    options = ["--store", str(store)]
    with tempfile.TemporaryDirectory(prefix="mergelane-plan-") as folder:
        campaigns: list[str] = []
        for block in _merged(point.block() for point in points):
            path = pathlib.Path(folder, f"sweep-{len(campaigns)}.toml")
            path.write_text(_campaign_file(block), encoding="utf-8")
            campaigns.append(str(path))
        run = [_command.path_of_same_version(), "campaign", "run", *campaigns, *options, "--jobs", str(jobs), "--quiet"]
        if timeout is not None:
            run += ["--timeout", repr(float(timeout))]
        if retry_failed:
            run.append("--retry-failed")
        answer = subprocess.run([_command.path_of_same_version(), "campaign", "status", "--json", *campaigns, *options], capture_output=True, text=True, check=False)
        missing = json.loads(answer.stdout)["missing"] if answer.stdout else len(points)
        code = _campaign(run, store, missing, progress)
    if code == _RUN_FAILED:
        finished, reason = _failures(store)
        if not finished:
            raise SimulationError(f"{len(points)} of {len(points)} runs failed{reason}")
    frame, lost = _found(points, store, columns)
    if lost:
        text = f"{len(lost)} of {len(points)} runs failed{_failures(store)[1]}"
        if len(lost) == len(points):
            raise SimulationError(text)
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    return frame


def _failures(store: pathlib.Path) -> tuple[int, str]:
    """How many runs of the store have finished, and why the first one that failed did."""
    status = subprocess.run([_command.path_of_same_version(), "campaign", "status", str(store)], capture_output=True, text=True, check=False).stdout
    finished = re.search(r"^ *finished +([0-9,]+)", status, re.MULTILINE)
    first = re.search(r"run [0-9]+ \((.*)\) failed: (?:error: )?(.*)", status)
    return int(finished[1].replace(",", "")) if finished else 0, f"; the first: {first[1]}: {first[2]}" if first else ""
