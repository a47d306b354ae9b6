#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What packaging/ generates: manual pages without warnings, completion that knows every option, and a list of all that is linked.

  tests/packaging/test_generated.py COMMAND     zsh, fish, mandoc and groff are used if they are installed
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "packaging"))
sys.dont_write_bytecode = True
import command_help  # noqa: E402
import components  # noqa: E402

COMMAND = str(pathlib.Path(sys.argv.pop(1)).absolute())


def made(script, *words):
    environment = os.environ | {"SOURCE_DATE_EPOCH": "1700000000"}
    return subprocess.run([sys.executable, "-B", TOP / "packaging" / script, *words], check=True, capture_output=True, text=True, env=environment).stdout


class Generated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        made("manual_pages.py", COMMAND, cls.folder / "man")
        made("completions.py", COMMAND, cls.folder / "completions")
        # The name that the completion calls.
        (cls.folder / "bin").mkdir()
        (cls.folder / "bin/mergelane").symlink_to(COMMAND)
        cls.top = command_help.read(COMMAND)
        cls.environment = os.environ | {"PATH": f"{cls.folder / 'bin'}:{os.environ['PATH']}", "HOME": cls.temporary.name, "LC_ALL": "C.UTF-8"}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def shell(self, *words):
        answer = subprocess.run(words, capture_output=True, text=True, env=self.environment, cwd=TOP, check=False)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""), words)
        return answer.stdout

    def need(self, program):
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")

    def test_help_is_read_completely(self):
        """Every `--option` in the help of a command is an option that was read, or in an example."""
        self.assertGreater(len(list(self.top.all())), 30)
        for command in self.top.all():
            names = {name for option in command.options for name in option.names}
            text = command_help.output(COMMAND, *command.path, "--help").split("\nOptions:\n")[1].split("\n\n")[0]
            self.assertEqual(names, set(name for line in text.splitlines() if not line.startswith("   ") for name in line.split()[0].split(",")))

    def test_manual_pages(self):
        pages = {page.name for page in (self.folder / "man").iterdir()}
        self.assertEqual(pages, {"-".join(["mergelane", *command.path]) + ".1" for command in self.top.all()})
        for command in self.top.all():
            text = (self.folder / "man" / ("-".join(["mergelane", *command.path]) + ".1")).read_text(encoding="utf-8").replace("\\-", "-")
            for option in command.options:
                self.assertIn(f"\\fB{', '.join(option.names)}\\fR", text)

    def test_manual_pages_have_no_warnings(self):
        tools = [tool for tool in (["groff", "-man", "-ww", "-z", "-K", "utf8"], ["mandoc", "-T", "lint", "-W", "warning"]) if shutil.which(tool[0])]
        if not tools:
            self.skipTest("neither groff nor mandoc is installed")
        for page in sorted((self.folder / "man").iterdir()):
            for tool in tools:
                self.assertEqual(self.shell(*tool, str(page)), "")

    def test_bash(self):
        script = self.folder / "completions/mergelane"
        self.shell("bash", "-n", str(script))
        probe = (f'. {script}; try() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _mergelane 2>/dev/null; echo "${{COMPREPLY[*]}}"; }}\n')
        lines = []
        commands = list(self.top.all())
        for command in commands:
            lines += [f"try {command.name} -", f"try {command.name} ''"]
        answers = self.shell("bash", "-c", probe + "\n".join(lines)).split("\n")
        for number, command in enumerate(commands):
            self.assertEqual(set(answers[2 * number].split()), {name for option in command.options for name in option.names}, command.name)
            if command.commands:
                self.assertLessEqual({below.path[-1] for below in command.commands}, set(answers[2 * number + 1].split()))
        asked = "\n".join(["try mergelane run --gpu icc", "try mergelane run --gpu = h100-", "try mergelane run --workload hots",
                           "try mergelane run --size ''", "try mergelane reproduce warp", "try mergelane run --threads ''",
                           "try mergelane run --energy gpuw", "try mergelane compare v1", "try mergelane cuda READ"])
        self.assertEqual(self.shell("bash", "-c", probe + asked).splitlines(),
                         ["icc60 icc60-gpgpusim", "h100-pcie", "hotspot", "tiny paper large", "warppool", "", "gpuwattch_gtx480_40nm", "v100",
                          "README.md"])

    def test_fish(self):
        self.need("fish")
        script = self.folder / "completions/mergelane.fish"
        self.shell("fish", "-n", str(script))
        commands = list(self.top.all())
        lines = [f'echo "#"; complete -C "{command.name} -"; complete -C "{command.name} --"' for command in commands]
        answers = self.shell("fish", "-c", f"source {script}; " + "; ".join(lines)).split("#\n")[1:]
        for command, answer in zip(commands, answers):
            known = {line.split("\t")[0] for line in answer.splitlines()}
            self.assertLessEqual({name for option in command.options for name in option.names}, known, command.name)
        asked = self.shell("fish", "-c", f'source {script}; complete -C "mergelane run --gpu icc60"; complete -C "mergelane reproduce warp"')
        self.assertEqual([line.split("\t")[0] for line in asked.splitlines()], ["icc60", "icc60-gpgpusim", "warppool"])

    def test_zsh(self):
        self.need("zsh")
        script = self.folder / "completions/_mergelane"
        self.shell("zsh", "-n", str(script))
        # What is said to the completion system, without a terminal.
        probe = f"_arguments() {{ print -rl -- \"$@\" }}; _describe() {{ }}; _files() {{ }}; . {script} >/dev/null 2>&1\n"
        for command in self.top.all():
            function = "_".join(["_mergelane", *command.path]).replace("-", "_")
            said = self.shell("zsh", "-f", "-c", probe + f"echo begin; {function}").split("begin\n")[1]
            for option in command.options:
                for name in option.names:
                    self.assertRegex(said, rf"(?m)^[^\[]*{re.escape(name)}=?\[", command.name)

    def test_all_that_is_linked_is_listed(self):
        document = json.loads(made("sbom.py"))
        names = {package["name"] for package in document["packages"]}
        self.assertLessEqual({"mergelane", "vega", "vega-lite", "vega-embed"} | set(components.listed()), names)
        identifiers = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for relation in document["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], identifiers)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", COMMAND], check=True, capture_output=True, text=True).stdout)
        listed = {facts.get("soname") for facts in components.listed().values()} | {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}
        self.assertLessEqual(set(needed), listed)
        self.assertTrue(all(components.copyright_file(facts["debian"]).exists() for facts in components.listed().values()))

    def test_one_version(self):
        version = re.search(r"project\(mergelane VERSION ([0-9.]+)", (TOP / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        self.assertIn(f"\nversion: {version}\n", (TOP / "CITATION.cff").read_text(encoding="utf-8"))
        self.assertIn(f"\n## [{version}] - ", (TOP / "CHANGELOG.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
