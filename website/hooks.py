# SPDX-License-Identifier: MIT
"""Hooks of MkDocs that make the site from pages that read well on a forge:

- notebooks are also pages; links that leave docs/ lead to pages of their own, below tree/: Markdown as it is, sources as listings, folders as lists of files;
- `<!-- site: WHAT -->` is replaced by what the product prints (reference.py), and every preset has a page;
- headings have the anchors that a forge gives them;
- search works where pages are opened from disk: the index is also written as a script.

MERGELANE names the command; otherwise the first one found in build/ is asked."""
import json
import logging
import os
import pathlib
import posixpath
import re
import sys

import markdown
from markdown.blockprocessors import ListIndentProcessor, OListProcessor
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

TOP = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "website"))
import reference  # noqa: E402  # pylint: disable=wrong-import-position

MADE = TOP / "build/site-pages"
LISTED = {".cpp", ".hpp", ".cu", ".cuh", ".ptx", ".py", ".sh", ".toml", ".txt", ".cmake", ".md", ".in", "", ".csv"}
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".cu": "cuda", ".cuh": "cuda", ".py": "python", ".sh": "sh", ".toml": "toml"}
FENCE = re.compile(r"^([ \t]*)(```+|~~~+)")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
log = logging.getLogger("mkdocs.mergelane")


def command():
    choices = [os.environ["MERGELANE"]] if os.environ.get("MERGELANE") else sorted(map(str, TOP.glob("build/*/apps/mergelane/mergelane")), key=lambda p: "/release/" not in p)
    if not choices:
        raise PluginError("the reference is what the command prints: build it (cmake --build --preset release --target mergelane_cli), or set MERGELANE to its path")
    return str(pathlib.Path(choices[0]).resolve())


def outside_fences(text, change):
    """The text with `change` applied to each run of lines that is not in a fenced block."""
    out, prose, fence = [], [], None
    for line in text.split("\n"):
        found = FENCE.match(line)
        if fence is None and found:
            out.append(change("\n".join(prose)) if prose else None)
            prose, fence = [], found[2]
            out.append(line)
        elif fence is not None:
            out.append(line)
            if found and line.strip() == fence:
                fence = None
        else:
            prose.append(line)
    if prose:
        out.append(change("\n".join(prose)))
    return "\n".join(part for part in out if part is not None)


def site_path(path):
    """Where a file or folder of the tree is among the pages."""
    inside = path.relative_to(TOP).as_posix()
    if inside == "docs" or inside.startswith("docs/"):
        page = path.relative_to(TOP / "docs").as_posix()
        if path.is_dir():
            return posixpath.normpath(f"{page}/{'README' if (path / 'README.md').exists() else 'index'}.md")
        return page + ".md" if path.suffix == ".ipynb" else page
    if path.is_dir():
        return f"tree/{inside}/README.md" if (path / "README.md").exists() else f"tree/{inside}/index.md"
    return f"tree/{inside}" if path.suffix == ".md" or path.suffix not in LISTED else f"tree/{inside}.md"


def links(text):
    found = []
    outside_fences(text, lambda prose: found.extend(match[2] for match in LINK.finditer(re.sub(r"`[^`\n]*`", "", prose))))
    return [link for link in found if not re.match(r"[a-z]+:|#|/", link)]


def listing(path):
    """A page with the text of a file, or with the files of a folder."""
    name = path.relative_to(TOP).as_posix()
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if not file.name.startswith((".", "__")))
        return f"# {name}\n\n" + "".join(f"- [{file.name}]({file.name})\n" for file in files if file.suffix in LISTED)
    return f"# {name}\n\n```{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text(encoding='utf-8')}\n```\n"


def notebook(path):
    """A page with the cells of a notebook."""
    text = ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        text += (source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```") + "\n\n"
    return text + f"---\n\nThe notebook: [{path.name}]({path.name})\n"


def outside_pages():
    """The files and folders outside docs/ that pages name, directly or through each other."""
    todo = [(path.parent, path.read_text(encoding="utf-8")) for path in (TOP / "docs").rglob("*.md")]
    seen = {}
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        todo.append((TOP, f"[]({name})"))
    while todo:
        folder, text = todo.pop()
        for link in links(text):
            path = (folder / link.partition("#")[0]).resolve()
            if path in seen or not path.exists() or path == TOP or path.is_relative_to(TOP / "docs") or not path.is_relative_to(TOP):
                continue
            if path.is_dir() and (path / "README.md").exists():
                path = path / "README.md"
                if path in seen:
                    continue
            page = path.suffix == ".md"
            seen[path] = path.read_text(encoding="utf-8") if page else listing(path) if path.is_dir() or path.suffix in LISTED else None
            if page or path.is_dir():
                todo.append((path.parent if page else path, seen[path]))
    return seen


def github_anchor(text, separator):
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", separator)


class Width(markdown.Extension):
    """Items of lists are indented by two or three blanks here, not by four."""

    def extendMarkdown(self, md):
        md.tab_length = 2
        for processor in md.parser.blockprocessors:
            processor.tab_length = 2
            if isinstance(processor, (ListIndentProcessor, OListProcessor)):
                processor.__init__(md.parser)  # its patterns were made for four


class State:
    origins = {}   # path among the pages: path in the tree
    product = None


def on_config(config):
    State.product = reference.Product(command(), TOP, MADE / "printed.json")
    config["markdown_extensions"].append(Width())
    config["mdx_configs"].setdefault("toc", {})["slugify"] = github_anchor
    return config


def on_files(files, config):
    def add(name, text):
        path = MADE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        files.append(File(name, str(MADE), config["site_dir"], config["use_directory_urls"]))

    State.origins = {file.src_uri: TOP / "docs" / file.src_uri for file in files}
    for path, text in outside_pages().items():
        name = site_path(path)
        State.origins[name] = path
        if text is not None:
            add(name, text)
        else:
            file = File(name, str(TOP), config["site_dir"], config["use_directory_urls"])
            file.abs_src_path = str(path)
            files.append(file)
    for path in sorted((TOP / "docs").rglob("*.ipynb")):
        add(site_path(path), notebook(path))
        folder = site_path(path.parent)
        if folder.endswith("/index.md") and not files.get_file_from_path(folder):
            add(folder, f"# {path.parent.name.capitalize()}\n\n" + "".join(f"- [{file.stem}]({file.name}.md)\n" for file in sorted(path.parent.glob("*.ipynb"))))
    for paper in re.findall(r"<!-- site: charts (\w+) -->", "\n".join(path.read_text(encoding="utf-8") for path in (TOP / "docs/reproduction").glob("*.md"))):
        for path in State.product.draw(paper):
            file = File(f"reproduction/charts/{paper}/{path.name}", str(TOP), config["site_dir"], config["use_directory_urls"])
            file.abs_src_path = str(path)
            files.append(file)
    for preset in State.product.presets():
        add(f"reference/presets/{preset}.md", State.product.preset(preset))
    return files


def list_after_text(prose):
    """Python-Markdown begins a list only after an empty line, a forge also after a line of text."""
    out = []
    for line in prose.split("\n"):
        if re.match(r"(?:[-*]|\d+\.) ", line) and out and out[-1] and not re.match(r"\s|[-*|>#]|\d+\.", out[-1]):
            out.append("")
        out.append(line)
    return "\n".join(out)


def on_page_markdown(text, page, config, files):
    here = State.origins.get(page.file.src_uri)

    def moved(match):
        link, _, anchor = match[2].partition("#")
        if here is None or not link or re.match(r"[a-z]+:|/", link):
            return match[0]
        folder = here if here.is_dir() else here.parent
        target = (folder / link).resolve()
        if not target.is_relative_to(TOP) or not target.exists():
            return match[0]
        path = posixpath.relpath(site_path(target), posixpath.dirname(page.file.src_uri) or ".")
        return match[1] + path + ("#" + anchor if anchor else "") + match[3]

    def change(prose):
        # A link may contain code; code contains neither links nor comments.
        parts = re.split(r"(`+[^`\n]+`+)", prose)
        held = {f"\0{i}\0": parts[i] for i in range(1, len(parts), 2)}
        prose = "".join(part if i % 2 == 0 else f"\0{i}\0" for i, part in enumerate(parts))
        prose = LINK.sub(moved, prose)
        prose = re.sub(r"<!-- site: (\w+)(?: (\w+))? -->", lambda found: "\n" + getattr(State.product, found[1])(*found.groups()[1:2] if found[2] else ()) + "\n", prose)
        prose = re.sub(r"<!--.*?-->", "", prose, flags=re.S)
        for mark, span in held.items():
            prose = prose.replace(mark, span)
        return list_after_text(prose)

    return outside_fences(text, change)


def on_post_build(config):
    """The index of the search, smaller and also as a script. Listings of sources are found by their name only, presets not by their keys."""
    path = pathlib.Path(config["site_dir"]) / "search/search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    listed = {site_path(file)[:-3] + ".html" for file in State.origins.values() if file.suffix != ".md" and file.suffix in LISTED and not file.is_relative_to(TOP / "docs")}
    index["docs"] = [entry for entry in index["docs"] if not re.match(r"reference/presets/.*#", entry["location"])]
    for entry in index["docs"]:
        if entry["location"].startswith("reference/presets/"):
            entry["text"] = entry["text"].partition(" All presets:")[0]
        if entry["location"].partition("#")[0] in listed:
            entry["text"] = ""
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".js").write_text(f"__search_index({text});\n", encoding="utf-8")
