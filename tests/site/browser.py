#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pages of the site in a browser, opened from disk: browser.py SITE [--only PAGE,PAGE] [--keep FOLDER]

For each page: nothing on the console; no scrolling sideways at 400 pixels; text with a contrast of at least 4.5 in light and in dark mode. Dark
mode follows the system and can be switched. The search finds. Faults are planted and must be noticed. Exit code 77: there is no Chromium."""
import argparse
import pathlib
import sys
import tempfile
import time

import chromium

SKIPPED = 77
SAMPLE = "index.html,start.html,how-to/why-slow.html,reference/keys.html,reference/presets/icc60.html,reproduction/icc.html,tutorial.html,tree/index.html"

# What a reader could not read: low contrast of visible text. Colours of all layers below the text are mixed.
MEASURE = """(() => {
  const rgba = (text) => { const n = (text.match(/[\\d.]+/g) ?? []).map(Number); return n.length < 3 ? [0, 0, 0, 0] : [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
  const grounds = new Map();
  const ground = (element) => {
    if (!element) return [255, 255, 255, 1];
    if (!grounds.has(element)) grounds.set(element, over(rgba(getComputedStyle(element).backgroundColor), ground(element.parentElement)));
    return grounds.get(element);
  };
  const found = [], poor = new Map(), known = new Map();
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) {
    const widest = [...document.querySelectorAll("article *")].filter((e) => e.getBoundingClientRect().right > innerWidth && !e.closest(".table, pre"));
    found.push(`scrolls sideways by ${wide} pixels: ${widest.slice(0, 2).map((e) => e.outerHTML.slice(0, 80)).join(" ")}`);
  }
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || element.closest("script, style, svg, noscript")) continue;
    const kind = `${element.tagName}.${element.className} ${element.parentElement?.tagName}.${element.parentElement?.className} ${element.closest("pre, table, nav, header, footer, aside, article")?.tagName}`;
    if (known.has(kind)) continue;
    const style = getComputedStyle(element);
    if (!element.getClientRects().length || style.visibility === "hidden" || element.closest("[hidden]")) continue;
    if ([...function* () { for (let at = element; at; at = at.parentElement) yield getComputedStyle(at).opacity; }()].some((o) => o === "0")) continue;
    known.set(kind, true);
    const below = ground(element);
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= getComputedStyle(at).opacity;
    const colour = rgba(style.color);
    const ratio = contrast(over([colour[0], colour[1], colour[2], colour[3] * opacity], below), below);
    if (ratio < 4.5) poor.set(`${element.tagName}.${element.className}`, `${ratio.toFixed(2)} "${words.currentNode.data.trim().slice(0, 30)}"`);
  }
  for (const [where, what] of poor) found.push(`low contrast: ${where} ${what}`);
  return { found, scheme: document.body.dataset.mdColorScheme };
})()"""


def opened(browser, page, dark, width):
    """What is wrong with a page in one view, after all transitions."""
    browser.view(width, dark)
    browser.evaluate("document.head.append(Object.assign(document.createElement('style'), {textContent: '* { transition: none !important; animation: none !important; }'}))")
    browser.evaluate(f"document.body.setAttribute('data-md-color-scheme', '{'slate' if dark else 'default'}')")
    measured = browser.evaluate(MEASURE)
    return [f"{'dark' if dark else 'light'}, {width} pixels: {problem}" for problem in measured["found"]]


def check(browser, page):
    browser.view(1280, False)
    browser.open(page)
    problems = opened(browser, page, False, 1280) + opened(browser, page, True, 1280) + opened(browser, page, False, 400)
    return problems + [f"console: {line}" for line in browser.console]


def follows_the_system(browser, site):
    """The first visit has the scheme of the system; the button switches it."""
    problems = []
    for dark, scheme, other in ((True, "slate", "default"), (False, "default", "slate")):
        browser.view(1280, dark)
        browser.open(site / "index.html")
        browser.evaluate("localStorage.clear()")
        browser.open(site / "index.html")
        time.sleep(0.3)
        if browser.evaluate("document.body.dataset.mdColorScheme") != scheme:
            problems.append(f"the scheme is not {scheme} where the system is {'dark' if dark else 'light'}")
        browser.evaluate("[...document.querySelectorAll('.md-header__option label')].find((label) => !label.hidden).click()")
        time.sleep(0.3)
        if browser.evaluate("document.body.dataset.mdColorScheme") != other:
            problems.append(f"the button does not switch from {scheme}")
    browser.evaluate("localStorage.clear()")
    return problems


def until(seconds, look, enough):
    """What is seen in the end."""
    end = time.monotonic() + seconds
    while not enough(seen := look()) and time.monotonic() < end:
        time.sleep(0.2)
    return seen


def searches(browser, site):
    """Typing a query finds a page, from disk and from a page of any depth."""
    problems = []
    browser.view(1280, False)
    for page, query, expected in (("index.html", "decoupled", "mechanisms/dcl1.html"), ("reference/presets/icc60.html", "sm.shared_banks", "reference/keys.html"), ("start.html", "manifest", "reference/manifest.html")):
        browser.open(site / page)
        browser.evaluate("document.querySelector('[data-md-component=search-query]').focus()")
        # The page loads the index when it is about to be used. On a busy host that takes longer than the search.
        said = until(90, lambda: browser.evaluate("document.querySelector('.md-search-result__meta').textContent"), lambda text: "Initializing" not in text)
        browser.type(query)
        text = until(40, lambda: browser.evaluate("document.querySelector('.md-search-result__list')?.innerHTML ?? ''"), lambda text: expected in text)
        if expected not in text:
            problems.append(f"{page}: searching for '{query}' does not find {expected}: '{said.strip()}', {text[:300]}")
        problems += [f"{page}: console, searching: {line}" for line in browser.console]
    return problems


def planted(browser, site):
    """A test that never fails proves nothing."""
    text = (site / "start.html").read_text(encoding="utf-8")
    page = site / "planted.html"
    page.write_text(text.replace("<h1", '<p style="width:700px;color:#999">wide and pale</p><script>console.error("loud"); nowhere()</script><h1', 1), encoding="utf-8")
    try:
        problems = check(browser, page)
    finally:
        page.unlink()
    for start in ("light, 400 pixels: scrolls sideways", "light, 1280 pixels: low contrast: P.", "console: loud", "console: ReferenceError"):
        if not any(problem.startswith(start) for problem in problems):
            yield f"not noticed: {start}: {problems}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("site")
    parser.add_argument("--only", help="'sample', or pages separated by commas")
    parser.add_argument("--keep", help="folder for pictures")
    options = parser.parse_args()
    path = chromium.find()
    if path is None:
        print("skipped: there is no Chromium")
        return SKIPPED
    site = pathlib.Path(options.site).resolve()
    names = {"sample": SAMPLE, None: ""}.get(options.only, options.only)
    pages = [site / name for name in names.split(",")] if names else [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]
    failures = [f"{page} is not there" for page in pages if not page.exists()] or ([] if pages else ["no pages"])
    with chromium.Chromium(path) as browser:
        failures += planted(browser, site)
        failures += follows_the_system(browser, site)
        failures += searches(browser, site)
        for page in pages:
            failures += [f"{page.relative_to(site)}: {problem}" for problem in check(browser, page)]
            if options.keep:
                pathlib.Path(options.keep).mkdir(parents=True, exist_ok=True)
                for width, dark in ((1280, False), (1280, True), (400, False), (400, True)):
                    opened(browser, page, dark, width)
                    browser.screenshot(pathlib.Path(options.keep) / f"{page.stem}-{width}-{'dark' if dark else 'light'}.png")
    print("\n".join(failures[:80]) if failures else f"{len(pages)} pages can be read, and searched")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
