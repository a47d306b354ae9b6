#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How good sampling of waves within launches is: `run --sample --waves N` against full simulation of the same launches.

    python3 validation/sampling/waves.py build/release/apps/mergelane/mergelane --raw out/waves.jsonl --csv validation/sampling/waves.csv
    python3 validation/sampling/waves.py --table validation/sampling/waves.csv

Programs run once at size paper on a sixteenth and on a third of two machines, where their launches have more waves. The first form simulates what the raw file
lacks, so it can be stopped and continued. --training takes the programs on which the constants of src/sampling/waves.cpp and the allowances of
src/sampling/sampled_run.cpp were set; they are no part of the result.
"""
import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from coverage import STATISTICS, append, clustered, covered, interval, read_raw, relative, value

WAVES = 48
MACHINES = ("h2h64 gpu.clusters=1 dram.channels=1", "gtx480 gpu.clusters=5 dram.channels=2")
TRAINING = ("2dconv", "gemm", "transpose", "synthetic:tiled")
PROGRAMS = ("synthetic:stream", "synthetic:divergent", "synthetic:compute", "blackscholes", "dct8x8", "kv_append", "backprop", "hotspot", "rope_silu",
            "srad", "weights_four", "bfs", "b+tree", "gemv_q4", "spmv", "kmeans", "corr", "matrixmul", "2mm")
SYNTHETIC_CTAS = 2500
COLUMNS = ("program", "machine", "waves", "launches", "launches_in_parts", "waves_of_all", "simulated_waves", "instructions", "simulated_instructions", "statistic",
           "truth", "estimate", "half_width", "full_seconds", "sampled_seconds", "signature_seconds", "seed")


def work_of(program):
    if program.startswith("synthetic:"):
        return ["--synthetic", program.split(":")[1], "--param", f"ctas={SYNTHETIC_CTAS}"]
    return ["--workload", program, "--size", "paper"]


def simulate(binary, machine, program, *options):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "result.json")
        gpu, *changes = machine.split()
        machine_options = ["--gpu", gpu, *[word for change in changes for word in ("--set", change)]]
        subprocess.run([binary, "run", *machine_options, *work_of(program), "-q", "--json", file, *options], check=True)
        return json.loads(pathlib.Path(file).read_text(encoding="utf-8"))


def case(binary, machine, program, waves, seed, full):
    """The rows of one program on one machine, and the full result's figures."""
    if full is None:
        result = simulate(binary, machine, program)
        full = {"truth": {name: value(result, name) for name in STATISTICS}, "seconds": result["cpu_seconds"]}
    result = simulate(binary, machine, program, "--sample", "--waves", str(waves), "--sample-seed", str(seed))
    sample = result["sample"]
    rows = []
    for name in STATISTICS:
        estimate = interval(sample, name)
        rows.append({"program": program, "machine": machine, "waves": waves, "launches": sample["launches"], "launches_in_parts": sample["launches_in_parts"],
                     "waves_of_all": sample["waves"], "simulated_waves": sample["simulated_waves"], "instructions": sample["warp_instructions"],
                     "simulated_instructions": sample["simulated_warp_instructions"], "statistic": name, "truth": full["truth"][name],
                     "estimate": round(estimate["value"], 2), "half_width": round(estimate["half_width"], 2), "full_seconds": round(full["seconds"], 2),
                     "sampled_seconds": round(result["cpu_seconds"], 2), "signature_seconds": round(sample["signature_seconds"], 2), "seed": seed})
    return {"rows": rows, "full": full}


def percent(part, whole):
    return f"{100 * relative(part, whole):.2f} %"


def table(rows):
    lines = ["| program | machine | waves simulated | of the instructions | CPU seconds: full, sampled | " + " | ".join(f"`{name}`" for name in STATISTICS) + " |",
             "|---|---|---|---|---|" + "---|" * len(STATISTICS)]
    for key in dict.fromkeys((r["program"], r["machine"]) for r in rows):
        mine = {r["statistic"]: r for r in rows if (r["program"], r["machine"]) == key}
        one = mine["cycles"]
        cells = []
        for name in STATISTICS:
            r = mine[name]
            error = 100 * relative(float(r["estimate"]) - float(r["truth"]), r["truth"])
            cells.append(f"{error:+.2f} +- {100 * relative(r['half_width'], r['estimate']):.2f}{'' if covered(r) else ' **outside**'}")
        lines.append(f"| {key[0]} | {key[1].split()[0]} | {one['simulated_waves']} of {one['waves_of_all']} | {percent(one['simulated_instructions'], one['instructions'])} | "
                     f"{one['full_seconds']}, {one['sampled_seconds']} | " + " | ".join(cells) + " |")
    share, error = clustered(rows)
    ones = [r for r in rows if r["statistic"] == "cycles"]
    lines.append("")
    lines.append(f"{len({r['program'] for r in rows})} programs, {len(rows)} cases: {sum(map(covered, rows))} inside ({100 * share:.1f} %, standard error {100 * error:.1f} %, "
                 f"clustered by program). CPU seconds: full {sum(float(r['full_seconds']) for r in ones):.0f}, sampled {sum(float(r['sampled_seconds']) for r in ones):.0f}, "
                 f"of which signatures {sum(float(r['signature_seconds']) for r in ones):.0f}.")
    for name in STATISTICS:
        mine = [r for r in rows if r["statistic"] == name]
        half = sorted(relative(r["half_width"], r["estimate"]) for r in mine)
        errors = sorted(abs(relative(float(r["estimate"]) - float(r["truth"]), r["truth"])) for r in mine)
        lines.append(f"{name}: {sum(map(covered, mine))} of {len(mine)} inside; half-width median {100 * half[len(half) // 2]:.2f} %, largest {100 * half[-1]:.2f} %; "
                     f"error median {100 * errors[len(errors) // 2]:.2f} %, largest {100 * errors[-1]:.2f} %")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--raw", help="results by case, one line each; continued if it exists")
    parser.add_argument("--table", help="CSV of --csv: print its table and stop")
    parser.add_argument("--csv", help="write all rows to this file")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--only", default="", help="programs, separated by commas")
    parser.add_argument("--waves", type=int, default=WAVES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--finished", action="store_true", help="only the cases that --raw has: simulate nothing")
    arguments = parser.parse_args()
    if arguments.table:
        with open(arguments.table, encoding="utf-8", newline="") as file:
            print(table(list(csv.DictReader(file))))
        return 0
    known = read_raw(arguments.raw)
    rows = []
    for program in [name for name in arguments.only.split(",") if name] or (TRAINING if arguments.training else PROGRAMS):
        for machine in MACHINES:
            key = f"{program} {machine} {arguments.waves} {arguments.seed}"
            if key not in known:
                if arguments.finished:
                    continue
                full = next((one["full"] for other, one in known.items() if other.startswith(f"{program} {machine} ")), None)
                known[key] = {"key": key, **case(arguments.binary, machine, program, arguments.waves, arguments.seed, full)}
                if arguments.raw:
                    append(arguments.raw, known[key])
            rows += known[key]["rows"]
            print(table(known[key]["rows"]).splitlines()[2], flush=True)
    print(table(rows))
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
