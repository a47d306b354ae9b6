# SPDX-License-Identifier: MIT
"""Mergelane in Python: run machines, sweep them, read what the command wrote.

    import mergelane
    runs = mergelane.load("out/reproduce-icc")          # a store, or a packed one: "icc.jsonl.zst"
    runs.pivot(index="workload", columns="overrides", values="cycles")
"""

from ._core import InputError, SimulationError, version as __version__
from ._reading import load, meaning, published, units

__all__ = ["InputError", "SimulationError", "__version__", "load", "meaning", "published", "units"]
