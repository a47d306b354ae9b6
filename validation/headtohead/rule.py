#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Learns from programs.csv which mechanism helps a kernel, and writes the rule that `mergelane advise --mechanisms` evaluates: data/mechanism_rule.toml.

Every candidate predicts for each mechanism the time with it as a part of the time without: its logarithm is linear in properties of the profile. The
mechanism with the least time is named, none if that is 1 or more. Candidates are compared by the geometric mean of the loss against the best mechanism,
each program left out in turn. The accuracy that is stated is nested: the candidate is chosen again without the program that is left out, and once more
without its relatives. The training programs of the study, on which the mechanisms were tuned, check the rule; nothing is learnt from them.

  rule.py [--file CSV] [--write TOML] [--print]     the default prints accuracies only
"""
import argparse
import collections
import csv
import json
import math
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
RULE = HERE.parents[1] / "data/mechanism_rule.toml"
NEAR = 3  # percent
FEWEST = 8  # programs to learn from
SPEED = "speed: "
BESIDE_MESH = "packet coalescing"
SET = {"ICC+CC": "--set cluster.icc.enabled=true --set cluster.cc.enabled=true", "WarpPool": "--set lsu.front=warp_pool", "DC-L1": "--set dcl1.enabled=true",
       "CTA clustering": "--set dispatch.transform=agents", "LRC": "--set l2.lrc.enabled=true",
       "packet coalescing": "--set noc.kind=mesh --set noc.coalescing.enabled=true"}

# Programs that are variants of one kernel: none is learnt from to judge another.
FAMILIES = [{"rank_2k", "syrk"}, {"resnet", "squeezenet"}, {"matrixmul", "sgemm", "gemm_wave"}]

# Properties: their meaning, and the metrics of a profile whose product they are.
PROPERTIES = {
    "divergence": ("lines of a warp's load (1 - 1 / lines)", [("global_memory.lines_per_read", "excess", 0)]),
    "warp_merging": ("load requests of an SM whose line is among its last 32", [("inter_warp_window.left_with_window_32", "rest", 0)]),
    "l1_misses": ("loads that miss the L1", [("caches.l1_misses", "percent", 0)]),
    "network": ("bound by the network, of the largest bound", [("caches.network_bound", "percent", 0)]),
    "dram": ("bound by DRAM, of the largest bound", [("caches.dram_bound", "percent", 0)]),
    "latency": ("bound by latency, of the largest bound", [("caches.latency_bound", "percent", 0)]),
    "cluster_sharing": ("L1 misses of a line that another SM of the cluster missed at most 32 misses per SM before", [("shared_misses.in_cluster_32", "percent", 0)]),
    "cluster_reuse": ("L1 misses of a line that another SM of the cluster missed at most 256 misses per SM before", [("shared_misses.in_cluster_256", "percent", 0)]),
    "slice_sharing": ("L1 misses of a line that another SM missed at most 8 misses per SM before", [("shared_misses.in_gpu_8", "percent", 0)]),
    "order_l1": ("L1 misses of agents by columns (0.5: as many as without)", [("agents.l1_misses", "saturating", 100)]),
    "order_dram": ("DRAM traffic of agents by columns (0.5: as much as without)", [("agents.dram_sectors", "saturating", 100)]),
    "waves": ("CTAs per place on the SMs (0.5: one)", [("caches.waves", "saturating", 1)]),
    "warps": ("concurrent warps of an SM (0.5: 16)", [("caches.warps_per_sm", "saturating", 16)]),
    "sharing_on_network": ("cluster_sharing times network", [("shared_misses.in_cluster_32", "percent", 0), ("caches.network_bound", "percent", 0)]),
    "reuse_on_network": ("cluster_reuse times network", [("shared_misses.in_cluster_256", "percent", 0), ("caches.network_bound", "percent", 0)]),
    "thread_map": ("loads of several lines with several lanes in each, which occupy WarpPool's thread map", [("global_memory.lines_per_read", "excess", 0), ("global_memory.coalescing_degree", "excess", 0)]),
    "thread_map_hits": ("thread_map times loads that hit the L1", [("global_memory.lines_per_read", "excess", 0), ("global_memory.coalescing_degree", "excess", 0), ("caches.l1_misses", "rest", 0)]),
    "divergence_misses": ("divergence times l1_misses", [("global_memory.lines_per_read", "excess", 0), ("caches.l1_misses", "percent", 0)]),
    "divergence_merging": ("divergence times warp_merging", [("global_memory.lines_per_read", "excess", 0), ("inter_warp_window.left_with_window_32", "rest", 0)]),
}
# What each mechanism acts on.
ONE = {"ICC+CC": ["sharing_on_network"], "WarpPool": ["thread_map_hits"], "DC-L1": ["reuse_on_network"], "CTA clustering": ["order_l1"], "LRC": ["slice_sharing"],
       "packet coalescing": ["dram"]}
OWN = {"ICC+CC": ["sharing_on_network", "cluster_reuse", "network"], "WarpPool": ["divergence_merging", "thread_map", "thread_map_hits"],
       "DC-L1": ["reuse_on_network", "cluster_reuse", "l1_misses", "latency"], "CTA clustering": ["order_l1", "order_dram", "waves"],
       "LRC": ["slice_sharing", "network"], "packet coalescing": ["dram", "slice_sharing"]}


def term(row, metric, kind, half):
    x = float(row.get(metric) or 0)
    if kind == "percent":
        return min(max(x / 100, 0), 1)
    if kind == "rest":
        return 1 - min(max(x / 100, 0), 1)
    if kind == "saturating":
        return max(x, 0) / (max(x, 0) + half)
    return 0 if x <= 1 else 1 - 1 / x


def properties_of(row):
    values = {}
    for name, (_, terms) in PROPERTIES.items():
        values[name] = 1.0
        for metric, kind, half in terms:
            values[name] *= term(row, metric, kind, half)
    return values


def inverse(matrix):
    """Gauss-Jordan; the matrix is positive definite."""
    size = len(matrix)
    rows = [list(row) + [float(i == j) for j in range(size)] for i, row in enumerate(matrix)]
    for at in range(size):
        pivot = rows[at][at]
        rows[at] = [value / pivot for value in rows[at]]
        for other in range(size):
            factor = rows[other][at]
            if other != at and factor != 0:
                rows[other] = [value - factor * own for value, own in zip(rows[other], rows[at])]
    return [row[size:] for row in rows]


def product(a, b):
    return sum(x * y for x, y in zip(a, b))


class Linear:
    """Ridge regression of the logarithm of the time on properties; the constant is not shrunk."""

    def __init__(self, name, properties, shrink):
        self.name, self.properties, self.shrink = name, properties, shrink

    def row(self, program, mechanism):
        return [1.0] + [program.values[n] for n in self.properties(mechanism)]

    def fitted(self, programs, mechanism):
        """Weights, the constant first, and the inverse that they come from."""
        rows = [self.row(p, mechanism) for p in programs]
        columns = list(zip(*rows))
        normal = [[product(a, b) + (self.shrink if i == j > 0 else 0) for j, b in enumerate(columns)] for i, a in enumerate(columns)]
        inverted = inverse(normal)
        right = [product(column, [math.log(p.times[mechanism]) for p in programs]) for column in columns]
        return [product(row, right) for row in inverted], inverted, rows

    def predict(self, programs, mechanism, program):
        """For one that is not among the programs."""
        return math.exp(product(self.fitted(programs, mechanism)[0], self.row(program, mechanism)))

    def left_out(self, programs, mechanism):
        """For each, what the fit of the others predicts; its residual follows from that of the fit of all and its leverage."""
        weights, inverted, rows = self.fitted(programs, mechanism)
        found = []
        for p, x in zip(programs, rows):
            leverage = product(x, [product(row, x) for row in inverted])
            measured = math.log(p.times[mechanism])
            found.append(math.exp(measured - (measured - product(weights, x)) / (1 - leverage)))
        return found


def candidates():
    none = lambda mechanism: []
    found = [Linear("no property", none, 1.0)]
    for shrink in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0):
        found.append(Linear(f"one property of each mechanism, shrinkage {shrink:g}", lambda m: ONE[m], shrink))
        found.append(Linear(f"two to four properties of each mechanism, shrinkage {shrink:g}", lambda m: OWN[m], shrink))
        found.append(Linear(f"all properties, shrinkage {shrink:g}", lambda m: list(PROPERTIES), shrink))
    return found


class Program:
    def __init__(self, row):
        self.name = row["program"]
        self.test = row["use"] == "test"
        self.values = properties_of(row)
        self.times = {key[len(SPEED):]: 1 / float(value) for key, value in row.items() if key.startswith(SPEED) and value}
        self.profiled = bool(row.get("caches.l1_misses"))


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [Program(row) for row in csv.DictReader(file)]


class Among:
    """The measured times of some programs: no prediction leaves their range."""

    def __init__(self, programs, mechanisms):
        self.mechanisms = mechanisms
        every = [p.times[m] for p in programs for m in mechanisms]
        self.least, self.most = min(every), max(every)

    def clamped(self, time):
        return min(max(time, self.least), self.most)

    def named(self, times):
        """The mechanism with the least predicted time; None: no mechanism."""
        times = [self.clamped(time) for time in times]
        least = min(times)
        return self.mechanisms[times.index(least)] if least < 1 else None


def without(programs, program):
    return [p for p in programs if p is not program]


def without_relatives(programs, program):
    family = next((f for f in FAMILIES if program.name in f), {program.name})
    return [p for p in programs if p.name not in family]


def loss(program, mechanisms, name):
    """Time of what was named over the least, minus one, in percent."""
    least = min(1.0, *(program.times[m] for m in mechanisms))
    return 100 * ((program.times[name] if name else 1.0) / least - 1)


def left_out(candidate, programs, mechanisms, ranges):
    """Losses, each program left out in turn; `ranges`: of the others."""
    times = zip(*(candidate.left_out(programs, m) for m in mechanisms))
    return [loss(p, mechanisms, among.named(of_p)) for p, of_p, among in zip(programs, times, ranges)]


def ranges_of(programs, mechanisms):
    return [Among(without(programs, p), mechanisms) for p in programs]


def mean_loss(losses):
    """Geometric, so that one program with a large gain does not decide."""
    return 100 * (math.exp(sum(math.log1p(lost / 100) for lost in losses) / len(losses)) - 1)


def chosen(programs, mechanisms):
    """The candidate with the least mean loss; of equal ones the first."""
    ranges = ranges_of(programs, mechanisms)
    return min(candidates(), key=lambda c: round(mean_loss(left_out(c, programs, mechanisms, ranges)), 6))


def nested(programs, mechanisms, leave_out):
    """Loss and name of each program, by a rule that was chosen and learnt without it; how often each candidate was chosen."""
    losses, names, used = [], [], collections.Counter()
    for p in programs:
        others = leave_out(programs, p)
        candidate = chosen(others, mechanisms)
        used[candidate.name] += 1
        names.append(Among(others, mechanisms).named([candidate.predict(others, m, p) for m in mechanisms]))
        losses.append(loss(p, mechanisms, names[-1]))
    return losses, names, used


def is_near(lost):
    """At least 97 % of the best speed."""
    return lost <= 100 * (1 / (1 - NEAR / 100) - 1) + 1e-9


def summary(name, losses):
    return {"name": name, "near": sum(map(is_near, losses)), "lost": round(mean_loss(losses), 2), "losses": losses}


def accuracies(programs, mechanisms):
    """The rule's, and those of rules without properties."""
    losses, names, used = nested(programs, mechanisms, without)
    apart, _, _ = nested(programs, mechanisms, without_relatives)
    rows = [summary("this rule", losses), summary("this rule, without relatives", apart), summary("always the best mean", left_out(candidates()[0], programs, mechanisms, ranges_of(programs, mechanisms))),
            summary("always none", [loss(p, mechanisms, None) for p in programs])]
    rows += [summary(f"always {m}", [loss(p, mechanisms, m) for p in programs]) for m in mechanisms]
    return rows, names, used


def something_to_gain(program, mechanisms):
    """Naming nothing would be wrong."""
    return not is_near(loss(program, mechanisms, None))


def wilson(right, among):
    """95 % interval of a share, in percent."""
    z, share = 1.96, right / among
    middle, half = share + z * z / (2 * among), z * math.sqrt(share * (1 - share) / among + z * z / (4 * among * among))
    return tuple(100 * (middle + sign * half) / (1 + z * z / among) for sign in (-1, 1))


def points(values, low, high):
    ordered = sorted(values)
    return ordered[int(low * (len(ordered) - 1))], ordered[-1 - int((1 - high) * (len(ordered) - 1))]


def mechanism_entry(candidate, programs, among, mechanism, means):
    here = [p for p in programs if mechanism in p.times]
    weights, _, _ = candidate.fitted(here, mechanism)
    names = candidate.properties(mechanism)
    time = math.exp(weights[0] + product(weights[1:], [means[n] for n in names]))
    low, high = points([among.clamped(time) / p.times[mechanism] for p, time in zip(here, candidate.left_out(here, mechanism))], 0.1, 0.9)
    gains = {p.name: 1 / p.times[mechanism] for p in here}
    mean = 1.0
    for gain in gains.values():
        mean *= gain ** (1 / len(gains))
    worst = min(gains, key=gains.get)
    return {"name": mechanism, "set": SET[mechanism], "time": time, "low": low, "high": high, "mean": mean, "worst": gains[worst], "worst_program": worst,
            "weights": dict(zip(names, weights[1:]))}


def number(value):
    """As short as the rule needs it; always written as a float."""
    text = f"{value:.5g}"
    return text if any(c in text for c in ".en") else text + ".0"


def toml(rule):
    lines = ["# Generated by validation/headtohead/rule.py from programs.csv beside it; do not edit.", 'machine = "h2h64"', 'study = "headtohead"']
    lines += [f"method = {json.dumps(rule['method'])}", f"planned = {rule['planned']}", f"programs = {json.dumps(rule['programs'])}", f"near_percent = {number(NEAR)}",
              f"least_time = {number(rule['least'])}", f"most_time = {number(rule['most'])}"]
    for one in rule["accuracy"]:
        lines += ["", "[[accuracy]]", f"name = {json.dumps(one['name'])}", f"near = {one['near']}", f"lost = {number(one['lost'])}"]
    for name, mean in rule["means"].items():
        meaning, terms = PROPERTIES[name]
        lines += ["", f"[property.{name}]", f"meaning = {json.dumps(meaning)}", f"mean = {number(mean)}"]
        for metric, kind, half in terms:
            lines += [f"[[property.{name}.term]]", f'metric = "{metric}"', f'kind = "{kind}"'] + ([f"half = {number(half)}"] if kind == "saturating" else [])
    for one in rule["mechanisms"]:
        lines += ["", "[[mechanism]]", f"name = {json.dumps(one['name'])}", f"set = {json.dumps(one['set'])}"]
        lines += ['base = "the mesh"', "named = false"] if one["name"] == BESIDE_MESH else []
        lines += [f"{key} = {number(one[key])}" for key in ("time", "low", "high", "mean", "worst")] + [f"worst_program = {json.dumps(one['worst_program'])}"]
        if one["weights"]:
            lines.append("weights = { " + ", ".join(f"{n} = {number(w)}" for n, w in one["weights"].items()) + " }")
    return "\n".join(lines) + "\n"


def learnt(every):
    mechanisms = [m for m in SET if m != BESIDE_MESH]
    programs = [p for p in every if p.test and p.profiled and all(m in p.times for m in mechanisms)]
    if len(programs) < FEWEST:
        raise SystemExit(f"{len(programs)} programs have a profile and all speeds; a rule needs {FEWEST}")
    accuracy, names, used_in_turn = accuracies(programs, mechanisms)
    candidate = chosen(programs, mechanisms)
    used = list(dict.fromkeys(n for m in mechanisms for n in candidate.properties(m)))
    beside = [p for p in programs if BESIDE_MESH in p.times]
    shown = mechanisms + ([BESIDE_MESH] if len(beside) >= FEWEST else [])
    used += [n for m in shown for n in candidate.properties(m) if n not in used]
    means = {n: sum(p.values[n] for p in programs) / len(programs) for n in used}
    among = Among(programs, mechanisms)
    rule = {"method": candidate.name, "chosen_in_turn": used_in_turn[candidate.name], "planned": sum(p.test for p in every), "programs": [p.name for p in programs], "accuracy": accuracy, "means": means,
            "least": among.least, "most": among.most, "mechanisms": [mechanism_entry(candidate, programs, among, m, means) for m in shown]}
    return rule, programs, mechanisms, names


def checked(every):
    """What the rule of all test programs names for the training programs: (program, mechanism or None, its predicted gain)."""
    _, programs, mechanisms, _ = learnt(every)
    candidate, among = chosen(programs, mechanisms), Among(programs, mechanisms)
    found = []
    for p in (p for p in every if not p.test and p.profiled and all(m in p.times for m in mechanisms)):
        times = [candidate.predict(programs, m, p) for m in mechanisms]
        found.append((p, among.named(times), 1 / among.clamped(min(times))))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", default=HERE / "programs.csv", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path, help="write the rule to this file")
    parser.add_argument("--print", action="store_true", help="also print all candidates, and what is named for each program")
    a = parser.parse_args()
    rule, programs, mechanisms, names = learnt(read(a.file))
    print(f"{len(programs)} of {rule['planned']} programs; {rule['method']}")
    for one in rule["accuracy"]:
        print(f"  {one['name']:<24}{one['near']:>4} of {len(programs)} within {NEAR} % of the best, mean loss {one['lost']:.2f} %")
    if a.print:
        for c in candidates():
            one = summary(c.name, left_out(c, programs, mechanisms, ranges_of(programs, mechanisms)))
            print(f"  {one['name']:<60}{one['near']:>4}, {one['lost']:.2f} %")
        for p, name in zip(programs, names):
            best = min(mechanisms, key=lambda m: p.times[m])
            print(f"  {p.name:<18} best {best if p.times[best] < 1 else 'none':<16}{1 / min(1, p.times[best]):.3f}  named {name or 'none':<16}loss {loss(p, mechanisms, name):.1f} %")
    if a.write:
        a.write.write_text(toml(rule), encoding="utf-8")


if __name__ == "__main__":
    main()
