#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens pages in a headless Chromium without a network: is every chart drawn, is everything readable in the light, in the dark and on a phone?

  browser.py RENDER DATA_DIR [--keep DIR]    RENDER: mergelane_render_report; --keep leaves pages and screenshots there

Exit code 77: there is no Chromium here.
"""
import html
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


# Runs in a copy of the page, in a frame of the wrapper below, and reports what a reader could not read or reach.
MEASURE = """<script>
(() => {
  const rgba = (text) => { const n = (text.match(/[\\d.]+/g) ?? []).map(Number); return n.length < 3 ? [0, 0, 0, 0] : [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(rgba(getComputedStyle(at).backgroundColor));
      if (at.tagName === "svg") layers.push(rgba(getComputedStyle(at.querySelector("rect,path")).fill));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const measure = () => {
    const found = [];
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 0) {
      const widest = [...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll, [data-chart]"));
      found.push(`the page scrolls sideways by ${wide} pixels: ${widest.slice(0, 3).map((e) => e.outerHTML.slice(0, 80)).join(" ")}`);
    }
    for (const link of document.querySelectorAll("a[href^='#']:not(.vega-actions a)"))
      if (!document.getElementById(link.getAttribute("href").slice(1))) found.push(`${link.getAttribute("href")} leads nowhere`);
    if (document.querySelectorAll("section").length > 1 && document.querySelectorAll("nav a").length !== document.querySelectorAll("section").length)
      found.push("the table of contents does not list every section");
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const poor = new Map();
    while (words.nextNode()) {
      const element = words.currentNode.parentElement;
      if (!words.currentNode.data.trim() || element.closest("script, style, .vega-actions") || !element.getClientRects().length) continue;
      const style = getComputedStyle(element);
      const below = ground(element);
      const ratio = contrast(over(rgba(element.closest("svg") ? style.fill : style.color), below), below);
      if (ratio < 4.5) poor.set(`${element.tagName}.${element.className?.baseVal ?? element.className}`, `${ratio.toFixed(2)} "${words.currentNode.data.trim().slice(0, 30)}"`);
    }
    for (const [where, what] of poor) found.push(`low contrast: ${where} ${what}`);
    parent.postMessage({ name: window.name, dark: matchMedia("(prefers-color-scheme: dark)").matches, width: innerWidth, found }, "*");
  };
  const wait = () => (document.documentElement.dataset.charts === "done" || !document.querySelector("[data-chart]") ? measure() : setTimeout(wait, 50));
  wait();
})();
</script>"""
VIEWS = {"light": (1200, "light"), "dark": (1200, "dark"), "phone": (400, "light"), "dark phone": (400, "dark")}


def readability(browser, page):
    """Complaints of all views of a page; frames, because a window of Chromium is at least 500 pixels wide."""
    measured = page.with_suffix(".measured.html")
    text = page.read_text(encoding="utf-8")
    cut = text.rindex("</body>")
    measured.write_text(text[:cut] + MEASURE + text[cut:], encoding="utf-8")
    frames = "".join(f'<iframe name="{name}" style="width:{width}px;height:900px;border:0;color-scheme:{scheme}" src="{measured.name}"></iframe>\n'
                     for name, (width, scheme) in VIEWS.items())
    wrapper = page.with_suffix(".views.html")
    wrapper.write_text('<!DOCTYPE html><html style="color-scheme:light dark"><body style="width:3300px"><pre id="found"></pre>' + frames +
                       "<script>const all = []; addEventListener('message', (e) => { all.push(e.data); document.getElementById('found').textContent = JSON.stringify(all); });"
                       "</script></body></html>", encoding="utf-8")
    dom, _ = open_page(browser, wrapper, "--dump-dom")
    reported = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    views = json.loads(html.unescape(reported.group(1)) or "[]") if reported else []
    found = [f"view {name} reported nothing" for name in VIEWS if name not in [view["name"] for view in views]]
    for view in views:
        width, scheme = VIEWS[view["name"]]
        if view["width"] != width or view["dark"] != (scheme == "dark"):
            found.append(f"view {view['name']} is not what it should be: {view['width']} pixels, dark: {view['dark']}")
        found += [f"{view['name']}: {complaint}" for complaint in view["found"]]
    return found


def drawable(results):
    """How many charts of a file of results have a value to draw."""
    count = 0
    for experiment in results.get("experiments", []):
        for chart in experiment.get("charts", []) if isinstance(experiment, dict) else []:
            rows = chart.get("data", []) + chart.get("published", []) if isinstance(chart, dict) else []
            count += any(isinstance(row, dict) and isinstance(row.get("y"), (int, float)) and isinstance(row.get("x"), (str, int, float))
                         for row in rows)
    return count


def fixtures(data, folder):
    """Name, file of results and number of charts of every page."""
    for name in ("icc", "odd"):
        file = data / f"{name}.json"
        yield name, file, drawable(json.loads(file.read_text(encoding="utf-8")))
    yield "run", data / "run.json", 2  # roofline and utilisation
    run = json.loads((data / "run.json").read_text(encoding="utf-8"))
    for optional in ("intervals", "by_instruction", "load_time"):
        del run[optional]
    run["findings"] = [{"title": "Reads wait in the request network", "sentence": "It is at its limit. </p><script>alert('4')</script>",
                        "numbers": {"utilisation": "96.5 %"}, "gain": 1.27}]
    made = {
        "explain": (run, 1),
        "compare": ({"machines": [{"name": "A", "gpu": "icc60", "overrides": [], "core_mhz": 1400}, {"name": "B", "gpu": "icc60", "overrides": ["l1.size_kib=96"], "core_mhz": 1400}], "size": "tiny", "notes": ["a note"], "failures": [],
                     "quantities": [{"name": "kernel time", "unit": "us", "compared": True, "mean_ratios": [1, 0.97], "geometric_mean_ratios": [1, 0.969],
                                     "values": [{"workload": f"benchmark{i}", "values": [10.5, 10 + i / 20], "ratios": [1, (10 + i / 20) / 10.5]} for i in range(12)]}]}, 1),
        "network": ({"network": "mesh 8 x 8", "flits": 4, "measured": 1000, "warm_up": 250, "version": "1",
                     "curves": [{"pattern": f"pattern {p}", "bound": 0.5, "points": [{"offered": i / 10, "accepted": i / 10, "lowest": i / 11, "latency": 20 + i * p, "zero_load": 20,
                                                                                    "drained": i < 4} for i in range(1, 6)]} for p in range(5)]}, 2),
    }
    for name, (results, charts) in made.items():
        file = folder / f"{name}.json"
        file.write_text(json.dumps(results), encoding="utf-8")
        yield name, file, charts


def planted_faults(browser, page, expected):
    """A test that never fails proves nothing. A page with one unusable chart must be noticed, and keep its plain drawing; so must one that is wide, pale and badly linked."""
    text = page.read_text(encoding="utf-8")
    broken = page.with_name("broken.html")
    broken.write_text(text.replace('"type":"bar"', '"type":"no such mark"', 1), encoding="utf-8")
    dom, console = open_page(browser, broken, "--dump-dom")
    noticed = complaints(dom, expected)
    failures = []
    if len(noticed) != 1 or "'state': 'failed'" not in noticed[0] or "'plain': 1" not in noticed[0] or not console:
        failures.append(f"a broken chart was not noticed: {noticed}, console: {console}")
    broken.write_text(text.replace("<main>", '<main><p style="width:700px;color:#888">wide and pale</p><a href="#nowhere">x</a>', 1), encoding="utf-8")
    noticed = readability(browser, broken)
    for fault in ("phone: the page scrolls sideways", "light: low contrast: P.", "dark: #nowhere leads nowhere"):
        if not any(complaint.startswith(fault) for complaint in noticed):
            failures.append(f"not noticed: {fault}")
    return failures


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
        for name, results, expected in fixtures(data, folder):
            page = folder / f"{name}.html"
            subprocess.run([render, str(results), str(page)], check=True)
            if re.search(r"<(script|img|link|iframe)[^>]*\b(src|href)\s*=\s*[\"']?https?:", page.read_text(encoding="utf-8")):
                failures.append(f"{name}: the page loads something")
            dom, console = open_page(browser, page, "--dump-dom")
            failures += [f"{name}: {complaint}" for complaint in complaints(dom, expected) + readability(browser, page)]
            # Odd values may make Vega wonder; good ones may not, and nothing may fail.
            loud = console if name != "odd" else [line for line in console if "WARN" not in line]
            failures += [f"{name}: console: {line}" for line in loud]
            print(f"{name}: {expected} charts expected, {len(console)} lines on the console")
            if keep:
                open_page(browser, page, "--window-size=1200,7000", f"--screenshot={folder / (name + '.png')}")
                open_page(browser, page.with_suffix(".views.html"), "--window-size=3300,1000", f"--screenshot={folder / (name + '.views.png')}")
            if name == "icc":
                failures += planted_faults(browser, page, expected)
    print("\n".join(failures) if failures else "every chart was drawn")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
