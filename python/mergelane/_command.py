# SPDX-License-Identifier: MIT
"""Where the command is that belongs to this package."""

import os
import pathlib
import shutil

from ._core import InputError


def path():
    """The command `mergelane`: $MERGELANE_COMMAND, the one in the package, or one in the PATH."""
    given = os.environ.get("MERGELANE_COMMAND")
    packaged = pathlib.Path(__file__).parent / "bin" / "mergelane"
    found = given or (str(packaged) if packaged.exists() else shutil.which("mergelane"))
    if found is None or not os.access(found, os.X_OK):
        raise InputError(f"the command mergelane was not found{f' at {given!r}' if given else ''}; set MERGELANE_COMMAND to its path")
    return found
