#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A function fits on a screen: finds those of src and apps longer than 60 lines.

Relies on clang-format: a body begins on a line that ends in '{' and ends with '}' at the indentation of that line (or of the line
on which the function's head begins). Namespaces, classes, enumerations and tables are no functions, and the rows of a table within a
function do not count; lambdas count as part of the function around them.
"""
import pathlib
import re
import sys
import tempfile

LIMIT = 60
NO_FUNCTION = re.compile(r"^\s*(inline\s+)?(namespace|struct|class|enum|union|extern \"C\")\b")
TABLE = re.compile(r"=\s*\{$")
COMMENT = re.compile(r"\s*//.*$")


def indentation(line):
    return len(line) - len(line.lstrip())


def closes(line, closing):
    return line.startswith(closing) and indentation(line) == indentation(closing)


def end_of(lines, at, closing):
    """The line that closes what began on line `at`."""
    end = at + 1
    while end < len(lines) and not closes(lines[end], closing):
        end += 1
    return end


def rows(lines, at, end):
    """Lines between the braces of tables within a function."""
    found = 0
    while at < end:
        if TABLE.search(lines[at]):
            last = end_of(lines, at, " " * indentation(lines[at]) + "}")
            found += last - at - 1
            at = last
        at += 1
    return found


def long_functions(path, limit=LIMIT):
    lines = [COMMENT.sub("", line) if "{  //" in line else line for line in path.read_text(encoding="utf-8").splitlines()]
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
        end = end_of(lines, at, " " * indentation(lines[head]) + "}")
        length = end - head + 1 - rows(lines, head + 1, end)
        if length > limit:
            found.append((head + 1, length, lines[head].strip()))
        at = end + 1
    return found


def violations(top):
    found = []
    for path in sorted([*(top / "src").rglob("*.?pp"), *(top / "apps").rglob("*.?pp")]):
        found += [f"{path.relative_to(top)}:{line}: {length} lines, at most {LIMIT}: {text}" for line, length, text in long_functions(path)]
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
        "void commented() {  // why\n" + body + "}\n": 1,
        "const Rows& table() {\n    static const Rows table = {\n" + body + "    };\n    return table;\n}\n": 0,
        "void by_table() {\n    static const Rows table = {\n" + body + "    };\n" + body + "}\n": 1,
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
