#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How close searches with a fifth of the simulations come to the best point of a space, all of which is simulated.

    python3 validation/search/exhaustive.py validation/search/icc60.toml --store out/search-icc60

PYTHONPATH must have the package. All points are simulated once, at the size of the first level, and kept in the store; searches then find their runs there.
A search may simulate 20 % of the possible points. A score counts if it meets the constraints. --check fails unless TPE reaches 99 % with each seed.
"""
import argparse
import itertools
import os
import pathlib
import sys
import tempfile
import time

from mergelane import _search_work as work
from mergelane._search import searched
from mergelane._search_measures import Design
from mergelane._search_plan import Plan
from mergelane._search_runs import Runs

SHARE = 0.2
ENOUGH = 0.99


def points_of(plan):
    """All possible points, one for each configuration."""
    found = {}
    for index in itertools.product(*(range(len(d)) for d in plan.dimensions)):
        params = {d.name: i for d, i in zip(plan.dimensions, index)}
        config, possible = plan.known(params)
        if possible:
            found.setdefault(config, params)
    return found


def scores_of(plan, points, runs, jobs):
    """Of every possible point that meets the constraints, by configuration."""
    level = plan.levels[0]
    wanted = [runs.points(plan, level, plan.overrides(params)) for params in points.values()]
    missing = [run for run in itertools.chain(*wanted, runs.points(plan, level, plan.set)) if runs.find(run.key) is None]
    print(f"{plan.title}: {plan.points} points, {len(points)} possible and different; {len(missing)} runs to simulate", flush=True)
    with tempfile.TemporaryFile() as lock:
        if missing:
            runs.make(missing, lock)
        baseline = Design(plan.machine, plan.set, plan.table).with_runs(runs.make(runs.points(plan, level, plan.set), lock))
        scores = {}
        for (config, params), needed in zip(points.items(), wanted):
            design = plan.design(params).with_runs(runs.make(needed, lock))
            if all(bound.excess(design, baseline) <= 0 for bound in plan.constraints):
                scores[config] = plan.measures.scalar(plan.objectives[0][2], design, baseline, "score")
    return scores


def search(plan, sampler, seed, budget, store):
    """The configurations in the order of the trials."""
    given = {**plan.given, "sampler": sampler, "seed": seed, "level": [{**plan.given["level"][0], "budget": budget}]}
    with tempfile.TemporaryDirectory() as folder:
        mine = Plan(given, pathlib.Path(plan.name).parent, plan.name)
        searched(mine, pathlib.Path(folder), str(pathlib.Path(plan.name).parent), 1, 1, store, False)
        return [plan.known(trial.user_attrs["point"])[0] for trial in work.Studies(mine, pathlib.Path(folder)).finished(0)]


def row(plan, sampler, seed, scores, budget, store):
    started = time.monotonic()
    configs = search(plan, sampler, seed, budget, store)
    assert len(set(configs)) == len(configs) <= budget, "a configuration counts once"
    optimum = max(scores.values())
    reached = next((n for n in range(1, len(configs) + 1) if scores.get(configs[n - 1], 0) >= ENOUGH * optimum), None)
    best = max(scores.get(config, 0) for config in configs)
    first = max(scores.get(config, 0) for config in configs[:budget // 4])
    print(f"{sampler:<8} {seed:>4} {len(configs):>7} {100 * best / optimum:>10.2f} {100 * first / optimum:>16.2f} {reached or '-':>14} "
          f"{sum(scores[c] > best for c in scores) + 1:>6} {time.monotonic() - started:>8.1f}", flush=True)
    return best >= ENOUGH * optimum


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--store", required=True)
    parser.add_argument("--samplers", default="tpe,random")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    plan = Plan.read(os.path.abspath(arguments.file))
    store = pathlib.Path(arguments.store).resolve()
    scores = scores_of(plan, points_of(plan), Runs(store, arguments.jobs, None), arguments.jobs)
    budget = int(SHARE * len(scores))
    ordered = sorted(scores.values(), reverse=True)
    near = sum(score >= ENOUGH * ordered[0] for score in ordered)
    print(f"{len(scores)} feasible points; best {ordered[0]:.4f}, median {ordered[len(ordered) // 2]:.4f}; {near} within 1 % of the best; a search has {budget} points")
    print("sampler  seed  points  of best, %  after a quarter  points to 99 %   rank  seconds")
    good = [row(plan, sampler, seed, scores, budget, store) for sampler in arguments.samplers.split(",") for seed in arguments.seeds]
    if arguments.check and not all(good[:len(arguments.seeds)]):
        sys.exit("a search has not come close enough")


if __name__ == "__main__":
    main()
