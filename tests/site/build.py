#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The site is built without a warning, and every link and anchor of it leads somewhere: build.py MERGELANE TOP FOLDER | --self-test

Exit code 77: mkdocs or its theme is missing."""
import html.parser
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse

SKIPPED = 77


class Page(html.parser.HTMLParser):
    """The anchors of a page, what it links to, what it loads, and its pictures without text."""

    def __init__(self):
        super().__init__()
        self.names, self.links, self.loaded, self.bare = set(), [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.names |= {values[name] for name in ("id", "name") if values.get(name)}
        for name in ("href", "src"):
            if values.get(name):
                (self.links if tag == "a" else self.loaded).append(values[name])
        if tag == "img" and not values.get("alt"):
            self.bare.append(values.get("src"))


def problems(folder):
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        pages[path] = Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    for path, page in pages.items():
        name = path.relative_to(folder)
        yield from (f"{name}: the picture {source} has no text" for source in page.bare)
        yield from (f"{name}: loads {link}" for link in page.loaded if re.match(r"https?:|//", link))
        for link in page.links + page.loaded:
            url = urllib.parse.urlsplit(link)
            if url.scheme in ("http", "https", "mailto", "data"):
                continue
            if link.startswith("/"):
                if path.name != "404.html":
                    yield f"{name}: {link} is not below the site"
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if target.is_dir():
                yield f"{name}: {link} leads to a folder"
            elif not target.exists():
                yield f"{name}: {link} is not there"
            elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].names:
                yield f"{name}: {link}: no such anchor"


def self_test():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "a.html").write_text('<h1 id="x"></h1><a href="#x"></a><a href="a.html#x"></a><a href="https://e"></a><img src="a.html" alt="A">', encoding="utf-8")
        assert not list(problems(folder))
        (folder / "b.html").write_text('<a href="#y"></a><a href="a.html#y"></a><a href="c.html"></a><a href="/a.html"></a><img src="a.html">\n<script src="https://e"></script>', encoding="utf-8")
        assert len(list(problems(folder))) == 6, list(problems(folder))
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    binary, top, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    version = subprocess.run([sys.executable, "-c", "import mkdocs.utils, sys; sys.exit('material' not in mkdocs.utils.get_theme_names())"], capture_output=True)
    if version.returncode != 0:
        print("skipped: mkdocs and its theme Material are not installed")
        return SKIPPED
    built = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--config-file", top / "mkdocs.yml", "--site-dir", folder], cwd=top,
                           env={**os.environ, "MERGELANE": str(binary)}, capture_output=True, text=True)
    warnings = [line for line in built.stderr.splitlines() if "WARNING" in line or "ERROR" in line]
    if built.returncode != 0 or warnings:
        print("\n".join(warnings) or built.stderr)
        return 1
    found = list(problems(folder))
    print("\n".join(found[:60]) or f"{len(list(folder.rglob('*.html')))} pages, every link and anchor leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
