# SPDX-License-Identifier: MIT
"""Reads the help of all commands of `mergelane`, which manual pages and shell completion are generated from."""

import os
import re
import subprocess
from dataclasses import dataclass, field

HEADINGS = ("Positionals", "Options", "Subcommands")


@dataclass
class Item:
    """An option, a positional or a subcommand: its names, what follows them, and its description."""

    names: list
    kind: str
    text: str

    @property
    def flag(self):
        """An option without a value."""
        return not re.match(r"[A-Z]", self.kind) or self.kind.startswith(("Needs:", "Excludes:"))

    @property
    def repeatable(self):
        return "repeatable" in self.text

    @property
    def choices(self):
        found = re.search(r"\{([^}]*)\}", self.kind)
        return found[1].split(",") if found else []


@dataclass
class Command:
    path: list
    summary: str
    usage: str
    positionals: list = field(default_factory=list)
    options: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    footer: list = field(default_factory=list)

    @property
    def name(self):
        return " ".join(["mergelane", *self.path])

    def all(self):
        """This command and those below it."""
        yield self
        for command in self.commands:
            yield from command.all()


def output(program, *words):
    """What a command prints, without presets and data of the user's own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MERGELANE_")}
    return subprocess.run([program, *words], check=True, capture_output=True, text=True, env=environment).stdout


def items(lines):
    """Lines such as `  -g,--gpu TEXT=icc60    GPU to simulate`; the description is in column 30, or starts there in the next line."""
    found = []
    for line in lines:
        if line.startswith(" " * 30):
            found[-1].text = f"{found[-1].text} {line.strip()}".strip()
            continue
        head, _, text = line.strip().partition("  ")
        words, _, kind = head.partition(" ")
        found.append(Item(words.split(","), kind.strip(), text.strip()))
    return found


def read(program, path=()):
    """The help of a command and, recursively, of its subcommands."""
    text = output(program, *path, "--help").rstrip("\n")
    summary, usage, *lines = text.split("\n")
    command = Command(list(path), summary, usage.removeprefix("Usage: "))
    sections = {heading: [] for heading in HEADINGS}
    at = None
    for line in lines:
        heading = line.rstrip(":")
        if line.endswith(":") and heading in HEADINGS:
            at = sections[heading]
        elif not line and at is not None:
            at = None
        elif at is not None:
            at.append(line)
        elif line:
            command.footer.append(line)
    command.positionals = items(sections["Positionals"])
    command.options = items(sections["Options"])
    for item in items(sections["Subcommands"]):
        command.commands.append(read(program, (*path, item.names[0])))
    return command
