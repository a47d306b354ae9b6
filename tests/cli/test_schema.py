#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real outputs of every command with --json against docs/schema. Usage: test_schema.py PATH_TO_MERGELANE [unittest arguments]. Exit code 77: jsonschema is missing."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is missing")
    sys.exit(77)

BINARY = os.path.abspath(sys.argv.pop(1))
SCHEMAS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "docs", "schema")
SMALL = ["--synthetic", "tiled", "--param", "ctas=60", "--param", "iterations=2"]
WORK = tempfile.TemporaryDirectory()
os.environ["MERGELANE_CACHE"] = os.path.join(WORK.name, "cache")


def schema(name):
    with open(os.path.join(SCHEMAS, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def closed(part):
    """The schema without unknown members: users may meet new ones, but each must be described."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    more = {key: closed(value) for key, value in part.items()}
    if "properties" in more and more.get("type") == "object":
        more.setdefault("additionalProperties", False)
    return more


class Schemas(unittest.TestCase):
    def output(self, *arguments, expect=0):
        done = subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=300, cwd=WORK.name)
        self.assertEqual(done.returncode, expect, done.stderr)
        return json.loads(done.stdout)

    def check(self, name, document):
        self.assertEqual(document["schema"], schema(name)["properties"]["schema"]["const"])
        jsonschema.Draft202012Validator(closed(schema(name))).validate(document)

    def test_schemas_are_schemas(self):
        for file in sorted(os.listdir(SCHEMAS)):
            if file.endswith(".json"):
                jsonschema.Draft202012Validator.check_schema(schema(file[:-5]))

    def test_a_wrong_document_is_refused(self):
        document = self.output("run", "--gpu", "icc60", *SMALL, "--json", "-")
        for change in ({"cycles": "many"}, {"schema": 0}, {"surprise": 1}, {"kernels": [{}]}):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.Draft202012Validator(closed(schema("run"))).validate({**document, **change})

    def test_run_and_diff(self):
        self.check("run", self.output("run", "--gpu", "icc60", *SMALL, "--max-cycles", "300", "--json", "-"))
        files = [os.path.join(WORK.name, name) for name in ("a.json", "b.json")]
        changes = ["--set", "cluster.icc.enabled=true", "--energy", "gpuwattch_gtx480_40nm", "--set", "l1.size_kib=16"]
        for file, more in zip(files, ([], changes)):
            subprocess.run([BINARY, "run", "--gpu", "icc60", *SMALL, "--param", "kernels=2", "-q", "--json", file, *more], check=True, timeout=300)
            with open(file, encoding="utf-8") as text:
                self.check("run", json.load(text))
        for more in ([], ["--all"]):
            self.check("diff", self.output("diff", *files, "--json", "-", *more))

    def test_run_with_everything(self):
        self.check("run", self.output("run", "--gpu", "v100", "--workload", "gemm", "--size", "tiny", "--by-instruction", "--interval", "1000", "--json", "-"))

    def test_sampled_run(self):
        run = ["run", "--gpu", "icc60", "--workload", "lud", "--size", "tiny", "--sample", "--json", "-"]
        files = [os.path.join(WORK.name, name) for name in ("full.json", "pka.json")]
        for more, file in (([], files[0]), (["--sample-by", "pka"], files[1])):
            document = self.output(*run, *more)
            self.check("run", document)
            with open(file, "w", encoding="utf-8") as text:
                json.dump(document, text)
        self.check("diff", self.output("diff", *files, "--json", "-"))

    def test_explain(self):
        self.check("explain", self.output("explain", "--gpu", "icc60", *SMALL, "--json", "-"))
        self.check("explain", self.output("explain", "--gpu", "icc60", *SMALL, "--what-if", "--json", "-"))

    def test_profile_and_advise(self):
        self.check("profile", self.output("profile", *SMALL, "--json", "-"))
        self.check("profile", self.output("profile", "--gpu", "icc60", *SMALL, "--json", "-"))
        self.check("advise-mechanisms", self.output("advise", "--mechanisms", *SMALL, "--json", "-"))
        self.check("advise", self.output("advise", "--gpu", "gtx980", "--workload", "matrixmul", "--size", "tiny", "--simulations", "1", "--by-instruction", "--json", "-"))

    def test_ptx_check(self):
        file = os.path.join(WORK.name, "mixed.ptx")
        with open(file, "w", encoding="utf-8") as text:
            text.write(".version 8.0\n.target sm_75\n.address_size 64\n.entry idle() { ret; }\n.entry bad() { tex.2d; ret; }\n")
        self.check("ptx-check", self.output("ptx", "check", file, os.path.join(WORK.name, "missing.ptx"), "--json", "-", expect=4))

    def test_compare(self):
        self.check("compare", self.output("compare", "icc60", "v100", "icc60 l1.size_kib=16", "--workloads", "hotspot", "--size", "tiny", "--energy",
                                          "gpuwattch_gtx480_40nm", "--json", "-"))
        self.check("compare", self.output("compare", "icc60", "v100", "--workloads", "lud", "--size", "tiny", "--sample", "--json", "-"))

    def test_reproduce(self):
        self.check("reproduce", self.output("reproduce", "icc", "--experiment", "ICC-4", "--size", "tiny", "--seeds", "2", "--json", "-"))

    def test_campaign_status(self):
        file = os.path.join(WORK.name, "sweep.toml")
        with open(file, "w", encoding="utf-8") as text:
            text.write('machines = ["icc60"]\nworkloads = ["hotspot"]\nsizes = ["tiny"]\n')
        self.check("campaign-status", self.output("campaign", "status", file, "--json", expect=4))

    def test_microbench(self):
        self.check("microbench", self.output("microbench", "--gpu", "v100", "--only", "latency.l1", "--only", "launch", "--json", "-"))

    def test_bench(self):
        self.check("bench", self.output("bench", "--loop", "--repeat", "1", "--json", "-"))
        self.check("bench-network", self.output("bench", "network", "--pattern", "uniform", "--load", "0.1", "--cycles", "200", "--json", "-"))


if __name__ == "__main__":
    unittest.main()
