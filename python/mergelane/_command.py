# SPDX-License-Identifier: MIT
"""The command that belongs to this package."""

import functools
import os
import pathlib
import shutil
import subprocess

from . import _core

__all__ = ["path", "path_of_same_version"]


def path() -> str:
    """$MERGELANE_COMMAND, the one in the package, or one in the PATH."""
    places = [os.environ.get("MERGELANE_COMMAND"), pathlib.Path(_core.__file__).resolve().parent / "bin" / "mergelane", shutil.which("mergelane")]
    found = next((str(place) for place in places if place and os.access(place, os.X_OK)), None)
    if found is None:
        raise _core.InputError("the command mergelane was not found; add it to PATH, or set MERGELANE_COMMAND to its path")
    return found


@functools.lru_cache(maxsize=None)
def path_of_same_version() -> str:
    found = path()
    answer = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    wanted = f"mergelane {_core.version}, model {_core.model}"
    if not answer.startswith(wanted):
        raise _core.InputError(f"'{found}' is {answer.strip() or 'no mergelane'!r}, but the Python package is {wanted!r}; set MERGELANE_COMMAND "
                               "to the command of the same version")
    return found
