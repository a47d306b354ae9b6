#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every relative link of every page leads somewhere: to a file or folder of the tree and, after a #, to a heading of that page.
Usage: doc_links.py TOP | --self-test"""
import pathlib
import re
import subprocess
import sys
import tempfile

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*\ssrc=\"([^\"]+)\"")


def prose(page):
    """Without blocks and spans of code, whose brackets are no links."""
    return re.sub(r"`[^`\n]*`", "code", re.sub(r"^( *)```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S))


def anchors(page):
    names = set()
    for heading in re.findall(r"^#+ +(.*)$", re.sub(r"^( *)```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S), re.M):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).strip().replace(" ", "-")
        while name in names:
            name += "-1"
        names.add(name)
    return names


def dead_links(pages):
    for page in pages:
        for link in ("".join(found) for found in LINK.findall(prose(page))):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            if not target.exists():
                yield f"{page}: {link} is not there"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                yield f"{page}: {link}: no such heading"


def pages_of(top):
    listed = subprocess.run(["git", "-C", top, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], capture_output=True, text=True)
    if listed.returncode == 0:
        names = [top / name for name in listed.stdout.split("\n") if name]
    else:  # not a working copy
        names = [page for page in top.rglob("*.md") if not {"build", "out"} & set(page.relative_to(top).parts)]
    return sorted(page for page in names if page.exists() and "third_party" not in page.parts)


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "a.md"
        page.write_text("# One two\n[a](a.md) [b](#one-two) [c](http://x) `[d](d.md)`\n```\n[e](e.md)\n```\n")
        assert not list(dead_links([page]))
        page.write_text("# One\n[a](b.md) [b](#two) <img src=\"c.svg\">\n")
        assert len(list(dead_links([page]))) == 3
    return 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    pages = pages_of(pathlib.Path(sys.argv[1]))
    dead = list(dead_links(pages))
    print("\n".join(dead) or f"{len(pages)} pages, all links lead somewhere")
    return 1 if dead or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
