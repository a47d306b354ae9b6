# SPDX-License-Identifier: MIT
"""Searches: the best designs of a space, by Optuna, with far fewer simulations than all of its points take."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

from . import _core
from ._core import InputError
from ._running import _integer
from ._search_plan import Plan
from ._search_report import SearchResult
from ._search_runs import _end_with_parent, locked
from ._search_work import Studies, Worker

__all__ = ["SearchResult", "search"]

_RESTARTS = 10  # of killed workers, without a point that has been finished since


def _kept(plan: Plan, store: pathlib.Path, folder: str) -> None:
    """Whoever goes on with a search must mean the same one."""
    store.mkdir(parents=True, exist_ok=True)
    with locked(store / "search.lock"):
        path = store / "search.json"
        if path.exists():
            there = json.loads(path.read_text(encoding="utf-8"))["identity"]
            mine = json.loads(json.dumps(plan.identity()))
            different = [key for key in mine if there.get(key) != mine[key]]
            if different:
                raise InputError(f"'{store}' has another search, which differs in {', '.join(different)}; use another store. Only budget and keep may grow")
        _core.write_file(str(path), json.dumps({"identity": plan.identity(), "given": plan.given, "folder": folder, "name": plan.name}) + "\n")


def plan_of_store(store: pathlib.Path) -> Plan:
    try:
        kept = json.loads((store / "search.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"'{store}' has no search; check the path") from None
    return Plan(kept["given"], pathlib.Path(kept["folder"]), kept["name"])


class _Line:
    """Progress on standard error."""

    def __init__(self, plan: Plan, shown: bool) -> None:
        self._plan, self._shown, self._length = plan, shown, 0

    def update(self, studies: Studies) -> None:
        if not self._shown:
            return
        parts = [f"level {number + 1}: {studies.counted(number)} of {level.points} points" for number, level in enumerate(self._plan.levels)]
        line = ", ".join(parts)
        print("\r" + line.ljust(self._length), end="", file=sys.stderr, flush=True)
        self._length = len(line)

    def end(self) -> None:
        if self._shown:
            print("\r" + " " * self._length, end="\r", file=sys.stderr, flush=True)


class _Processes:
    """Workers in processes of their own. Those that are killed are started again."""

    def __init__(self, plan: Plan, store: pathlib.Path, workers: int, words: list[str]) -> None:
        package = str(pathlib.Path(_core.__file__).resolve().parent.parent)
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self._words = [sys.executable, "-m", "mergelane.search", "--worker", str(store), *words]
        self._plan, self._workers = plan, workers
        self._studies = Studies(plan, store)

    def work(self, shown: Callable[[Studies], None]) -> None:
        with contextlib.ExitStack() as stack:
            complaints = stack.enter_context(tempfile.TemporaryFile())
            children = [self._start(complaints) for _ in range(self._workers)]
            stack.callback(_end, children)
            restarts, finished = 0, 0
            while children:
                time.sleep(0.1)
                shown(self._studies)
                now = sum(self._studies.counted(level) for level in range(len(self._plan.levels)))
                restarts, finished = (0, now) if now > finished else (restarts, finished)
                for child in [child for child in children if child.poll() is not None]:
                    children.remove(child)
                    if child.returncode < 0 and restarts < _RESTARTS:
                        restarts += 1
                        children.append(self._start(complaints))
                    elif child.returncode != 0:
                        complaints.seek(0)
                        text = complaints.read().decode(errors="replace").strip().removeprefix("error: ")
                        raise InputError(text or f"workers of the search end with code {child.returncode}")

    def _start(self, complaints: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._words, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints,
                                start_new_session=True, preexec_fn=_end_with_parent)


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.kill()  # it leaves nothing that the next one could not take over
    for child in children:
        child.wait()


def searched(plan: Plan, store: pathlib.Path, folder: str, workers: int, jobs: int, runs: pathlib.Path | None, progress: bool) -> SearchResult:
    _kept(plan, store, folder)
    line = _Line(plan, progress)
    try:
        if workers == 1:
            worker = Worker(plan, store, jobs, runs)
            worker.work(line.update)
        else:
            _Processes(plan, store, workers, ["--jobs", str(jobs), *(["--runs", str(runs)] if runs else [])]).work(line.update)
    finally:
        line.end()
    return SearchResult(plan, Studies(plan, store))


def search(file: str | os.PathLike[str] | None = None, *, store: str | os.PathLike[str] | None = None, workers: int = 1, jobs: int | None = None,
           runs: str | os.PathLike[str] | None = None, progress: bool = True, **given: Any) -> SearchResult:
    """Find the best designs of a space with few simulations.

    >>> import mergelane
    >>> found = mergelane.search(machine="icc60", workloads=["hotspot", "bfs"], progress=False,
    ...     space={"l1.size_kib": [16, 32, 48], "noc.flit_bytes": [32, 64, 128]},
    ...     choice={"icc": {"off": [], "on": ["cluster.icc.enabled=true"]}},
    ...     measures={"speedup": "geomean(base(cycles) / cycles)", "growth": "area / base(area)"},
    ...     objectives=["maximize speedup", "minimize growth"], constraints=["growth <= 1.05"],
    ...     level=[{"size": "tiny", "budget": 5}])
    >>> len(found.trials), found.trials["feasible"].all()
    (5, True)

    file: a search file (docs/search.md). Or its keys as arguments: machine, workloads, space, choice, measures, objectives, constraints, best, level,
        set, table, sampler, seed, timeout, title.
    store: a directory that keeps trials and runs: the same search then goes on after Ctrl-C or `kill -9`, also with a larger budget. None: nothing is kept.
    workers: processes. One worker gives the same trials in every search with the same seed.
    jobs: simulations at a time of each worker; all host cores together if it is None.
    runs: a store of runs that several searches share; STORE/runs if it is None.
    """
    if file is not None and given:
        raise TypeError(f"a search is a file or its keys, not both; put {', '.join(given)} into the file")
    plan = Plan(given) if file is None else Plan.read(file)
    workers = _integer("workers", workers, 1, 1024)
    jobs = max(1, len(os.sched_getaffinity(0)) // workers) if jobs is None else _integer("jobs", jobs, 1, 4096)
    folder = os.path.abspath(os.path.dirname(file) if file is not None else os.curdir)
    shared = None if runs is None else pathlib.Path(os.path.abspath(os.fspath(runs)))
    if store is None:
        with tempfile.TemporaryDirectory(prefix="mergelane-search-") as temporary:
            return searched(plan, pathlib.Path(temporary), folder, workers, jobs, shared, progress)
    return searched(plan, pathlib.Path(os.path.abspath(os.fspath(store))), folder, workers, jobs, shared, progress)


def results_of(store: pathlib.Path) -> SearchResult:
    """What a store has, whether or not its search has ended."""
    plan = plan_of_store(store)
    return SearchResult(plan, Studies(plan, store))


def with_changes(given: Mapping[str, Any], budget: int | None, seed: int | None) -> dict[str, Any]:
    """What the command line changes of a file."""
    changed = dict(given)
    if seed is not None:
        changed["seed"] = seed
    if budget is not None and changed.get("level"):
        changed["level"] = [{**changed["level"][0], "budget": budget}, *changed["level"][1:]]
    return changed
