#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nobody but the file that registers a choice compares its name: whoever needs a property of it asks its traits.

    choice_names.py ROOT         fails and lists comparisons in ROOT/src and ROOT/apps
    choice_names.py --self-test  fails unless planted comparisons are found
"""
import pathlib
import re
import sys
import tempfile

# At most five, each with its reason: (file, name).
EXCEPTIONS = {
    ("src/dispatch/clustering_spec.hpp", "none"): "an empty clustering.table, not the transform",
    ("src/dispatch/past_l1.cpp", "none"): "an empty clustering.bypass, not the transform",
}

REGISTERED = re.compile(r'registry\.add<\w+>\(\s*"(\w+)"')
ASKED = re.compile(r"(?:\.|->)(?:chosen|neutral)\(")


def sources(root):
    for folder in ("src", "apps"):
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            yield path.relative_to(root).as_posix(), re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M)


def violations(root):
    texts = dict(sources(root))
    homes = {}
    for file, text in texts.items():
        for name in REGISTERED.findall(text):
            homes.setdefault(name, set()).add(file)
    if not homes:
        return ["no registered choices found"]
    names = "|".join(sorted(homes, key=len, reverse=True))
    compared = re.compile(rf'[=!]=\s*"({names})"|"({names})"\s*[=!]=')
    found = []
    for file, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if ASKED.search(line):
                found.append(f"{file}:{number}: asks which choice was made: {line.strip()}")
            for match in compared.finditer(line):
                name = match[1] or match[2]
                if file not in homes[name] and (file, name) not in EXCEPTIONS:
                    found.append(f'{file}:{number}: compares the name of a choice, "{name}"; ask its traits: {line.strip()}')
    return found


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src").mkdir()
        (root / "apps").mkdir()
        (root / "src/fronts.cpp").write_text('registry.add<Front>(\n    "pool", "text", make);\nif (name == "pool") return;\n')
        (root / "src/other.cpp").write_text('// a == "pool"\nif (kind == "plain") return;\n')
        assert violations(root) == [], violations(root)
        planted = ['if (front == "pool") x();', 'if ("pool" != front) x();', 'if (machine.chosen("lsu.front", "any")) x();',
                   'f.neutral("0");']
        for line in planted:
            (root / "apps/planted.cpp").write_text(f"int a;\n{line}\n")
            assert len(violations(root)) == 1 and violations(root)[0].startswith("apps/planted.cpp:2:"), line
    print("choice_names: planted comparisons are found")


def main():
    assert len(EXCEPTIONS) <= 5, "at most five exceptions"
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(found) if found else "choice_names: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
