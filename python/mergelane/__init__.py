# SPDX-License-Identifier: MIT
"""Mergelane in Python: run machines, sweep them, simulate arrays of addresses, read what the command wrote.

    import mergelane
    result = mergelane.run("h100", "hotspot", size="tiny")
    runs = mergelane.load("out/reproduce-icc")          # a store, or a packed one: "icc.jsonl.zst"
"""

from ._analysis import advise, profile
from ._core import InputError, SimulationError, version as __version__
from ._kernels import Kernel, Launches, kernel, launches
from ._machines import Machine, UnknownAttribute, machines, workloads
from ._reading import load, meaning, published, units
from ._running import Explanation, Result, UnknownName, run
from ._search import SearchResult, search
from ._sweep import sweep

__all__ = ["Explanation", "InputError", "Kernel", "Launches", "Machine", "Result", "SearchResult", "SimulationError", "UnknownAttribute", "UnknownName", "__version__", "advise", "kernel",
           "launches", "load", "machines", "meaning", "profile", "published", "run", "search", "sweep", "units", "workloads"]

for _shown in (InputError, SimulationError, Explanation, Kernel, Launches, Machine, Result, SearchResult, UnknownAttribute, UnknownName):
    _shown.__module__ = __name__  # as users know them, in error messages
