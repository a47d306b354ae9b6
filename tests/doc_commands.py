#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Executes the commands of the documentation. Every block of sh or python on every page says in a comment before it what becomes of it:

  <!-- run -->                  executed here, after the page's blocks before it, in a folder of the page's own
  <!-- run: WORD... -->         the same. `long`: only with --long. A name of NEEDS: skipped, and said so, where that is not installed. A name of
                                FILES: that file is there, as if the reader had it. /shared: stands for a folder of the page's own
  <!-- run: by TEST, TEST -->   another test executes it; `.ci/run STAGE` or `tests/FILE` are tests, too
  <!-- not run: REASON -->
  <!-- blocks: by TEST -->      once on a page: for all its blocks without a comment of this kind
  <!-- file: NAME -->           before a block of any language: written to that file, for the blocks after it

A run block may leave lines out: `<!-- run; not "TEXT": REASON; not ... -->`, all lines with that text.

Usage: doc_commands.py MERGELANE [--long | --all] [--page PAGE] [--times] [--jobs N] | --check | --self-test"""
import argparse
import collections
import concurrent.futures
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"(?:^[ \t]*<!-- ([^\n]*) -->\n)?^([ \t]*)```(\w*)\n(.*?)^[ \t]*```$|^(#+ [^\n]*)$", re.M | re.S)
COMMANDS = {"sh", "bash", "console", "python"}
SECONDS = {"short": 120, "long": 900}

NEEDS = {"clang": lambda: shutil.which("clang++-14"), "sqlite3": lambda: shutil.which("sqlite3"),
         **{name: (lambda name=name: importlib.util.find_spec(name)) for name in ("pandas", "matplotlib", "pyarrow", "optuna")}}


def copy(source, *names):
    def provide(work, environment):
        for name in names:
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / source, work / name)
    return provide


def results(*outputs):
    def provide(work, environment):
        subprocess.run(["mergelane", "run", "--gpu", "icc60", "--synthetic", "tiled", "--param", "ctas=24", "-q", *outputs], cwd=work, env=environment, check=True)
    return provide


def record(name):
    def provide(work, environment):
        subprocess.run(["mergelane", "trace", "record", "--synthetic", "tiled", "--param", "ctas=24", "-o", name, "-q"], cwd=work, env=environment, check=True, stdout=subprocess.DEVNULL)
    return provide


def compiled(work, environment):
    copy("tests/data/docs/app.cu", "app.cu")(work, environment)
    subprocess.run(["mergelane-clang-cuda", "app.cu", "app"], cwd=work, env=environment, check=True)


def manifest(work, environment):
    copy("tests/data/ptx/saxpy.toml", "my_kernel.toml")(work, environment)
    copy("tests/data/ptx/samples.ptx", "samples.ptx")(work, environment)


FILES = {"app.cu": copy("tests/data/docs/app.cu", "app.cu"), "app": compiled, "kernel.ptx": copy("tests/data/ptx/samples.ptx", "kernel.ptx"), "my_kernel.toml": manifest,
         "my-gpu.toml": lambda work, _: (work / "my-gpu.toml").write_text('base = "icc60"\n', encoding="utf-8"),
         "out.json": results("--json", "out.json"), "a.csv": results("--csv", "a.csv"), "b.csv": results("--set", "l1.size_kib=64", "--csv", "b.csv"),
         "app.mlt": record("app.mlt"), "my_trace.mlt": record("my_trace.mlt"), "docs": lambda work, _: (work / "docs").symlink_to(TOP / "docs")}

Block = collections.namedtuple("Block", "line heading language kind words by left_out reason file text")


def parsed(comment):
    """Kind, words, tests, lines left out and reason of a comment; None if it is of another kind."""
    comment, *parts = re.split(r'; (?=not ")', comment)
    left_out = {}
    for part in parts:
        found = re.fullmatch(r'not "([^"]+)": (\S.*)', part)
        if not found:
            raise ValueError(f"unclear: {part}")
        left_out[found[1]] = found[2]
    if found := re.fullmatch(r"(?:run|blocks): by (.+)", comment):
        return "by", (), tuple(found[1].split(", ")), left_out, ""
    if found := re.fullmatch(r"run(?:: (.+))?", comment):
        words = tuple((found[1] or "").split())
        unknown = [word for word in words if word not in {"long", "/shared", *NEEDS, *FILES}]
        if unknown:
            raise ValueError(f"unknown: {' '.join(unknown)}")
        return "run", words, (), left_out, ""
    if found := re.fullmatch(r"not run: (\S.*)", comment):
        return "not", (), (), {}, found[1]
    return None


def blocks_of(text, name):
    """The blocks of a page that are commands or files, and what is wrong with their comments."""
    page_wide = re.search(r"^<!-- (blocks: by .+) -->$", text, re.M)
    blocks, wrong, heading = [], [], ""
    for found in BLOCK.finditer(text):
        comment, indent, language, body, title = found.groups()
        if title:
            heading = title.lstrip("# ")
            continue
        line = text.count("\n", 0, found.start()) + 1
        body = "".join(part.removeprefix(indent) for part in body.splitlines(keepends=True))
        if comment and comment.startswith("file: "):
            blocks.append(Block(line, heading, language, "file", (), (), {}, "", comment.removeprefix("file: "), body))
            continue
        if language not in COMMANDS:
            continue
        try:
            mark = parsed(comment) if comment else None
            mark = mark or (parsed(page_wide[1]) if page_wide else None)
        except ValueError as error:
            wrong.append(f"{name}:{line}: {error}")
            continue
        if mark is None:
            wrong.append(f"{name}:{line}: a comment before this block must say whether it is run (tests/doc_commands.py)")
            continue
        wrong += [f'{name}:{line}: no line has "{part}"' for part in mark[3] if part not in body]
        blocks.append(Block(line, heading, language, *mark, "", body))
    return blocks, wrong


def missing_tests(tests):
    """Those that do not exist."""
    listed = "\n".join(path.read_text(encoding="utf-8") for path in (TOP / "tests").rglob("CMakeLists.txt"))
    names = {name for name in re.findall(r"(?:NAME |mergelane_cuda_test\()\s*([\w${}]+)", listed) if not re.fullmatch(r"\$\{\w+\}", name)}
    patterns = [re.compile(r"\w+".join(map(re.escape, re.split(r"\$\{\w+\}", name)))) for name in names]
    cuda = subprocess.run([sys.executable, TOP / "tests/cuda/run.py", "--list"], capture_output=True, text=True, check=True).stdout.split()
    stages = (TOP / ".ci/run").read_text(encoding="utf-8")
    for test in sorted(tests):
        if test.startswith(".ci/run "):
            known = f"\nstage_{test.removeprefix('.ci/run ')}() " in stages
        elif "/" in test:
            known = (TOP / test.split()[0]).exists()
        elif test.startswith("cuda_"):
            known = test.removeprefix("cuda_") in cuda
        else:
            known = any(pattern.fullmatch(test) for pattern in patterns) or (TOP / f"tests/python/test_{test.removeprefix('python_')}.py").exists()
        if not known:
            yield test


def pages():
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], capture_output=True, text=True)
    names = [TOP / name for name in listed.stdout.split("\n") if name] if listed.returncode == 0 else list(TOP.rglob("*.md"))
    return sorted(page for page in names if page.exists() and not {"third_party", "build", "out"} & set(page.relative_to(TOP).parts))


def commands_of(block):
    return "".join(line for line in block.text.splitlines(keepends=True) if not any(part in line for part in block.left_out))


def run_page(name, blocks, binary, cache, options):
    """Runs the blocks of a page in order: lines to print, and whether all succeeded."""
    lines, ran, failed = [], 0, False
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        work, commands, home = folder / "work", folder / "bin", folder / "home"
        for made in (work, commands, home, folder / "shared"):
            made.mkdir()
        (commands / "mergelane").symlink_to(binary)
        (commands / "clang-cuda").symlink_to(TOP / "scripts/clang-cuda")
        (commands / "mergelane-clang-cuda").symlink_to(TOP / "scripts/clang-cuda")
        environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "HOME": str(home), "MERGELANE_CACHE": str(cache), "MPLBACKEND": "Agg",
                       "MERGELANE_CUDART": str(binary.parent)}
        there = set()
        wanted = [block for block in blocks if block.kind == "file" or (block.kind == "run" and (options.all or ("long" in block.words) == options.long))]
        if options.long and any("long" in block.words for block in wanted):
            wanted = [block for block in blocks if block.kind in ("file", "run")]  # they may need what the others made
        for block in wanted:
            where = f"{name}:{block.line}"
            if block.kind == "file":
                (work / block.file).parent.mkdir(parents=True, exist_ok=True)
                (work / block.file).write_text(block.text, encoding="utf-8")
                continue
            lacking = [word for word in block.words if word in NEEDS and not NEEDS[word]()]
            if lacking:
                lines.append(f"{where}: skipped, there is no {lacking[0]}")
                continue
            for word in block.words:
                if word in FILES and word not in there:
                    FILES[word](work, environment)
                    there.add(word)
            text = commands_of(block)
            if "/shared" in block.words:
                text = text.replace("/shared", str(folder / "shared"))
            call = ["bash", "-euo", "pipefail", "-c", text] if block.language != "python" else [sys.executable, "-c", text]
            begin = time.monotonic()
            try:
                result = subprocess.run(call, cwd=work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                        stdin=subprocess.DEVNULL, timeout=SECONDS["long" if "long" in block.words else "short"])
                problem = f"exit code {result.returncode}" if result.returncode else ""
                output = result.stdout
            except subprocess.TimeoutExpired as late:
                problem, output = f"not done after {late.timeout} s", (late.stdout or b"").decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or ""
            seconds = time.monotonic() - begin
            ran += 1
            if options.times:
                lines.append(f"{seconds:6.1f} s  {where}  {block.heading}")
            if problem:
                failed = True
                lines.append(f"{where}: {problem}:\n{text}{output[-3000:]}")
    return lines, ran, failed


def self_test():
    """A rule that never fires proves nothing."""
    good = '# T\n<!-- file: a -->\n```toml\nx\n```\n<!-- run: clang; not "rm": too much -->\n```sh\nrm x\nls\n```\n<!-- not run: why -->\n```sh\nx\n```\n'
    blocks, wrong = blocks_of(good, "p")
    assert not wrong and [block.kind for block in blocks] == ["file", "run", "not"], (blocks, wrong)
    assert commands_of(blocks[1]) == "ls\n" and blocks[1].words == ("clang",) and blocks[1].heading == "T"
    for bad in ("```sh\nls\n```\n", "<!-- run: nothing -->\n```sh\nls\n```\n", '<!-- run; not "rm": x -->\n```sh\nls\n```\n', "<!-- other -->\n```python\nx\n```\n"):
        assert len(blocks_of(bad, "p")[1]) == 1, bad
    assert blocks_of("<!-- blocks: by x -->\n```sh\nls\n```\n", "p")[0][0].by == ("x",)
    assert list(missing_tests({"doc_links", "tutorial_clang", "reproduce_icc_tiny", "python_docs", ".ci/run format", "tests/tutorial.py", "nowhere", ".ci/run nothing"})) == [".ci/run nothing", "nowhere"]
    options = argparse.Namespace(all=True, long=False, times=False)
    for text, fine in (("test -e /bin/sh", True), ("false", False), ("echo $((1/0)); true", False)):
        block = Block(1, "", "sh", "run", (), (), {}, "", "", text)
        assert run_page("p", [block], pathlib.Path("/bin/true"), "/nonexistent", options)[2] != fine, text


def main():
    parser = argparse.ArgumentParser(usage=__doc__.rpartition("Usage: ")[2])
    parser.add_argument("mergelane", nargs="?")
    for name in ("--long", "--all", "--times", "--check", "--self-test"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--page")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if not options.check and not options.mergelane:
        parser.error("the command, or --check")
    all_pages = [pathlib.Path(options.page).resolve()] if options.page else pages()
    work, wrong, counts, reasons = [], [], collections.Counter(), []
    for page in all_pages:
        name = page.relative_to(TOP).as_posix()
        blocks, problems = blocks_of(page.read_text(encoding="utf-8"), name)
        wrong += problems
        counts.update("run long" if "long" in block.words else block.kind for block in blocks if block.kind != "file")
        counts["left out lines"] += sum(len(block.text.splitlines()) - len(commands_of(block).splitlines()) for block in blocks)
        reasons += [f"{name}:{block.line}: {block.reason}" for block in blocks if block.reason]
        wrong += [f"{name}: there is no test '{test}'" for test in missing_tests({test for block in blocks for test in block.by})]
        if any(block.kind == "run" for block in blocks):
            work.append((name, blocks))
    print(f"{counts['run']} blocks run, {counts['run long']} only in the long run, {counts['by']} by other tests, {counts['not']} not; {counts['left out lines']} lines left out")
    if options.check:
        print("\n".join(["not run:", *reasons, *wrong]))
        return 1 if wrong else 0
    failed, ran = bool(wrong), 0
    print("\n".join(wrong))
    binary = pathlib.Path(options.mergelane).resolve()
    with tempfile.TemporaryDirectory() as cache, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for lines, count, bad in pool.map(lambda item: run_page(*item, binary, cache, options), work):
            ran += count
            failed |= bad
            if lines:
                print("\n".join(lines), flush=True)
    print(f"{ran} blocks executed{'' if not failed else ', some FAILED'}")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
