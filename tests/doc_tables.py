#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares tables in the documentation with what the product prints.

`<!-- generated: WHAT -->` ... `<!-- end -->` encloses a table that this script makes; --write makes it again. WHAT is a configuration key
(`lsu.front`: its choices) or a list (`exit-codes`, `gpus`, `papers`, `energy`).
`<!-- names: KEY -->` stands before a table written by hand whose first column must name the choices of KEY, each of them once.
`<!-- values: KEY -->` stands before a paragraph or table that must name each choice of KEY as `choice`.
Usage: doc_tables.py MERGELANE TOP [--write] | --self-test"""
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^<!-- generated: (\S+) -->\n.*?^<!-- end -->$", re.M | re.S)
NAMED = re.compile(r"^<!-- names: (\S+) -->\n\n?((?:\|.*\n)+)", re.M)
VALUES = re.compile(r"^<!-- values: (\S+) -->\n(?=((?:.+\n)+))", re.M)
LISTS = {"exit-codes": ("code", "meaning"), "gpus": ("preset", "network : DRAM bandwidth", "description"),
         "papers": ("paper", "title"), "energy": ("table", "description")}
# A table that is deleted cannot be out of date, but neither does it inform anybody.
REQUIRED = {"lsu.front", "sm.scheduler", "dispatch.scheduler", "dispatch.transform", "noc.kind", "l1.replacement", "dram.scheduler",
            "exit-codes", "gpus", "papers"}


def rows_of(what, text):
    """The rows that `mergelane list WHAT` or `mergelane describe KEY` printed."""
    columns = len(LISTS.get(what, ("choice", "meaning")))
    if what not in LISTS:
        text = text.partition("\n\n")[2]
    rows = [re.split(r"\s{2,}", line.strip(), maxsplit=columns - 1) for line in text.splitlines() if line.strip()]
    return rows[1:] if what in LISTS and what != "energy" else rows


def table_of(what, rows):
    head = LISTS.get(what, (f"`{what}`", "meaning"))
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| `" + row[0] + "` | " + " | ".join(row[1:]) + " |" for row in rows]
    return "\n".join(lines)


def corrected(page, rows):
    """The page with its generated tables made anew, and what is wrong with those written by hand."""
    def block(found):
        return f"<!-- generated: {found[1]} -->\n{table_of(found[1], rows(found[1]))}\n<!-- end -->"

    wrong = []
    for found in NAMED.finditer(page):
        named = sorted(name for line in found[2].splitlines()[2:] for name in re.findall(r"`([^`]+)`", line.split("|")[1]))
        if named != sorted(row[0] for row in rows(found[1])):
            wrong.append(f"the table of {found[1]} names {', '.join(named)}")
    for found in VALUES.finditer(page):
        missing = [row[0] for row in rows(found[1]) if f"`{row[0]}`" not in found[2]]
        if missing:
            wrong.append(f"the paragraph about {found[1]} does not name {', '.join(missing)}")
    return BLOCK.sub(block, page), wrong


def self_test():
    assert rows_of("noc.kind", "key  default\nx  y\n\n  a   one  two\n  bc  three\n") == [["a", "one  two"], ["bc", "three"]]
    assert rows_of("exit-codes", "code  meaning\n0     done\n") == [["0", "done"]]
    rows = lambda what: [["a", "one"], ["b", "two"]]
    good = "<!-- generated: k -->\n| `k` | meaning |\n|---|---|\n| `a` | one |\n| `b` | two |\n<!-- end -->\n<!-- names: k -->\n| n |\n|---|\n| `b` |\n| `a` |\n"
    assert corrected(good, rows) == (good, [])
    assert corrected(good.replace("two", "three"), rows) == (good, [])
    assert corrected(good.replace("| `a` |\n", ""), rows)[1]
    assert len(corrected("<!-- values: k -->\n<!-- values: l -->\nOnly `a`.\n", rows)[1]) == 2
    return 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    binary, top, write = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:] == ["--write"]
    known, seen, failed = {}, set(), False

    def rows(what):
        if what not in known:
            command = [binary, "list", what] if what in LISTS else [binary, "describe", what]
            known[what] = rows_of(what, subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return known[what]

    for path in sorted([top / "README.md", *(top / "docs").rglob("*.md")]):
        page = path.read_text(encoding="utf-8")
        made, wrong = corrected(page, rows)
        seen |= {found[1] for found in BLOCK.finditer(page)}
        if made != page and write:
            path.write_text(made, encoding="utf-8")
        elif made != page:
            wrong.append("a generated table is out of date; run tests/doc_tables.py MERGELANE . --write")
        for problem in wrong:
            print(f"{path.relative_to(top)}: {problem}")
        failed |= bool(wrong)
    if REQUIRED - seen:
        print("no page has a generated table of", ", ".join(sorted(REQUIRED - seen)))
    return 1 if failed or REQUIRED - seen else 0


if __name__ == "__main__":
    sys.exit(main())
