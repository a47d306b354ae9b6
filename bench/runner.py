# SPDX-License-Identifier: MIT
"""Runs the mergelane command for the scripts of this folder."""

import json
import math
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRACES = os.path.join(ROOT, "build", "validation")
sys.path.insert(0, os.path.join(ROOT, "validation"))
import make_traces  # noqa: E402


def fail(sentence):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {sentence}")


def check_binary(path):
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        fail(f"'{path}' is not a program; build the release preset and give the path of its mergelane binary")
    return os.path.abspath(path)


def command(binary, kind, params, gpu="icc60", settings=(), extra=()):
    words = [binary, "run", "--gpu", gpu, "--synthetic", kind, "--quiet", *extra]
    for name, value in params.items():
        words += ["--param", f"{name}={value}"]
    for setting in settings:
        words += ["--set", setting]
    return words


def trace(folder, name):
    """The list of kernels of one of the validation's traces, written if it is not there."""
    path = os.path.join(folder, name)
    if not os.path.exists(os.path.join(path, "expected.json")):
        print(f"writing trace {name}", file=sys.stderr)
        make_traces.make(name, path)
    return os.path.join(path, "kernelslist.g")


def trace_command(binary, path, extra=()):
    return [binary, "run", "--gpu", "v100", "--set", "dispatch.launch_latency=0", path, "--quiet", *extra]


def run_json(words, prefix=()):
    """Runs a command with --json and returns (result, standard error)."""
    with tempfile.TemporaryDirectory(prefix="mergelane-bench-") as folder:
        path = os.path.join(folder, "result.json")
        done = subprocess.run([*prefix, *words, "--json", path], capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"'{' '.join(words)}' ended with code {done.returncode}:\n{done.stderr.strip()[-2000:]}")
        with open(path, encoding="utf-8") as file:
            return json.load(file), done.stderr


def measure(words):
    """Runs a command and returns what the system says it used: ru_utime, ru_stime, ru_maxrss in KiB."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", prefix="mergelane-bench-") as log:
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        if process.returncode != 0:
            fail(f"'{' '.join(words)}' ended with code {process.returncode}:\n{log.read().strip()[-2000:]}")
        return usage


def run_measured(words):
    """Runs a command with --json and returns (result, what measure() returns)."""
    with tempfile.TemporaryDirectory(prefix="mergelane-bench-") as folder:
        path = os.path.join(folder, "result.json")
        usage = measure([*words, "--json", path])
        with open(path, encoding="utf-8") as file:
            return json.load(file), usage


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def print_table(header, rows):
    """First column left, the others right."""
    widths = [max(len(row[c]) for row in [header, *rows]) for c in range(len(header))]
    for row in [header, *rows]:
        cells = [cell.ljust(width) if c == 0 else cell.rjust(width) for c, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())
