# SPDX-License-Identifier: MIT
"""Runs: a workload on a machine."""

from __future__ import annotations

import functools
import json
import operator
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._core import InputError
from ._kernels import launches

if TYPE_CHECKING:
    import numpy
    import pandas

__all__ = ["Explanation", "Result", "run"]

Settings = Union[Mapping[str, Any], Iterable[str]]
_MOST_CYCLES = 1 << 48


class UnknownName(KeyError, InputError):  # type: ignore[misc]
    """A statistic or key of this name does not exist; says which one was probably meant."""

    def __str__(self) -> str:
        return str(self.args[0])


def _integer(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value}; write a number")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is of type {type(value).__name__}; write a whole number") from None
    if not least <= number <= most:
        raise InputError(f"{name} = {_short(number)} is out of range; use {least} to {most}")
    return number


def _short(value: Any) -> str:
    """For messages: a number may have a million digits, which Python refuses to write."""
    if isinstance(value, int) and value.bit_length() > 200:
        return "a number of more than 60 digits"
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is of type {type(value).__name__}; write a str")
    return value


def _value(key: str, value: Any) -> str:
    """A value as on the command line: --set key=value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):  # numpy's, too
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(key, one) for one in value) + "]"
    if hasattr(value, "__index__"):
        number = operator.index(value)
        return str(number) if number.bit_length() < 200 else "9" * 60
    if hasattr(value, "__float__"):
        return repr(float(value))
    raise TypeError(f"the value of '{_short(key)}' is of type {type(value).__name__}; write a bool, int, float, str or list of ints")


def _settings(given: Settings | None) -> list[str]:
    """A mapping, or "key=value" as on the command line."""
    if given is None:
        return []
    if isinstance(given, (str, bytes)):
        raise TypeError("set is a text; write a mapping such as {'l1.size_kib': 64}, or a list of 'key=value'")
    if isinstance(given, Mapping):
        return [f"{_text('a key of set', key)}={_value(key, value)}" for key, value in given.items()]
    return [_text("an entry of set", entry) for entry in given]


def _kernels(given: Any) -> str:
    """Which launches, from 1: 3, "2-5", "4-" or range(2, 6)."""
    if given is None:
        return ""
    if isinstance(given, str):
        return given
    if isinstance(given, range):
        if given.step != 1 or len(given) == 0:
            raise InputError(f"kernels = {_short(given)} is not a range of consecutive launches; write for example range(1, 4)")
        return f"{_short(given.start)}-{_short(given[-1])}"
    return str(_integer("kernels", given, 1, 1 << 62))


def _path(name: str, value: Any) -> str:
    """A name or a path, which may be a pathlib.Path."""
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        if isinstance(path, str):
            # A preset or benchmark of the same name is not meant.
            return path if os.sep in path else os.path.join(os.curdir, path)
    return _text(name, value)


def _machine(gpu: Any) -> tuple[str, list[str]]:
    overrides = getattr(gpu, "_overrides", None)
    if isinstance(overrides, dict):
        return gpu._gpu, [f"{key}={value}" for key, value in overrides.items()]
    return _path("gpu", gpu), []


def _energy(given: Any) -> list[str]:
    if given is None or given is False:
        return []
    if given is True:
        return ["*"]
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    return [_path("an energy table", table) if isinstance(table, os.PathLike) else _text("an energy table", table) for table in given]


def _workload(workload: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What the extension module takes for one."""
    if isinstance(workload, (list, tuple)):
        workload = launches(*workload)
    own = getattr(workload, "_core_workload", None)
    if own is not None and (given["size"] is not None or given["seed"] != 1 or given["params"] or given["kernels"] is not None):
        raise InputError("size, seed, params and kernels require a workload that is given by its name")
    params = given["params"] or {}
    if not isinstance(params, Mapping):
        raise TypeError("params is no mapping; write for example {'ctas': 480}")
    own_params = _settings(params)
    if own is None and not isinstance(workload, (str, os.PathLike)):
        raise TypeError(f"a workload is a name, a path or a kernel, not {type(workload).__name__}; mergelane.kernel makes a kernel of an array or a function")
    name_of_workload = own if own is not None else _path("workload", workload)
    if own is None and name_of_workload.startswith("synthetic:"):  # "synthetic:stream ctas=60", as results name it
        name_of_workload, *words = name_of_workload.split()
        own_params = words + own_params
    return {
        "workload": name_of_workload,
        "size": "" if given["size"] is None else _text("size", given["size"]),
        "seed": _integer("seed", given["seed"], 0, (1 << 64) - 1),
        "params": own_params,
        "kernels": _kernels(given["kernels"]),
    }


def _request(gpu: Any, workload: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What the extension module takes."""
    name, overrides = _machine(gpu)
    interval, most = given["interval"], given["max_cycles"]
    return {
        "gpu": name,
        "set": overrides + _settings(given["set"]),
        **_workload(workload, given),
        "threads": _integer("threads", given["threads"], 1, 256),
        "interval": 0 if interval is None else _integer("interval", interval, 1, _MOST_CYCLES),
        "max_cycles": 0 if most is None else _integer("max_cycles", most, 0, _MOST_CYCLES),
        "by_instruction": bool(given["by_instruction"]),
        "energy": _energy(given["energy"]),
    }


class _ProgressLine:
    """A line on standard error that changes, on a terminal and in a notebook."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._shown = 0

    def __call__(self, kernel: int, cycles: int, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last < 0.5:
            return
        self._last = now
        bar = "#" * (20 * done // max(total, 1))
        self._show(f"[{bar:<20}] kernel {kernel}: {done} of {total} CTAs, cycle {cycles:,}")

    def _show(self, line: str) -> None:
        print("\r" + line.ljust(self._shown), end="", file=sys.stderr, flush=True)
        self._shown = len(line)

    def clear(self) -> None:
        if self._shown:
            self._show("")
            print("\r", end="", file=sys.stderr, flush=True)


Progress = Callable[[int, int, int, int], Any]


def _simulated(call: Callable[[Any], Any], progress: bool | Progress) -> Any:
    if callable(progress):
        return call(progress)
    line = _ProgressLine() if progress else None
    try:
        return call(line)
    finally:
        if line is not None:
            line.clear()


def run(gpu: Any, workload: Any, *, set: Settings | None = None, threads: int = 1, size: str | None = None, seed: int = 1,
        params: Mapping[str, Any] | None = None, kernels: Any = None, interval: int | None = None, by_instruction: bool = False,
        max_cycles: int | None = None, energy: Any = False, progress: bool | Progress = False) -> Result:
    """Simulate a workload on a machine.

    >>> import mergelane
    >>> result = mergelane.run("icc60", "hotspot", size="tiny", set={"l1.size_kib": 32})
    >>> result.cycles
    3703
    >>> result["l1.sector_accesses"]
    11620

    gpu: a preset (see `machines()`), a path of a .toml file, or a `Machine`.
    workload: a benchmark (see `workloads()`), "synthetic:stream" with `params` or "synthetic:stream ctas=60", a path (.mlt, .toml, the folder of an Accel-Sim trace), or
        what `kernel()` and `launches()` return, or a list of those.
    set: values of configuration keys, as a mapping or a list of "key=value".
    threads: of the host; the result does not depend on it.
    size, seed: of a benchmark: "tiny", "paper" (the default) or "large".
    kernels: which launches of a trace or benchmark, from 1: 3, "2-5", "4-" or range(2, 6).
    interval: core cycles after which all counters are read, for `Result.intervals`.
    by_instruction: count for each instruction, for `Result.by_instruction`.
    max_cycles: stop after so many core cycles with a partial result.
    energy: names of energy tables, or True for all that fit the machine.
    progress: True for a line on standard error, or a function of (kernel, cycles, CTAs done, CTAs in total).

    Ctrl-C stops the run. Other Python threads go on meanwhile, and may run further simulations.
    """
    given = {"set": set, "threads": threads, "size": size, "seed": seed, "params": params, "kernels": kernels, "interval": interval,
             "by_instruction": by_instruction, "max_cycles": max_cycles, "energy": energy}
    request = _request(gpu, workload, given)
    return Result(_simulated(lambda line: _core.run(request, line), progress), request)


class Result(Mapping[str, int]):
    """The result of a run: a mapping from the names of statistics to their values.

    >>> import mergelane
    >>> result = mergelane.run("icc60", "synthetic:stream", params={"ctas": 60, "iterations": 2})
    >>> result["sm.warp_instructions"] == result.warp_instructions
    True
    >>> result["l1.sector_acesses"]
    Traceback (most recent call last):
        ...
    mergelane.UnknownName: unknown statistic 'l1.sector_acesses'; did you mean 'l1.sector_accesses'? A disabled mechanism has no statistics
    """

    def __init__(self, core: Any, request: dict[str, Any]) -> None:
        self._result = core
        self._request = request

    # What ran, and how long it took.

    @property
    def gpu(self) -> str:
        """The machine's name."""
        return self._result.gpu

    @property
    def workload(self) -> str:
        return self._result.workload

    @property
    def cycles(self) -> int:
        """Core cycles, launch overhead included."""
        return self._result.cycles

    @property
    def kernel_cycles(self) -> int:
        """Core cycles without launch overhead."""
        return self._result.kernel_cycles

    @property
    def microseconds(self) -> float:
        """The simulated time of all cycles."""
        return self._result.microseconds

    @property
    def warp_instructions(self) -> int:
        return self._result.warp_instructions

    @property
    def partial(self) -> str:
        """Empty if the run is complete, otherwise why it stopped."""
        return self._result.partial

    @property
    def digest(self) -> str:
        """A hash of every counter of every component."""
        return self._result.digest

    @property
    def config_hash(self) -> str:
        """A hash of all values of the machine that matter."""
        return self._result.config_hash

    @property
    def config(self) -> dict[str, str]:
        """All configuration values, as text."""
        return dict(self._result.config)

    @property
    def seconds(self) -> float:
        """What the run took on the host."""
        return self._result.wall_seconds

    @property
    def cpu_seconds(self) -> float:
        """What this process used meanwhile."""
        return self._result.cpu_seconds

    # Statistics.

    @functools.cached_property
    def _table(self) -> list[tuple[str, int, int, str, str]]:
        return self._result.stats()

    @functools.cached_property
    def stats(self) -> dict[str, int]:
        """All statistics, by name."""
        return {row[0]: row[1] for row in self._table}

    def __getitem__(self, name: str) -> int:
        try:
            return self.stats[name]
        except KeyError:
            pass
        try:
            return self._result.stat(str(name))
        except InputError as error:
            raise UnknownName(str(error)) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.stats)

    def __len__(self) -> int:
        return len(self.stats)

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def _described(self, frame: Any) -> Any:
        frame.attrs["units"] = {row[0]: row[3] for row in self._table if row[3]}
        frame.attrs["meanings"] = {row[0]: row[4] for row in self._table}
        return frame

    @property
    def series(self) -> pandas.Series:
        """All statistics as a pandas.Series, with `attrs["units"]` and `attrs["meanings"]`."""
        import pandas

        return self._described(pandas.Series(self.stats, name=f"{self.workload} on {self.gpu}", dtype="int64").rename_axis("statistic"))

    @property
    def highest(self) -> pandas.Series:
        """The maximum of each statistic over the components that count it: of one SM, one L2 slice, ..."""
        import pandas

        return self._described(pandas.Series({row[0]: row[2] for row in self._table}, name="highest", dtype="int64").rename_axis("statistic"))

    @property
    def metrics(self) -> pandas.DataFrame:
        """What the mechanisms of the machine derive from their statistics."""
        import pandas

        return pandas.DataFrame(self._result.metrics(), columns=["heading", "name", "value", "unit", "note"])

    # Where the time goes.

    @property
    def accounts(self) -> pandas.DataFrame:
        """What the schedulers of all SMs did in their issue slots. Shares add up to one."""
        import pandas

        frame = pandas.DataFrame(self._result.issue_slots(), columns=["account", "meaning", "slots"]).set_index("account")
        frame.insert(1, "share", frame["slots"] / max(frame["slots"].sum(), 1))
        frame.attrs["units"] = {"slots": "issue slots", "share": ""}
        return frame[["slots", "share", "meaning"]]

    @property
    def load_times(self) -> pandas.DataFrame:
        """In which stages loads spend their time, from issue until the value is available, and schedulers wait for them."""
        import pandas

        frame = pandas.DataFrame(self._result.stages(), columns=["stage", "meaning", "cycles", "stalled"]).set_index("stage")
        frame["per_load"] = frame["cycles"] / max(self._result.followed_loads, 1)
        frame["share"] = frame["cycles"] / max(frame["cycles"].sum(), 1)
        frame.attrs["units"] = {"cycles": "core cycles", "stalled": "core cycles", "per_load": "core cycles", "share": ""}
        return frame[["cycles", "per_load", "share", "stalled", "meaning"]]

    def _matrix(self, values: bytes) -> numpy.ndarray:
        import numpy

        return numpy.frombuffer(values, dtype=numpy.int64).reshape(-1, len(self._table))

    @property
    def kernels(self) -> pandas.DataFrame:
        """One row for each kernel launch, with its statistics."""
        import pandas

        rows, values = self._result.kernels()
        columns = ["kernel", "ctas", "ctas_per_sm", "limited_by", "registers", "registers_from", "start", "cycles", "warp_instructions"]
        head = pandas.DataFrame(rows, columns=columns)
        stats = pandas.DataFrame(self._matrix(values), columns=list(self.stats))
        head.index += 1
        stats.index += 1
        frame = self._described(pandas.concat([head, stats], axis=1).rename_axis("launch"))
        frame.attrs["units"].update(start="core cycles", cycles="core cycles")
        return frame

    @property
    def intervals(self) -> pandas.DataFrame:
        """All counters over time: one row for each interval. Needs `run(..., interval=CYCLES)`."""
        import numpy
        import pandas

        table = self._result.intervals()
        if table is None:
            raise InputError("this run has no intervals; run it with interval=1000 or another number of core cycles")
        starts, lengths = (numpy.frombuffer(column, dtype=numpy.int64) for column in table[:2])
        head = pandas.DataFrame({"start": starts, "cycles": lengths})
        frame = self._described(pandas.concat([head, pandas.DataFrame(self._matrix(table[2]), columns=list(self.stats))], axis=1))
        frame.attrs["units"].update(start="core cycles", cycles="core cycles")
        return frame.rename_axis("interval")

    @property
    def by_instruction(self) -> pandas.DataFrame:
        """Counts of each instruction of each kernel. Needs `run(..., by_instruction=True)`."""
        import pandas

        if not self._request["by_instruction"]:
            raise InputError("this run did not count by instruction; run it with by_instruction=True")
        rows = []
        for kernel in json.loads(self._result.by_instruction()):
            for instruction in kernel["instructions"]:
                row = {"kernel": kernel["kernel"], **{name: value for name, value in instruction.items() if not isinstance(value, dict)}}
                for name, value in instruction.get("inlined_at", {}).items():
                    row[f"inlined_{name}"] = value
                for stage, cycles in instruction.get("stages", {}).items():
                    row[f"stage {stage}"] = cycles
                rows.append(row)
        frame = pandas.DataFrame(rows)
        frame.attrs["units"] = {name: "core cycles" for name in frame.columns if name in ("latency", "stalled") or name.startswith("stage ")}
        frame.attrs["meanings"] = {name: meaning for name, meaning in _core.instruction_counts().items() if name in frame.columns}
        return frame

    @property
    def per_unit(self) -> dict[str, numpy.ndarray]:
        """A few counters of each SM, L2 slice and DRAM channel, which show imbalance."""
        import numpy

        return {name: numpy.array(values, dtype=numpy.int64) for name, values in self._result.per_unit}

    @property
    def energy(self) -> pandas.DataFrame:
        """Where the energy went, by table, component and event. Needs `run(..., energy=...)`."""
        import pandas

        tables = self._result.energy()
        if not tables:
            raise InputError("this run has no energy; run it with energy=True, or the name of a table")
        items = [item for table in tables for item in table[4]]
        frame = pandas.DataFrame(items, columns=["table", "component", "event", "count", "unit", "unit_fj", "fj"])
        frame.attrs["joules"] = {table[0]: table[3] for table in tables}
        return frame

    # As the command shows it.

    @property
    def summary(self) -> str:
        """The text that `mergelane run` prints."""
        return self._result.summary()

    @property
    def json(self) -> dict[str, Any]:
        """What `mergelane run --json` writes."""
        return json.loads(self._result.json())

    def page(self) -> str:
        """What `mergelane run --html` writes: one page that needs nothing else."""
        return self._result.html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file: .json, .html (the page), .csv (all counters) or .txt (the summary)."""
        writers = {".json": self._result.json, ".html": self._result.html, ".csv": self._result.csv, ".txt": self._result.summary}
        kind = pathlib.PurePath(path).suffix
        if kind not in writers:
            raise InputError(f"'{_short(os.fspath(path))}' has an unknown ending; use .json, .html, .csv or .txt")
        _core.write_file(os.fspath(path), writers[kind]())

    def explain(self, *, what_if: bool = False, progress: bool | Progress = False) -> Explanation:
        """Say what limits this run. It is repeated, with the time of every load followed.

        what_if: also simulate it without each limit, to see what that gains.
        """
        core, text, findings, page = _simulated(lambda line: _core.explain(self._request, bool(what_if), line), progress)
        return Explanation(core, text, findings, page, self._request)

    def __repr__(self) -> str:
        stopped = f", partial: {self.partial}" if self.partial else ""
        return f"<Result: {self.workload} on {self.gpu}, {self.cycles:,} cycles, {self.warp_instructions:,} warp instructions{stopped}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return self._result.head_html()


class Explanation:
    """What limits a run, as `mergelane explain` says it: `print(result.explain())`."""

    def __init__(self, core: Any, text: str, findings: str, page: str, request: dict[str, Any]) -> None:
        self.result = Result(core, request)
        self.text = text
        self.json: dict[str, Any] = json.loads(findings)
        self._page = page

    def page(self) -> str:
        """What `mergelane explain --html` writes."""
        return self._page

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        return self.json["headline"]

    @property
    def findings(self) -> pandas.DataFrame:
        """The limits, the one that costs most first."""
        import pandas

        return pandas.DataFrame(self.json["findings"])

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Explanation: {self.headline}>"
