// SPDX-License-Identifier: MIT
// Replaces the plain drawing of every chart by an interactive one; where that fails, the plain one stays.
(() => {
  "use strict";
  const specifications = JSON.parse(document.getElementById("charts").textContent);
  const options = {
    renderer: "svg",
    mode: "vega-lite",
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: "chart",
  };
  const draw = async (box) => {
    const target = document.createElement("div");
    box.append(target);
    try {
      await vegaEmbed(target, specifications[Number(box.dataset.chart)], options);
      box.querySelector(".plain").remove();
      box.dataset.state = "drawn";
    } catch (error) {
      target.remove();
      box.dataset.state = "failed";
      console.error(`chart ${box.dataset.chart}:`, error);
    }
  };
  Promise.all([...document.querySelectorAll("[data-chart]")].map(draw)).then(() => {
    document.documentElement.dataset.charts = "done";
  });
})();
