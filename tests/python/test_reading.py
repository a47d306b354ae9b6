# SPDX-License-Identifier: MIT
"""What the command writes, read by the Python package; and what it refuses."""

import doctest
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
import warnings

import mergelane
import mergelane._reading

COMMAND = os.environ["MERGELANE"]
TOP = pathlib.Path(__file__).resolve().parents[2]
SWEEP = """title = "Small"
machines = ["icc60"]
workloads = ["hotspot", "nn"]
sizes = ["tiny"]
[grid]
l1.size_kib = [16, 32]
"""


def command(*arguments):
    subprocess.run([COMMAND, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Reading(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        cls.store = cls.place("store")
        sweep = cls.place("sweep.toml")
        pathlib.Path(sweep).write_text(SWEEP, encoding="utf-8")
        cls.sweep = sweep
        command("campaign", "run", sweep, "--store", cls.store, "-q")
        command("run", "--gpu", "icc60", "--workload", "b+tree", "--size", "tiny", "--json", cls.place("a.json"), "--csv", cls.place("a.csv"),
                "--html", cls.place("a.html"), "--interval", "1000", "--interval-csv", cls.place("over_time.csv"), "--energy", "bottom_up_40nm")
        command("run", "--gpu", "icc60", "--workload", "b+tree", "--size", "tiny", "--set", "l1.size_kib=32", "--json", cls.place("b.json"))
        command("campaign", "export", sweep, "--store", cls.store, "--highest", "--sqlite", cls.place("runs.db"), "--csv", cls.place("runs.csv"))

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def place(cls, name):
        return os.path.join(cls.folder, name)

    def refuses(self, path, words, **options):
        with self.assertRaises(mergelane.InputError) as raised:
            mergelane.load(path, **options)
        self.assertIn(words, str(raised.exception))

    def written(self, name, content):
        path = self.place(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pathlib.Path(path).write_bytes(content)
        return path

    def lines(self):
        return [line for file in sorted(pathlib.Path(self.store).glob("*.jsonl")) for line in file.read_bytes().splitlines(keepends=True)]

    def test_a_store_is_what_its_lines_say(self):
        frame = mergelane.load(self.store)
        records = {record["key"]: record for record in map(json.loads, self.lines())}
        self.assertEqual(list(frame.index), sorted(records))
        for key, row in frame.iterrows():
            record = records[key]
            self.assertEqual(row["overrides"], " ".join(record["overrides"]))
            for name in ("gpu", "workload", "size", "seed", "digest", "cycles", "seconds", "model", "config_hash", "warp_instructions"):
                self.assertEqual(row[name], record[name])
            for name, value in record["stats"].items():
                self.assertEqual(row[name], value)
            for name, value in record["highest"].items():
                self.assertEqual(row["highest " + name], value)
        self.assertEqual(str(frame["l2.reads"].dtype), "int64")
        self.assertEqual(len({id(text) for text in frame["gpu"]}), 1)

    def test_packed_and_merged_stores_and_single_files_are_the_same_frame(self):
        frame = mergelane.load(self.store)
        packed, merged = self.place("packed.jsonl.zst"), self.place("merged")
        command("store", "pack", self.store, packed)
        shutil.copytree(self.store, merged, dirs_exist_ok=True)
        command("campaign", "merge", self.sweep, "--store", merged, "-q")
        files = [str(file) for file in pathlib.Path(self.store).glob("*.jsonl")]
        for one in (packed, merged, files, [self.store, packed], pathlib.Path(packed), packed.encode()):
            self.assertTrue(frame.equals(mergelane.load(one)), one)

    def test_the_export_is_the_same_as_the_store(self):
        frame = mergelane.load(self.store)
        for file in ("runs.db", "runs.csv"):
            table = mergelane.load(self.place(file))
            self.assertEqual(sorted(table["config.l1.size_kib"]), [16, 16, 32, 32])
            self.assertEqual(table.attrs["units"]["config.l1.size_kib"], "KiB")
            self.assertEqual(set(frame.columns) - set(table.columns), set())
            self.assertTrue(frame.equals(table.loc[frame.index, frame.columns]), file)
            few = mergelane.load(self.place(file), ["cycles", "gpu"])
            self.assertEqual(list(few.columns), ["cycles", "gpu"])
            self.refuses(self.place(file), "did you mean 'cycles'?", columns=["cycle"])

    def test_sampled_runs_have_half_widths(self):
        store, both = self.place("sampled"), self.place("sampled.toml")
        pathlib.Path(both).write_text(SWEEP.replace('"hotspot", "nn"', '"lud"') + '[sample]\nerror = "5%"\n', encoding="utf-8")
        command("campaign", "run", both, "--store", store, "-q")
        sampled = mergelane.load(store)
        self.assertEqual(set(sampled["sample"]), {"error=0.05 seed=1 by=stratified"})
        self.assertTrue((sampled["sample.simulated_launches"] <= sampled["sample.launches"]).all())
        self.assertEqual(sampled["cycles +-"].dtype, float)
        self.assertTrue((sampled["cycles +-"] <= 0.05 * sampled["cycles"]).all())
        self.assertEqual(sampled.attrs["units"]["cycles +-"], "core cycles")
        self.assertIn("half-width", sampled.attrs["meanings"]["l2.reads +-"])
        self.assertEqual(list(mergelane.load(store, ["cycles", "cycles +-"]).columns), ["cycles", "cycles +-"])
        command("campaign", "export", both, "--store", store, "--sqlite", self.place("sampled.db"), "--csv", self.place("sampled.csv"))
        for file in ("sampled.db", "sampled.csv"):
            table = mergelane.load(self.place(file))
            same = [name for name in sampled if not name.startswith("highest ")]
            self.assertTrue(sampled[same].equals(table.loc[sampled.index, same]), file)
        mixed = mergelane.load([store, self.store])
        self.assertEqual(sorted(mixed["sample"] == ""), [False] * 2 + [True] * 4)
        self.assertEqual(mixed["cycles +-"].isna().sum(), 4)
        self.assertEqual(str(mixed["cycles"].dtype), "int64")
        self.assertNotIn("sample", mergelane.load(self.store).columns)
        self.assertEqual(set(mergelane.load(self.store, ["sample"])["sample"]), {""})
        self.refuses(self.store, "cycles +-", columns=["cycles +-"])
        command("run", "--gpu", "icc60", "--set", "l1.size_kib=16", "--workload", "lud", "--size", "tiny", "--sample", "--error", "5%", "--json", self.place("s.json"))
        one, row = mergelane.load(self.place("s.json")), sampled[sampled.overrides == "l1.size_kib=16"]
        for name in [name for name in sampled if name.startswith("sample.") or name.endswith(" +-")]:
            self.assertAlmostEqual(one[name][0], row[name].iloc[0], delta=1e-5 * row[name].iloc[0], msg=name)

    def test_a_result_is_a_row(self):
        frame = mergelane.load([self.place("a.json"), self.place("b.json")])
        self.assertEqual(len(frame), 2)
        result = json.loads(pathlib.Path(self.place("a.json")).read_text(encoding="utf-8"))
        self.assertGreater(len(result["kernels"]), 1)
        self.assertEqual(frame["l2.reads"][0], result["stats"]["l2.reads"])
        self.assertEqual(frame["highest l2.reads"][0], result["highest"]["l2.reads"])
        self.assertEqual([name for name in frame if name.startswith("config.")], ["config.l1.size_kib"])
        self.assertEqual(frame.attrs["units"]["l2.reads"], result["units"]["l2.reads"])
        self.assertEqual(list(mergelane.load(self.place("a.json"), ["config.noc.flit_bytes", "cycles"]).columns), ["config.noc.flit_bytes", "cycles"])
        frame, table = mergelane.load(self.place("a.json")), mergelane.load(self.place("a.csv"))
        same = [name for name in table if name != "file"]
        self.assertTrue(frame[same].equals(table[same]))
        self.assertTrue(any(name.startswith("energy.") and name.endswith(".total") for name in same))

    def test_different_kinds_together(self):
        frame = mergelane.load([self.place("a.json"), self.store, self.place("runs.db")], ["workload", "cycles"])
        self.assertEqual(sorted(frame.workload), ["hotspot", "hotspot", "nn", "nn", "suite:b+tree size=tiny"])
        self.assertEqual(len(mergelane.load([self.store, self.place("runs.db"), self.place("runs.csv")])), 4)

    def test_columns(self):
        frame = mergelane.load(self.store, columns=["l2.reads", "workload", "highest l2.reads"])
        self.assertEqual(list(frame.columns), ["l2.reads", "workload", "highest l2.reads"])
        self.assertEqual(frame.attrs["units"], {"l2.reads": "requests", "highest l2.reads": "requests"})
        self.assertIn("counted most", frame.attrs["meanings"]["highest l2.reads"])
        self.assertEqual(mergelane.load(self.store, "cycles").shape, (4, 1))
        self.assertEqual(mergelane.load(self.store, ()).shape, (4, 0))
        self.refuses(self.store, "did you mean 'l2.reads'?", columns=["l2.read"])
        for wrong in (1, [1], [None], ["cycles", 2.5]):
            self.refuses(self.store, "columns must be names", columns=wrong)

    def test_what_a_run_did_not_count_is_nan(self):
        frame = mergelane.load([str(TOP / "docs/reproduction/icc.jsonl.zst"), self.store], ["locality.reads", "cycles", "l2.reads"])
        self.assertEqual(frame["locality.reads"].dtype, float)
        self.assertTrue(frame["locality.reads"].isna().any() and frame["locality.reads"].notna().any())
        self.assertEqual(str(frame["cycles"].dtype), "int64")
        self.assertEqual(str(frame["l2.reads"].dtype), "int64")

    def test_half_a_line_and_damaged_ones(self):
        lines = self.lines()
        torn = self.written("torn/1.jsonl", b"".join(lines) + lines[0][:1000])
        self.assertEqual(len(mergelane.load(torn)), 4)
        damaged = self.written("damaged/1.jsonl", lines[0].replace(b'"cycles":', b'"cycles":1') + b"".join(lines[1:]))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            self.assertEqual(len(mergelane.load(os.path.dirname(damaged))), 3)
        self.assertIn("1.jsonl:1 is damaged", str(said[0].message))
        self.refuses(self.written("half/1.jsonl", lines[0][:1000]), "has no finished runs")
        self.refuses(self.written("noise/1.jsonl", b"\xff\xfe\n" * 100), "damaged or of another version")

    def test_refusals(self):
        refused = [(TOP / "tests/data/store-schema2/plain", "mergelane store convert"), (TOP / "tests/data/store-schema2/packed.jsonl.xz", "mergelane store convert"),
                   (TOP / "tests/data/store-schema2/merged", "mergelane store convert"), (self.place("nothing"), "no such file"),
                   (self.place("a.html"), "is a page"), (self.place("over_time.csv"), "intervals"), (self.place("runs.csv.columns.csv"), "describes"),
                   (self.sweep, "is no result"), ("/dev/null", "not a regular file"), (TOP / "studies/icc", "mergelane reproduce"),
                   (TOP / "src", "has no records"), (os.path.join(self.store, "campaign.plan"), "give its directory"), ([], "empty"),
                   (None, "a path"), (3, "a path"), ([3], "a path"), ("a\0b", "cannot be read")]
        for path, words in refused:
            with self.subTest(path=path):
                self.refuses(path if path is None or isinstance(path, (int, list)) else str(path), words)

    def test_files_that_are_cut_off_or_something_else(self):
        packed = (TOP / "docs/reproduction/lrc.jsonl.zst").read_bytes()
        table, text = pathlib.Path(self.place("runs.db")).read_bytes(), pathlib.Path(self.place("runs.csv")).read_bytes()
        result = pathlib.Path(self.place("a.json")).read_bytes()
        cases = {"empty.json": (b"", "is empty"), "empty.jsonl": (b"", "is empty"), "cut.jsonl.zst": (packed[:-100], "damaged or cut off"),
                 "packed.zst": (packed, "ends in .jsonl.zst"), "x.mlt": (b"MLTRACE\n" + bytes(100), "is a trace"), "noise.bin": (bytes(range(256)), "is no result"),
                 "cut.db": (table[:20000], "is not a database of runs"), "head.db": (table[:16], "is not a database of runs"),
                 "cut.csv": (text[:-10], "cut off"), "cut.json": (result[:-100], "not valid JSON"), "other.json": (b'{"schema": 1}', "has no 'cycles'"),
                 "new.json": (result.replace(b'"schema": 1', b'"schema": 9', 1), "another version"), "deep.json": (b'{"config":' + b"[" * 100000, "nested"),
                 "a.json.gz": (b"\x1f\x8b123", "gzip"),
                 "wide.csv": (text + text.splitlines()[1] + b",1,2,3\n", "is damaged"), "words.csv": (text + text.splitlines()[1][:-1] + b"x\n", "not of numbers")}
        for name, (content, words) in cases.items():
            with self.subTest(name=name):
                self.refuses(self.written("wrong/" + name, content), words)

    def test_bombs(self):
        bomb = subprocess.run(["zstd", "-qc", "-19"], input=bytes(40 << 20), capture_output=True, check=True).stdout
        self.refuses(self.written("bomb/1.jsonl.zst", bomb), "remove it")
        self.refuses(self.written("bomb/2.jsonl", b"x" * (17 << 20)), "has a line of more than 16 MiB")

    def test_databases_of_others(self):
        view = self.place("view.db")
        with sqlite3.connect(view) as base:
            base.execute("CREATE TABLE columns (name TEXT, type TEXT, unit TEXT, meaning TEXT)")
            base.execute("CREATE VIEW runs AS WITH RECURSIVE n(key) AS (SELECT 1 UNION ALL SELECT key + 1 FROM n) SELECT key FROM n")
            base.execute("INSERT INTO columns VALUES ('key', 'INTEGER', '', '')")
        base.close()
        self.refuses(view, "no tables 'runs' and 'columns'")
        for column, value, words in (("nothing", 1, "no such column"), ("cycles", "many", "of another type")):
            other = self.place(f"{column}.db")
            with sqlite3.connect(other) as base:
                base.execute("CREATE TABLE columns (name TEXT, type TEXT, unit TEXT, meaning TEXT)")
                base.execute("CREATE TABLE runs (key, cycles)")
                base.execute("INSERT INTO columns VALUES (?, 'INTEGER', '', '')", (column,))
                base.execute("INSERT INTO runs VALUES ('a', ?)", (value,))
            base.close()
            self.refuses(other, words)

    def test_units_and_meanings(self):
        self.assertEqual(mergelane.units("cycles"), "core cycles")
        self.assertEqual(mergelane.units("gpu"), "")
        self.assertEqual(mergelane.units("highest l2.reads"), mergelane.units("l2.reads"))
        with self.assertRaisesRegex(mergelane.InputError, "did you mean 'l2.reads'"):
            mergelane.units("l2.raeds")
        for wrong in (None, 3, "", b"cycles"):
            with self.assertRaises(mergelane.InputError):
                mergelane.meaning(wrong)
        text = (TOP / "docs/statistics.md").read_text(encoding="utf-8")
        rows = [row.split(" | ") for row in text.splitlines() if row.startswith("| `")]
        self.assertGreater(len(rows), 200)
        for name, unit, meaning in rows:
            name = name.strip("| `")
            self.assertEqual((mergelane.units(name), mergelane.meaning(name)), (unit.strip(), meaning.strip("| ")), name)

    def test_published_numbers(self):
        for paper in ("icc", "dcl1", "ctacluster", "warppool", "packet"):
            frame = mergelane.published(paper)
            self.assertGreater(len(frame), 60)
            self.assertTrue((frame.experiment != "").any())
            self.assertEqual(frame.value.dtype, float)
        self.assertEqual(mergelane.published("icc").loc["icc-noc2x-avg", "title"], "The network as bottleneck")
        with self.assertRaisesRegex(mergelane.InputError, "did you mean 'icc'"):
            mergelane.published("ic")
        with self.assertRaisesRegex(mergelane.InputError, "no published numbers"):
            mergelane.published("lrc")
        with self.assertRaises(mergelane.InputError):
            mergelane.published(None)

    def test_examples(self):
        os.chdir(TOP)
        failed, tried = doctest.testmod(mergelane._reading)
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 5)


if __name__ == "__main__":
    unittest.main()
