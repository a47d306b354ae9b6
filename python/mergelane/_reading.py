# SPDX-License-Identifier: MIT
"""What the command writes, as frames."""

from __future__ import annotations

import csv
import functools
import json
import os
import stat
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Union

from . import _core
from ._core import InputError

if TYPE_CHECKING:
    import pandas

_Path = Union[str, bytes, "os.PathLike[str]"]
_Paths = Union[_Path, Iterable[_Path]]

__all__ = ["load", "meaning", "published", "units"]

_TEXTS = ("key", "gpu", "overrides", "workload", "size", "kernels", "version", "config_hash", "digest", "sample")
_RECORD = ("gpu", "overrides", "workload", "size", "seed", "kernels", "version", "model", "config_hash", "digest", "cycles", "warp_instructions",
           "seconds", "sample")
_RUN = ("file", "gpu", "workload", "version", "edition", "model", "config_hash", "digest", "complete", "cycles", "kernel_cycles",
        "launch_overhead_cycles", "warp_instructions", "seconds")
_SAMPLE = ("requested_error", "launches", "simulated_launches", "warp_instructions", "simulated_warp_instructions", "waves", "simulated_waves",
           "passes")
_MORE = {"microseconds": ("us", "cycles at the core clock of the machine; of Result and sweep()"),
         "file": ("", "that the row was read from"),
         "edition": ("", "version of user-added models"),
         "complete": ("", "whether the run came to its end"),
         "kernel_cycles": ("core cycles", "cycles of all kernels, without launch overhead"),
         "launch_overhead_cycles": ("core cycles", "launch latency before kernels and between them")}
_HIGHEST = "highest "
_HALF_WIDTH = " +-"
_RUN_CSV = "gpu,config_hash,version,workload,complete,kernel,stat,value,unit"
_EXPORT_CSV = "run,key,gpu,overrides,workload,size,seed,kernels,version,"


# ---- units and meanings

@functools.lru_cache(maxsize=None)
def _known():
    """{name: (unit, meaning)} of every column that any machine can have."""
    known = {name: (unit, text) for name, unit, text in _core.first_columns()}
    rows = [row.strip("| ").split(" | ", 2) for row in _core.statistics.splitlines() if row.startswith("| `")]
    return {**known, **_MORE, **{name.strip("`"): (unit.strip(), text) for name, unit, text in rows}}


def _described(name):
    """(unit, meaning), or None."""
    if name.startswith(_HIGHEST):
        whole = _described(name[len(_HIGHEST):])
        return whole and (whole[0], "of the component that counted most: " + whole[1])
    if name.endswith(_HALF_WIDTH):
        whole = _described(name[:-len(_HALF_WIDTH)])
        return whole and (whole[0], f"half-width of the 95 % interval of {name[:-len(_HALF_WIDTH)]} in a sampled run")
    if name.startswith("energy."):
        return "fJ", "energy by an energy table: table and component, or total"
    return _known().get(name)


def _description(name):
    if not isinstance(name, str):
        raise InputError(f"the name of a statistic is a text, not {name!r}")
    found = _described(name)
    if found is None:
        raise InputError(_core.unknown_statistic(name, list(_known())))
    return found


def units(name: str) -> str:
    """The unit of a statistic or another column, "" if it has none.

    >>> import mergelane
    >>> mergelane.units("l2.reads")
    'requests'
    """
    return _description(name)[0]


def meaning(name: str) -> str:
    """What a statistic or another column says.

    >>> import mergelane
    >>> mergelane.meaning("dispatch.ctas_dispatched")
    'CTAs sent to an SM'
    """
    return _description(name)[1]


# ---- what a file is

def _refuse(path, why):
    raise InputError(f"{path}: {why}")


def _kind_of_folder(path):
    names = os.listdir(path)
    if any(name.endswith((".jsonl", ".jsonl.zst", ".jsonl.xz")) for name in names):
        return "records"
    if "campaign.plan" in names:
        _refuse(path, f"has a plan but no records yet; run it: 'mergelane campaign run {path}'")
    if "study.toml" in names:
        _refuse(path, f"is a study, not its results; 'mergelane reproduce {path} --store DIRECTORY' makes them")
    _refuse(path, "has no records (.jsonl, .jsonl.zst); give the --store of a study or campaign")


def _kind_of_table(path, header):
    if header == _RUN_CSV:
        return "run_csv"
    if header.startswith(_EXPORT_CSV):
        return "export_csv"
    if header.startswith("run,key,gpu,"):
        _refuse(path, "is a list of missing runs, which have no results; see 'mergelane campaign run'")
    if header == "name,unit,meaning":
        _refuse(path, "describes the columns of an export; load the file of the same name without .columns.csv")
    if header.startswith("start,cycles,"):
        _refuse(path, "has the intervals of one run, not runs; read it with pandas.read_csv")
    if header.startswith("experiment,figure,row,"):
        _refuse(path, "is the evaluation of a study, not its runs; load its --store, or read this with pandas.read_csv")
    return None


# What a file begins with that has no results, and what to do.
_OTHERS = ((b"MLTRACE\n", "is a trace (.mlt), not a result; run it: 'mergelane run --workload FILE --json OUT.json'"),
           (b"<!doctype html", "is a page for people; load what --json of the same command writes"),
           (b"<html", "is a page for people; load what --json of the same command writes"),
           (b"\xfd7zXZ", "is compressed with xz; a store of an earlier version is converted by 'mergelane store convert'"),
           (b"\x1f\x8b", "is compressed with gzip; unpack it first"),
           (b"PK", "is a zip archive; unpack it first"))


def _kind_of_file(path):
    """"records", "sqlite", "json", "run_csv" or "export_csv"; refuses everything else."""
    with open(path, "rb") as file:
        begin = file.read(4096)
    name = os.path.basename(path)
    if not begin:
        _refuse(path, "is empty; whatever should have written it has not, or was killed")
    if name.endswith((".jsonl", ".jsonl.zst", ".jsonl.xz")):
        return "records"
    if begin.startswith(b"\x28\xb5\x2f\xfd"):
        _refuse(path, "is compressed with zstd; if it is a packed store, give it a name that ends in .jsonl.zst")
    for magic, why in _OTHERS:
        if begin.lstrip()[:len(magic)].lower() == magic.lower():
            _refuse(path, why)
    if begin.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if name == "campaign.plan" or (begin.startswith(b"{") and b'"form":' in begin.split(b"\n", 1)[0]):
        _refuse(path, "is the plan of a campaign, not its results; give its directory")
    if begin.startswith((b'{"merged":', b'{"schema":')) and (b'"key":"' in begin[:200] or begin.startswith(b'{"merged"')):
        return "records"
    if begin.lstrip().startswith(b"{"):
        return "json"
    kind = _kind_of_table(path, begin.split(b"\n", 1)[0].decode(errors="replace").rstrip("\r"))
    if kind is None:
        _refuse(path, "is no result; load what 'mergelane run --json', '--csv', 'mergelane campaign export' or --store has written")
    return kind


def _kind(path):
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return _kind_of_folder(path)
        if not stat.S_ISREG(mode):
            _refuse(path, "is not a regular file; give one, or a copy")
        return _kind_of_file(path)
    except FileNotFoundError:
        _refuse(path, "no such file; check the path")
    except (OSError, ValueError) as problem:
        if isinstance(problem, InputError):
            raise
        _refuse(path, f"cannot be read ({problem}); check the path and its permissions")


# ---- one reader for each kind: a frame, with all names that it could have, units and meanings

class _Part:
    def __init__(self, frame, known, units=(), meanings=()):
        self.frame, self.known, self.units, self.meanings = frame, known, dict(units), dict(meanings)


def _array(column):
    """Texts come as codes and what they stand for, so that equal texts are one object."""
    import numpy

    return numpy.array(column[1], dtype=object)[column[0]] if isinstance(column, tuple) else column


def _frame(columns):
    """All integers are one array, and so are all floats, as pandas wants them: a million rows are not copied."""
    import pandas

    singles = {name: _array(column) for name, column in columns["singles"].items()}
    key = singles.pop("key", None)
    rows = pandas.RangeIndex(columns["rows"])
    blocks = [pandas.DataFrame(block.T, columns=names, copy=False) for names, block in columns["blocks"] if names]
    frame = pandas.concat([pandas.DataFrame(singles, index=rows), *blocks], axis=1, copy=False)
    order = [name for name in columns["order"] if name != "key"]
    if list(frame.columns) != order:
        frame = frame[order]
    if key is not None:
        frame.index = pandas.Index(key, name="key")
    return frame


def _records(paths, wanted):
    answer = _core.read_records(paths, wanted)
    if answer["damaged"]:
        sentences = list(answer["sentences"])
        if answer["damaged"] > len(sentences):
            sentences.append(f"and {answer['damaged'] - len(sentences)} more")
    frame = _frame(answer.pop("columns"))
    if frame.index.empty:
        why = f"; the first that failed: {answer['failure']}" if answer["failure"] else ""
        why = why or (f"; {sentences[0]}" if answer["damaged"] else "")
        raise InputError(f"{', '.join(paths[:3])}: has no finished runs{why}")
    if answer["damaged"]:
        warnings.warn("; ".join(sentences), stacklevel=5)
    return _Part(frame, [*_RECORD, *answer["known"]])


def _sqlite(path, wanted):
    answer = _core.read_table(path, wanted)
    return _Part(_frame(answer.pop("columns")), answer["known"], answer["units"], answer["meanings"])


def _sample_of(run):
    """Of a sampled run: what stands behind its estimates, and half-widths, by the names that records have for them."""
    sample = run.get("sample")
    if sample is None:
        return {}
    row = {"sample." + name: sample[name] for name in _SAMPLE if name in sample}
    row["sample.strata"] = len(sample["strata"])
    row["sample.kernel_cycles"] = run["kernel_cycles"]
    if sample["requested_error"]:
        row["cycles" + _HALF_WIDTH] = sample["cycles"]["half_width"]
        row["sample.kernel_cycles" + _HALF_WIDTH] = sample["kernel_cycles"]["half_width"]
        row.update({name + _HALF_WIDTH: one["half_width"] for name, one in sample["stats"].items()})
    else:
        del row["sample.requested_error"]
    return row


def _row_of_run(path, run):
    """A row of what 'run --json' wrote; the configuration is apart."""
    row = {name: run[name] for name in _RUN if name in run}
    row = {"file": path, **row}
    if "cpu_seconds" in run:
        row["seconds"] = run["cpu_seconds"]
    if "kernel_cycles" in run:
        row["launch_overhead_cycles"] = run["cycles"] - run["kernel_cycles"]
    row.update(run["stats"])
    row.update({_HIGHEST + name: value for name, value in (run.get("highest") or {}).items()})
    row.update(_sample_of(run))
    for table, energy in (run.get("energy") or {}).items():
        for component, value in (energy.get("components_fj") or {}).items():
            row[f"energy.{table}.{component}"] = value
        row[f"energy.{table}.total"] = energy.get("total_fj")
    return row


def _frame_of(rows):
    """Numbers are integers where all rows have them."""
    import pandas

    return pandas.DataFrame({name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)})


def _runs(paths, wanted):
    """A row for each file, and a column for each configuration key that is not the same in all of them."""
    rows, configurations, units, meanings = [], [], {}, {}
    for path in paths:
        run = json.loads(_core.read_run(path))
        if run.get("schema") != 1:
            _refuse(path, "was written by another version (its schema is not 1); run it again")
        try:
            rows.append(_row_of_run(path, run))
            configurations.append({"config." + key: value for key, value in (run.get("config") or {}).items()})
            units.update(run.get("units") or {})
            meanings.update(run.get("meanings") or {})
        except (AttributeError, KeyError, TypeError, ValueError):
            _refuse(path, "is not a result of 'mergelane run --json'; run it again")
    keys = {key: None for configuration in configurations for key in configuration}
    shown = [key for key in keys if any(c.get(key) != configurations[0].get(key) for c in configurations) or key in (wanted or ())]
    for row, configuration in zip(rows, configurations):
        row.update({key: configuration.get(key) for key in shown})
    frame = _frame_of(rows)
    return _Part(frame, [*frame.columns, *keys], units, meanings)


def _text(field):
    """A field of a CSV file: what a spreadsheet would evaluate has an apostrophe before it."""
    return field[1:] if field[:1] == "'" and field[1:2] in ("=", "+", "-", "@") else field


def _whole(path):
    """Refuses a CSV file that was cut off."""
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            _refuse(path, "is cut off within its last line; write or copy it again")


def _run_csv(path, wanted):
    """The lines of the kernel 'total', which come last."""
    import pandas

    _whole(path)
    row, units = {}, {}
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        lines = csv.reader(file)
        next(lines)
        try:
            for gpu, config_hash, version, workload, complete, kernel, name, value, unit in lines:
                if kernel != "total":
                    continue
                if not row:
                    row = {"file": path, "gpu": _text(gpu), "workload": _text(workload), "version": version, "config_hash": config_hash,
                           "complete": complete == "true"}
                row[name], units[name] = int(value), unit
        except (ValueError, csv.Error) as problem:
            _refuse(path, f"line {lines.line_num} is damaged ({problem}); write the file again")
    if "cycles" not in row:
        _refuse(path, "has no totals of a run; write the file again")
    return _Part(pandas.DataFrame([row]), list(row), units)


def _export_csv(path, wanted):
    import pandas

    _whole(path)
    chosen = None if wanted is None else lambda name: name == "key" or name in wanted
    units, meanings = {}, {}
    try:
        known = list(pandas.read_csv(path, nrows=0, encoding_errors="replace"))
        frame = pandas.read_csv(path, usecols=chosen, dtype={name: str for name in _TEXTS}, keep_default_na=False, na_values=[""],
                                encoding_errors="replace", low_memory=False, on_bad_lines="error", float_precision="round_trip")
        columns = path + ".columns.csv"
        if os.path.isfile(columns):
            with open(columns, encoding="utf-8", errors="replace", newline="") as file:
                for name, unit, text in csv.reader(file):
                    units[name], meanings[name] = unit, text
    except (ValueError, csv.Error, OSError, OverflowError) as problem:
        _refuse(path, f"is damaged ({str(problem).splitlines()[0]}); export the runs again")
    for name in frame.columns:
        if name in _TEXTS:
            frame[name] = frame[name].fillna("").map(_text)
        elif name.endswith(_HALF_WIDTH) and frame[name].dtype != object:
            frame[name] = frame[name].astype(float)
        elif frame[name].dtype == object and not name.startswith("config."):
            _refuse(path, f"column '{name}' is not of numbers; export the runs again")
    return _Part(frame.set_index("key"), known, units, meanings)


def _parts(paths, wanted):
    kinds = {}
    for path in paths:
        kinds.setdefault(_kind(path), []).append(path)
    for kind, group in kinds.items():
        if kind == "records":
            yield _records(group, wanted)
        elif kind == "json":
            yield _runs(group, wanted)
        else:
            read = {"sqlite": _sqlite, "run_csv": _run_csv, "export_csv": _export_csv}[kind]
            for path in group:
                yield read(path, wanted)


def _checked(parts, columns):
    """Refuses columns that no part has."""
    known = {name: None for part in parts for name in part.known}
    for name in columns:
        if name == "microseconds" and name not in known:
            raise InputError("there are no microseconds in this source; divide cycles by gpu.core_mhz of the machine, or take the frame of sweep()")
        if name != "key" and name not in known:
            raise InputError(_core.unknown_statistic(name, list(known)))


def _joined(parts, columns):
    import pandas

    keyed = [part.frame for part in parts if part.frame.index.name == "key"]
    others = [part.frame for part in parts if part.frame.index.name != "key"]
    if len(keyed) > 1:
        keyed = [pandas.concat(keyed)]
        keyed = [keyed[0][~keyed[0].index.duplicated()]]
    frame = [*keyed, *others][0]
    if len(keyed) + len(others) > 1:
        frame = pandas.concat([*(one.reset_index() for one in keyed), *others], ignore_index=True)
    if columns is not None:
        frame = frame[[name for name in columns if name in frame.columns]]
    return frame


def load(path: _Paths, columns: str | Iterable[str] | None = None) -> pandas.DataFrame:
    """The results that the command has written, as a pandas.DataFrame with a row for each finished run.

    `path` is a store (a directory), one of its files, a packed store (.jsonl.zst), an SQLite or CSV file of 'mergelane campaign export', a
    file of 'mergelane run --json' or '--csv', or a list of them. `columns` names those wanted; fewer load faster and take less memory.

    Columns: gpu, overrides (joined by spaces), workload, size, seed, kernels, version, model, config_hash, digest, cycles,
    warp_instructions, seconds, every statistic by its name, and "highest NAME" for its maximum over components. If some runs are sampled:
    "NAME +-", the half-width of the 95 % interval of NAME (NaN in other rows), "sample.NAME" for what stands behind the estimates, and
    from stores and exports "sample", the options of sampling, which is "" in other rows. The index is "key", the
    hash of everything the result depends on, if all rows have one. Results of 'run --json' have a column "file", and "config.KEY" for
    each configuration key in which they differ or that `columns` names. frame.attrs["units"] and frame.attrs["meanings"] describe the
    columns. A number that a run did not count is NaN.

    >>> import mergelane
    >>> runs = mergelane.load("docs/reproduction/icc.jsonl.zst", columns=["gpu", "workload", "cycles"])
    >>> runs[runs.workload == "b+tree"].cycles.min()
    123314
    >>> runs.attrs["units"]
    {'cycles': 'core cycles'}
    """
    return loaded(path, _names(columns), refuse_unknown=True)


def loaded(path, wanted, refuse_unknown):
    """What `load` returns; columns that no run has are refused, or left out."""
    parts = list(_parts(_paths(path), wanted))
    if wanted is not None and refuse_unknown:
        _checked(parts, wanted)
    frame = _joined(parts, wanted)
    known = {name: _described(name) for name in frame.columns}
    for place, (what, member) in enumerate((("units", "units"), ("meanings", "meanings"))):
        found = {name: described[place] for name, described in known.items() if described}
        for part in parts:
            found.update({name: text for name, text in getattr(part, member).items() if name in known})
        frame.attrs[what] = {name: found[name] for name in frame.columns if found.get(name)}
    return frame


def _paths(path):
    one = isinstance(path, (str, bytes, os.PathLike))
    try:
        paths = [os.fsdecode(p) for p in ([path] if one else path)]
    except TypeError as problem:
        raise InputError(f"a path, or a list of them, was expected ({problem})") from None
    if not paths:
        raise InputError("the list of paths is empty; name at least one file or directory")
    return paths


def _names(columns):
    if columns is None:
        return None
    try:
        names = [columns] if isinstance(columns, str) else list(columns)
    except TypeError:
        names = [None]
    if not all(isinstance(name, str) for name in names):
        raise InputError("columns must be names; for example columns=[\"workload\", \"cycles\"]")
    return list(dict.fromkeys(names))


def published(paper: str) -> pandas.DataFrame:
    """The numbers that a paper has published, with the experiments that compare with them, as a pandas.DataFrame by identifier.

    >>> import mergelane
    >>> mergelane.published("icc").loc["icc-noc2x-avg", ["experiment", "value", "unit"]].tolist()
    ['ICC-1', 45.0, 'percent_increase']
    """
    import pandas

    if not isinstance(paper, str):
        raise InputError(f"the name of a paper is a text, not {paper!r}")
    return pandas.DataFrame(_core.published(paper)).set_index("id")
