#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the include rule of src/: neighbouring folders communicate only through links and packet types; one folder opens inputs."""
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
OPENING = re.compile(r"\bstd::ifstream\b|\bopen\(.*\bO_RDONLY\b|\bfopen\(")
SUFFIXES = {".cpp", ".hpp", ".h", ".cc"}


# What each folder may include besides itself. A folder that is not named here is a station: `core/` and `parts/` only.
BELOW = {
    "core": set(),
    "parts": {"core"},
    "files": {"core"},
    "report": {"core"},
    "profile": {"core", "parts"},
    "workload": {"core", "parts", "files"},  # no station of the machine reads files
    "energy": {"core", "parts", "files"},
    "sim": {"core", "parts", "stations"},  # the wiring
}
MACHINE = BELOW["sim"] | {"sim"}
BELOW["config"] = MACHINE | {"files"}  # they use the machine; it does not know them
BELOW["costing"] = MACHINE | {"energy"}
BELOW["microbench"] = MACHINE | {"files"}
BELOW["sampling"] = MACHINE | {"files"}
BELOW["explain"] = {"core", "report"}
BELOW["advise"] = MACHINE | {"files", "profile", "report", "explain"}
# Many runs and what they say, one floor upon the other.
BELOW["formula"] = {"core", "files"}
BELOW["runs"] = MACHINE | {"files", "workload", "profile", "energy", "config", "costing", "formula", "sampling"}
BELOW["launch"] = BELOW["runs"] | {"runs"}
BELOW["campaign"] = BELOW["launch"] | {"launch"}
BELOW["study"] = BELOW["launch"] | {"launch"}


def allowed(folder, everyone):
    """Folders of `everyone` that a file in src/<folder>/ may include; None: any."""
    if folder == "":  # the public umbrella header
        return None
    may = BELOW.get(folder, {"core", "parts"}) | {folder}
    if "stations" in may:
        may = may - {"stations"} | (everyone - BELOW.keys())
    return may


def violations(src):
    found = []
    folders = {p.name for p in src.iterdir() if p.is_dir()}
    for path in sorted(src.rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        relative = path.relative_to(src)
        folder = relative.parts[0] if len(relative.parts) > 1 else ""
        may = allowed(folder, folders)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if OPENING.search(line) and folder != "files":
                found.append(f"{relative}:{number}: open inputs with files/input_file.hpp, which does not wait for pipes")
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(1)
            first = target.split("/")[0]
            if not (src / target).exists():
                found.append(f"{relative}:{number}: \"{target}\" is not a path below src/; write it from there")
            elif may is not None and (first not in may or first not in folders):
                found.append(f"{relative}:{number}: {folder}/ may not include \"{target}\"; allowed: {', '.join(sorted(may))}")
    return found


def self_test():
    """A rule that never fires proves nothing: plant one breach of each kind."""
    planted = {
        "core/a.hpp": '#include "parts/b.hpp"\n',
        "parts/b.hpp": '#include "sm/c.hpp"\n',
        "sm/c.hpp": '#include "l2/d.hpp"\n',
        "l2/d.hpp": '#include "core/a.hpp"\n#include "parts/b.hpp"\n#include <vector>\n',
        "report/e.hpp": '#include "parts/b.hpp"\n',
        "sim/f.hpp": '#include "sm/c.hpp"\n#include "l2/d.hpp"\n',
        "dram/g.hpp": '#include "h.hpp"\n',
        "study/i.hpp": '#include "sim/f.hpp"\n#include "report/e.hpp"\n#include "sm/c.hpp"\n#include "launch/r.hpp"\n#include "campaign/s.hpp"\n',
        "sim/j.hpp": '#include "study/i.hpp"\n#include "config/k.hpp"\n',
        "config/k.hpp": '#include "sim/f.hpp"\n#include "files/l.hpp"\n#include "costing/m.hpp"\n',
        "files/l.hpp": '#include "core/a.hpp"\n#include "parts/b.hpp"\n',
        "costing/m.hpp": '#include "sim/f.hpp"\n#include "sm/c.hpp"\n#include "files/l.hpp"\n',
        "workload/n.hpp": '#include "files/l.hpp"\n',
        "noc/o.hpp": '#include "files/l.hpp"\n',
        "formula/p.hpp": '#include "files/l.hpp"\n#include "study/i.hpp"\n',
        "runs/q.hpp": '#include "formula/p.hpp"\n#include "costing/m.hpp"\n#include "launch/r.hpp"\n',
        "launch/r.hpp": '#include "runs/q.hpp"\n#include "workload/n.hpp"\n#include "campaign/s.hpp"\n',
        "campaign/s.hpp": '#include "launch/r.hpp"\n#include "study/i.hpp"\n',
        "sim/t.hpp": '#include "workload/n.hpp"\n#include "energy/u.hpp"\n#include "report/e.hpp"\n',
        "energy/u.hpp": '#include "files/l.hpp"\n#include "sim/f.hpp"\nstd::ifstream file;\n',
        "files/w.cpp": "open(path, O_RDONLY);\n",
        "advise/v.hpp": '#include "report/e.hpp"\n#include "sim/f.hpp"\n#include "config/k.hpp"\n',
        "all.hpp": '#include "sim/f.hpp"\n',
    }
    expected = ["advise/v.hpp:3", "campaign/s.hpp:2", "config/k.hpp:3", "core/a.hpp:1", "costing/m.hpp:3", "dram/g.hpp:1", "energy/u.hpp:2", "energy/u.hpp:3",
                "files/l.hpp:2", "formula/p.hpp:2", "launch/r.hpp:3", "noc/o.hpp:1", "parts/b.hpp:1", "report/e.hpp:1", "runs/q.hpp:3",
                "sim/j.hpp:1", "sim/j.hpp:2", "sim/t.hpp:1", "sim/t.hpp:2", "sim/t.hpp:3", "sm/c.hpp:1", "study/i.hpp:2",
                "study/i.hpp:5"]
    with tempfile.TemporaryDirectory() as folder:
        src = pathlib.Path(folder)
        for name, text in planted.items():
            (src / name).parent.mkdir(exist_ok=True)
            (src / name).write_text(text, encoding="utf-8")
        got = sorted(v.split(": ")[0] for v in violations(src))
    if got != expected:
        print(f"expected {expected}, got {got}")
        return 1
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        print("usage: include_rule.py SRC | --self-test")
        return 2
    found = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(found) if found else "include rule holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
