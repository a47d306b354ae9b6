#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what the packages are made of as SPDX 2.3 (JSON): versions of Debian's packages on this machine, and of the bundled chart library.

  packaging/sbom.py [-o FILE]
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys

import components

NO_STATEMENT = "NOASSERTION"


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, license, **more):
    return {"SPDXID": identifier(name), "name": name, "versionInfo": version, "downloadLocation": NO_STATEMENT, "filesAnalyzed": False,
            "licenseConcluded": license, "licenseDeclared": license, "copyrightText": NO_STATEMENT, **more}


def document(version, created):
    packages = [package("mergelane", version, "MIT", copyrightText="Copyright (c) 2026 The Mergelane authors")]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": identifier("mergelane")}]
    for name, facts in components.listed().items():
        binary, source, source_version = components.debian_version(facts["debian"])
        locator = f"pkg:deb/debian/{source}@{source_version}?distro=debian-12&arch=source"
        how = {"header": "compiled in from headers", "python": "compiled into the Python module from headers",
               "library": "shared library in the .deb; linked in or alongside in tarball and wheel", "runtime": "linked in in the tarball"}
        packages.append(package(name, binary, facts["license"], comment=how[facts["how"]], sourceInfo=f"Debian 12 package {facts['debian']}",
                                externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]))
        kind = "DYNAMIC_LINK" if facts["how"] in ("library", "runtime") else "CONTAINS"
        relations.append({"spdxElementId": identifier("mergelane"), "relationshipType": kind, "relatedSpdxElement": identifier(name)})
    for name, bundle_version, file, digest in components.bundles():
        locator = f"pkg:npm/{name}@{bundle_version}"
        packages.append(package(name, bundle_version, "BSD-3-Clause", packageFileName=file, comment="compiled in; draws the charts of HTML pages",
                                checksums=[{"algorithm": "SHA256", "checksumValue": digest}],
                                externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]))
        relations.append({"spdxElementId": identifier("mergelane"), "relationshipType": "CONTAINS", "relatedSpdxElement": identifier(name)})
    text = json.dumps([packages, relations], sort_keys=True)
    namespace = f"https://spdx.org/spdxdocs/mergelane-{version}-{components.hashlib.sha256(text.encode()).hexdigest()[:32]}"
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"mergelane-{version}",
            "documentNamespace": namespace, "creationInfo": {"created": created, "creators": ["Tool: mergelane-packaging-sbom"]},
            "packages": packages, "relationships": relations,
            "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-public-domain", "name": "Public domain",
                                            "extractedText": "liblzma is in the public domain."}]}


def main():
    parser = argparse.ArgumentParser(description="writes the SBOM of the packages as SPDX 2.3 (JSON)")
    parser.add_argument("-o", "--output", default="-")
    arguments = parser.parse_args()
    version = re.search(r"project\(mergelane VERSION ([0-9.]+)", (components.TOP / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=components.TOP, check=True,
                                                                    capture_output=True, text=True).stdout
    created = datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = json.dumps(document(version, created), indent=2) + "\n"
    if arguments.output == "-":
        sys.stdout.write(text)
    else:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(text)


main()
