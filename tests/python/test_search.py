# SPDX-License-Identifier: MIT
"""Searches: what they accept, that they find the best point, that they are the same every time, and that kills lose and repeat nothing."""

import collections
import contextlib
import doctest
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import mergelane
import mergelane._search
import mergelane._search_work

try:
    import optuna  # noqa: F401
except ImportError:
    print("SKIPPED: Optuna is not installed (apt install python3-optuna)")
    sys.exit(77)

COMMAND = os.environ["MERGELANE"]
SPACE = {
    "machine": "icc60", "workloads": ["hotspot", "bfs"],
    "space": {"l1.size_kib": [16, 32, 48], "noc": {"flit_bytes": [32, 64, 128]}},
    "choice": {"icc": {"off": [], "on": ["cluster.icc.enabled=true"]}},
    "measures": {"speedup": "geomean(base(cycles) / cycles)", "growth": "area / base(area)"},
    "objectives": ["maximize speedup", "minimize growth"],
    "level": [{"size": "tiny", "budget": 6}, {"size": "tiny", "workloads": ["spmv"], "keep": 2}],
}


def load_tests(loader, tests, ignored):
    tests.addTests(doctest.DocTestSuite(mergelane._search, optionflags=doctest.NORMALIZE_WHITESPACE))
    return tests


def setUpModule():
    global CACHE
    CACHE = tempfile.TemporaryDirectory()
    os.environ["MERGELANE_CACHE"] = CACHE.name


def tearDownModule():
    CACHE.cleanup()


def search(**changes):
    return mergelane.search(**{**SPACE, "progress": False, **changes})


def toml(given):
    """The search as a file."""
    text = "".join(f"{key} = {json.dumps(given[key])}\n" for key in ("machine", "workloads", "objectives"))
    text += "[space]\nl1.size_kib = [16, 32, 48]\nnoc.flit_bytes = [32, 64, 128]\n[choice.icc]\noff = []\non = [\"cluster.icc.enabled=true\"]\n"
    text += "[measures]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in given["measures"].items())
    return text + "".join("[[level]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in level.items()) for level in given["level"])


def records(store):
    """The keys of all runs that were simulated, in every file."""
    keys = []
    for path in store.glob("*.jsonl"):
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                keys.append(json.loads(line)["key"])
    return keys


class Found(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.store = self.folder / "store"

    def test_every_point_once_then_the_best_of_them(self):
        found = search(store=self.store, level=[{"size": "tiny", "budget": 100}, {"size": "tiny", "workloads": ["spmv"], "keep": 3}])
        first = found.trials[found.trials["level"] == 1]
        self.assertEqual(len(first), 18)
        self.assertEqual(len(first[["l1.size_kib", "noc.flit_bytes", "icc"]].drop_duplicates()), 18)
        self.assertIn("no further point is possible", found.summary)
        self.assertEqual(len(records(self.store / "runs")), 18 * 2 + 3 + 1)  # the baseline is one of the points, and at level 2 it is not
        self.assertEqual(len(set(records(self.store / "runs"))), len(records(self.store / "runs")))
        row = first.sample(1, random_state=1).iloc[0]
        base = {name: mergelane.run("icc60", name, size="tiny").cycles for name in ("hotspot", "bfs")}
        set_ = {"l1.size_kib": row["l1.size_kib"], "noc.flit_bytes": row["noc.flit_bytes"], "cluster.icc.enabled": row["icc"] == "on"}
        product = 1.0
        for name, cycles in base.items():
            product *= cycles / mergelane.run("icc60", name, size="tiny", set=set_).cycles
        self.assertAlmostEqual(row["speedup"], product ** 0.5)
        second = found.trials[found.trials["level"] == 2]
        self.assertEqual(len(second), 3)
        best = first.sort_values(["speedup", "growth"], ascending=[False, True]).iloc[0]
        self.assertIn(best["trial"], second["from"].tolist())

    def test_front_and_best_are_those_of_all_points(self):
        found = search(level=[{"size": "tiny", "budget": 18}], best=[{"title": "small", "where": ["growth <= 0.95"]}, {"title": "none", "where": ["speedup >= 99"]}])
        rows = found.trials.to_dict("records")
        front = {row["trial"] for row in rows if not any(o["speedup"] >= row["speedup"] and o["growth"] <= row["growth"] and
                                                         (o["speedup"], o["growth"]) != (row["speedup"], row["growth"]) for o in rows)}
        self.assertEqual({row["trial"] for row in rows if row["pareto"]}, front)
        self.assertEqual(set(found.front["trial"]), front)
        small = max(row["speedup"] for row in rows if row["growth"] <= 0.95)
        self.assertEqual(found.best["speedup"].tolist()[0], small)
        self.assertTrue(found.best["trial"].isna().tolist()[1])
        self.assertRegex(found.summary, r"base +1 +1")

    def test_fronts(self):
        chance = random.Random(1)
        for dimensions in (1, 2, 3):
            costs = [tuple(chance.randrange(6) for _ in range(dimensions)) for _ in range(60)]
            ranks = mergelane._search_work.fronts(costs)
            for rank in range(max(ranks) + 1):
                left = [c for c, r in zip(costs, ranks) if r >= rank]
                best = {c for c in left if not any(o != c and all(a <= b for a, b in zip(o, c)) for o in left)}
                self.assertEqual({c for c, r in zip(costs, ranks) if r == rank}, best)
        self.assertEqual(mergelane._search_work.fronts([(float(i),) for i in range(2000)]), list(range(2000)))

    def test_energy_is_that_of_run(self):
        found = search(level=[{"size": "tiny", "budget": 1}], measures={**SPACE["measures"], "joules": "sum(energy)"}, workloads=["hotspot"])
        row = found.trials.iloc[0]
        set_ = {"l1.size_kib": row["l1.size_kib"], "noc.flit_bytes": row["noc.flit_bytes"], "cluster.icc.enabled": row["icc"] == "on"}
        run = mergelane.run("icc60", "hotspot", size="tiny", set=set_, energy="bottom_up_40nm")
        self.assertEqual(row["joules"], run.energy.attrs["joules"]["bottom_up_40nm"])

    def test_constraints_without_runs_cost_no_simulation(self):
        found = search(store=self.store, constraints=["area <= 0.95 * base(area)"], level=[{"size": "tiny", "budget": 50}])
        self.assertTrue((found.trials["growth"] <= 0.95).all())
        self.assertLess(len(found.trials), 18)
        self.assertEqual(len(records(self.store / "runs")), 2 * (len(found.trials) + 1))

    def test_constraints_of_runs(self):
        found = search(constraints=["speedup >= 1"], level=[{"size": "tiny", "budget": 18}])
        self.assertEqual(found.trials["feasible"].tolist(), (found.trials["speedup"] >= 1).tolist())
        self.assertTrue((found.front["speedup"] >= 1).all())

    def test_same_seed_same_trials_and_resumed_with_more(self):
        for sampler in ("tpe", "nsga2", "random"):
            level = [{"size": "tiny", "budget": 14}]
            one = search(sampler=sampler, level=level, runs=self.folder / "runs")
            for budget in (5, 14):
                grown = search(sampler=sampler, level=[{"size": "tiny", "budget": budget}], store=self.folder / sampler, runs=self.folder / "runs")
            columns = ["trial", "l1.size_kib", "noc.flit_bytes", "icc", "speedup"]
            self.assertTrue(one.trials[columns].equals(grown.trials[columns]), sampler)
            again = search(sampler=sampler, level=level, runs=self.folder / "runs")
            self.assertTrue(one.trials.equals(again.trials), sampler)
            other = search(sampler=sampler, level=level, runs=self.folder / "runs", seed=2)
            self.assertFalse(one.trials[columns].equals(other.trials[columns]), sampler)

    def test_another_search_in_the_store_is_refused(self):
        search(store=self.store, level=[{"size": "tiny", "budget": 1}])
        with self.assertRaisesRegex(mergelane.InputError, "another search, which differs in seed, measures"):
            search(store=self.store, level=[{"size": "tiny", "budget": 1}], seed=2, measures={"speedup": "min(base(cycles) / cycles)", "growth": "area"})

    def test_points_that_fail_are_kept_and_left_out(self):
        found = search(workloads=["hotspot"], space={"sm.shared_kib": [1, 64]}, choice={}, level=[{"size": "tiny", "budget": 2}])
        self.assertEqual(sorted(found.trials["state"]), ["complete", "fail"])
        self.assertRegex(found.trials[found.trials["state"] == "fail"]["failed"].iloc[0], "hotspot: .*shared memory")

    def test_impossible_points_are_left_out_and_named(self):
        found = search(choice={"front": {"in_order": [], "pool": ["lsu.front=warp_pool"]}}, level=[{"size": "tiny", "budget": 50}])
        self.assertEqual(set(found.trials["front"]), {"in_order"})
        self.assertIn("front = pool is no machine by itself: ", found.summary)

    def test_several_workers(self):
        found = search(store=self.store, workers=3, jobs=1, level=[{"size": "tiny", "budget": 12}, {"size": "tiny", "workloads": ["spmv"], "keep": 2}])
        self.assertEqual(found.trials["state"].tolist(), ["complete"] * 14)
        keys = records(self.store / "runs")
        self.assertEqual(len(keys), len(set(keys)))

    def test_the_page(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "search.md").read_text(encoding="utf-8")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
            exec(compile(block, "docs/search.md", "exec"), {})
        self.assertTrue((self.folder / "result.html").exists())

    def test_the_command(self):
        file = self.folder / "small.toml"
        file.write_text(toml(SPACE))
        environment = {**os.environ, "MERGELANE_PYTHON": sys.executable}
        words = [COMMAND, "search", file, "--store", self.store, "--seed", "3", "--budget", "4", "--quiet"]
        done = subprocess.run(words, capture_output=True, text=True, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("Pareto front at level 2", done.stdout)
        shown = subprocess.run([COMMAND, "search", "--show", "--store", self.store, "--json"], capture_output=True, text=True, env=environment, check=True)
        self.assertEqual(json.loads(shown.stdout), json.loads((self.store / "result.json").read_text()))
        page = (self.store / "result.html").read_text()
        self.assertIn("<svg", page)
        self.assertNotIn("<script", page)
        self.assertEqual((self.store / "trials.csv").read_text().count("\n"), 1 + 4 + 2)
        for words, why in ((["search"], "no search file was given"), (["search", "none.toml"], "none.toml: no such file"),
                           (["search", "--show", "--store", self.folder], "has no search")):
            refused = subprocess.run([COMMAND, *words], capture_output=True, text=True, env=environment)
            self.assertEqual(refused.returncode, 2)
            self.assertRegex(refused.stderr, f"^error: .*{why}")


class Refused(unittest.TestCase):
    def refuses(self, pattern, **changes):
        with self.assertRaisesRegex(mergelane.InputError, pattern):
            search(**changes)

    def test_what_is_no_search(self):
        self.refuses("unknown key 'objectivs'; did you mean 'objectives'", objectivs=[])
        self.refuses("unknown key 'l1.sizekib'", space={"l1.sizekib": [1]})
        self.refuses("'l1.size_kib' has no values", space={"l1.size_kib": []})
        self.refuses("'l1.size_kib' has a value twice", space={"l1.size_kib": [16, 16]})
        self.refuses("there is nothing to search", space={}, choice={})
        self.refuses("choice.icc must be a table", choice={"icc": ["a"]})
        self.refuses("choice.trial has the name of a column", choice={"trial": {"a": []}})
        self.refuses("measure icc has the name of a choice", measures={"icc": "area"})
        self.refuses("unknown sampler 'tp'; did you mean 'tpe'", sampler="tp")
        self.refuses("level 1 has no 'budget'", level=[{"size": "tiny"}])
        self.refuses("level 2 has 'budget'", level=[{"budget": 1}, {"budget": 1}])
        self.refuses("unknown size 'tny'", level=[{"size": "tny", "budget": 1}])
        self.refuses("unknown GPU 'icc6'", machine="icc6")
        self.refuses("a workload is there twice", workloads=["bfs", "bfs"])
        self.refuses("'of' is 'area'", best=[{"of": "area"}])
        self.refuses("unknown energy table|no energy table|not found", table="none", measures={}, objectives=["minimize area"])
        with self.assertRaisesRegex(TypeError, "a file or its keys"):
            mergelane.search("x.toml", machine="icc60")

    def test_what_is_no_expression(self):
        def objective(text):
            return {"objectives": [f"maximize {text}"]}

        self.refuses("does not say which way", objectives=["speedup"])
        self.refuses("is no expression", **objective("1 +"))
        self.refuses("unknown function 'geomen'; did you mean 'geomean'", **objective("geomen(cycles)"))
        self.refuses("unknown name 'speedupp'", **objective("speedupp"))
        self.refuses("unknown statistic 'l2.readz'; did you mean 'l2.reads'", **objective("sum(l2.readz)"))
        self.refuses("is not understood", **objective("cycles[0]"))
        self.refuses("is not understood", **objective("__import__('os').system('true')"))
        self.refuses("uses itself", measures={"a": "b", "b": "a"}, objectives=["maximize a"])
        self.refuses("cannot be the name of a measure", measures={"area": "1"})
        self.refuses("is no bound", constraints=["area"])
        self.refuses("has a value for each of 2 workloads", level=[{"size": "tiny", "budget": 1}], **objective("cycles"))
        self.refuses("is inf", level=[{"size": "tiny", "budget": 1}], **objective("sum(cycles / (cycles - cycles))"))


def children_of(process):
    answer = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True).stdout.split()
    return [int(pid) for pid in answer]


def killed_search(store, kills, seed, workers):
    """Workers that are killed at random moments after they have begun, sometimes only the simulation of one, until no point is left."""
    chance = random.Random(seed)
    words = [sys.executable, "-m", "mergelane.search", "--worker", str(store), "--jobs", "1"]
    start = lambda: subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # noqa: E731
    running, done = [start() for _ in range(workers)], 0
    while done < kills and all(process.poll() is None for process in running):
        begun = [process for process in running if list((store / "workers").glob(f"{process.pid}-*.lock"))]
        time.sleep(chance.uniform(0.0, 1.0 / workers))
        if not begun:
            continue
        victim = chance.choice(begun)
        simulations = children_of(victim.pid)
        if simulations and chance.random() < 0.1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(simulations[0], signal.SIGKILL)
            continue
        if victim.poll() is not None:
            break
        os.kill(victim.pid, signal.SIGKILL)
        victim.communicate()
        done += victim.returncode == -signal.SIGKILL
        running[running.index(victim)] = start()
    for process in running:
        error = process.communicate()[1]
        assert process.returncode == 0, error.decode()
    return done


class Kills(unittest.TestCase):
    KILLS = int(os.environ.get("SEARCH_KILLS", "10"))

    def check(self, store, runs):
        found = mergelane._search.results_of(store)
        trials = found.trials
        studies = mergelane._search.Studies(mergelane._search.plan_of_store(store), store)
        reasons = [trial.user_attrs["failed"] for level in range(2) for trial in studies.trials(level) if "failed" in trial.user_attrs]
        self.assertEqual(reasons, [])
        self.assertEqual(trials["state"].tolist(), ["complete"] * len(trials))
        for level, points in ((1, self.budget), (2, 4)):
            rows = trials[trials["level"] == level]
            self.assertEqual(rows["trial"].tolist(), list(range(points)))
            self.assertEqual(len(rows[[d for d in rows.columns if d in DIMENSIONS]].drop_duplicates()), points)
        repeated = [key for key, count in collections.Counter(records(runs)).items() if count > 1]
        self.assertEqual(repeated, [])
        return found

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.budget = 30 if self.KILLS <= 20 else min(200, 2 * self.KILLS)
        self.given = {**SPACE, "space": {"l1.size_kib": [16, 32, 48, 64], "noc.flit_bytes": [32, 64, 128], "l1.mshrs": [8, 16, 32, 64], "l2.mshrs": [16, 32, 64]},
                      "level": [{"size": "tiny", "budget": self.budget}, {"size": "tiny", "workloads": ["spmv"], "keep": 4}]}

    def start(self, name):
        store = self.folder / name
        plan = mergelane._search.Plan(self.given)
        mergelane._search._kept(plan, store, str(self.folder))
        return store

    def killed(self, workers):
        """Search after search, until there have been enough kills."""
        kills = stores = 0
        while kills < self.KILLS:
            store = self.start(f"killed-{workers}-{stores}")
            kills += killed_search(store, self.KILLS - kills, stores, workers)
            stores += 1
            found = self.check(store, store / "runs")
            keys = records(store / "runs")
            trials = found.trials
            base = 0 if ((trials["level"] == 1) & (trials["l1.size_kib"] == 48) & (trials["noc.flit_bytes"] == 64) & (trials["l1.mshrs"] == 32)
                         & (trials["l2.mshrs"] == 32) & (trials["icc"] == "off")).any() else 2
            promoted = trials[trials["level"] == 2]
            base2 = 0 if ((promoted["l1.size_kib"] == 48) & (promoted["noc.flit_bytes"] == 64) & (promoted["l1.mshrs"] == 32)
                          & (promoted["l2.mshrs"] == 32) & (promoted["icc"] == "off")).any() else 1
            self.assertEqual(len(keys), 2 * self.budget + base + 4 + base2)
        print(f"{kills} kills of {workers} workers in {stores} searches: no trial lost or counted twice, no run repeated", flush=True)
        return found

    def test_killed_workers_lose_and_repeat_nothing(self):
        self.killed(3)

    @unittest.skipIf(KILLS > 20, "of the short run")
    def test_a_simulation_that_is_killed_is_tried_again(self):
        """Its record counts, however late it comes."""
        plan = mergelane._search.Plan(self.given)
        most = mergelane._search_runs._ATTEMPTS
        for killed in (most - 1, most):
            runs = mergelane._search_runs.Runs(self.folder / f"killed-{killed}", 1, None)
            simulate, calls = runs._simulate, []

            def simulate_or_be_killed(points, lock):
                calls.append(len(points))
                if len(calls) > killed:
                    simulate(points, lock)

            runs._simulate = simulate_or_be_killed
            points = runs.points(plan, plan.levels[1], [])
            with open(self.folder / "lock", "wb") as lock:
                if killed < most:
                    self.assertEqual(len(runs.make(points, lock)), len(points))
                else:
                    with self.assertRaisesRegex(mergelane._search_runs.Failed, "left no record"):
                        runs.make(points, lock)
            self.assertEqual(len(calls), most)

    @unittest.skipIf(KILLS > 20, "of the short run")
    def test_a_killed_worker_goes_on_with_the_same_trials(self):
        found = self.killed(1)
        alone = mergelane.search(**self.given, progress=False)
        self.assertTrue(found.trials.equals(alone.trials))


DIMENSIONS = ("l1.size_kib", "noc.flit_bytes", "l1.mshrs", "l2.mshrs", "icc")


if __name__ == "__main__":
    unittest.main()
