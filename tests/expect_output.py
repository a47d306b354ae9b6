#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command that must succeed and print what matches a regular expression. ctest alone would ignore the exit code then.
Usage: expect_output.py REGEX COMMAND..."""
import re
import subprocess
import sys


def problem_of(expected, command):
    """Why the command does not do what is expected of it; None if it does. Shows what it printed."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(result.stdout, end="", flush=True)
    if result.returncode != 0:
        return f"exit code {result.returncode}"
    return None if re.search(expected, result.stdout) else f"nothing printed matches '{expected}'"


def self_test():
    """A rule that never fires proves nothing."""
    shell = ["sh", "-c"]
    for script, fine in (("echo yes", True), ("echo no", False), ("echo yes; exit 3", False), ("echo yes >&2", True)):
        if (problem_of("^yes$", [*shell, script]) is None) != fine:
            sys.exit(f"wrong about: {script}")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    problem = problem_of(sys.argv[1], sys.argv[2:])
    if problem:
        sys.exit(problem)


if __name__ == "__main__":
    main()
