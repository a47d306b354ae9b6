# SPDX-License-Identifier: MIT
"""The command, as the scripts of the head-to-head study use it: what a store has, without running anything."""
import json
import pathlib
import re
import subprocess
import tempfile
import tomllib

TOP = pathlib.Path(__file__).resolve().parents[2]
STUDY = TOP / "studies/headtohead"


def study():
    with open(STUDY / "study.toml", "rb") as file:
        return tomllib.load(file)


def experiments():
    """Experiments by their number, as the files say: id -> (file, workloads or None)."""
    found = {}
    for path in STUDY.glob("*.toml"):
        with open(path, "rb") as file:
            content = tomllib.load(file)
        if "id" in content:
            found[content["id"]] = (path, content)
    return dict(sorted(found.items(), key=lambda one: int(one[0].split("-")[1])))


def printed(binary, store, size, *more, folder="headtohead"):
    """What `reproduce --no-run --json` says of the store."""
    command = [binary, "reproduce", str(folder), "--no-run", "--store", str(store), "--size", size, "--json", "-", *more]
    done = subprocess.run(command, capture_output=True, text=True, cwd=TOP)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def without_mesh(study, experiment):
    """H2H-2 of the mechanisms on the crossbar: neither packet coalescing nor the scheduler of the ICC paper."""
    for name in ("mechanism", "with", "without"):
        study = re.sub(rf'^({name} = \[.*), "[^"]*"\]', r"\1]", study, count=1, flags=re.M)
    experiment = re.sub(r"^configurations = .*$", 'configurations = ["none", "{single}"]', experiment, count=1, flags=re.M)
    return study, re.sub(r"^\[\[table\]\]\ntitle = \"ICC\+CC with the CTA.*?(?=^\[\[)", "", experiment, count=1, flags=re.M | re.S)


def some_programs(study, experiment, workloads):
    """Lists of programs that means are taken over, without those that are not there; without the tables that would have an empty one."""
    gone = []

    def left(found):
        programs = [w for w in json.loads(found[3]) if w in workloads]
        if not programs:
            gone.append(found[2])
        return found[1] + json.dumps(programs or workloads[:1])

    study = re.sub(r"^((unrelated|from_\w+) = )(\[.*?\])", left, study, flags=re.M)
    tables = re.split(r"^(?=\[\[)", experiment, flags=re.M)
    return study, "".join(t for t in tables if not any(f"for {name})" in t for name in gone))


def reduced(binary, store, size, name, workloads, crossbar=False):
    """The experiment with these workloads only, as the command prints it: means are theirs."""
    path, content = experiments()[name]
    listed = "workloads = " + json.dumps(workloads)
    study, experiment = (file.read_text(encoding="utf-8") for file in (STUDY / "study.toml", path))
    study, experiment = some_programs(study, experiment, workloads)
    if "workloads" in content:
        experiment = re.sub(r"^workloads = .*$", lambda _: listed, experiment, count=1, flags=re.M)
    else:
        experiment = re.sub(r"^(configurations = .*)$", lambda found: found[1] + "\n" + listed, experiment, count=1, flags=re.M)
    if crossbar:
        study, experiment = without_mesh(study, experiment)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made) / "headtohead"
        folder.mkdir()
        (folder / "study.toml").write_text(study, encoding="utf-8")
        (folder / path.name).write_text(experiment, encoding="utf-8")
        return printed(binary, store, size, "--experiment", name, folder=folder)["experiments"][0]


def table(experiment, title):
    for one in experiment["tables"]:
        if one["title"].startswith(title):
            return one
    raise SystemExit(f"{experiment['id']} has no table '{title}'")
