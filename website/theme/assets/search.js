// SPDX-License-Identifier: MIT
// Must be loaded before the theme's own script.

// The words of a key are words of the index: l1.size_kib is found by both, in any order. The rest is what the theme does.
window.__search = {
  transform: (query) =>
    query
      .replace(/\w+(?:\.\w+)+/g, (key) => `"${key.replaceAll(".", " ")}"`)
      .split(/"([^"]+)"/g)
      .map((part, quoted) => (quoted & 1 ? part.replace(/^\b|^(?![^\x00-\x7F]|$)|\s+/g, " +") : part))
      .join("")
      .replace(/"|(?:^|\s+)[*+\-:^~]+(?=\s+|$)/g, "")
      .trim(),
};

// A browser neither fetches the index nor starts a worker for a page that was opened from disk. There, the index is a script that is loaded
// when somebody is about to search, and the worker is a frame.
if (location.protocol === "file:") {
  const root = new URL("..", document.currentScript.src);

  window.__search.index = new Promise((resolve) => {
    window.__search_index = resolve;
    addEventListener("focusin", function load(event) {
      if (!event.target.closest(".md-search")) return;
      removeEventListener("focusin", load);
      const script = document.createElement("script");
      script.src = new URL("search/search_index.js", root);
      document.head.append(script);
    });
  });

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      // What the worker posts arrives here; what it receives is posted to the frame.
      this.send = inside.postMessage.bind(inside);
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = () => {};
      const script = inside.document.createElement("script");
      script.src = url;
      this.ready = new Promise((resolve) => (script.onload = resolve));
      inside.document.body.append(script);
    }
    postMessage(data) {
      this.ready.then(() => this.send(data, "*"));
    }
  };
}
