# SPDX-License-Identifier: MIT
"""Mergelane in Python: run machines, sweep them, read what the command wrote.

    import mergelane
    runs = mergelane.load("out/reproduce-icc")          # a store, or a packed one: "icc.jsonl.zst"
    runs.pivot(index="workload", columns="overrides", values="cycles")
"""

from ._core import InputError, SimulationError, version as __version__
from ._machines import Machine, UnknownAttribute, machines, workloads
from ._reading import load, meaning, published, units
from ._running import Explanation, Result, UnknownName, run
from ._sweep import sweep

__all__ = ["Explanation", "InputError", "Machine", "Result", "SimulationError", "UnknownAttribute", "UnknownName", "__version__", "load", "machines", "meaning",
           "published", "run", "sweep", "units", "workloads"]

for _shown in (InputError, SimulationError, Explanation, Machine, Result, UnknownAttribute, UnknownName):
    _shown.__module__ = __name__  # as users know them, in error messages
