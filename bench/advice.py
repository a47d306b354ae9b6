#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `mergelane advise` with simulation: every candidate of the 23 benchmarks of the CTA clustering paper on gtx980, and of a matrix
product with weights of 0.5 to 4 times the L2 on a quarter of a v100.

  bench/advice.py run MERGELANE RESULTS.csv [--jobs N] [--only NAME,NAME]   about two hours of CPU time; resumes after an interruption
  bench/advice.py show RESULTS.csv [--svg FOLDER]                           tables, criteria, and figures for docs/advise.md
  bench/advice.py show RESULTS.csv --printed TEXT                           check them against the file
"""
import argparse
import collections
import concurrent.futures
import contextlib
import csv
import io
import json
import math
import pathlib
import subprocess
import sys
import threading
import time
import tomllib

TOP = pathlib.Path(__file__).resolve().parent.parent
GTX980, QUARTER = "gtx980", "v100, a quarter"
WEIGHTS = {"weights 0.5": "weights_half", "weights 1": "weights_one", "weights 2": "weights_two", "weights 4": "weights_four"}
CLASSES = {"data-related": ["HST", "BTR", "BFS"], "write-related": ["NW"], "streaming": ["MON", "DXT", "SAD", "BS"]}
FIELDS = ["machine", "program", "candidate", "recommended", "class", "direction", "advise_seconds", "run_seconds", "predicted_gain", "cycles",
          "predicted_l2_miss_bytes", "l2_miss_bytes", "predicted_l2_bytes", "l2_bytes"]


def study():
    return tomllib.loads((TOP / "studies/ctacluster/study.toml").read_text(encoding="utf-8"))


def programs():
    """Name, machine, arguments of the command; as many CTAs on an SM as the paper has."""
    plan = study()
    for (name, workload), slots in zip(plan["workloads"].items(), plan["list"]["slots_gtx980"]):
        if isinstance(workload, str):
            workload = {"program": workload}
        arguments = ["--gpu", "gtx980", "--workload", workload["program"], "--set", f"sm.cta_slots={slots}", "--set", "sm.registers=1048576",
                     "--set", "sm.shared_kib=96"]
        if "kernels" in workload:
            arguments += ["--kernels", workload["kernels"]]
        yield name, GTX980, arguments
    for name, workload in WEIGHTS.items():
        yield name, QUARTER, ["--gpu", "v100", "--set", "gpu.clusters=20", "--set", "dram.channels=8", "--workload", workload]


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:6])} ...: {done.stderr}")
    return json.loads(done.stdout)


def simulate(binary, arguments, overrides):
    sets = [word for override in overrides for word in ("--set", override)]
    start = time.monotonic()
    result = call([binary, "run", *arguments, *sets, "--quiet", "--json", "-"])
    return result["cycles"], result["stats"]["dram.sector_reads"] * 32, result["stats"]["l2.sector_accesses"] * 32, time.monotonic() - start


def run(options):
    path = pathlib.Path(options.results)
    rows = list(csv.DictReader(path.open(encoding="utf-8"))) if path.exists() else []
    known = {(row["program"], row["candidate"]) for row in rows}
    lock = threading.Lock()

    def keep(row):
        with lock:
            first = not path.exists()
            with path.open("a", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if first:
                    writer.writeheader()
                writer.writerow(row)

    def one(name, machine, arguments, advice, spent, candidate):
        cycles, misses, traffic, seconds = simulate(options.mergelane, arguments, candidate["overrides"])
        if candidate.get("cycles", cycles) != cycles:
            sys.exit(f"{name}, {candidate['name']}: advise and run differ")
        predicted = candidate["predicted"]
        keep({"machine": machine, "program": name, "candidate": candidate["name"], "recommended": int(candidate["name"] == advice["recommended"]),
              "class": advice["class"], "direction": advice["direction"], "advise_seconds": f"{spent:.1f}", "run_seconds": f"{seconds:.1f}",
              "predicted_gain": f"{candidate['predicted_gain']:.4f}", "cycles": cycles, "predicted_l2_miss_bytes": predicted["l2_miss_bytes"],
              "l2_miss_bytes": misses, "predicted_l2_bytes": predicted["l2_bytes"], "l2_bytes": traffic})

    wanted = options.only.split(",") if options.only else None
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, machine, arguments in programs():
            if wanted and name not in wanted:
                continue
            start = time.monotonic()
            advice = call([options.mergelane, "advise", *arguments, "--quiet", "--json", "-"])
            spent = time.monotonic() - start
            print(f"{name}: advice in {spent:.0f} s", flush=True)
            todo = [pool.submit(one, name, machine, arguments, advice, spent, candidate) for candidate in advice["candidates"]
                    if (name, candidate["name"]) not in known]
            for job in todo:
                job.result()


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for at in range(first, last + 1):
            result[order[at]] = (first + last) / 2
        first = last + 1
    return result


def spearman(a, b):
    """None where one of them is constant."""
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    spread = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / spread ** 0.5 if spread else None


class Program:
    def __init__(self, rows):
        self.rows = {row["candidate"]: row for row in rows}
        first = rows[0]
        self.name, self.machine, self.found, self.direction = first["program"], first["machine"], first["class"], first["direction"]
        self.unchanged = int(self.rows["as it is"]["cycles"])
        self.advise_seconds, self.run_seconds = float(first["advise_seconds"]), float(self.rows["as it is"]["run_seconds"])
        self.best = max(self.rows, key=self.gain)
        self.pick = next(name for name, row in self.rows.items() if row["recommended"] == "1")
        # Constant predictions and constant results rank nothing: within half a percent it is the same.
        both = [(float(row["predicted_l2_miss_bytes"]), float(row["l2_miss_bytes"])) for row in rows]
        self.varies = max(y for _, y in both) > 1.005 * min(y for _, y in both)
        self.correlation = spearman([x for x, _ in both], [y for _, y in both]) if self.varies else None

    def gain(self, candidate):
        return self.unchanged / int(self.rows[candidate]["cycles"]) if candidate in self.rows else 1.0

    def ratio(self):
        return self.gain(self.pick) / self.gain(self.best)


def load(path):
    groups = collections.defaultdict(list)
    for row in csv.DictReader(open(path, encoding="utf-8")):
        groups[row["program"]].append(row)
    return {name: Program(rows) for name, rows in groups.items()}


def paper():
    """Class and direction of every program."""
    plan = study()
    lists = plan["list"]
    classes = {name: "algorithm-related" for name in lists["algorithm"]} | {name: "cache-line-related" for name in lists["line"]}
    classes |= {name: kind for kind, names in CLASSES.items() for name in names}
    published = [name for name, workload in plan["workloads"].items() if not isinstance(workload, dict) or not workload.get("apart")]
    return {name: (classes[name], direction) for name, direction in zip(published, lists["order"])}


def mean(values):
    return sum(values) / len(values)


def show_programs(found):
    truth = paper()
    print(f"{'':5}{'class':<20}{'':3}{'direction':<10}{'':3}{'recommended':<34}{'gain':>6}  {'best of all':<34}{'gain':>6}{'pick/best':>11}{'L2 misses':>11}{'time':>8}{'/ run':>7}")
    for one in found:
        kind, direction = truth[one.name]
        correlation = "-" if one.correlation is None else f"{one.correlation:.2f}"
        print(f"{one.name:<5}{one.found:<20}{'' if one.found == kind else 'x':3}{one.direction:<10}{'' if one.direction == direction else 'x':3}"
              f"{one.pick:<34}{one.gain(one.pick):>6.2f}  {one.best:<34}{one.gain(one.best):>6.2f}{one.ratio():>11.3f}{correlation:>11}"
              f"{one.advise_seconds:>7.0f}s{one.advise_seconds / one.run_seconds:>7.1f}")


def show_fixed(found):
    """The best of the orders that could be used everywhere without asking; where a grid does not have it, nothing changes."""
    names = {name for one in found for name in one.rows if name != "as it is" and "past" not in name}
    means = sorted(((mean([one.gain(name) for one in found]), name) for name in names), reverse=True)
    advised = mean([one.gain(one.pick) for one in found])
    print(f"\nmean gain: advised {advised:.3f}, unchanged 1.000; fixed: " + ", ".join(f"{name} {gain:.3f}" for gain, name in means[:4]))
    rest = [one for one in found if one.gain(one.best) < 2]
    most = max(mean([one.gain(name) for one in rest]) for name in names)
    print(f"without the {len(found) - len(rest)} programs that can double their speed: advised {mean([one.gain(one.pick) for one in rest]):.3f}, best fixed {most:.3f}")
    return advised, means[0][0]


def show_weights(found):
    print(f"\n{'':14}{'recommended':<28}{'gain':>6}  {'best of all':<28}{'gain':>6}{'pick/best':>11}  {'worst':<30}{'gain':>6}{'DRAM reads, MB: unchanged, best, worst':>42}")
    for one in found:
        worst = min((name for name in one.rows if "per SM" not in name), key=one.gain)
        reads = [int(one.rows[name]["l2_miss_bytes"]) / 1e6 for name in ("as it is", one.best, worst)]
        print(f"{one.name:<14}{one.pick:<28}{one.gain(one.pick):>6.2f}  {one.best:<28}{one.gain(one.best):>6.2f}{one.ratio():>11.3f}  {worst:<30}{one.gain(worst):>6.2f}"
              f"{reads[0]:>18.1f}{reads[1]:>12.1f}{reads[2]:>12.1f}")


def criteria(found, weights, advised, fixed):
    truth = paper()
    right = [one for one in found if one.found == truth[one.name][0]]
    along = collections.Counter(truth[one.name][1] for one in found if one.direction == truth[one.name][1])
    near = [one for one in found if one.ratio() >= 0.95]
    quick = [one for one in found if one.advise_seconds <= 60 or one.advise_seconds < 10 * one.run_seconds]
    pooled = [(float(row["predicted_l2_miss_bytes"]), float(row["l2_miss_bytes"])) for one in found + weights for row in one.rows.values()]
    overall = spearman([x for x, _ in pooled], [y for _, y in pooled])
    each = sorted(one.correlation for one in found + weights if one.correlation is not None)
    most = max(len(one.rows) for one in found + weights)
    yield len(right) >= 17, f"class agrees with the paper for {len(right)} of {len(found)} programs (asked 17)"
    yield along["rows"] >= 5, f"direction: {along['rows']} of 6 Y programs (asked 5)"
    yield along["columns"] >= 14, f"direction: {along['columns']} of 17 X programs (asked 14)"
    yield most <= 40, f"at most {most} candidates (asked at most 40)"
    yield len(near) >= 0.8 * len(found), f"within 5 % of the best of all candidates: {len(near)} of {len(found)} (asked 80 %)"
    yield advised > max(1, fixed), f"mean gain {advised:.3f}; best fixed order {fixed:.3f}"
    yield len(quick) == len(found), f"60 s or less than 10 simulations: {len(quick)} of {len(found)}"
    yield overall >= 0.8, f"Spearman of L2 misses over {len(pooled)} candidates of all programs: {overall:.3f} (asked 0.8)"
    yield each[len(each) // 2] >= 0.8, f"the same within a program: median {each[len(each) // 2]:.2f}, least {each[0]:.2f}, {len(each)} programs whose misses change"
    if weights:
        yield min(one.ratio() for one in weights) >= 0.97, f"product: within {100 * (1 - min(one.ratio() for one in weights)):.1f} % of the best at each size (asked 3)"


def svg(width, height, title, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
            f'<title>{title}</title><rect width="100%" height="100%" fill="white"/><text x="{width / 2}" y="20" text-anchor="middle" font-size="14">{title}</text>'
            + "".join(parts) + "</svg>\n")


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" {more}>{words}</text>'


def scatter(everything):
    """L2 misses of every candidate against those of the unchanged program, predicted across and simulated up."""
    size, edge = 420, 50

    def place(ratio):
        return min(1.0, max(0.0, (math.log2(ratio) + 4) / 8))

    parts = [f'<rect x="{edge}" y="{edge}" width="{size}" height="{size}" fill="none" stroke="#999"/>',
             f'<line x1="{edge}" y1="{edge + size}" x2="{edge + size}" y2="{edge}" stroke="#bbb"/>']
    for power in range(-4, 5, 2):
        at = (power + 4) / 8 * size
        label = f"{2 ** power:g}"
        parts += [text(edge + at, edge + size + 18, label), text(edge - 6, edge + size - at + 4, label, "end")]
    for one in everything:
        base = one.rows["as it is"]
        colour = "#c0504d" if one.machine == QUARTER else "#1f6fb4"
        for row in one.rows.values():
            x = place(max(1.0, float(row["predicted_l2_miss_bytes"])) / max(1.0, float(base["predicted_l2_miss_bytes"])))
            y = place(max(1.0, float(row["l2_miss_bytes"])) / max(1.0, float(base["l2_miss_bytes"])))
            parts.append(f'<circle cx="{edge + x * size:.1f}" cy="{edge + size - y * size:.1f}" r="3" fill="{colour}" fill-opacity="0.35"><title>{one.name}, {row["candidate"]}</title></circle>')
    parts += [text(edge + size / 2, size + edge + 38, "predicted, times those of the unchanged program"),
              text(14, edge + size / 2, "simulated", "middle", f'transform="rotate(-90 14 {edge + size / 2})"'),
              text(edge + 8, edge + 16, "23 programs on gtx980", "start", 'fill="#1f6fb4"'), text(edge + 8, edge + 32, "products on a quarter of a v100", "start", 'fill="#c0504d"')]
    return svg(size + 2 * edge, size + 2 * edge, "L2 misses of every candidate", parts)


def bars(weights):
    """Speed of rows in bands of 1 (unchanged) to 32, columns and agents, by size of the weights."""
    names = ["as it is", "2-row bands", "4-row bands", "8-row bands", "16-row bands", "32-row bands", "columns", "agents by rows"]
    width, height, edge = 900, 340, 50
    low, high = 0.6, 1.3
    shades = ["#222", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#e6842a", "#999"]
    parts = []
    for step in range(0, 8):
        value = low + step * 0.1
        y = height - edge - (value - low) / (high - low) * (height - 2 * edge)
        parts += [f'<line x1="{edge}" x2="{width - 10}" y1="{y:.0f}" y2="{y:.0f}" stroke="{"#555" if step == 4 else "#ddd"}"/>', text(edge - 6, y + 4, f"{value:.1f}", "end")]
    group = (width - edge - 10) / max(1, len(weights))
    for at, one in enumerate(weights):
        for index, name in enumerate(names):
            value = min(high, max(low, one.gain(name)))
            tall = (value - low) / (high - low) * (height - 2 * edge)
            x = edge + at * group + 12 + index * (group - 30) / len(names)
            parts.append(f'<rect x="{x:.1f}" y="{height - edge - tall:.1f}" width="{(group - 30) / len(names) - 2:.1f}" height="{tall:.1f}" fill="{shades[index]}"><title>{name}: {one.gain(name):.3f}</title></rect>')
        parts.append(text(edge + (at + 0.5) * group, height - edge + 18, one.name.replace("weights", "weights of") + " x L2"))
    for index, name in enumerate(names):
        x = edge + index * (width - edge) / len(names)
        parts += [f'<rect x="{x:.0f}" y="{height - 20}" width="10" height="10" fill="{shades[index]}"/>', text(x + 14, height - 11, name, "start")]
    return svg(width, height, "Speed over the unchanged product (quarter of a v100)", parts)


def orders():
    """A grid of 12 x 8 CTAs on four SMs with two places each: when CTAs run (dark is late) and, with agents, on which SM."""
    wide, high, cell, places = 12, 8, 14, 8
    by = {"rows (unchanged)": lambda x, y: (y, x), "columns": lambda x, y: (x, y), "4x4 tiles": lambda x, y: (y // 4, x // 4, y, x),
          "4-row bands": lambda x, y: (y // 4, x, y)}
    colours = ["#c0504d", "#4f81bd", "#9bbb59", "#8064a2"]
    parts = []
    for at, (name, key) in enumerate(by.items()):
        order = sorted(((x, y) for y in range(high) for x in range(wide)), key=lambda cta: key(*cta))
        left = 20 + at * (wide * cell + 24)
        parts.append(text(left + wide * cell / 2, 48, name))
        for number, (x, y) in enumerate(order):
            wave = number // places
            parts.append(f'<rect x="{left + x * cell}" y="{56 + y * cell}" width="{cell - 1}" height="{cell - 1}" fill="hsl(210,55%,{92 - wave * 5.5:.0f}%)"/>')
            each = len(order) // 4
            shade = 0.35 + 0.65 * (number % each // 2 + 1) / (each / 2)
            parts.append(f'<rect x="{left + x * cell}" y="{200 + y * cell}" width="{cell - 1}" height="{cell - 1}" fill="{colours[number // each]}" fill-opacity="{shade:.2f}"/>')
    parts += [text(20, 186, "the same with agents: each SM (colour) has a part of the order, dark is late", "start")]
    return svg(20 + 4 * (wide * cell + 24), 330, "When CTAs run: eight at a time, dark is late", parts)


def show(options):
    if options.printed:
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            code = show(argparse.Namespace(results=options.results, svg=None, printed=None))
        if written.getvalue() != pathlib.Path(options.printed).read_text(encoding="utf-8"):
            print(f"{options.printed} is not what {options.results} gives; write it anew")
            return 1
        return code
    everything = load(options.results)
    found = [one for one in everything.values() if one.machine == GTX980]
    weights = [one for one in everything.values() if one.machine == QUARTER]
    show_programs(found)
    advised, fixed = show_fixed(found)
    if weights:
        show_weights(weights)
    print()
    kept = True
    for holds, words in criteria(found, weights, advised, fixed):
        kept &= holds
        print(f"{'pass' if holds else 'FAIL'}  {words}")
    if options.svg:
        folder = pathlib.Path(options.svg)
        (folder / "advise-orders.svg").write_text(orders(), encoding="utf-8")
        (folder / "advise-l2-misses.svg").write_text(scatter(found + weights), encoding="utf-8")
        if weights:
            (folder / "advise-product.svg").write_text(bars(weights), encoding="utf-8")
    return 0 if kept else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    runs = commands.add_parser("run")
    runs.add_argument("mergelane")
    runs.add_argument("results")
    runs.add_argument("--jobs", type=int, default=2)
    runs.add_argument("--only")
    runs.set_defaults(action=run)
    tables = commands.add_parser("show")
    tables.add_argument("results")
    tables.add_argument("--svg")
    tables.add_argument("--printed")
    tables.set_defaults(action=show)
    options = parser.parse_args()
    return options.action(options)


if __name__ == "__main__":
    sys.exit(main())
