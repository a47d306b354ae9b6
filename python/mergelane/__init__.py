# SPDX-License-Identifier: MIT
"""Mergelane in Python: run machines, sweep them, read what the command wrote.

    import mergelane
    runs = mergelane.load("out/reproduce-icc")          # a store, or a packed one: "icc.jsonl.zst"
    runs.pivot(index="workload", columns="overrides", values="cycles")
"""

from ._core import InputError, SimulationError, version as __version__
from ._analysis import advise, profile
from ._kernels import Kernel, Launches, kernel, launches
from ._reading import load

__all__ = ["InputError", "Kernel", "Launches", "SimulationError", "__version__", "advise", "kernel", "launches", "load", "profile"]
