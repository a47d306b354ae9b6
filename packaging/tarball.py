#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs the tarball: the command and its data, with all libraries but the C library linked in or alongside, in one folder that can be anywhere.

  packaging/tarball.py BUILD_DIR FOLDER     of a build with MERGELANE_PACKAGES; writes FOLDER/mergelane-VERSION-linux-x86_64.tar.gz
"""

import gzip
import io
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile

import components

# Of the C library, which every system has.
SYSTEM = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux", "linux-vdso")


def run(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def dynamic(binary):
    return subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout


def add_libraries(tree):
    """Shared libraries that are needed, to lib/mergelane, and the licences of all that is linked in."""
    folder = tree / "lib/mergelane"
    for binary in (tree / "bin/mergelane", folder / "libcudart.so.13"):
        for name, path in re.findall(r"^\s*(\S+) => (\S+)", dynamic(binary), re.MULTILINE):
            if name.startswith(SYSTEM):
                continue
            if path == "not":
                raise SystemExit(f"{binary.name} needs {name}, which is not installed")
            if not (folder / name).exists():
                shutil.copy(path, folder / name)
    licences = tree / "share/doc/mergelane/licences"
    for facts in components.listed().values():
        if facts["how"] != "python":
            shutil.copy(components.copyright_file(facts["debian"]), licences / facts["debian"])


def newest_glibc(tree):
    """The version of the C library that is needed."""
    needed = set()
    for binary in (tree / "bin/mergelane", *(tree / "lib/mergelane").glob("*.so*")):
        if not binary.is_symlink():
            listed = subprocess.run(["objdump", "-T", binary], check=True, capture_output=True, text=True).stdout
            needed |= {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([0-9.]+)", listed)}
    return ".".join(map(str, max(needed)))


def pack(tree, target, epoch):
    """The same files give the same bytes: sorted, of no user, with one date."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in [tree, *sorted(tree.rglob("*"))]:
            entry = archive.gettarinfo(path, path.relative_to(tree.parent).as_posix())
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = epoch
            entry.mode = 0o777 if entry.issym() else 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            if entry.isreg():
                entry.type, entry.linkname = tarfile.REGTYPE, ""
                entry.size = path.stat().st_size
                with path.open("rb") as file:
                    archive.addfile(entry, file)
            else:
                archive.addfile(entry)
    with target.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", filename="", compresslevel=9, mtime=epoch) as packed:
        packed.write(buffer.getvalue())


def main():
    build, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    version = re.search(r"project\(mergelane VERSION ([0-9.]+)", (components.TOP / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    name = f"mergelane-{version}-linux-{platform.machine()}"
    tree = build / "portable/tree" / name
    shutil.rmtree(tree.parent, ignore_errors=True)
    run("cmake", "--install", build, "--prefix", tree, "--strip", "--component", "command")
    run("cmake", "--install", build, "--prefix", tree, "--strip", "--component", "portable")
    add_libraries(tree)
    shutil.copy(components.TOP / "README.md", tree / "share/doc/mergelane/README.md")
    (tree / "REQUIRES").write_text(f"Linux on {platform.machine()} with the C library (glibc) {newest_glibc(tree)} or newer. No other library is needed.\n"
                                   "Start bin/mergelane; the folder can be moved anywhere.\n", encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    pack(tree, folder / f"{name}.tar.gz", int(os.environ["SOURCE_DATE_EPOCH"]))
    print(folder / f"{name}.tar.gz")


main()
