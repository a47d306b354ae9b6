#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generates a manual page for every command of `mergelane` from its help.

  packaging/manual_pages.py COMMAND FOLDER     writes FOLDER/mergelane.1, FOLDER/mergelane-run.1, ...
"""

import datetime
import os
import pathlib
import re
import sys

import command_help

ENVIRONMENT = [
    ("MERGELANE_GPUS", "directories with additional presets, separated by colons"),
    ("MERGELANE_DATA", "directory of the installed data, PREFIX/share/mergelane (default: ../share/mergelane, seen from the command)"),
    ("MERGELANE_CACHE", "directory of benchmark recordings (default: $XDG_CACHE_HOME/mergelane, otherwise ~/.cache/mergelane)"),
]


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def page_name(path):
    return "-".join(["mergelane", *path])


def literal(lines):
    return [".nf", ".RS 4", *(escape(line) for line in lines), ".RE", ".fi"]


def tagged(items):
    """`-t,--threads UINT:INT in [1 - 256]=1` becomes `-t, --threads UINT`, and `(1 to 256) (default: 1)` after the description."""
    lines = []
    for item in items:
        kind, *relations = re.split(r" (?=(?:Needs|Excludes): )", " " + item.kind)
        kind = kind.strip()
        text, default = item.text, re.search(r"(?<=[A-Z}\])])=(\S+)( REQUIRED)?$", kind)
        bounds = re.search(r" in \[(\S+) - (\S+)\]", kind)
        if item.choices:
            text += f" ({', '.join(item.choices)})"
        if bounds:
            text += f" ({bounds[1]} to {bounds[2]})"
        if default and kind != "KEY=VALUE":
            text += f" (default: {default[1]})"
        if kind.endswith("REQUIRED"):
            text += " (required)"
        for relation in relations:
            word, option = relation.split(": ", 1)
            text += f" ({'requires' if word == 'Needs' else 'excludes'} {option})"
        value = re.match(r"KEY=VALUE|[A-Z]+(?: \.\.\.)?", kind)
        lines += [".TP", f"\\fB{escape(', '.join(item.names))}\\fR" + (f" \\fI{escape(value[0])}\\fR" if value and value[0] != "REQUIRED" else ""), escape(text)]
    return lines


def references(names):
    return [".SH SEE ALSO", *(f".BR {escape(name)} (1){',' if name != names[-1] else ''}" for name in names)]


def footer(lines):
    """Examples are shown as they are; sentences before and after them are text."""
    examples, notes = [], []
    for line in lines:
        if re.match(r"Examples?: ", line):
            examples.append(line.split(": ", 1)[1])
        elif line.startswith("  "):
            examples.append(line[2:])
        elif not re.fullmatch(r"(Examples?|Getting started):", line):
            notes.append(line)
    made = []
    if notes:
        made += [".SH NOTES"]
        for note in notes:
            made += [*([".PP"] if note != notes[0] else []), escape(note)]
    if examples:
        made += [".SH EXAMPLES", *literal(examples)]
    return made


def page(command, version, date, exit_codes):
    name = page_name(command.path)
    lines = [f'.TH "{escape(name.upper())}" "1" "{date}" "Mergelane {version}" "User Commands"', ".nh", ".SH NAME",
             f"{escape(name)} \\- {escape(command.summary)}", ".SH SYNOPSIS", f"\\fB{escape(command.name)}\\fR"
             + escape(command.usage.removeprefix(command.name))]
    if not command.path:
        lines[lines.index(".SH NAME") + 1] = f"{name} \\- cycle\\-level simulator of the GPU memory path"
        lines += [".SH DESCRIPTION", "Mergelane simulates the memory path of a GPU cycle by cycle: from the lanes of a warp through coalescer, L1, "
                  "network and L2 to DRAM, and back. It needs no GPU.", "The documentation is in the source tree, in docs/."]
    if command.positionals:
        lines += [".SH ARGUMENTS", *tagged(command.positionals)]
    lines += [".SH OPTIONS", *tagged(command.options)]
    if command.commands:
        lines += [".SH COMMANDS"]
        for below in command.commands:
            lines += [".TP", f"\\fB{escape(below.path[-1])}\\fR", escape(below.summary) + "; see", f".BR {escape(page_name(below.path))} (1)"]
    lines += footer(command.footer)
    if not command.path:
        lines += [".SH EXIT STATUS"]
        for code, meaning in exit_codes:
            lines += [".TP", f"\\fB{code}\\fR", escape(meaning)]
        lines += [".SH ENVIRONMENT"]
        for variable, meaning in ENVIRONMENT:
            lines += [".TP", f"\\fB{variable}\\fR", escape(meaning)]
        lines += references([page_name(below.path) for below in command.commands])
    else:
        near = [page_name(command.path[:-1]), *(page_name(below.path) for below in command.commands)]
        lines += references(near)
    return "\n".join(lines) + "\n"


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    top = command_help.read(program)
    version = command_help.output(program, "--version").split()[1].rstrip(",")
    exit_codes = [line.split(None, 1) for line in command_help.output(program, "list", "exit-codes").splitlines()[1:]]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now(datetime.timezone.utc).timestamp()))
    date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).date().isoformat()
    for command in top.all():
        (folder / f"{page_name(command.path)}.1").write_text(page(command, version, date, exit_codes), encoding="utf-8")


main()
