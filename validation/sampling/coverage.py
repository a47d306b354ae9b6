#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often the intervals of sampled runs hold the true value: sampled runs against full simulation of the same programs.

    python3 validation/sampling/coverage.py build/release/apps/mergelane/mergelane --raw out/sampling.jsonl
    python3 validation/sampling/coverage.py build/release/apps/mergelane/mergelane --size paper --raw out/sampling-paper.jsonl
    python3 validation/sampling/coverage.py --table validation/sampling/coverage.csv

Each case is a program that runs several times in a row, with other inputs each time, on one machine. The first form simulates what the raw
file lacks, so it can be stopped and continued, and ends with the table of --table, which writes nothing. --training takes the programs on
which the allowances of src/sampling/sampled_run.cpp were found; they are no part of the result.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

STATISTICS = ("cycles", "l2.sector_misses", "dram.sector_reads", "noc.reply.flits")
MACHINES = ("icc60", "v100", "v100 l2.size_kib=1 l2.ways=4")  # at this size of the inputs, the third L2 is full and the others are not
TRAINING = {"hotspot": 32, "gemm": 48, "spmv": 48, "lud": 6, "moe": 12}
PROGRAMS = {
    "bfs": 6, "b+tree": 32, "backprop": 32, "srad": 16, "nw": 8, "2dconv": 48, "matrixmul": 48, "nn": 12, "dct8x8": 16, "atax": 32, "mvt": 32,
    "gesummv": 48, "kmeans": 20, "streamcluster": 24, "particlefilter": 48, "transpose": 32, "reduction": 32, "blackscholes": 48, "histogram": 32,
    "squeezenet": 8, "mum": 48, "lib": 32, "syrk": 48, "norms": 16, "rope_silu": 20, "kv_append": 48, "gemm_f16": 48, "attention": 32, "gemv_q4": 32,
    "3dconv": 16,
}
# At size paper: programs of which enough launches for a sample take at most about 20 CPU seconds in full simulation, cheapest first.
PAPER_MACHINES = ("icc60", "v100")
PAPER_PROGRAMS = {
    "reduction_40": 1, "reduction": 6, "corr": 10, "sampling": 6, "sto": 24, "aes": 24, "nw": 1, "dct8x8": 12, "transpose": 16, "norms": 8, "3dconv": 4,
    "backprop": 14, "srad": 7, "rope_silu": 8, "nn": 6, "sad": 7, "lps": 9, "blackscholes": 16, "dxtc": 16, "b+tree": 8, "fdtd3d": 14, "histogram": 7,
    "rank_k": 12, "2dconv": 12, "montecarlo": 10, "rank_2k": 10, "gemm_wave_four": 10, "gemm_wave": 10,
}
COLUMNS = ("program", "machine", "launches", "simulated", "instructions", "simulated_instructions", "statistic", "truth", "estimate", "half_width",
           "pka", "sieve", "seed")


def simulate(binary, machine, program, size, repeat, *options):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "result.json")
        gpu, *changes = machine.split()
        machine_options = ["--gpu", gpu, *[word for change in changes for word in ("--set", change)]]
        work = ["--workload", program, "--size", size, "--repeat", str(repeat)]
        subprocess.run([binary, "run", *machine_options, *work, "-q", "--watchdog", "0", "--json", file, *options], check=True)
        return json.loads(pathlib.Path(file).read_text(encoding="utf-8"))


def value(result, name):
    return result["cycles"] if name == "cycles" else result["stats"][name]


def interval(sample, name):
    return sample["cycles"] if name == "cycles" else sample["stats"][name]


def case(binary, machine, program, size, repeat, seed, error):
    """The rows of one program on one machine."""
    full = simulate(binary, machine, program, size, repeat)
    result = simulate(binary, machine, program, size, repeat, "--sample", "--error", error, "--sample-seed", str(seed))
    others = {name: simulate(binary, machine, program, size, repeat, "--sample", "--sample-by", name, "--sample-seed", str(seed)) for name in ("pka", "sieve")}
    sample = result["sample"]
    rows = []
    for name in STATISTICS:
        estimate = interval(sample, name)
        rows.append({"program": program, "machine": machine, "launches": sample["launches"], "simulated": sample["simulated_launches"],
                     "instructions": sample["warp_instructions"], "simulated_instructions": sample["simulated_warp_instructions"], "statistic": name,
                     "truth": value(full, name), "estimate": round(estimate["value"], 2), "half_width": round(estimate["half_width"], 2),
                     "pka": value(others["pka"], name), "sieve": value(others["sieve"], name), "seed": seed})
    shares = {name: other["sample"]["simulated_warp_instructions"] / max(1, sample["warp_instructions"]) for name, other in others.items()}
    seconds = {"full": full["cpu_seconds"], "sampled": result["cpu_seconds"], "signatures": sample["signature_seconds"],
               "simulation": sample["simulation_seconds"], "warming": sample["warming_seconds"]}
    seconds |= {name: other["cpu_seconds"] for name, other in others.items()}
    return {"rows": rows, "seconds": seconds, "shares": shares}


def covered(row):
    return abs(float(row["truth"]) - float(row["estimate"])) <= float(row["half_width"]) + 0.5  # counters are whole


def relative(part, whole):
    return float(part) / float(whole) if float(whole) else 0.0


def clustered(rows):
    """Share of covered cases and the standard error of that share, programs being the independent units."""
    share = sum(map(covered, rows)) / len(rows)
    programs = sorted({row["program"] for row in rows})
    off = [sum(covered(r) - share for r in rows if r["program"] == program) for program in programs]
    count = len(programs)
    error = math.sqrt(count / (count - 1) * sum(o * o for o in off)) / len(rows) if count > 1 else float("nan")
    return share, error


def table(rows):
    lines = ["| statistic | cases | covered | median half-width | 90th percentile | median error | largest error | PKA-like: median, largest | Sieve-like: median, largest |",
             "|---|---|---|---|---|---|---|---|---|"]
    for name in (*STATISTICS, "all"):
        mine = [row for row in rows if name in (row["statistic"], "all")]
        if not mine:
            continue
        half = sorted(relative(r["half_width"], r["estimate"]) for r in mine)
        errors = {key: [abs(relative(float(r[key]) - float(r["truth"]), r["truth"])) for r in mine] for key in ("estimate", "pka", "sieve")}
        pair = {key: f"{100 * statistics.median(values):.2f} %, {100 * max(values):.1f} %" for key, values in errors.items()}
        lines.append(f"| {name} | {len(mine)} | {100 * sum(map(covered, mine)) / len(mine):.1f} % | {100 * statistics.median(half):.2f} % | "
                     f"{100 * half[int(0.9 * (len(half) - 1))]:.2f} % | {pair['estimate'].replace(', ', ' | ')} | {pair['pka']} | {pair['sieve']} |")
    share, error = clustered(rows)
    ones = [row for row in rows if row["statistic"] == "cycles"]
    lines.append("")
    lines.append(f"{len({r['program'] for r in rows})} programs, {len(rows)} cases: {100 * share:.1f} % covered (standard error {100 * error:.1f} %, clustered by program); "
                 f"simulated: median {100 * statistics.median(relative(r['simulated'], r['launches']) for r in ones):.0f} % of the launches, "
                 f"{100 * statistics.median(relative(r['simulated_instructions'], r['instructions']) for r in ones):.0f} % of the instructions.")
    return "\n".join(lines)


def read_raw(path):
    cases = {}
    if path and os.path.exists(path):
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            try:
                one = json.loads(line)
            except ValueError:  # the writer was killed
                continue
            cases[one["key"]] = one
    return cases


def append(path, one):
    """A line of its own, also after half a line of a killed writer."""
    with open(path, "ab+") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        torn = end > 0 and file.read(1) != b"\n"
        file.write((b"\n" if torn else b"") + json.dumps(one).encode() + b"\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--raw", help="results by case, one line each; continued if it exists")
    parser.add_argument("--table", help="CSV of --csv: print its table and stop")
    parser.add_argument("--csv", help="write all rows to this file")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--only", default="", help="programs, separated by commas")
    parser.add_argument("--size", default="tiny", choices=("tiny", "paper"))
    parser.add_argument("--machines", help="separated by commas (default: those of the size)")
    parser.add_argument("--error", default="2%")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--finished", action="store_true", help="only the cases that --raw has: simulate nothing")
    parser.add_argument("--check", type=float, help="fail if a smaller share is covered")
    arguments = parser.parse_args()
    if arguments.table:
        with open(arguments.table, encoding="utf-8", newline="") as file:
            print(table(list(csv.DictReader(file))))
        return 0
    programs = TRAINING if arguments.training else PAPER_PROGRAMS if arguments.size == "paper" else PROGRAMS
    machines = arguments.machines.split(",") if arguments.machines else PAPER_MACHINES if arguments.size == "paper" else MACHINES
    wanted = [name for name in arguments.only.split(",") if name] or list(programs)
    known = read_raw(arguments.raw)
    rows = []
    seconds = {}
    for program in wanted:
        for machine in machines:
            key = f"{program} {machine} {programs[program]} {arguments.seed} {arguments.error}" + (f" {arguments.size}" if arguments.size != "tiny" else "")
            if key not in known and arguments.finished:
                continue
            if key not in known:
                known[key] = {"key": key, **case(arguments.binary, machine, program, arguments.size, programs[program], arguments.seed, arguments.error)}
                if arguments.raw:
                    append(arguments.raw, known[key])
            print(key, " ".join(f"{r['statistic']}{'' if covered(r) else '!'}:{100 * relative(float(r['estimate']) - r['truth'], r['truth']):+.2f}%"
                                f"+-{100 * relative(r['half_width'], r['estimate']):.2f}" for r in known[key]["rows"]),
                  f"{known[key]['rows'][0]['simulated']}/{known[key]['rows'][0]['launches']}", flush=True)
            rows += known[key]["rows"]
            for name, spent in known[key]["seconds"].items():
                seconds[name] = seconds.get(name, 0) + spent
    print(table(rows))
    print("CPU seconds:", ", ".join(f"{name} {spent:.1f}" for name, spent in seconds.items()))
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return 0 if arguments.check is None or clustered(rows)[0] >= arguments.check else 1


if __name__ == "__main__":
    sys.exit(main())
