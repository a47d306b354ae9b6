# SPDX-License-Identifier: MIT
"""The workers of a search. They share a folder: trials by Optuna, runs by `mergelane campaign`, locks that end with their processes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import random
import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from . import _core
from ._core import InputError
from ._search_measures import Design
from ._search_plan import Params, Plan
from ._search_runs import Failed, Runs, locked

__all__ = ["Studies", "Worker", "answers", "costs_of", "feasible", "fronts", "order"]

_STARTUP = 20  # random points before TPE has a model
_SUGGESTIONS = 5  # of the sampler, before a neighbour of the last one is taken
_NEIGHBOURS = 100
_LISTED_POINTS = 20_000  # of spaces that are searched to their last point
_RANDOM_POINTS = 2_000  # of larger ones
_POLL = 0.1


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError("a search needs Optuna, which is not installed; on Debian and Ubuntu: apt install python3-optuna; elsewhere: pip install optuna") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    return optuna


class _Exhausted(Exception):
    """No point is left that has not been simulated and may be."""


def _journal(path: pathlib.Path) -> Any:
    """A log in a file. A process that is killed neither keeps a lock nor leaves half a line that others stumble over."""
    from optuna.storages import JournalStorage
    from optuna.storages._journal.base import BaseJournalLogStorage

    class Log(BaseJournalLogStorage):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            path.touch()
            self._places = {0: 0}

        def read_logs(self, log_number_from: int) -> list[dict[str, Any]]:
            logs = []
            with open(path, "rb") as file:
                at = file.seek(self._places[log_number_from])
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    logs.append(json.loads(line))
                    at += len(line)
                    self._places[log_number_from + len(logs)] = at
            return logs

        def append_logs(self, logs: list[dict[str, Any]]) -> None:
            text = b"".join(json.dumps(log).encode() + b"\n" for log in logs)
            with locked(path.with_suffix(".lock")), open(path, "r+b") as file:
                end = file.seek(0, os.SEEK_END)
                while end > 0:  # cut off half a line
                    block = max(0, end - 65536)
                    file.seek(block)
                    place = file.read(end - block).rfind(b"\n")
                    end = block + place + 1 if place >= 0 else block
                    if place >= 0:
                        break
                file.truncate(end)
                file.seek(end)
                file.write(text)

    return JournalStorage(Log())


def _distributions(plan: Plan) -> dict[str, Any]:
    from optuna.distributions import CategoricalDistribution, IntDistribution

    return {d.name: IntDistribution(0, len(d) - 1) if d.ordered else CategoricalDistribution(tuple(range(len(d)))) for d in plan.dimensions}


def _excess_of_trial(trial: Any) -> Any:
    return trial.user_attrs.get("excess") or [0.0]


def _plain_sampler(plan: Plan, seed: int) -> Any:
    from optuna import samplers

    constrained = _excess_of_trial if any(bound.needs_runs for bound in plan.constraints) else None
    if plan.sampler == "random":
        return samplers.RandomSampler(seed=seed)
    if plan.sampler == "nsga2":
        return samplers.NSGAIISampler(population_size=24, seed=seed, constraints_func=constrained)
    return samplers.TPESampler(multivariate=True, constant_liar=True, n_startup_trials=_STARTUP, seed=seed,
                               warn_independent_sampling=False, constraints_func=constrained)


def _sampler(plan: Plan, number: int, acceptable: Callable[[Params], bool]) -> Any:
    """Optuna's, for one trial, without points that are known or impossible. It depends on the seed and the number of the trial alone, so that a search goes
    on after a kill as if nothing had happened."""
    from optuna.samplers import BaseSampler

    seed = random.Random(f"{plan.seed} {number}").getrandbits(32)
    inner = _plain_sampler(plan, seed)
    chance = random.Random(seed)

    class Sampler(BaseSampler):  # type: ignore[misc, unused-ignore]
        def infer_relative_search_space(self, study: Any, trial: Any) -> Any:
            return _distributions(plan)

        def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, int]:
            modelled = inner.infer_relative_search_space(study, trial)
            params: dict[str, int] = {}
            for _ in range(_SUGGESTIONS):
                params = dict(inner.sample_relative(study, trial, modelled))
                for name, distribution in search_space.items():
                    if name not in params:
                        params[name] = inner.sample_independent(study, trial, name, distribution)
                if acceptable(params):
                    return params
            return _elsewhere(plan, params, chance, acceptable)

        def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
            raise AssertionError(param_name)  # all are relative

        def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
            inner.after_trial(study, trial, state, values)

    return Sampler()


def _elsewhere(plan: Plan, params: Params, chance: random.Random, acceptable: Callable[[Params], bool]) -> dict[str, int]:
    """A point near this one, or any."""
    dimensions = plan.dimensions
    for number in range(_NEIGHBOURS):
        changed = dict(params)
        for dimension in chance.sample(dimensions, min(len(dimensions), 1 + number // 25)):
            changed[dimension.name] = chance.randrange(len(dimension))
        if acceptable(changed):
            return changed
    if plan.points <= _LISTED_POINTS:
        places = chance.sample(range(plan.points), plan.points)
    else:
        places = [chance.randrange(plan.points) for _ in range(_RANDOM_POINTS)]
    for place in places:
        for dimension in dimensions:
            place, changed[dimension.name] = divmod(place, len(dimension))
        if acceptable(changed):
            return dict(changed)
    raise _Exhausted


# ---- which points are best

def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other))


def fronts(costs: list[tuple[float, ...]]) -> list[int]:
    """The number of the Pareto front of each, from 0. Costs are minimised."""
    ranks = [0] * len(costs)
    members: list[list[tuple[float, ...]]] = []
    for i in sorted(range(len(costs)), key=lambda i: costs[i]):  # whoever dominates comes before
        rank = next((rank for rank, front in enumerate(members) if not any(_dominates(other, costs[i]) for other in reversed(front))), len(members))
        if rank == len(members):
            members.append([])
        if not members[rank] or members[rank][-1] != costs[i]:
            members[rank].append(costs[i])
        ranks[i] = rank
    return ranks


def costs_of(plan: Plan, trial: Any) -> tuple[float, ...]:
    return tuple(-value if word == "maximize" else value for (word, _, _), value in zip(plan.objectives, trial.values))


def feasible(trial: Any) -> bool:
    return trial.values is not None and all(excess <= 0 for excess in trial.user_attrs.get("excess", []))


def answers(plan: Plan, trials: list[Any]) -> list[list[Any]]:
    """For each question (or for the first objective, if there is none): the trials that meet its conditions, the best one first."""
    if not plan.best:
        return [sorted((t for t in trials if feasible(t)), key=lambda t: (costs_of(plan, t), t.number))]
    return [sorted((t for t in trials if feasible(t) and t.user_attrs["where"][number]), key=lambda t: (costs_of(plan, t)[best.objective], t.number))
            for number, best in enumerate(plan.best)]


def order(plan: Plan, trials: list[Any]) -> list[Any]:
    """Trials in the order in which the next level takes them: in turn the best ones for each question, and those of the Pareto front."""
    possible = [trial for trial in trials if feasible(trial)]
    ranks = dict(zip((t.number for t in possible), fronts([costs_of(plan, t) for t in possible])))
    queues = [*answers(plan, trials), sorted(possible, key=lambda t: (ranks[t.number], costs_of(plan, t), t.number))]
    taken: dict[int, Any] = {}
    for place in range(len(possible)):
        for queue in queues:
            if place < len(queue):
                taken.setdefault(queue[place].number, queue[place])
    return list(taken.values())


class Studies:
    """The trials of a store, a study of Optuna for each level."""

    def __init__(self, plan: Plan, store: pathlib.Path) -> None:
        optuna = _optuna()
        self.plan, self.failed, self.plain_sampler = plan, optuna.trial.TrialState.FAIL, optuna.samplers.RandomSampler(seed=0)
        with locked(store / "search.lock"):
            storage = _journal(store / "trials.jsonl")
            directions = [word for word, _, _ in plan.objectives]
            self.levels = [optuna.create_study(storage=storage, study_name=f"level {number}", directions=directions, load_if_exists=True)
                           for number in range(1, len(plan.levels) + 1)]

    def trials(self, level: int) -> list[Any]:
        return self.levels[level].get_trials(deepcopy=False)

    def finished(self, level: int) -> list[Any]:
        return [trial for trial in self.trials(level) if trial.state.name == "COMPLETE"]

    def baseline(self, level: int) -> dict[str, float] | None:
        """Objectives and measures of the baseline, when it has been simulated."""
        return self.levels[level].user_attrs.get("baseline")

    def counted(self, level: int) -> int:
        """Points that have been simulated."""
        return sum(trial.state.name in ("COMPLETE", "FAIL") and "exhausted" not in trial.user_attrs for trial in self.trials(level))


class _Claim:
    def __init__(self, level: int, number: int, trial_id: int, params: Params) -> None:
        self.level, self.number, self.trial_id, self.params = level, number, trial_id, params


class Worker:
    """Takes points one after the other, until none is left. A point of a worker that was killed is taken over by another one."""

    def __init__(self, plan: Plan, store: pathlib.Path, jobs: int, runs: pathlib.Path | None = None) -> None:
        self._plan, self._store = plan, store
        (store / "workers").mkdir(exist_ok=True)
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._runs = Runs(runs or store / "runs", jobs, plan.timeout)
        self.studies = Studies(plan, store)
        self._baselines: dict[int, Design] = {}

    def work(self, shown: Callable[[Studies], None] | None = None) -> None:
        with self._alive() as lock:
            for number in range(len(self._plan.levels)):
                while (claim := self._next(number)) is not None:
                    if isinstance(claim, _Claim):
                        self._evaluate(claim, lock)
                    else:
                        time.sleep(_POLL)
                    if shown is not None:
                        shown(self.studies)

    @contextlib.contextmanager
    def _alive(self) -> Iterator[IO[bytes]]:
        """Others know from the lock that this worker lives, or that a simulation of it does."""
        path = self._lock_of(self._name)
        with contextlib.ExitStack() as held:
            with locked(self._store / "search.lock"):
                for other in path.parent.glob("*.lock"):
                    if self._dead(other.stem):
                        other.unlink()
                file = held.enter_context(locked(path))
            yield file
            with locked(self._store / "search.lock"):
                path.unlink()

    def _lock_of(self, worker: str) -> pathlib.Path:
        return self._store / "workers" / f"{worker}.lock"

    def _dead(self, worker: str | None) -> bool:
        if worker is None:
            return True  # killed before it could say who it is; whoever claims holds the lock of the search
        if worker == self._name:
            return False
        try:
            with open(self._lock_of(worker), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return True
        except BlockingIOError:
            return False
        return True

    # ---- claiming

    def _next(self, level: int) -> _Claim | bool | None:
        """A point; True: wait for others; None: the level is finished."""
        with locked(self._store / "search.lock"):
            trials = self.studies.trials(level)
            running = [trial for trial in trials if trial.state.name == "RUNNING"]
            for trial in running:
                if self._dead(trial.user_attrs.get("worker")):
                    return self._claim(level, trial)
            if level == 0:
                more = len(trials) < self._plan.levels[0].points and not any("exhausted" in trial.user_attrs for trial in trials)
            else:
                self._promote(level, trials)
                more = any(trial.state.name == "WAITING" for trial in self.studies.trials(level))
            if more:
                study = self.studies.levels[level]
                study.sampler = self.studies.plain_sampler  # the point is chosen below
                number = study.ask().number
                return self._claim(level, self.studies.trials(level)[number])
            return True if running else None

    def _claim(self, level: int, trial: Any) -> _Claim | bool:
        """A trial that nobody works at. A kill at any point leaves it so that the next one to claim it does the same."""
        study = self.studies.levels[level]
        study._storage.set_trial_user_attr(trial._trial_id, "worker", self._name)
        distributions = _distributions(self._plan)
        params = trial.user_attrs.get("point") or trial.system_attrs.get("fixed_params")
        if params is None:
            try:
                params = self._sampler_of(level, trial.number).sample_relative(study, trial, distributions)
            except _Exhausted:
                study._storage.set_trial_user_attr(trial._trial_id, "exhausted", True)
                study.tell(trial.number, state=self.studies.failed)
                return True
        if "point" not in trial.user_attrs:
            study._storage.set_trial_user_attr(trial._trial_id, "point", params)
        for name, distribution in distributions.items():
            if name not in trial.params:
                study._storage.set_trial_param(trial._trial_id, name, distribution.to_internal_repr(params[name]), distribution)
        return _Claim(level, trial.number, trial._trial_id, params)

    def _sampler_of(self, level: int, number: int) -> Any:
        points = [trial.user_attrs["point"] for trial in self.studies.trials(level) if trial.number != number and "point" in trial.user_attrs]
        seen = {self._plan.known(point)[0] for point in points}

        def acceptable(params: Params) -> bool:
            config, possible = self._plan.known(params)
            return possible and config not in seen

        return _sampler(self._plan, number, acceptable)

    def _promote(self, level: int, trials: list[Any]) -> None:
        """The best points of the level before. Again, it adds nothing."""
        there = {self._plan.index(trial.system_attrs.get("fixed_params") or trial.params) for trial in trials}
        for trial in order(self._plan, self.studies.finished(level - 1))[:self._plan.levels[level].points]:
            if self._plan.index(trial.params) not in there:
                self.studies.levels[level].enqueue_trial(dict(trial.params), user_attrs={"from": trial.number})

    # ---- evaluating

    def _evaluate(self, claim: _Claim, lock: IO[bytes]) -> None:
        plan = self._plan
        design = plan.design(claim.params)
        attrs: dict[str, Any] = {}
        values = None
        try:
            baseline = self._baseline(claim.level)
            design.with_runs(self._runs.make(self._runs.points(plan, plan.levels[claim.level], design.overrides), lock))
            attrs["measures"] = {name: plan.measures.scalar(node, design, baseline, f"measure {name}") for name, node in plan.measure_nodes.items()}
            values = [plan.measures.scalar(node, design, baseline, f"objective '{text}'") for _, text, node in plan.objectives]
            attrs["excess"] = [bound.excess(design, baseline) for bound in plan.constraints]
            attrs["where"] = [all(bound.excess(design, baseline) <= 0 for bound in best.bounds) for best in plan.best]
        except (Failed, _core.SimulationError) as problem:
            attrs["failed"] = str(problem)
        self._tell(claim, attrs, values)

    def _tell(self, claim: _Claim, attrs: Mapping[str, Any], values: list[float] | None) -> None:
        study = self.studies.levels[claim.level]
        with locked(self._store / "search.lock"):
            for name, value in attrs.items():
                study._storage.set_trial_user_attr(claim.trial_id, name, value)
            study.sampler = _sampler(self._plan, claim.number, lambda params: True)
            if values is None:
                study.tell(claim.number, state=self.studies.failed)
            else:
                study.tell(claim.number, values)
            with open(self._store / "trials.jsonl", "rb") as file:
                os.fsync(file.fileno())  # of what has been told, a host that loses power loses nothing

    def _baseline(self, level: int) -> Design:
        """The machine as it is, simulated by the first who needs it."""
        if level not in self._baselines:
            plan = self._plan
            design = Design(plan.machine, plan.set, plan.table)
            with locked(self._store / f"baseline-{level + 1}.lock") as lock:
                try:
                    design.with_runs(self._runs.make(self._runs.points(plan, plan.levels[level], plan.set), lock))
                except Failed as problem:
                    raise InputError(f"the baseline failed, with which designs are compared: {problem}") from None
            values = {text: plan.measures.scalar(node, design, design, f"objective '{text}' of the baseline") for _, text, node in plan.objectives}
            values |= {name: plan.measures.scalar(node, design, design, f"measure {name} of the baseline") for name, node in plan.measure_nodes.items()}
            self.studies.levels[level].set_user_attr("baseline", values)
            self._baselines[level] = design
        return self._baselines[level]
