# SPDX-License-Identifier: MIT
"""Third-party code in the packages, as components.toml lists it, with versions and licences from Debian's packages."""

import functools
import hashlib
import pathlib
import subprocess
import tomllib

TOP = pathlib.Path(__file__).resolve().parent.parent


@functools.cache
def listed():
    return tomllib.loads((TOP / "packaging/components.toml").read_text(encoding="utf-8"))


@functools.cache
def debian_version(package):
    answer = subprocess.run(["dpkg-query", "-W", "-f", "${Version}\t${source:Package}\t${source:Version}", package], check=True, capture_output=True, text=True)
    return answer.stdout.split("\t")


def copyright_file(package):
    return pathlib.Path("/usr/share/doc", package, "copyright")


def bundles():
    """The chart library: name, version, file and its SHA-256, as recorded by scripts/vendor_vega."""
    for line in (TOP / "third_party/vega/VERSIONS").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, version, file, digest = line.split()
            if hashlib.sha256((TOP / "third_party/vega" / file).read_bytes()).hexdigest() != digest:
                raise SystemExit(f"third_party/vega/{file} is not what VERSIONS says; see scripts/vendor_vega --check")
            if file.endswith(".js"):
                yield name, version, file, digest
