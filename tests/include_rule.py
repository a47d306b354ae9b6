#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the include rule of src/: neighbouring folders communicate only through links and packet types."""
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SUFFIXES = {".cpp", ".hpp", ".h", ".cc"}


AFTER_EVERYTHING = {"formula", "runs", "launch", "campaign", "study"}  # many runs and what they say
AFTER_THE_WIRING = {"advise", "config", "costing"} | AFTER_EVERYTHING  # they use the machine; it does not know them
READ_FILES = {"config", "energy", "workload"}  # no station of the machine does


def allowed(folder, everyone):
    """Folders of `everyone` that a file in src/<folder>/ may include; None: any."""
    if folder == "" or folder in AFTER_EVERYTHING:  # the public umbrella header, and what comes after everything else
        return None
    files = {"files"} if folder in READ_FILES else set()
    if folder == "sim":  # the wiring sees everyone but those who use it
        return everyone - AFTER_THE_WIRING - {"files"}
    if folder in AFTER_THE_WIRING:  # all that the wiring sees, but not each other
        return everyone - AFTER_THE_WIRING - {"files"} | {folder} | files
    if folder == "core":
        return {"core"}
    if folder in ("parts", "files", "report"):
        return {folder, "core"}
    return {folder, "core", "parts"} | files


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
        "study/i.hpp": '#include "sim/f.hpp"\n#include "report/e.hpp"\n#include "sm/c.hpp"\n',
        "sim/j.hpp": '#include "study/i.hpp"\n#include "config/k.hpp"\n',
        "config/k.hpp": '#include "sim/f.hpp"\n#include "files/l.hpp"\n#include "costing/m.hpp"\n',
        "files/l.hpp": '#include "core/a.hpp"\n#include "parts/b.hpp"\n',
        "costing/m.hpp": '#include "sim/f.hpp"\n#include "sm/c.hpp"\n#include "files/l.hpp"\n',
        "workload/n.hpp": '#include "files/l.hpp"\n',
        "noc/o.hpp": '#include "files/l.hpp"\n',
        "all.hpp": '#include "sim/f.hpp"\n',
    }
    expected = ["config/k.hpp:3", "core/a.hpp:1", "costing/m.hpp:3", "dram/g.hpp:1", "files/l.hpp:2", "noc/o.hpp:1", "parts/b.hpp:1",
                "report/e.hpp:1", "sim/j.hpp:1", "sim/j.hpp:2", "sm/c.hpp:1"]
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
