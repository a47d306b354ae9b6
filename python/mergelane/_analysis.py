# SPDX-License-Identifier: MIT
"""What can be said about a workload: its profile, and the order of CTAs that suits it."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Union

from . import _core
from ._kernels import Kernel, Launches, _number
from ._running import _machine, _settings, _workload


def _workload_of(workload: Any, size: Optional[str], seed: int, params: Optional[Mapping], kernels: Any) -> Any:
    asked = _workload(workload, {"size": size, "seed": seed, "params": params, "kernels": kernels})
    return asked["workload"] if not isinstance(asked["workload"], str) else _core.named_workload(*asked.values())


def profile(workload: Union[Kernel, Launches, str, os.PathLike, list], *, sms: int = 15, resident: int = 0, size: Optional[str] = None,
            seed: int = 1, params: Optional[Mapping[str, Any]] = None, kernels: Any = None):
    """What a workload requests from memory, without simulating it: what `mergelane profile` shows.

    A DataFrame with a row for each kernel, and "total"; columns are named "group.metric". frame.attrs has "workload", "units" by
    column, and "text", the report of the command. `sms` and `resident` CTAs per SM are assumed for the inter-warp window.

    >>> import numpy as np, mergelane
    >>> stride = mergelane.kernel(np.arange(8 * 4 * 32).reshape(8, 4, 32) * 128, name="stride")
    >>> frame = mergelane.profile(stride)
    >>> int(frame.loc["total", "global_memory.lines_per_access"])
    32
    """
    import pandas

    core = _workload_of(workload, size, seed, params, kernels)
    text, summary = _core.profile(core, _number("sms", sms, 1, 1 << 20), _number("resident", resident, 0, 64))
    found = json.loads(text)
    units = {f"{group}.{metric}": unit for group, metrics in found["units"].items() for metric, unit in metrics.items()}

    def row(name: str, groups: dict) -> dict:
        values: dict = {"kernel": name}
        for column in units:
            group, metric = column.split(".", 1)
            values[column] = groups[group].get(metric, 0)
        return values

    rows = [row(one["name"], one) for one in found["kernels"]] + [row("total", found["total"])]
    frame = pandas.DataFrame(rows).set_index("kernel")
    frame.attrs.update(workload=found["workload"], units=units, text=summary)
    return frame


def advise(workload: Union[Kernel, Launches, str, os.PathLike, list], gpu: Any, *, set: Optional[Mapping[str, Any]] = None,
           simulations: int = 6, threads: Optional[int] = None, by_instruction: bool = False, size: Optional[str] = None, seed: int = 1,
           params: Optional[Mapping[str, Any]] = None, kernels: Any = None):
    """Recommends an order of CTAs for the kernels of a workload: what `mergelane advise` shows.

    A DataFrame with a row for each candidate; those that were simulated have cycles and a gain. frame.attrs has "text", the report
    of the command, "recommended" and "gain", and whatever else the command writes with --json. `simulations`: how many candidates
    besides the unchanged workload to simulate. `threads`: how many at once; it does not change the result.

    >>> import numpy as np, mergelane
    >>> tiles = mergelane.kernel(np.arange(1 << 14).reshape(-1, 4, 32) % 4096 * 4)
    >>> advice = mergelane.advise(tiles, gpu="icc60", simulations=1)
    >>> advice.attrs["recommended"] in advice.index
    True
    """
    import pandas

    if threads is None:
        threads = min(8, os.cpu_count() or 1)
    machine, overrides = _machine(gpu)
    core = _workload_of(workload, size, seed, params, kernels)
    text, summary = _core.advise(core, machine, overrides + _settings(set), _number("simulations", simulations, 0, 40),
                                 _number("threads", threads, 1, 256), bool(by_instruction))
    found = json.loads(text)
    rows = []
    for one in found.pop("candidates"):
        one["overrides"] = " ".join(one["overrides"])
        one.update({f"predicted.{name}": value for name, value in one.pop("predicted").items()})
        rows.append(one)
    frame = pandas.DataFrame(rows).set_index("name").rename_axis("candidate")
    first = [column for column in ("gain", "cycles", "predicted_gain") if column in frame]
    frame = frame[first + [column for column in frame if column not in first]]
    frame.attrs.update(found, text=summary)
    return frame
