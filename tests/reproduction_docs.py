#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds docs/reproduction/PAPER.md against PAPER-paper.txt, what the command printed: verdicts, counts of criteria, and every number
of the table's last column, which must be one of that experiment's, perhaps rounded.
With --summary, summary.txt and the README's picture against what the command makes of the packed results.
Usage: reproduction_docs.py DOCS_REPRODUCTION PAPER
       reproduction_docs.py DOCS_REPRODUCTION --summary MERGELANE"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?![\w]|\.\d)")


def sections(text):
    """Experiment -> its part of the printed report."""
    parts = re.split(r"^(?=[A-Z0-9]+-\d+  )", text, flags=re.M)
    return {part.split(None, 1)[0]: part for part in parts if re.match(r"[A-Z0-9]+-\d+  ", part)}


def appears(number, text):
    digits = len(number.partition(".")[2])
    wanted = abs(float(number))
    # Ratios are printed for what the words give as a change.
    for found in map(float, NUMBER.findall(text)):
        for value in (abs(found), abs(100 * (found - 1)), 100 * abs(found)):
            if abs(round(value, digits) - wanted) < 1e-9:
                return True
    return False


def check(words, printed):
    wrong = []
    # "3 of 4 criteria", "headline 1 of 2, details 3 of 3" or "no criteria": headline first, then details.
    verdicts = {m[1]: (m[2], ", ".join(re.findall(r"\d+ of \d+", m[3])) or "-")
                for m in re.finditer(r"^  (\S+-\d+) .* (pass|fail|not run|reported) +(headline .*|\d+ of \d+ criteria|no criteria)$", printed, re.M)}
    rows = {m[1]: m for m in re.finditer(r"^\| (\S+-\d+) \| ([^|]*) \| (\w+) \| ([^|]*) \| (.*) \|$", words, re.M)}
    if not verdicts or set(rows) != set(verdicts):
        wrong.append(f"the table has rows for {sorted(rows)}, the report {sorted(verdicts)}")
    parts = sections(printed)
    for name in rows.keys() & verdicts.keys():
        row = rows[name]
        if (row[3], row[4]) != verdicts[name]:
            wrong.append(f"{name}: the table says {row[3]}, {row[4]}; the report {', '.join(verdicts[name])}")
        wrong += [f"{name}: {n} of '{row[5]}' is not in its part of the report"
                  for n in NUMBER.findall(row[5]) if not appears(n, parts[name])]
    total = re.search(r"^(\d+ of \d+) pass(?:, \d+ only reported)?$", printed, re.M) or re.search(r"^(\d+) only reported$", printed, re.M)
    if total is None or not re.search(rf"\b{total[1]} experiments\b", words):
        wrong.append(f"the words should say '{total and total[1]} experiments'")
    return wrong


def summary(folder, binary):
    with tempfile.TemporaryDirectory() as made:
        printed = subprocess.run([binary, "reproduce", "--summary", "--svg", made], capture_output=True, text=True, check=True).stdout
        same = {"docs/reproduction/summary.txt": printed == (folder / "summary.txt").read_text(),
                "docs/images/summary.svg": (Path(made) / "summary.svg").read_text() == (folder / "../images/summary.svg").read_text()}
    for name, equal in same.items():
        if not equal:
            print(f"{name} is not what 'mergelane reproduce --summary --svg docs/images' gives; write it anew")
    return 0 if all(same.values()) else 1


def main():
    if sys.argv[2] == "--summary":
        return summary(Path(sys.argv[1]), sys.argv[3])
    folder, paper = Path(sys.argv[1]), sys.argv[2]
    words = (folder / f"{paper}.md").read_text()
    printed = (folder / f"{paper}-paper.txt").read_text()
    wrong = check(words, printed)
    # A study in which nothing is counted has no line there.
    front = re.search(rf"\[(\d+) of its (\d+) experiments [^\]]*\]\(docs/reproduction/{paper}\.md\)", (folder / "../../README.md").read_text())
    passed = re.search(r"^(\d+) of (\d+) pass", printed, re.M)
    if passed is not None and (front is None or front.groups() != passed.groups()):
        wrong.append(f"README.md does not say {passed[0]}")
    for line in wrong:
        print(f"{paper}.md: {line}; correct it or print the report anew")
    # The test must be able to fail.
    if not check(re.sub(r"\| (pass|reported) \|", "| fail |", words, count=1), printed):
        print("a wrong verdict was not noticed")
        return 1
    return 1 if wrong else 0


sys.exit(main())
