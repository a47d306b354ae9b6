# SPDX-License-Identifier: MIT
"""Results of Mergelane studies in Python.

    import mergelane
    runs = mergelane.load("out/reproduce-icc")          # a store, or a packed one: "icc.jsonl.xz"
    runs.pivot(index="workload", columns="overrides", values="cycles")
"""

import json
import lzma
import pathlib

__all__ = ["load"]

_SCHEMA = 2


def _lines(store):
    path = pathlib.Path(store)
    if path.is_dir():
        files = sorted(f for f in path.iterdir() if f.name.endswith((".jsonl", ".jsonl.xz")))
        if any(path.glob("*.jsonl.zst")):
            raise ValueError(f"'{store}' was merged; write it with 'mergelane campaign export {store} --csv runs.csv' and use pandas.read_csv")
    elif path.is_file():
        files = [path]
    else:
        raise FileNotFoundError(f"'{store}' is neither the store of a study nor a packed one (.jsonl.xz)")
    for file in files:
        opened = lzma.open(file, "rt", encoding="utf-8") if file.name.endswith(".xz") else open(file, encoding="utf-8")
        with opened as text:
            for line in text:
                if line.endswith("\n"):  # a process that was killed may leave half a line
                    yield line


def _rows(store):
    """A dict for each finished run, by key."""
    rows = {}
    for line in _lines(store):
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(record, dict) or record.get("schema") != _SCHEMA or record.get("status") != "done":
            continue
        row = {name: value for name, value in record.items() if name not in ("schema", "status", "stats", "highest", "launched", "sum")}
        row["overrides"] = " ".join(record["overrides"])
        row.setdefault("kernels", "")
        row.update(record["stats"])
        row.update({f"highest {name}": value for name, value in record.get("highest", {}).items()})
        rows.setdefault(record["key"], row)
    return rows


def load(store):
    """A pandas.DataFrame with a row for each finished run, by key.

    Columns: gpu, overrides (joined by spaces), workload, size, seed, kernels, version, model, config_hash, digest, cycles,
    warp_instructions, seconds, every statistic by its name, and "highest NAME" for the component that counted most.
    """
    import pandas

    frame = pandas.DataFrame(list(_rows(store).values()))
    return frame if frame.empty else frame.set_index("key").sort_index()
