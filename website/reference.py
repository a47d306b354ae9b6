# SPDX-License-Identifier: MIT
"""The reference that the product prints, as Markdown. A page of docs/ says where a part of it belongs: `<!-- site: keys -->`."""
import json
import pathlib
import re
import shutil
import subprocess

SECTIONS = {"gpu": "machine and clocks", "dispatch": "CTA dispatch", "sm": "SM", "units": "execution units", "exec": "instruction classes",
            "lsu": "load/store unit", "l1": "L1", "cluster": "SM cluster: port, coalescing, coalesced cache", "noc": "network", "l2": "L2", "dram": "DRAM",
            "clustering": "CTA clustering", "gpc": "GPC", "dcl1": "decoupled L1s"}


def cell(text):
    """Text that is not code, as it may stand in a table."""
    return re.sub(r"([\\|*_\[\]`])", r"\\\1", text).replace("<", "&lt;")


def code(text):
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def columns(text):
    """Rows of a table that the command printed with two or more blanks between its columns; the header says where they begin."""
    lines = text.split("\n\n")[0].splitlines()
    starts = [found.start() for found in re.finditer(r"(?:^|(?<=  ))\S", lines[0])]
    ends = [*starts[1:], None]
    return [[line[start:end].strip() for start, end in zip(starts, ends)] for line in lines[1:]]


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def by_section(rows):
    sections = {}
    for row in rows:
        sections.setdefault(row[0].split(".")[0], []).append(row)
    return sections


class Product:
    """What the command prints; kept in a file until the command changes."""

    def __init__(self, command, top, kept):
        self.command, self.top, self.kept = command, pathlib.Path(top), pathlib.Path(kept)
        state = pathlib.Path(command).stat()
        self.build = [command, state.st_mtime_ns, state.st_size]
        try:
            build, self.printed = json.loads(self.kept.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            build = None
        if build != self.build:
            self.printed = {}

    def __call__(self, *arguments):
        key = "\n".join(arguments)
        if key not in self.printed:
            self.printed[key] = subprocess.run([self.command, *arguments], capture_output=True, text=True, check=True, cwd=self.top).stdout
            self.kept.parent.mkdir(parents=True, exist_ok=True)
            self.kept.write_text(json.dumps([self.build, self.printed]), encoding="utf-8")
        return self.printed[key]

    def keys(self):
        out = []
        for section, rows in by_section(columns(self("describe"))).items():
            out.append(f"## {section}: {SECTIONS.get(section, section)}\n")
            out.append(table(("key", "default", "unit", "allowed", "meaning"),
                             [(code(key), code(default), cell(unit), cell(allowed), cell(meaning)) for key, default, unit, allowed, meaning in rows]))
        return "\n".join(out)

    def choices(self):
        """What is chosen by name: each key whose choices have a meaning of their own."""
        out = []
        for key, _, _, allowed, meaning in columns(self("describe")):
            if not re.fullmatch(r"\w+(, \w+)+", allowed) or allowed in ("true, false", "false, true"):
                continue
            _, _, listed = self("describe", key).partition("\n\n")
            rows = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in listed.splitlines() if line.strip()]
            if rows and all(len(row) == 2 for row in rows):
                out.append(f"## {key}\n\n{cell(meaning)}\n\n" + table(("choice", "meaning"), [(code(name), cell(text)) for name, text in rows]))
        return "\n".join(out)

    def subcommands(self, command=()):
        """The names of a command and all below it, in the order of its help."""
        text = self(*command, "--help")
        yield command, text
        listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
        for name in re.findall(r"^  (\S+)", listed[1], re.M) if listed else ():
            yield from self.subcommands((*command, name))

    def commands(self):
        out = []
        for command, text in self.subcommands():
            name = " ".join(("mergelane", *command))
            out.append(f"##{'#' * max(0, len(command) - 1)} {name}\n\n```text\n{text.rstrip()}\n```\n")
        return "\n".join(out)

    def presets(self):
        return [row[0] for row in columns(self("list", "gpus"))]

    def preset(self, name):
        """A page: every value, and where it is from."""
        shown = self("config", "show", name)
        head, body, *_ = shown.split("\n\n")
        derived = shown.rpartition("\nderived\n")[2]
        rows = [row for row in columns(body) if not row[4].startswith("inactive")]
        out = [f"# Preset {name}\n", cell(head.split("\n")[0].partition(": ")[2]) + ".\n"]
        out += [f"{cell(line[0].upper() + line[1:])}.\n" for line in head.split("\n")[1:]]
        counts = [sum(row[4].startswith(mark) for row in rows) for mark in "PR"]
        out.append(f"{counts[0]} values are published, {counts[1]} are Mergelane's choice, and {len(rows) - sum(counts)} are defaults of the model. "
                   "Keys of mechanisms that are off are left out. All presets: [presets](../presets.md).\n")
        out.append("## Derived\n")
        out.append(table(("", "value", "unit"), [[cell(part) for part in (re.split(r"\s{2,}", line.strip()) + [""] * 3)[:3]] for line in derived.splitlines() if line.strip()]))
        marks = {"P": "published", "R": "chosen"}
        for section, values in by_section(rows).items():
            out.append(f"## {section}: {SECTIONS.get(section, section)}\n")
            out.append(table(("key", "value", "unit", "", "source or reason", "set in"),
                             [(code(key), code(value), cell(unit), marks.get(note[:1], "default" if origin == "default" else ""), cell(note[2:]),
                               "" if origin == "default" else code(origin)) for key, value, unit, origin, note in values]))
        return "\n".join(out)

    def preset_table(self):
        rows = []
        for name, ratio, meaning in columns(self("list", "gpus")):
            notes = [row[4] for row in columns(self("config", "show", name).split("\n\n")[1]) if not row[4].startswith("inactive")]
            published, chosen = (sum(note.startswith(mark) for note in notes) for mark in "PR")
            rows.append((f"[{name}](presets/{name}.md)", cell(ratio), str(published), str(chosen), str(len(notes) - published - chosen), cell(meaning)))
        return table(("preset", "network : DRAM bandwidth", "published", "chosen", "default", "description"), rows)

    def workloads(self):
        out, rows, suite = [], [], None
        for line in self("list", "workloads").splitlines()[1:]:
            if not line.strip():
                break
            if not line.startswith(" "):
                name, suite, used, meaning = re.split(r"\s{2,}", line.strip(), maxsplit=3)
                rows.append([name, suite, "" if used == "-" else used, meaning, []])
            else:
                rows[-1][4].append(re.sub(r"\s{2,}", ", ", line.strip()))
        for suite in dict.fromkeys(row[1] for row in rows):
            out.append(f"### {suite}\n")
            out.append(table(("workload", "what it does", "used by", "kernels, at size paper"),
                             [(code(name), cell(meaning), cell(used), "<br>".join(map(cell, kernels))) for name, of, used, meaning, kernels in rows if of == suite]))
        return "\n".join(out)

    def synthetic(self):
        listed, parameters = self("list", "synthetic").strip().split("\n\n")
        return (table(("workload", "description"), [(code(name), cell(text)) for name, text in columns(listed)]) + "\n" +
                table(("parameter", "default", "meaning"), [(code(name), cell(default), cell(text)) for name, default, text in columns(parameters)]))

    def studies(self):
        out = []
        for paper, title in columns(self("list", "papers")):
            lines = self("reproduce", paper, "--list").splitlines()
            experiments = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in lines]
            rows = []
            for line in lines:
                found = re.fullmatch(r"(\S+)\s{2,}(.+?)\s{2,}(.+?)\s{2,}([\d,]+ runs?)", line.strip())
                if found:
                    rows.append((code(found[1]), *map(cell, found.groups()[1:])))
            assert rows, experiments
            total = next((line for line in reversed(lines) if "without duplicates" in line), "")
            out.append(f"## {paper}\n\n{cell(title)}. {cell(total)}.\n\n" + table(("experiment", "figure or section", "title", "runs"), rows))
        return "\n".join(out)

    def draw(self, paper):
        """The charts of a paper, from the stored runs: none is simulated."""
        folder = self.kept.parent / "charts" / paper
        if f"charts {paper}" not in self.printed or not (folder / "svg").is_dir():
            shutil.rmtree(folder, ignore_errors=True)
            self("store", "unpack", str(self.top / f"docs/reproduction/{paper}.jsonl.zst"), str(folder / "store"))
            self("reproduce", paper, "--store", str(folder / "store"), "--svg", str(folder / "svg"), "--quiet")
            shutil.rmtree(folder / "store")
            self.printed[f"charts {paper}"] = ""
        return sorted((folder / "svg").glob("*.svg"), key=lambda path: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path.stem)])

    def charts(self, paper):
        titles = {found[1]: f"{found[2]}: {found[3]}" for found in re.finditer(r"^\s*(\S+)\s{2,}(.+?)\s{2,}(.+?)\s{2,}[\d,]+ runs?$", self("reproduce", paper, "--list"), re.M)}
        out = []
        for path in self.draw(paper):
            experiment = path.stem.rpartition("-")[0]
            title = cell(f"{experiment}, {titles.get(experiment, '')}")
            out.append(f"![{title}](charts/{paper}/{path.name})\n\n*{title}*\n")
        return "\n".join(out)

    def exit_codes(self):
        return table(("code", "meaning"), [(code(number), cell(text)) for number, text in columns(self("list", "exit-codes"))])

    def schemas(self):
        out = []
        for path in sorted((self.top / "docs/schema").glob("*.json")):
            schema = json.loads(path.read_text(encoding="utf-8"))
            out.append(f"## {schema.get('title', path.stem)}\n\nSchema: [{path.name}](../schema/{path.name})\n")
            out.append(table(("member", "type", "description"), [(code(name), cell(kind), cell(text)) for name, kind, text in members(schema, schema)]))
        return "\n".join(out)


def members(schema, root, prefix="", seen=()):
    """Every member below a schema: its path (`[]` for the items of an array, `*` for any name), type and description."""
    if "$ref" in schema:
        if schema["$ref"] in seen:
            return
        seen = (*seen, schema["$ref"])
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    below = list(schema.get("properties", {}).items())
    if isinstance(schema.get("additionalProperties"), dict):
        below.append(("*", schema["additionalProperties"]))
    for name, member in below:
        path = f"{prefix}.{name}" if prefix else name
        resolved = member
        if "$ref" in member:
            resolved = root
            for part in member["$ref"].removeprefix("#/").split("/"):
                resolved = resolved[part]
        kind = resolved.get("type", "one of " + ", ".join(map(str, resolved["enum"])) if "enum" in resolved else str(resolved.get("const", "")))
        yield path, kind if isinstance(kind, str) else " or ".join(kind), member.get("description", resolved.get("description", ""))
        yield from members(member, root, path, seen)
    if isinstance(schema.get("items"), dict):
        yield from members(schema["items"], root, prefix + "[]", seen)
    for choice in schema.get("oneOf", schema.get("anyOf", [])):
        yield from members(choice, root, prefix, seen)
