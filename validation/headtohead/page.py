#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the numbers of docs/head-to-head.md, and those of docs/advise.md about mechanisms, from the runs of a store; nothing is simulated. What has not run yet is said to be so.

  page.py MERGELANE --write [--store DIR]     STORE: default validation/headtohead/*.jsonl.zst, unpacked
  page.py MERGELANE --check                   fails if the page differs from what the packed runs say
"""
import argparse
import functools
import pathlib
import re
import subprocess
import sys
import tempfile

import command
import rule as learning

HERE = pathlib.Path(__file__).resolve().parent
PAGES = [command.TOP / "docs/head-to-head.md", command.TOP / "docs/advise.md"]
EXAMPLE = ["advise", "--mechanisms", "--workload", "backprop"]  # not one of the test programs
BLOCK = re.compile(r"^<!-- headtohead: (\S+) -->\n.*?^<!-- end -->$", re.M | re.S)
FEWEST = 8  # programs of which a mean is shown while runs are missing
MESH_ONLY = ("ICC+CC with the CTA scheduler",)  # tables that H2H-2 lacks until the mesh and that scheduler have run
WHOLE = ("H2H-7", "H2H-8")  # shown when all of their runs are there
CLASSES = {"shared": "at least 20 % of an SM cluster's L1 read misses were another SM's within 2,000 cycles",
           "replicated": "at least 25 % of the misses are in another L1, and at least half of the accesses miss",
           "divergent": "at least four lines per memory instruction", "network": "reply ports busy at least 60 % of the time",
           "DRAM": "DRAM bus busy at least 60 % of the time", "light": "reply ports and DRAM bus both busy less than 30 %"}


def markdown(columns, rows):
    return "\n".join(["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns), *("| " + " | ".join(row) + " |" for row in rows)])


def on_mesh(run):
    return any(o in ("noc.kind=mesh", "dispatch.scheduler=distributed_block") for o in run["overrides"])


class Experiment:
    """How far it is, and what it prints over the programs whose runs are all there. While the mesh is missing, H2H-2 shows the crossbar."""

    def __init__(self, binary, store, size, name):
        self.name = name
        _, content = command.experiments()[name]
        document = command.printed(binary, store, size, "--experiment", name)
        self.title, runs = content["title"], document["runs"]
        self.runs, self.done = len(runs), sum(1 for run in runs if run["status"] == "done")
        workloads = command.study()["workloads"]
        self.programs = content.get("workloads", [w for w, entry in workloads.items() if not (isinstance(entry, dict) and entry.get("apart"))])
        self.complete, self.crossbar, self.shown = self.complete_among(workloads, runs), False, None
        if name == "H2H-2" and len(self.complete) < FEWEST:
            self.crossbar = True
            self.complete = self.complete_among(workloads, [run for run in runs if not on_mesh(run)])
        if self.all_there():
            self.shown = document["experiments"][0]
        elif name not in WHOLE and len(self.complete) >= FEWEST:
            self.shown = command.reduced(binary, store, size, name, self.complete, self.crossbar)

    def complete_among(self, workloads, runs):
        open_ones = {(run["workload"], run["seed"]) for run in runs if run["status"] != "done"}

        def key(workload):
            entry = workloads[workload]
            return (entry, 1) if isinstance(entry, str) else (entry["program"], entry.get("seed", 1))

        return [w for w in self.programs if key(w) not in open_ones]

    def all_there(self):
        return not self.crossbar and len(self.complete) == len(self.programs)

    def caption(self):
        if self.all_there():
            return f"{self.name}, all {len(self.programs)} programs."
        return f"**Partial**: {self.name}, {len(self.complete)} of {len(self.programs)} programs, those that were simulated first; not a sample." + \
            (" Packet coalescing: not run yet." if self.crossbar else "")

    def table(self, title):
        return command.table(self.shown, title)

    def words(self, title, keep=None):
        """The table as the command printed it, or that there is none yet."""
        if self.shown is None or (self.crossbar and title in MESH_ONLY) or not any(t["title"].startswith(title) for t in self.shown["tables"]):
            return f"{self.name}: not run yet ({self.done} of {self.runs} runs)."
        shown = self.table(title)
        columns = [i for i, name in enumerate(shown["columns"]) if keep is None or i == 0 or name in keep]
        rows = [row for row in shown["rows"] if row[0] != "mean" or not any(other[0] == "geometric" for other in shown["rows"])]
        named = [["geometric mean" if row[0] == "geometric" else row[0], *row[1:]] for row in rows]
        return self.caption() + "\n\n" + markdown([shown["columns"][i] for i in columns], [[row[i] for i in columns] for row in named])


class Results:
    def __init__(self, binary, store, size):
        self.where = (binary, store, size)
        self.known = {}

    def __getitem__(self, name):
        if name not in self.known:
            self.known[name] = Experiment(*self.where, name)
        return self.known[name]


def state(results):
    rows = []
    for name in command.experiments():
        e = results[name]
        how = "complete" if e.all_there() else "partial" if e.shown else "not run yet"
        rows.append([name, e.title, f"{e.done} of {e.runs}", f"{len(e.complete)} of {len(e.programs)}", how])
    return markdown(["experiment", "title", "runs", "programs", "state"], rows)


def kinds(results):
    """For each class: the mechanism with the largest mean, and the one with the smallest."""
    e = results["H2H-2"]
    if e.shown is None:
        return e.words("")
    means, counts = e.table("By class of program: geometric mean"), e.table("By class of program: faster")
    rows = []
    for at, name in enumerate(means["columns"]):
        if at == 0:
            continue
        found = sorted(((float(row[at]), row[0], count[at]) for row, count in zip(means["rows"], counts["rows"]) if row[at] != "-"), reverse=True)
        programs = counts["rows"][0][at].split()[-1]
        cells = [f"{mechanism} {mean:.3f} ({count.rsplit(' of ', 1)[0].replace(', ', ' faster, ')} slower)" for mean, mechanism, count in found]
        rows.append([name, CLASSES[name], programs, *([cells[0], cells[1], cells[-1]] if cells else ["-", "-", "-"])])
    return e.caption() + "\n\n" + markdown(["kind of kernel", "that is", "programs", "most", "next", "least"], rows)


def interval(text):
    low, _, high = text.partition(" to ")
    return (float(low), float(high)) if high and "-" not in text.split() else None


def together(results):
    """Pairs by what their interaction's interval says."""
    e = results["H2H-3"]
    if e.shown is None:
        return e.words("")
    shown = e.table("Speed of pairs")
    column = {name: at for at, name in enumerate(shown["columns"])}
    rows = []
    for row in shown["rows"]:
        of = interval(row[column["its 95 % interval"]])
        says = "unknown" if of is None else "overlap" if of[1] < 1 else "exceed their product" if of[0] > 1 else "multiply, within 2 %" if of[0] >= 0.98 and of[1] <= 1.02 else "not resolved"
        rows.append([row[0], row[column["mean"]], row[column["95 % interval"]], row[column["worst program"]], row[column["interaction"]], row[column["its 95 % interval"]], says])
    return e.caption() + "\n\n" + markdown(["pair", "speed", "95 % interval", "worst program", "interaction", "its 95 % interval", "so they"], rows)


def mean_of(results, experiment, title, row, column="mean"):
    """One number of a table; None: not there yet."""
    e = results[experiment]
    if e.shown is None or (e.crossbar and row == "packet coalescing"):
        return None
    shown = e.table(title)
    found = [r[shown["columns"].index(column)] for r in shown["rows"] if r[0] == row]
    return float(found[0]) if found and found[0] != "-" else None


def surprises(results):
    """What ADR 0053 said beforehand would surprise."""
    alone = {m: mean_of(results, "H2H-2", "Speed over the machine without it", m) for m in command.study()["list"]["mechanism"]}
    pairs = command.study()["list"]["pair"]
    speed = {p: mean_of(results, "H2H-3", "Speed of pairs", p) for p in pairs}
    interaction = {p: mean_of(results, "H2H-3", "Speed of pairs", p, "interaction") for p in pairs}
    five = mean_of(results, "H2H-4", "Four and five", "all five")
    rows = []

    def ask(question, values, surprising):
        if any(v is None for v in values.values()):
            rows.append([question, "not run yet", ""])
            return
        yes = {k: v for k, v in values.items() if surprising(v)}
        shown = yes or values if len(values) < 3 or yes else {}
        rows.append([question, "yes" if yes else "no", ", ".join(f"{k} {v:.3f}" for k, v in shown.items())])

    ask("A mechanism gains more than 25 % in the mean, or slows the mean by more than 5 %", alone, lambda v: v > 1.25 or v < 0.95)
    ask("Packet coalescing gains 2 % in the mean", {"packet coalescing": alone["packet coalescing"]}, lambda v: v >= 1.02)
    ask("LRC gains 2 % in the mean", {"LRC": alone["LRC"]}, lambda v: v >= 1.02)
    ask("ICC+CC and DC-L1 gain more together than their product", {"interaction": interaction["ICC+DC"]}, lambda v: v > 1)
    ask("WarpPool and ICC+CC interact by more than 3 %", {"interaction": interaction["ICC+WP"]}, lambda v: abs(v - 1) > 0.03)
    ask("CTA clustering, with one order for all, gains in the mean", {"CTA clustering": alone["CTA clustering"]}, lambda v: v > 1)
    ask("A pair gains more than 5 % over the product", interaction, lambda v: v > 1.05)
    best = None if five is None or None in speed.values() else max(speed, key=speed.get)
    ask("All five together are slower than the best pair", {"all five": five, best or "best pair": speed[best] if best else None}, lambda v: best is not None and five < speed[best])
    return markdown(["what would surprise", "surprised", "mean"], rows)


@functools.cache
def learnt():
    return learning.learnt(learning.read(HERE / "programs.csv"))


def rule_words(_):
    rule, programs, mechanisms, _ = learnt()
    to_gain = [learning.something_to_gain(p, mechanisms) for p in programs]
    rows = []
    for one in rule["accuracy"]:
        low, high = learning.wilson(one["near"], len(programs))
        there = sum(learning.is_near(lost) for lost, gains in zip(one["losses"], to_gain) if gains)
        rows.append([one["name"], f"{one['near']} of {len(programs)} ({100 * one['near'] / len(programs):.0f} %)", f"{low:.0f} to {high:.0f} %", f"{there} of {sum(to_gain)}", f"{one['lost']:.2f} %"])
    lead = f"Learnt from {len(programs)} of {rule['planned']} programs; candidate taken: {rule['method']}, as for {rule['chosen_in_turn']} of the {len(programs)} programs when they are left out."
    return lead + "\n\n" + markdown(["rule", f"best, or within {learning.NEAR} % of it", "95 % interval", "where something gains more", "mean loss"], rows)


def rule_training(_):
    """The four programs on which the mechanisms were tuned."""
    _, _, mechanisms, _ = learnt()
    rows = []
    for p, name, predicted in learning.checked(learning.read(HERE / "programs.csv")):
        best = min(mechanisms, key=lambda m: p.times[m])
        rows.append([p.name, f"{best} {1 / p.times[best]:.3f}" if p.times[best] < 1 else "none", f"{name or 'none'} {predicted:.3f}" if name else "none", f"{1 / p.times[name]:.3f}" if name else "1", f"{learning.loss(p, mechanisms, name):.1f} %"])
    return markdown(["program", "best, measured", "rule's choice, predicted", "measured", "slower than the best by"], rows) if rows else "Not profiled yet."


def rule_misses(_):
    _, programs, mechanisms, names = learnt()
    rows = []
    for p, name in zip(programs, names):
        lost = learning.loss(p, mechanisms, name)
        if learning.is_near(lost):
            continue
        best = min(mechanisms, key=lambda m: p.times[m])
        rows.append([p.name, f"{best} {1 / p.times[best]:.3f}" if p.times[best] < 1 else "none", f"{name or 'none'} {1 / p.times[name] if name else 1:.3f}", f"{lost:.1f} %"])
    return markdown(["program", "best", "rule's choice", "slower than the best by"], rows) if rows else "None."


def advice(results):
    printed = subprocess.run([results.where[0], *EXAMPLE], capture_output=True, text=True, check=True).stdout
    return f"```text\n$ mergelane {' '.join(EXAMPLE)}\n{printed}```"


MAKERS = {
    "state": state,
    "kinds": kinds,
    "alone": lambda r: r["H2H-2"].words("Speed over the machine without it"),
    "against": lambda r: r["H2H-2"].words("One against another"),
    "origins": lambda r: r["H2H-2"].words("By the paper"),
    "oracle": lambda r: r["H2H-2"].words("If a mechanism is switched"),
    "surprises": surprises,
    "controls": lambda r: "\n\n".join([r["H2H-10"].words("Speed, of none (geo"), r["H2H-10"].words("A mechanism over its control")]) if r["H2H-10"].shown else r["H2H-10"].words(""),
    "wide": lambda r: r["H2H-5"].words("Without mechanisms"),
    "costs": lambda r: r["H2H-2"].words("Traffic, energy"),
    "scheduler": lambda r: r["H2H-2"].words("ICC+CC with the CTA scheduler"),
    "programs": lambda r: r["H2H-2"].words("Speed, of the machine without it"),
    "published": lambda r: r["H2H-9"].words("Speed over the machine without it"),
    "together": together,
    "better": lambda r: r["H2H-3"].words("Against the better"),
    "remains": lambda r: "\n\n".join(r["H2H-3"].words("What remains for " + m) for m in ("ICC+CC", "WarpPool", "the nodes", "LRC")) if r["H2H-3"].shown else r["H2H-3"].words(""),
    "pair-costs": lambda r: r["H2H-3"].words("Traffic, energy"),
    "triples": lambda r: r["H2H-4"].words("Speed of triples"),
    "more": lambda r: r["H2H-4"].words("Four and five"),
    "all-five": lambda r: r["H2H-4"].words("All five"),
    "contexts": lambda r: r["H2H-4"].words("What a mechanism gains in the mean"),
    "ratios": lambda r: r["H2H-5"].words("Speed, of none at the same"),
    "mesh": lambda r: r["H2H-6"].words("Speed, of the mesh alone"),
    "seeds": lambda r: r["H2H-7"].words("Speed over the machine without it: smallest"),
    "silicon": lambda r: r["H2H-8"].words("Speed, of none"),
    "silicon-pairs": lambda r: r["H2H-8"].words("Interaction"),
    "baseline": lambda r: r["H2H-0"].words("Without any mechanism"),
    "advice": advice,
    "rule": rule_words,
    "rule-misses": rule_misses,
    "rule-training": rule_training,
}


def made(page, results):
    return BLOCK.sub(lambda found: f"<!-- headtohead: {found[1]} -->\n{MAKERS[found[1]](results)}\n<!-- end -->", page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", metavar="MERGELANE")
    parser.add_argument("--store", type=pathlib.Path)
    parser.add_argument("--size", default="paper")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    a = parser.parse_args()
    a.binary = str(pathlib.Path(a.binary).resolve())
    with tempfile.TemporaryDirectory() as unpacked:
        if a.store is None:
            for packed in sorted(HERE.glob("*.jsonl.zst")):
                subprocess.run([a.binary, "store", "unpack", packed, unpacked], check=True, stdout=subprocess.DEVNULL)
        results = Results(a.binary, (a.store or pathlib.Path(unpacked)).resolve(), a.size)
        old = [page.read_text(encoding="utf-8") for page in PAGES]
        new = [made(text, results) for text in old]
    for page, before, after in zip(PAGES, old, new):
        if a.write:
            page.write_text(after, encoding="utf-8")
        elif not a.check:
            print(after)
        elif after != before:
            print(f"{page.relative_to(command.TOP)} is not what the packed runs say; run validation/headtohead/page.py MERGELANE --write")
    if a.check and old != new:
        sys.exit(1)


if __name__ == "__main__":
    main()
