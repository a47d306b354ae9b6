# SPDX-License-Identifier: MIT
"""Builds the Python package: the hooks of PEP 517, with CMake and the standard library alone.

A wheel holds what `cmake --install` makes, below mergelane/: the module, the command (bin/), its data (share/), the CUDA library (lib/) and the
shared libraries that Debian 12 has and other systems may not have. The same sources and compiler give the same bytes.

  python3 -m build --wheel --no-isolation                                        in a temporary folder
  python3 -m build --wheel --no-isolation -C build-dir=build/wheel [-C jobs=4]   in this one, which may be that of a preset with MERGELANE_PYTHON
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile

TOP = pathlib.Path(__file__).resolve().parent.parent
# Every system has those of the compiler and of the C library.
SYSTEM = ("libc.so", "libm.so", "libstdc++.so", "libgcc_s.so", "libdl.so", "libpthread.so", "ld-linux", "linux-vdso")
OPTIONS = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DMERGELANE_PYTHON=ON", "-DMERGELANE_TESTS=OFF"]
# What a wheel takes of an installation, which also has headers and static libraries.
FOLDERS = ("bin", "lib/mergelane", "share/mergelane", "share/doc/mergelane")


def version():
    return re.search(r"project\(mergelane VERSION ([0-9.]+)", (TOP / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


def project():
    return tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_sdist = get_requires_for_build_wheel


def metadata():
    facts = project()
    lines = ["Metadata-Version: 2.1", f"Name: {facts['name']}", f"Version: {version()}", f"Summary: {facts['description']}", f"License: {facts['license']['text']}",
             f"Requires-Python: {facts['requires-python']}", *(f"Requires-Dist: {package}" for package in facts["dependencies"]),
             "Description-Content-Type: text/markdown", "", (TOP / facts["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


def run(*command):
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, cwd=TOP)


def built(build, jobs):
    """The folder mergelane/ of the wheel, installed below `build`."""
    if not (build / "CMakeCache.txt").exists():
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        run("cmake", "-S", TOP, "-B", build, *OPTIONS, *launcher, f"-DPython3_EXECUTABLE={sys.executable}")
    run("cmake", "--build", build, "-j", jobs, "--target", "mergelane_cli", "mergelane_cudart", "mergelane_python")
    installed, package = build / "installed", build / "package" / "mergelane"
    for folder in (installed, package):
        shutil.rmtree(folder, ignore_errors=True)
    run("cmake", "--install", build, "--prefix", installed, "--strip")
    run("cmake", "--install", build, "--prefix", package, "--strip", "--component", "python")
    for folder in FOLDERS:
        shutil.copytree(installed / folder, package / folder, symlinks=True)
    for link in [path for path in package.rglob("*") if path.is_symlink()]:
        link.unlink()  # a wheel has none; the command makes those of the CUDA library
    bundle_libraries(package)
    shutil.rmtree(installed)
    return package


def bundle_libraries(package):
    folder = package / "lib/mergelane"
    for binary in [*package.glob("_core*.so"), *(package / "bin").iterdir(), *folder.glob("*.so*")]:
        if binary.open("rb").read(4) != b"\x7fELF":
            continue
        answer = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout
        for name, path in re.findall(r"^\s*(\S+) => (\S+)", answer, re.MULTILINE):
            if path == "not":
                sys.exit(f"{binary.name} needs {name}, which is not installed")
            if not name.startswith(SYSTEM) and not (folder / name).exists():
                shutil.copy(path, folder / name)
                owner = subprocess.run(["dpkg", "-S", os.path.realpath(path)], capture_output=True, text=True, check=False).stdout.split(":")[0]
                licence = pathlib.Path("/usr/share/doc", owner, "copyright")
                if owner and licence.exists():
                    shutil.copy(licence, package / "share/doc/mergelane/licences" / owner)


def add(archive, name, content, executable=False):
    entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # bytes do not depend on when
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(content)}"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = config_settings or {}
    jobs = settings.get("jobs", str(os.cpu_count() or 1))
    with tempfile.TemporaryDirectory() as temporary:
        package = built(pathlib.Path(settings.get("build-dir", temporary)).resolve(), jobs)
        interpreter = f"cp{sys.version_info.major}{sys.version_info.minor}"
        tag = f"{interpreter}-{interpreter}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        name = f"mergelane-{version()}-{tag}.whl"
        info = f"mergelane-{version()}.dist-info"
        scripts = "".join(f"{script} = {target}\n" for script, target in project()["scripts"].items())
        with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w") as archive:
            record = [add(archive, file.relative_to(package.parent).as_posix(), file.read_bytes(), os.access(file, os.X_OK))
                      for file in sorted(package.rglob("*")) if file.is_file()]
            wheel = f"Wheel-Version: 1.0\nGenerator: mergelane {version()}\nRoot-Is-Purelib: false\nTag: {tag}\n"
            for file, text in (("METADATA", metadata()), ("WHEEL", wheel), ("entry_points.txt", f"[console_scripts]\n{scripts}"),
                               ("LICENSE", (TOP / "LICENSE").read_text(encoding="utf-8"))):
                record.append(add(archive, f"{info}/{file}", text.encode()))
            add(archive, f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]).encode())
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The files of the commit that is checked out, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True, capture_output=True, text=True).stdout
    top = f"mergelane-{version()}"
    with tempfile.TemporaryDirectory() as temporary, tarfile.open(pathlib.Path(sdist_directory) / f"{top}.tar.gz", "w:gz") as archive:
        info = pathlib.Path(temporary) / "PKG-INFO"
        info.write_text(metadata(), encoding="utf-8")
        archive.add(info, f"{top}/PKG-INFO")
        for name in filter(None, listed.split("\0")):
            archive.add(TOP / name, f"{top}/{name}", recursive=False)
    return f"{top}.tar.gz"
