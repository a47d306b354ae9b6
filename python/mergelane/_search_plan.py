# SPDX-License-Identifier: MIT
"""What to search: the space of designs, what to compare, and the levels of fidelity. From a .toml file or from Python."""

from __future__ import annotations

import math
import os
import pathlib
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from . import _core
from ._core import InputError
from ._running import _integer, _text, _value
from ._search_measures import Bound, Design, Measures

__all__ = ["Best", "Dimension", "Level", "Plan"]

Params = Mapping[str, int]  # of a point: which value of each dimension, from 0

_KEYS = ("title", "machine", "set", "workloads", "space", "choice", "measures", "objectives", "constraints", "best", "level", "table", "sampler",
         "seed", "timeout")
COLUMNS = ("level", "trial", "state", "from", "feasible", "pareto", "failed", "best", "overrides")  # of the tables of results
SAMPLERS = ("tpe", "nsga2", "random")
DEFAULT_TABLE = "bottom_up_40nm"


def _only(given: Any, what: str, known: Iterable[str]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{what} is {given!r}; it must be a table of {', '.join(known)}")
    for key in given:
        if key not in known:
            raise InputError(f"{what}: {_core.unknown_word('key', str(key), list(known))}")
    return given


def _list(given: Any, what: str, example: str) -> list[Any]:
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise InputError(f"{what} is {given!r}; write a list, for example {example}")
    return list(given)


def _settings(given: Any, what: str) -> list[str]:
    if isinstance(given, Mapping):
        return [f"{key}={_value(key, value)}" for key, value in given.items()]
    settings = [_text(f"an entry of {what}", entry) for entry in _list(given, what, '["l1.size_kib=64"]')]
    for setting in settings:
        if "=" not in setting:
            raise InputError(f"{what}: '{setting}' has no value; write key=value, for example \"l1.size_kib=64\"")
    return settings


class Dimension:
    """Something that designs differ in: the values of a key, or groups of settings that belong together."""

    def __init__(self, name: str, values: list[tuple[Any, list[str]]]) -> None:
        if not values:
            raise InputError(f"'{name}' has no values; give at least one")
        self.name = name
        self.labels = [label for label, _ in values]
        self.settings = [settings for _, settings in values]
        if len({str(label) for label in self.labels}) != len(self.labels):
            raise InputError(f"'{name}' has a value twice; remove one")
        numbers = [label for label in self.labels if isinstance(label, (int, float)) and not isinstance(label, bool)]
        #: Whether neighbours in the list resemble each other.
        self.ordered = len(numbers) == len(self.labels) and (numbers == sorted(numbers) or numbers == sorted(numbers, reverse=True))

    def __len__(self) -> int:
        return len(self.labels)


def _flat(table: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """l1.size_kib = [16, 32] in a file is a table in a table."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _dimensions(space: Any, choices: Any) -> list[Dimension]:
    if not isinstance(space, Mapping) or not isinstance(choices, Mapping):
        raise InputError("space and choice must be tables; write for example [space] and l1.size_kib = [16, 32, 48]")
    dimensions = []
    known = _core.keys()
    for key, values in _flat(space):
        if key not in known:
            raise InputError(f"space: {_core.unknown_key(key)}")
        dimensions.append(Dimension(key, [(value, [f"{key}={_value(key, value)}"]) for value in _list(values, f"space: {key}", "[16, 32, 48]")]))
    for name, options in choices.items():
        if name in COLUMNS:
            raise InputError(f"choice.{name} has the name of a column of the results ({', '.join(COLUMNS)}); give it another name")
        if not isinstance(options, Mapping):
            raise InputError(f"choice.{name} must be a table of names with settings; write for example off = [] and on = [\"cluster.icc.enabled=true\"]")
        dimensions.append(Dimension(name, [(label, _settings(settings, f"choice.{name}.{label}")) for label, settings in options.items()]))
    if not dimensions:
        raise InputError("there is nothing to search; give [space] with values of configuration keys, for example l1.size_kib = [16, 32, 48]")
    names = [dimension.name for dimension in dimensions]
    if len(set(names)) != len(names):
        raise InputError("a choice has the name of a key in [space]; give it another name")
    return dimensions


class Level:
    """A fidelity: what a point runs, and how many points."""

    def __init__(self, given: Any, number: int, workloads: list[tuple[str, str]], folder: pathlib.Path) -> None:
        what = f"level {number}"
        given = _only(given, what, ("size", "workloads", "budget", "keep"))
        self.size = _text(f"{what}: size", given.get("size", "tiny" if number == 1 else "paper"))
        if self.size not in ("tiny", "paper", "large"):
            raise InputError(f"{what}: {_core.unknown_word('size', self.size, ['tiny', 'paper', 'large'])}")
        self.workloads = _workloads(given["workloads"], what, folder) if "workloads" in given else workloads
        if not self.workloads:
            raise InputError(f"{what} has no workloads; write for example workloads = [\"bfs\", \"hotspot\"]")
        first, other = ("budget", "keep") if number == 1 else ("keep", "budget")
        if other in given:
            raise InputError(f"{what} has '{other}'; the first level has a budget of points to simulate, each further one the number of points to keep")
        if first not in given:
            raise InputError(f"{what} has no '{first}'; write for example {first} = {200 if number == 1 else 10}")
        self.points = _integer(f"{what}: {first}", given[first], 1, 10_000_000)

    def identity(self) -> Any:
        return [self.size, self.workloads]


class Best:
    """A question: which design is best under these conditions?"""

    def __init__(self, title: str, bounds: list[Bound], objective: int) -> None:
        self.title, self.bounds, self.objective = title, bounds, objective


def _path(name: str, folder: pathlib.Path) -> str:
    """Files are next to the search file."""
    if name.endswith((".toml", ".mlt", ".g")) or os.sep in name:
        return os.path.abspath(folder / name)
    return name


def _workloads(given: Any, what: str, folder: pathlib.Path) -> list[tuple[str, str]]:
    """(name, launches)"""
    found = []
    for one in _list(given, f"{what}: workloads", '["bfs", "hotspot"]'):
        if isinstance(one, Mapping):
            entry = _only(one, f"{what}: a workload", ("program", "kernels"))
            if "program" not in entry:
                raise InputError(f"{what}: a workload has no 'program'; write for example {{ program = \"atax\", kernels = \"1\" }}")
            found.append((_path(_text("program", entry["program"]), folder), str(entry.get("kernels", ""))))
        else:
            found.append((_path(_text(f"{what}: a workload", one), folder), ""))
    if len(set(found)) != len(found):
        raise InputError(f"{what}: a workload is there twice; remove one")
    return found


class Plan:
    """A search, checked."""

    def __init__(self, given: Mapping[str, Any], folder: pathlib.Path = pathlib.Path(), name: str = "the search") -> None:
        given = _only(given, name, _KEYS)
        self.given, self.name = dict(given), name
        for needed, example in (("machine", '"icc60"'), ("workloads", '["bfs"]'), ("objectives", '["maximize geomean(base(cycles) / cycles)"]')):
            if needed not in given and not (needed == "workloads" and "level" in given):
                raise InputError(f"{name} has no '{needed}'; write for example {needed} = {example}")
        self.title = _text("title", given.get("title", "search"))
        self.machine = _path(_text("machine", given["machine"]), folder)
        self.set = _settings(given.get("set", []), "set")
        self.table = _text("table", given.get("table", DEFAULT_TABLE))
        self.sampler = _text("sampler", given.get("sampler", SAMPLERS[0]))
        if self.sampler not in SAMPLERS:
            raise InputError(_core.unknown_word("sampler", self.sampler, list(SAMPLERS)))
        self.seed = _integer("seed", given.get("seed", 1), 0, (1 << 32) - 1)
        self.timeout = None if given.get("timeout") is None else float(given["timeout"])
        self.dimensions = _dimensions(given.get("space", {}), given.get("choice", {}))
        self.points = math.prod(len(dimension) for dimension in self.dimensions)
        workloads = _workloads(given.get("workloads", []), name, folder)
        levels = _list(given.get("level", []), "level", "[[level]] with size = \"tiny\" and budget = 200")
        if not levels:
            raise InputError(f"{name} has no level; write [[level]] with size = \"tiny\" and budget = 200, and further ones with keep = 10")
        self.levels = [Level(level, number, workloads, folder) for number, level in enumerate(levels, 1)]
        self._read_measures(given)
        self.baseline = Design(self.machine, self.set, self.table)
        _core.config_hash(self.machine, self.set)  # refuses a machine that cannot be
        self._designs: dict[tuple[int, ...], tuple[str, bool]] = {}

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        path = pathlib.Path(path)
        try:
            with open(path, "rb") as file:
                given = tomllib.load(file)
        except FileNotFoundError:
            raise InputError(f"{path}: no such file; check the path") from None
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise InputError(f"{path}: cannot be read as TOML ({problem}); see docs/search.md for a search file") from None
        return cls(given, path.parent, str(path))

    def _read_measures(self, given: Mapping[str, Any]) -> None:
        measures = given.get("measures", {})
        if not isinstance(measures, Mapping):
            raise InputError("measures must be a table; write for example [measures] and speedup = \"geomean(base(cycles) / cycles)\"")
        for name in measures:
            if name in COLUMNS or any(name == dimension.name for dimension in self.dimensions):
                raise InputError(f"measure {name} has the name of a choice or of a column of the results ({', '.join(COLUMNS)}); give it another name")
        self.measures = Measures(measures)
        self.measure_names = list(measures)
        self.measure_nodes = {name: self.measures.parse(name, f"measure {name}") for name in measures}
        self.objectives = []
        for text in _list(given["objectives"], "objectives", '["maximize speedup", "minimize area"]'):
            word, _, rest = _text("an objective", text).partition(" ")
            if word not in ("maximize", "minimize"):
                raise InputError(f"objective '{text}' does not say which way; write \"maximize {text}\" or \"minimize {text}\"")
            self.objectives.append((word, rest.strip(), self.measures.parse(rest, f"objective '{text}'")))
        if not self.objectives:
            raise InputError("objectives is empty; write for example objectives = [\"maximize geomean(base(cycles) / cycles)\"]")
        self.constraints = self._bounds(given.get("constraints", []), "constraint")
        self.best = [self._best(one, number) for number, one in enumerate(_list(given.get("best", []), "best", "[[best]] with where = [...]"), 1)]

    def _bounds(self, given: Any, what: str) -> list[Bound]:
        return [Bound(text, self.measures, what) for text in _list(given, f"{what}s", '["area <= 1.05 * base(area)"]')]

    def _best(self, given: Any, number: int) -> Best:
        given = _only(given, f"best {number}", ("title", "where", "of"))
        of = given.get("of", self.objectives[0][1])
        places = [place for place, (_, text, _) in enumerate(self.objectives) if text == of]
        if not places:
            raise InputError(f"best {number}: 'of' is {of!r}; it must be the expression of an objective: {', '.join(text for _, text, _ in self.objectives)}")
        bounds = self._bounds(given.get("where", []), f"best {number}: bound")
        return Best(str(given.get("title", " and ".join(bound.text for bound in bounds) or "best")), bounds, places[0])

    # ---- points

    def index(self, params: Params) -> tuple[int, ...]:
        return tuple(params[dimension.name] for dimension in self.dimensions)

    def labels(self, params: Params) -> dict[str, Any]:
        return {dimension.name: dimension.labels[params[dimension.name]] for dimension in self.dimensions}

    def overrides(self, params: Params) -> list[str]:
        return [*self.set, *(setting for dimension in self.dimensions for setting in dimension.settings[params[dimension.name]])]

    def design(self, params: Params) -> Design:
        return Design(self.machine, self.overrides(params), self.table)

    def known(self, params: Params) -> tuple[str, bool]:
        """The configuration hash of a point, and whether it is possible as far as no run is needed to tell. The hash of what is no machine is empty."""
        index = self.index(params)
        if index not in self._designs:
            design = self.design(params)
            try:
                found = _core.config_hash(design.gpu, design.overrides)
            except InputError:
                self._designs[index] = ("", False)
            else:
                early = [bound for bound in self.constraints if not bound.needs_runs]
                self._designs[index] = (found, all(bound.excess(design, self.baseline) <= 0 for bound in early))
        return self._designs[index]

    def notes(self) -> list[str]:
        """Values that are no machine with all else as in the baseline: perhaps a mistake."""
        notes = []
        for dimension in self.dimensions:
            for label, settings in zip(dimension.labels, dimension.settings):
                try:
                    _core.config_hash(self.machine, [*self.set, *settings])
                except InputError as problem:
                    notes.append(f"{dimension.name} = {label} is no machine by itself: {problem}")
        return notes

    # ---- what must be the same to go on with a search

    def identity(self) -> dict[str, Any]:
        """Everything that decides which trials there are, except how many."""
        return {"machine": self.machine, "set": self.set, "config": _core.config_hash(self.machine, self.set), "table": self.table,
                "sampler": self.sampler, "seed": self.seed,
                "space": [[d.name, [str(label) for label in d.labels], d.settings] for d in self.dimensions],
                "measures": {name: str(self.given["measures"][name]) for name in self.measure_names},
                "objectives": [f"{word} {text}" for word, text, _ in self.objectives], "constraints": [bound.text for bound in self.constraints],
                "best": [[[bound.text for bound in best.bounds], best.objective] for best in self.best], "levels": [level.identity() for level in self.levels], "version": _core.version, "model": _core.model}

