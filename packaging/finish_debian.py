#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completes the trees of the Debian packages before CPack packs them: what Debian's policy asks for besides the files that are installed.

  packaging/finish_debian.py FOLDER VERSION MAINTAINER     FOLDER has a tree for each component; SOURCE_DATE_EPOCH is the date of the changelog
"""

import email.utils
import gzip
import os
import pathlib
import subprocess
import sys

import components

PACKAGES = {"command": "mergelane", "development": "libmergelane-dev", "python_module": "python3-mergelane"}
# Where lintian is not followed, and why: tag and reason.
OVERRIDES = [("initial-upload-closes-no-bugs", "Not uploaded to Debian, so there is no bug that asks for the package.")]


def indented(text):
    return "".join(f" {line}\n" if line.strip() else " .\n" for line in text.splitlines())


def copyright_text():
    """What Debian calls machine-readable, for what is ours; below it, word for word, the files of packages that are compiled in."""
    licence = (components.TOP / "LICENSE").read_text(encoding="utf-8")
    owner = next(line for line in licence.splitlines() if line.startswith("Copyright"))
    body = licence[licence.index("Permission"):]
    text = ("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: mergelane\n"
            "Comment: Headers of other packages are compiled in, and the chart library Vega. Their licences are in\n"
            " /usr/share/doc/mergelane/licences and /usr/share/doc/mergelane/vega.\n\n"
            f"Files: *\nCopyright: {owner.removeprefix('Copyright (c) ')}\nLicense: MIT\n\n"
            "Files: third_party/vega/*\nCopyright: 2015-2026, University of Washington Interactive Data Lab\nLicense: BSD-3-Clause\n\n")
    vega = (components.TOP / "third_party/vega/LICENSE.vega").read_text(encoding="utf-8")
    return text + "License: MIT\n" + indented(body) + "\nLicense: BSD-3-Clause\n" + indented(vega)


def write_zipped(path, text):
    path.write_bytes(gzip.compress(text if isinstance(text, bytes) else text.encode(), 9, mtime=0))


def finish(tree, name, version, maintainer, date):
    documents = tree / "usr/share/doc" / name
    documents.mkdir(parents=True, exist_ok=True)
    (documents / "copyright").write_text(copyright_text(), encoding="utf-8")
    write_zipped(documents / "changelog.Debian.gz", f"mergelane ({version}) unstable; urgency=medium\n\n"
                 f"  * Packages of Mergelane {version.split('-')[0]}.\n\n -- {maintainer}  {date}\n")
    write_zipped(documents / "changelog.gz", (components.TOP / "CHANGELOG.md").read_bytes())
    overrides = tree / "usr/share/lintian/overrides"
    overrides.mkdir(parents=True)
    (overrides / name).write_text("".join(f"# {reason}\n{name}: {tag}\n" for tag, reason in OVERRIDES), encoding="utf-8")
    if (documents / "LICENSE").exists():
        (documents / "LICENSE").unlink()  # it is in `copyright`
    for page in (tree / "usr/share/man").rglob("*.[1-9]"):
        write_zipped(page.with_name(page.name + ".gz"), page.read_bytes())
        page.unlink()
    for archive in tree.rglob("*.a"):  # what one version of one compiler reads is of no use to others
        subprocess.run(["strip", "--strip-debug", "--enable-deterministic-archives", "--remove-section=.comment", "--remove-section=.note",
                        archive], check=True)
    for cache in list(tree.rglob("__pycache__")):
        raise SystemExit(f"{cache} must not be in a package")


def main():
    folder, version, maintainer = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    date = email.utils.formatdate(epoch)
    for component, name in PACKAGES.items():
        tree = folder / component
        if not tree.is_dir():
            continue
        finish(tree, name, version, maintainer, date)
        for path in [*tree.rglob("*"), tree]:
            if not path.is_symlink():
                executable = path.is_dir() or (os.access(path, os.X_OK) and not path.name.endswith((".so", ".so.13")))
                path.chmod(0o755 if executable else 0o644)
            os.utime(path, (epoch, epoch), follow_symlinks=False)


main()
