#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens report pages in a headless Chromium without a network and looks whether every chart was drawn.

  browser.py RENDER DATA_DIR [--keep DIR]    RENDER: mergelane_render_report; --keep leaves pages and screenshots there

Exit code 77: there is no Chromium here.
"""
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
MARKS = re.compile(r"\bmark-(rect|symbol|line)\b.*\brole-mark\b")


class Charts(html.parser.HTMLParser):
    """What became of each chart: its state and how many marks Vega drew in it."""

    VOID = {"meta", "link", "br", "img", "input", "hr", "rect", "line", "path", "circle"}

    def __init__(self):
        super().__init__()
        self.charts = []
        self.done = False
        self.stack = []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "html":
            self.done = attributes.get("data-charts") == "done"
        if "data-chart" in attributes:
            self.charts.append({"state": attributes.get("data-state"), "vega": 0, "plain": 0, "marks": 0, "text": 0, "depth": len(self.stack)})
        if self.charts and len(self.stack) > self.charts[-1]["depth"]:
            chart = self.charts[-1]
            classes = attributes.get("class", "")
            if tag == "svg" and "marks" in classes.split():
                chart["vega"] += 1
            if tag == "svg" and "mergelane-chart" in classes.split():
                chart["plain"] += 1
            if tag == "path" and any(MARKS.search(c) for c in self.stack) and "NaN" not in attributes.get("d", "NaN"):
                chart["marks"] += 1
            if tag == "text":
                chart["text"] += 1
        if tag not in self.VOID:
            self.stack.append(attributes.get("class") or "")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID and self.stack:
            self.stack.pop()
            if self.charts and len(self.stack) <= self.charts[-1]["depth"]:
                self.charts[-1]["depth"] = 1 << 30  # left it


def complaints(dom, expected):
    """Everything that is wrong with a page after its scripts ran."""
    page = Charts()
    page.feed(dom)
    found = []
    if not page.done:
        found.append("the page's script did not come to its end")
    if len(page.charts) != expected:
        found.append(f"{len(page.charts)} charts instead of {expected}")
    for number, chart in enumerate(page.charts):
        if chart["state"] != "drawn" or chart["vega"] != 1 or chart["plain"] != 0:
            found.append(f"chart {number} was not drawn: {chart}")
        elif chart["marks"] == 0 or chart["text"] < 3:
            found.append(f"chart {number} is empty: {chart}")
    return found


def open_page(browser, page, *options):
    """Text on standard output, and what the page wrote to the console."""
    with tempfile.TemporaryDirectory() as profile:
        run = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=20000", *options, page.as_uri()],
            capture_output=True, text=True, timeout=120, errors="replace")
    return run.stdout, [line.split("CONSOLE", 1)[1] for line in run.stderr.splitlines() if "CONSOLE" in line]


def drawable(results):
    """How many charts of a file of results have a value to draw."""
    count = 0
    for experiment in results.get("experiments", []):
        for chart in experiment.get("charts", []) if isinstance(experiment, dict) else []:
            rows = chart.get("data", []) + chart.get("published", []) if isinstance(chart, dict) else []
            count += any(isinstance(row, dict) and isinstance(row.get("y"), (int, float)) and isinstance(row.get("x"), (str, int, float))
                         for row in rows)
    return count


def main():
    arguments = sys.argv[1:]
    keep = None
    if len(arguments) == 4 and arguments[2] == "--keep":
        keep = pathlib.Path(arguments[3]).resolve()
        arguments = arguments[:2]
    if len(arguments) != 2:
        print(__doc__.strip())
        return 2
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("no Chromium here: skipped")
        return SKIPPED
    render, data = arguments[0], pathlib.Path(arguments[1])
    failures = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or pathlib.Path(temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("icc", "odd"):
            page = folder / f"{name}.html"
            subprocess.run([render, str(data / f"{name}.json"), str(page)], check=True)
            if re.search(r"<(script|img|link|iframe)[^>]*\b(src|href)\s*=\s*[\"']?https?:", page.read_text(encoding="utf-8")):
                failures.append(f"{name}: the page loads something")
            dom, console = open_page(browser, page, "--dump-dom")
            expected = drawable(json.loads((data / f"{name}.json").read_text(encoding="utf-8")))
            failures += [f"{name}: {complaint}" for complaint in complaints(dom, expected)]
            # Odd values may make Vega wonder; good ones may not, and nothing may fail.
            loud = console if name == "icc" else [line for line in console if "WARN" not in line]
            failures += [f"{name}: console: {line}" for line in loud]
            print(f"{name}: {expected} charts expected, {len(console)} lines on the console")
            if keep:
                open_page(browser, page, "--window-size=1200,7000", f"--screenshot={folder / (name + '.png')}")
            if name == "icc":
                # A test that never fails proves nothing: a page with one unusable chart must be noticed, and keep its plain drawing.
                broken = folder / "broken.html"
                broken.write_text(page.read_text(encoding="utf-8").replace('"type":"bar"', '"type":"no such mark"', 1), encoding="utf-8")
                dom, console = open_page(browser, broken, "--dump-dom")
                noticed = complaints(dom, expected)
                if len(noticed) != 1 or "'state': 'failed'" not in noticed[0] or "'plain': 1" not in noticed[0] or not console:
                    failures.append(f"a broken chart was not noticed: {noticed}, console: {console}")
    print("\n".join(failures) if failures else "every chart was drawn")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
