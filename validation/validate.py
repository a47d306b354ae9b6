#!/usr/bin/env python3
"""Replays the validation traces on `v100` and prints the reference, Mergelane's value and the difference for every trace and counter.

    python3 validation/validate.py [--traces FOLDER] [--only NAME,...] [--rows calibration,holdout,shapes]
                                   [--repeat N] [--accelsim-seconds FILE] [--table] [--csv FILE] [--json FILE] [COMMAND]

COMMAND is the mergelane executable (build/release/apps/mergelane/mergelane). Traces are written to FOLDER (default:
build/validation) unless they exist. Rows:
  calibration  Accel-Sim's results with launch latency 0; the machine's free values were calibrated with these
  holdout      Accel-Sim's results with launch latency 5000, not used for calibration
  shapes       two further traces, not used either; Accel-Sim has not run them, so counters that follow from the
               addresses alone take the place of a reference
Exit code 1 if a criterion is missed that is not listed in KNOWN.

Seconds of different hosts are not comparable (those in accelsim_reference.csv are from another host). Mergelane's CPU
seconds are printed together with the time of a fixed amount of work on the same host in the same run: `COMMAND bench
--loop`, the bare loop of bench/ with its three workloads, 200,000 cycles each, the faster of one run before and one
after the traces. The speedup over Accel-Sim is printed only with --accelsim-seconds, a CSV file with the columns
trace,user_s,loop_s: Accel-Sim's seconds, and those of the same loop on the same host at the same time.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import make_traces  # noqa: E402

# name in the table, column of the reference, our value, limit in percent (None: information)
COUNTERS = [
    ("cycles", "cycles", lambda r, s: r["cycles"], 30),
    ("warp instructions", "warp_instructions", lambda r, s: s["sm.warp_instructions"], 0),
    ("thread instructions", "thread_instructions", lambda r, s: s["sm.thread_instructions"], 0),
    ("L1 accesses", "l1_accesses", lambda r, s: s["l1.sector_accesses"], 0),
    ("L1 misses", "l1_misses", lambda r, s: s["l1.sector_misses"], 10),
    ("L1 pending hits", "l1_pending_hits", lambda r, s: s["l1.sector_pending_hits"], None),
    ("L2 accesses", "l2_accesses", lambda r, s: s["l2.sector_accesses"], 10),
    ("L2 misses", "l2_misses", lambda r, s: s["l2.sector_misses"], None),
    ("DRAM reads", "dram_reads", lambda r, s: s["dram.sector_reads"], 10),
    ("DRAM writes", "dram_writes", lambda r, s: s["dram.sector_writes"], None),
    ("DRAM activates", "dram_activates", lambda r, s: s["dram.activates"], 25),
    ("request packets", "request_packets", lambda r, s: s["sm.requests_sent"], 10),
    ("mean fetch latency", "mean_fetch_latency", lambda r, s: s["sm.fetch_latency"] / max(1, s["sm.replies_received"]), 30),
]
# Traces whose requests do not depend on timing: their L2 accesses must be equal too.
EXACT_L2 = ("vecadd", "transpose", "reduce_atomic")
# Criteria we miss, with the reason in DEVIATIONS.md.
KNOWN = {("matmul_tiled", "DRAM activates")}
SHAPES = ("row_sum", "histogram_shared")


def run(command, folder, latency, repeat):
    best = None
    for _ in range(repeat):
        arguments = [command, "run", "--gpu", "v100", "--set", "dispatch.launch_latency=%d" % latency,
                     os.path.join(folder, "kernelslist.g"), "--quiet", "--json", "-"]
        result = json.loads(subprocess.run(arguments, check=True, stdout=subprocess.PIPE).stdout)
        if best is None or result["cpu_seconds"] < best["cpu_seconds"]:
            best = result
    return best


def loop_seconds(command):
    """CPU seconds of a fixed piece of work, by which this host at this moment can be compared with others."""
    done = subprocess.run([command, "bench", "--loop", "--repeat", "1", "--json", "-"], check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["loop_seconds"]


def accelsim_loops(path):
    """Trace -> Accel-Sim's seconds in units of the loop on its host; empty without a file."""
    if not path:
        return {}
    with open(path) as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        if None in [row.get(column) for column in ("trace", "user_s", "loop_s")]:
            sys.exit("%s: needs the columns trace,user_s,loop_s; loop_s is what 'mergelane bench --loop' took on that host" % path)
    return {row["trace"]: float(row["user_s"]) / float(row["loop_s"]) for row in rows}


def print_speed(seconds, loop, accelsim):
    """`seconds`: trace -> ours."""
    print("\n  speed, one thread, text to result; the loop takes {:.3f} s on this host now".format(loop))
    ratios = []
    for trace, ours in seconds.items():
        text = "  {:<22}{:>8.2f} s{:>10.2f} loops".format(trace, ours, ours / loop)
        if trace in accelsim:
            ratios.append(accelsim[trace] / (ours / loop))
            text += "   {:.0f} times as fast as Accel-Sim".format(ratios[-1])
        print(text)
    if ratios:
        print("  {:.0f} times Accel-Sim as geometric mean, {:.0f} at least".format(math.exp(sum(map(math.log, ratios)) / len(ratios)), min(ratios)))


def ensure_trace(traces, name, generator, text):
    folder = os.path.join(traces, name)
    if not os.path.exists(os.path.join(folder, "expected.json")):
        print("writing trace %s" % name, file=sys.stderr)
        changes = dict((key, int(value, 0)) for key, value in (item.split("=") for item in text.split()))
        make_traces.make(generator, folder, **changes)
    return folder


def percent(ours, reference):
    if reference == 0:
        return 0.0 if ours == 0 else math.inf
    return 100 * (ours - reference) / reference


def show(value):
    return "{:,.0f}".format(value)


class Report:
    def __init__(self):
        self.rows = []
        self.missed = []

    def compare(self, group, trace, counter, reference, ours, limit):
        difference = percent(ours, reference)
        verdict = ""
        if limit is not None:
            fine = abs(difference) <= limit
            known = (trace, counter) in KNOWN
            verdict = "pass" if fine else "known" if known else "MISSED"
            if not fine and not known:
                self.missed.append("%s: %s" % (trace, counter))
        print("  {:<22}{:>14}{:>14}{:>10}  {}".format(counter, show(reference), show(ours),
                                                      "-" if math.isinf(difference) else "%+.1f %%" % difference, verdict))
        self.rows.append(dict(group=group, trace=trace, counter=counter, reference=reference, ours=ours,
                              difference_percent=None if math.isinf(difference) else round(difference, 2), limit_percent=limit,
                              verdict=verdict))
        return difference


def against_accelsim(report, arguments, latency, group, title):
    with open(os.path.join(HERE, "accelsim_reference.csv")) as file:
        references = [row for row in csv.DictReader(file) if row["launch_latency"] == str(latency)]
    print("\n%s" % title)
    errors, seconds = [], {}
    loop = loop_seconds(arguments.command)
    for row in references:
        if arguments.only and row["trace"] not in arguments.only:
            continue
        folder = ensure_trace(arguments.traces, row["trace"], row["generator"], row["generator_args"])
        result = run(arguments.command, folder, latency, arguments.repeat)
        seconds[row["trace"]] = result["cpu_seconds"]
        print("\n{:<24}{:>14}{:>14}".format(row["trace"], "Accel-Sim", "Mergelane"))
        for counter, column, value, limit in COUNTERS:
            if counter == "L2 accesses" and row["trace"] in EXACT_L2:
                limit = 0
            difference = report.compare(group, row["trace"], counter, float(row[column]), value(result, result["stats"]), limit)
            if counter == "cycles":
                errors.append(abs(difference))
    if not errors:
        return
    mean = sum(errors) / len(errors)
    print("\n  cycles: mean absolute error {:.1f} % (at most 15 %), largest {:.1f} % (at most 30 %)".format(mean, max(errors)))
    print_speed(seconds, min(loop, loop_seconds(arguments.command)), accelsim_loops(arguments.accelsim_seconds))
    report.rows.append(dict(group=group, trace="all", counter="mean absolute error of cycles", reference=0, ours=round(mean, 2),
                            difference_percent=round(mean, 2), limit_percent=15, verdict="pass" if mean <= 15 else "MISSED"))
    if mean > 15 and not arguments.only:
        report.missed.append("mean absolute error of cycles")


def against_addresses(report, arguments):
    print("\nHold-out shapes: Accel-Sim has not run them; the first column follows from the addresses")
    for name in SHAPES:
        if arguments.only and name not in arguments.only:
            continue
        folder = ensure_trace(arguments.traces, name, name, "")
        with open(os.path.join(folder, "expected.json")) as file:
            expected = json.load(file)
        for latency in (0, 5000):
            result = run(arguments.command, folder, latency, 1)
            stats = result["stats"]
            print("\n{:<24}{:>14}{:>14}".format("%s, latency %d" % (name, latency), "expected", "Mergelane"))
            report.compare("shapes", name, "warp instructions", expected["warp_instructions"], stats["sm.warp_instructions"], 0)
            report.compare("shapes", name, "thread instructions", expected["thread_instructions"], stats["sm.thread_instructions"], 0)
            report.compare("shapes", name, "L1 accesses", expected["l1_accesses"], stats["l1.sector_accesses"], 0)
            # Loads once each from cold caches; atomics fetch their 32 sectors besides.
            atomics = 32 if name == "histogram_shared" else 0
            report.compare("shapes", name, "DRAM reads", expected["different_sectors_loaded"] + atomics, stats["dram.sector_reads"], 10)
            bytes_per_cycle = 32 * 32 * 850 / 1132
            floor = latency + stats["dram.sector_reads"] * 32 / bytes_per_cycle
            print("  {:<22}{:>14}{:>14}{:>10}".format("cycles", ">= " + show(floor), show(result["cycles"]), ""))


def print_table(rows, group):
    """The table of DEVIATIONS.md: differences in percent, one line per trace."""
    columns = ("cycles", "L1 misses", "L1 pending hits", "L2 accesses", "DRAM reads", "DRAM activates", "mean fetch latency")
    print("\n| trace | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for trace in dict.fromkeys(row["trace"] for row in rows if row["group"] == group and row["trace"] != "all"):
        found = {row["counter"]: row["difference_percent"] for row in rows if row["group"] == group and row["trace"] == trace}
        print("| %s | %s |" % (trace, " | ".join("-" if found[c] is None else "%+.1f" % found[c] for c in columns)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(HERE)
    parser.add_argument("command", nargs="?", default=os.path.join(root, "build/release/apps/mergelane/mergelane"))
    parser.add_argument("--traces", default=os.path.join(root, "build/validation"))
    parser.add_argument("--only", type=lambda text: text.split(","))
    parser.add_argument("--rows", type=lambda text: text.split(","), default=["calibration", "holdout", "shapes"])
    parser.add_argument("--repeat", type=int, default=1, help="runs per trace; the fastest counts")
    parser.add_argument("--accelsim-seconds", metavar="FILE", help="CSV: trace,user_s,loop_s; see above")
    parser.add_argument("--table", action="store_true", help="print the calibration rows as a Markdown table at the end")
    parser.add_argument("--csv")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    report = Report()
    if "calibration" in arguments.rows:
        against_accelsim(report, arguments, 0, "calibration", "Calibration rows: launch latency 0")
    if "holdout" in arguments.rows:
        against_accelsim(report, arguments, 5000, "holdout", "Hold-out rows: launch latency 5000")
    if "shapes" in arguments.rows:
        against_addresses(report, arguments)
    if arguments.table:
        print_table(report.rows, "calibration")
    if arguments.csv:
        with open(arguments.csv, "w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(report.rows[0]))
            writer.writeheader()
            writer.writerows(report.rows)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(report.rows, file, indent=1)
    if report.missed:
        print("\nmissed: " + "; ".join(report.missed))
        sys.exit(1)


if __name__ == "__main__":
    main()
