# SPDX-License-Identifier: MIT
"""Results of Mergelane studies in Python.

    import mergelane
    runs = mergelane.load("out/reproduce-icc")          # a store, or a packed one: "icc.jsonl.zst"
    runs.pivot(index="workload", columns="overrides", values="cycles")
"""

import io
import json
import pathlib
import shutil
import subprocess

__all__ = ["load"]

_SCHEMA = 3


def _unpacked(file):
    """The bytes of a .jsonl.zst file: by python3-zstandard if it is installed, else by the zstd command."""
    try:
        import zstandard
    except ImportError:
        if shutil.which("zstd") is None:
            raise RuntimeError(f"'{file}' is compressed with zstd; install the package python3-zstandard or zstd, "
                               f"or write it as text with 'mergelane store unpack {file} DIRECTORY'") from None
        answer = subprocess.run(["zstd", "-dcq", "--", str(file)], capture_output=True, check=False)
        if answer.returncode != 0:
            raise ValueError(f"'{file}' is damaged: {answer.stderr.decode(errors='replace').strip()}") from None
        return answer.stdout
    with open(file, "rb") as packed:
        return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read()


def _lines(store):
    path = pathlib.Path(store)
    if path.is_dir():
        files = sorted(f for f in path.iterdir() if f.name.endswith((".jsonl", ".jsonl.zst")) and not f.name.startswith("."))
    elif path.is_file():
        files = [path]
    else:
        raise FileNotFoundError(f"'{store}' is neither the store of a study nor a packed one (.jsonl.zst)")
    for file in files:
        if file.name.endswith(".zst"):
            opened = io.TextIOWrapper(io.BytesIO(_unpacked(file)), encoding="utf-8")
        else:
            opened = open(file, encoding="utf-8")
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
        if not isinstance(record, dict):
            continue
        if record.get("schema") == 2:
            raise ValueError(f"'{store}' was written by an earlier version; convert it once: 'mergelane store convert {store} NEW_STORE'")
        if record.get("schema") != _SCHEMA or record.get("status") != "done":
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
    warp_instructions, seconds, every statistic by its name, and "highest NAME" for its maximum over components.
    """
    import pandas

    frame = pandas.DataFrame(list(_rows(store).values()))
    return frame if frame.empty else frame.set_index("key").sort_index()
