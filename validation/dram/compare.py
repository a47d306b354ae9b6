#!/usr/bin/env python3
"""Plays the request streams of streams.py into one DRAM channel and prints each result with that of another simulator.

    python3 validation/dram/compare.py [--reference NAME] [--only NAME,...] [--folder FOLDER] [--csv FILE] [COMMAND]

COMMAND is mergelane_dram_play (build/release/tests/mergelane_dram_play). Streams are written to FOLDER (default: build/dram_streams).
The references are numbers in DRAM cycles; validation/dram/README.md has their versions and settings. Exit code 1 if a stream is outside
the limits and not among the KNOWN ones, whose differences README.md explains.
"""
import argparse
import csv
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import streams  # noqa: E402

# Column of the reference, our value, limit in percent.
MEASURES = [
    ("activates", lambda r: r["activates"], 3),
    ("columns_per_cycle", lambda r: r["columns_per_cycle"], 3),
    ("queue_read_latency_mean", lambda r: r["read_latency"]["mean"], 5),
]
REFERENCES = ["dramsim3", "dramsim3_columns_first", "dramsim3_one_bus", "dramsim3_recorded", "dramsim3_recorded_columns_first", "ramulator", "ramulator_hbm2", "ramulator_hbm3"]
# In equal command order, DRAMsim3's results are ours but for the rounding of its table.
EXACT = {"dramsim3_columns_first", "dramsim3_recorded_columns_first"}
# Outside the limits, by reference and stream, and the modelled difference; README.md explains them.
AGE, IDLE, WINDOW, STOP = "commands by age", "idle drain", "larger window", "refresh stops more"
KNOWN = {
    "dramsim3_one_bus": {"h_inter4_sat": AGE, "h_inter16_t75": AGE, "h_local4_w50_sat": AGE, "h_local8_sat_ref": AGE},
    "ramulator": {"g_local4_w30_t25_ref": IDLE, "h_inter8_w10_t50": IDLE, "h_rand_sat": WINDOW},
    "ramulator_hbm2": {"p_rand_sat": WINDOW, "p_local8_w10_t25": IDLE, "p_local8_sat_refpb": STOP},
    "ramulator_hbm3": {"p_rand_sat": WINDOW, "p_rand_w50_sat": WINDOW, "p_local8_sat_refpb": STOP},
}
GPUS = {"gddr5": "gtx480", "hbm2": "v100", "hbm3": "v100"}
# Ramulator's presets HBM2_4Gb with HBM2_2000Mbps and HBM3_4Gb with HBM3_6400Mbps, in command-clock cycles. Its per-bank refresh of
# HBM2 comes every 122 cycles per channel of two pseudo-channels, that of HBM3 every 390 per pseudo-channel.
PRESETS = {
    "hbm2": dict(tCL=14, tWL=5, tRCD=14, tRCDWR=12, tRP=14, tRAS=34, tRC=48, tWR=16, tRTP=5, tCCD=2, tCCDL=4, tRRD=4, tRRDL=4, tFAW=15,
                 tCDLR=6, tWTRL=8, tRTW=13, tRFC=260, tRFCpb=160, tRREFD=8, tREFI=3900),
    "hbm3": dict(tCL=20, tWL=10, tRCD=31, tRCDWR=15, tRP=26, tRAS=45, tRC=72, tWR=33, tRTP=9, tCCD=2, tCCDL=4, tRRD=4, tRRDL=5, tFAW=24,
                 tCDLR=7, tWTRL=10, tRTW=20, tRFC=416, tRFCpb=320, tRREFD=8, tREFI=6240),
}


def settings(reference, line):
    """Those of the reference, in our keys."""
    keys = {
        "dram.controller.enabled": "true",
        "dram.controller.queue": 64,
        "dram.controller.refresh_postpone": 0,
        "dram.access_bytes": line["access_bytes"],
        "dram.bus_bytes": line["bus_bytes"],
        "dram.banks": 1 << line["address_map"].count("B"),
        "dram.address_map": line["address_map"],
        "dram.command_buses": line["command_buses"],
        "dram.timing.tRTPL": 0,
    }
    if "preset" in line:
        keys.update({"dram.timing." + key: value for key, value in PRESETS[line["memory"]].items()})
        keys.update({"dram.controller.pseudo_channels": 2, "dram.controller.activate_cycles": 2})
        keys["dram.controller.refresh"] = line["refresh"]
    else:
        value = {key: 0 if line[key] == "off" else int(line[key]) for key in ("tRRDL", "tFAW", "tREFI", "tRFC")}
        keys.update({"dram.timing." + key: number for key, number in value.items()})
        keys.update({"dram.timing.tRTW": line["tRTW"], "dram.timing.tRCDWR": 0, "dram.timing.tWTRL": 0})
        keys["dram.controller.refresh"] = "all_bank" if value["tREFI"] else "none"
    if reference.startswith("ramulator"):
        keys.update({"dram.controller.write_queue": 32, "dram.controller.write_high": 26, "dram.controller.write_low": 6})
    return ["%s=%s" % item for item in keys.items()]


def play(command, reference, line, folder):
    call = [command, GPUS[line["memory"]], os.path.join(folder, line["stream"] + ".txt"), *settings(reference, line)]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", default="dramsim3", choices=REFERENCES)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", default="build/dram_streams")
    parser.add_argument("--csv")
    parser.add_argument("command", nargs="?", default="build/release/tests/mergelane_dram_play")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    with open(os.path.join(HERE, options.reference + ".csv"), newline="") as file:
        lines = [line for line in csv.DictReader(file) if not only or line["stream"] in only]
    os.makedirs(options.folder, exist_ok=True)
    table, outside = [], []
    for line in lines:
        streams.write_one(options.folder, line["stream"])
        result = play(options.command, options.reference, line, options.folder)
        row = [line["stream"]]
        for column, ours, limit in MEASURES:
            theirs = float(line[column] or 0)
            off = 100 * (ours(result) / theirs - 1) if theirs else 0
            row += ["%g" % round(ours(result), 4), "%g" % theirs, "%+.1f %%" % off]
            known = KNOWN.get(options.reference, {}).get(line["stream"])
            if options.reference in EXACT:
                limit = 0 if column == "activates" else 0.05
            if abs(off) > limit:
                outside.append((known, "%s: %s %+.1f %%" % (line["stream"], column, off)))
        table.append(row)
    head = ["stream"]
    for column, _, _ in MEASURES:
        head += [column, options.reference, "difference"]
    if options.csv:
        with open(options.csv, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *table])
    widths = [max(len(row[k]) for row in [head, *table]) for k in range(len(head))]
    for row in [head, *table]:
        print("  ".join(word.rjust(width) if k else word.ljust(width) for k, (word, width) in enumerate(zip(row, widths))))
    for known, text in outside:
        print("outside its limit%s: %s" % (" (%s)" % known if known else "", text))
    return 1 if any(known is None for known, _ in outside) else 0


if __name__ == "__main__":
    sys.exit(main())
