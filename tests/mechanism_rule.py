#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The shipped rule of mechanisms is what rule.py learns from programs.csv, the speeds of that table are those of the packed runs, and the command evaluates
the rule as rule.py does. Usage: mechanism_rule.py TOP MERGELANE"""
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import tomllib

TOP, BINARY = pathlib.Path(sys.argv[1]).resolve(), str(pathlib.Path(sys.argv[2]).resolve())
sys.path.insert(0, str(TOP / "validation/headtohead"))
import programs  # noqa: E402  # pylint: disable=wrong-import-position
import rule  # noqa: E402  # pylint: disable=wrong-import-position


def same_rule(folder):
    made = folder / "rule.toml"
    subprocess.run([sys.executable, rule.__file__, "--write", made], check=True, stdout=subprocess.DEVNULL)
    if made.read_text() == rule.RULE.read_text():
        return []
    return ["data/mechanism_rule.toml is not what validation/headtohead/rule.py --write gives; write it anew"]


def same_speeds(folder):
    for packed in (TOP / "validation/headtohead").glob("*.jsonl.zst"):
        subprocess.run([BINARY, "store", "unpack", packed, folder / "store"], check=True, stdout=subprocess.DEVNULL)
    printed = programs.speeds(BINARY, folder / "store", "paper")
    with open(programs.HERE / "programs.csv", newline="", encoding="utf-8") as file:
        table = {row["program"]: {k[len(rule.SPEED):]: v or "-" for k, v in row.items() if k.startswith(rule.SPEED)} for row in csv.DictReader(file)}
    return [f"programs.csv: speeds of {p} are not those of the packed runs" for p, row in table.items() if printed.get(p, dict.fromkeys(row, "-")) != row]


def same_prediction():
    """A kernel of any kind will do."""
    workload = ["--synthetic", "tiled", "--param", "ctas=60"]
    run = lambda *words: json.loads(subprocess.run([BINARY, *words, "--json", "-", "-q"], capture_output=True, text=True, check=True).stdout)
    total = run("profile", "--gpu", "h2h64", *workload)["total"]
    advice = run("advise", "--mechanisms", *workload)
    values = rule.properties_of({f"{group}.{name}": value for group, metrics in total.items() for name, value in metrics.items()})
    wrong = [f"property {one['name']} is {one['value']}, and {values[one['name']]} in rule.py" for one in advice["properties"] if abs(one["value"] - values[one["name"]]) > 1e-4]
    with open(rule.RULE, "rb") as file:
        shipped = tomllib.load(file)
    for one in advice["mechanisms"]:
        entry = next(m for m in shipped["mechanism"] if m["name"] == one["name"])
        time = entry["time"] * math.exp(sum(w * (values[n] - shipped["property"][n]["mean"]) for n, w in entry.get("weights", {}).items()))
        gain = 1 / min(max(time, shipped["least_time"]), shipped["most_time"])
        if abs(one["predicted_gain"] / gain - 1) > 1e-4:
            wrong.append(f"{one['name']} is predicted {one['predicted_gain']}, and {gain} from the file")
    return wrong


def main():
    with tempfile.TemporaryDirectory() as folder:
        wrong = same_rule(pathlib.Path(folder)) + same_speeds(pathlib.Path(folder)) + same_prediction()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
