# SPDX-License-Identifier: MIT
"""python -m mergelane.search, or `mergelane search`: the command."""

import argparse
import json
import os
import pathlib
import sys

from ._core import InputError, SimulationError
from ._search import plan_of_store, results_of, searched, with_changes
from ._search_plan import Plan
from ._search_work import Worker

_EXAMPLE = """example:
  mergelane search best.toml --store out/best        the same command goes on after a kill, or with a larger --budget
  mergelane search best.toml --store out/best --show what has been found so far

The store gets result.txt, result.json, trials.csv and result.html. docs/search.md describes search files.
Exit codes: 0 done, 2 invalid input, 130 interrupted (Ctrl-C); repeat the command to go on.
"""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mergelane search", description="Find the best designs of a space of configurations with few simulations",
                                     epilog=_EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("file", nargs="?", help="search file (.toml)")
    parser.add_argument("--store", help="directory of trials and runs (default: out/search-NAME)")
    parser.add_argument("--budget", type=int, help="points of the first level, instead of the file's")
    parser.add_argument("--seed", type=int, help="of the search, instead of the file's")
    parser.add_argument("--workers", type=int, default=1, help="processes; one of them gives the same trials every time (default: 1)")
    parser.add_argument("--jobs", type=int, help="simulations at a time of each worker (default: all cores together)")
    parser.add_argument("--runs", help="store of runs that several searches share (default: STORE/runs)")
    parser.add_argument("--show", action="store_true", help="simulate nothing, show what the store has")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress line")
    parser.add_argument("--worker", metavar="STORE", help=argparse.SUPPRESS)
    return parser.parse_args()


def _check(name: str, value: int, most: int) -> int:
    if not 1 <= value <= most:
        raise InputError(f"--{name} = {value} is out of range; use 1 to {most}")
    return value


def _run(arguments: argparse.Namespace) -> None:
    cores = len(os.sched_getaffinity(0))
    if arguments.worker is not None:
        store = pathlib.Path(arguments.worker)
        Worker(plan_of_store(store), store, arguments.jobs or 1, pathlib.Path(arguments.runs) if arguments.runs else None).work()
        return
    if arguments.file is None and not (arguments.show and arguments.store):
        raise InputError("no search file was given; write for example 'mergelane search best.toml', and see docs/search.md")
    store = pathlib.Path(os.path.abspath(arguments.store or f"out/search-{pathlib.Path(arguments.file).stem}"))
    if arguments.show:
        result = results_of(store)
    else:
        plan = Plan.read(arguments.file)
        folder = pathlib.Path(os.path.abspath(arguments.file)).parent
        plan = Plan(with_changes(plan.given, arguments.budget, arguments.seed), folder, arguments.file)
        workers = _check("workers", arguments.workers, 1024)
        jobs = max(1, cores // workers) if arguments.jobs is None else _check("jobs", arguments.jobs, 4096)
        runs = pathlib.Path(os.path.abspath(arguments.runs)) if arguments.runs else None
        result = searched(plan, store, str(folder), workers, jobs, runs, not arguments.quiet and sys.stderr.isatty())
        for name in ("result.txt", "result.json", "trials.csv", "result.html"):
            result.save(store / name)
    print(json.dumps(result.json, indent=1) if arguments.json else result.summary, end="\n" if arguments.json else "")


def main() -> None:
    try:
        _run(_arguments())
    except (InputError, SimulationError, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted; repeat the command to go on", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
