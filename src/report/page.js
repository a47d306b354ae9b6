// SPDX-License-Identifier: MIT
// Replaces the plain drawing of every chart by an interactive one, in the colours and to the width of the screen; where that fails, the
// plain one stays.
(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const specifications = read("charts");
  const darkColours = read("dark");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 640px)");
  // Names that look like colours stay as they are.
  const isData = (key, value) => ["values", "domain", "sort", "oneOf", "text"].includes(key) || (key === "title" && typeof value === "string");

  const recoloured = (value) => {
    if (typeof value === "string") return darkColours[value] ?? value;
    if (Array.isArray(value)) return value.map(recoloured);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, isData(key, inner) ? inner : recoloured(inner)]));
  };
  const wrapped = (text, most) =>
    text.split(" ").reduce((lines, word) => {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && longer.length <= most) lines[lines.length - 1] = longer;
      else lines.push(word);
      return lines;
    }, []);
  /// Legends above the drawing, and slanted names below it.
  const narrowed = (value, columns) => {
    if (value === null || typeof value !== "object") return;
    if (value.legend) Object.assign(value.legend, { orient: "top", columns });
    if (value.labelAngle === 0) value.labelAngle = -40;
    for (const [key, inner] of Object.entries(value)) if (key !== "data") narrowed(inner, columns);
  };
  /// For a box of this width.
  const fitted = (original, room) => {
    const spec = structuredClone(dark.matches ? recoloured(original) : original);
    if (room >= (spec.width ?? 0) && !narrow.matches) return spec;
    if (typeof spec.width === "number") spec.width = Math.max(Math.min(room, spec.width), spec.usermeta?.least ?? 300);
    const width = Math.max(room, 300);
    if (spec.title) {
      spec.title.text = wrapped(spec.title.text, Math.floor((width - 40) / 8));
      spec.title.limit = width;
    }
    if (narrow.matches) narrowed(spec, Math.max(1, Math.floor(width / (spec.usermeta?.entry ?? 150))));
    return spec;
  };
  const draw = async (box) => {
    const target = document.createElement("div");
    const options = {
      renderer: "svg",
      mode: "vega-lite",
      actions: { export: true, source: false, compiled: false, editor: false },
      downloadFileName: "chart",
      tooltip: { theme: dark.matches ? "dark" : "light" },
    };
    box.append(target);
    try {
      await vegaEmbed(target, fitted(specifications[Number(box.dataset.chart)], box.clientWidth), options);
      if (box.lastChild !== target) return target.remove(); // drawn again meanwhile
      while (box.firstChild !== target) box.firstChild.remove();
      box.dataset.state = "drawn";
    } catch (error) {
      target.remove();
      box.dataset.state = "failed";
      console.error(`chart ${box.dataset.chart}:`, error);
    }
  };
  const drawAll = () =>
    Promise.all([...document.querySelectorAll("[data-chart]")].map(draw)).then(() => {
      document.documentElement.dataset.charts = "done";
    });
  for (const change of [dark, narrow]) change.addEventListener("change", drawAll);
  drawAll();
})();
