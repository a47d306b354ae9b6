#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A function of the model fits on a screen: finds those longer than 60 lines.

Relies on clang-format: a body begins on a line that ends in '{' and ends with '}' at the indentation of that line (or of the line
on which the function's head begins). Namespaces, classes, enumerations and tables are no functions; lambdas count as part of
the function around them.
"""
import pathlib
import re
import sys
import tempfile

FOLDERS = ("core", "parts", "files", "sm", "cluster", "noc", "l2", "dram", "dispatch", "sim", "config", "costing")
LIMIT = 60
NO_FUNCTION = re.compile(r"^\s*(inline\s+)?(namespace|struct|class|enum|union|extern \"C\")\b")
TABLE = re.compile(r"=\s*\{$")


def indentation(line):
    return len(line) - len(line.lstrip())


def long_functions(path, limit=LIMIT):
    lines = path.read_text(encoding="utf-8").splitlines()
    found = []
    at = 0
    while at < len(lines):
        line = lines[at]
        # The head of a function may take several lines; the first of them gives its indentation.
        if not line.endswith("{") or NO_FUNCTION.match(line) or TABLE.search(line):
            at += 1
            continue
        head = at
        while head > 0 and not lines[head - 1].rstrip().endswith((";", "}", "{", ":")) and lines[head - 1].strip() \
                and not lines[head - 1].lstrip().startswith(("//", "#")):
            head -= 1
        if NO_FUNCTION.match(lines[head]) or lines[head].lstrip().startswith("template") and NO_FUNCTION.match(lines[min(head + 1, at)]):
            at += 1
            continue
        closing = " " * indentation(lines[head]) + "}"
        end = at + 1
        while end < len(lines) and not (lines[end] == closing or lines[end].startswith(closing) and indentation(lines[end]) == indentation(closing)):
            end += 1
        length = end - head + 1
        if length > limit:
            found.append((head + 1, length, lines[head].strip()))
        at = end + 1
    return found


def violations(src):
    found = []
    for folder in FOLDERS:
        for path in sorted((src / folder).rglob("*.?pp")):
            found += [f"{path.relative_to(src)}:{line}: {length} lines, at most {LIMIT}: {text}" for line, length, text in long_functions(path)]
    return found


def self_test():
    """A rule that never fires proves nothing."""
    body = "".join(f"    call({i});\n" for i in range(59))
    cases = {
        "void fits() {\n" + body[:-len("    call(58);\n")] + "}\n": 0,
        "namespace a {\n\nvoid long_one() {\n" + body + "}\n\n}  // namespace a\n": 1,
        "class A {\npublic:\n    void long_one() {\n" + body.replace("    call", "        call") + "    }\n};\n": 1,
        "A::A(int a,\n     int b)\n    : a_(a),\n      b_(b) {\n" + body + "}\n": 1,
        "constexpr Entry kTable[] = {\n" + body + "};\n": 0,
        "struct A {\n" + body + "};\n": 0,
        "void nested() {\n    if (x) {\n" + body + "    }\n}\n": 1,
        "template <class T>\nclass A {\n" + body + "};\n": 0,
        "void two() {\n" + body[:200] + "}\n\nvoid three() {\n" + body[:200] + "}\n": 0,
    }
    with tempfile.TemporaryDirectory() as folder:
        for text, expected in cases.items():
            path = pathlib.Path(folder) / "a.cpp"
            path.write_text(text, encoding="utf-8")
            found = long_functions(path)
            if len(found) != expected:
                sys.exit(f"found {found} in\n{text}")
    print("finds what it should")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = violations(pathlib.Path(sys.argv[1]))
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
