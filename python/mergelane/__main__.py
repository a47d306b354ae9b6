# SPDX-License-Identifier: MIT
"""python -m mergelane: the command."""

import os
import sys

from ._command import path


def main():
    command = path()
    os.environ.setdefault("MERGELANE_PYTHON", sys.executable)
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
