#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What scripts and people rely on in the mergelane command. Usage: test_cli.py PATH_TO_MERGELANE [unittest arguments]"""
import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.path.abspath(sys.argv.pop(1))
TRACE_LIST = "no/such/kernelslist.g"
SMALL = ["--param", "ctas=60", "--param", "iterations=2"]


CACHE = tempfile.TemporaryDirectory()
os.environ["MERGELANE_CACHE"] = CACHE.name  # not the user's


def mergelane(*arguments, **options):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=120, **options)


class Explanations(unittest.TestCase):
    GEMM = ("explain", "--gpu", "v100", "--workload", "gemm", "--size", "tiny", "--set", "dispatch.launch_latency=0")

    def test_the_merge_limit_of_the_l2_is_named_first(self):
        done = mergelane(*self.GEMM)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("What limits it: an MSHR entry of the L2 has no free merge slot (l2.mshr_merges = 4)", done.stdout)
        self.assertIn("53 of 80 SMs have no work.", done.stdout)

    def test_json_and_what_if(self):
        done = mergelane(*self.GEMM, "--what-if", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        first = result["findings"][0]
        self.assertEqual(first["id"], "l2_merges")
        self.assertTrue(first["confirmed"])
        self.assertGreater(first["gain"], 1.5)
        self.assertEqual(first["what_if"]["overrides"], ["l2.mshr_merges=64"])
        self.assertEqual({b["id"] for b in result["upper_bounds"]}, {"perfect_l1", "row_hits", "contention_free_network"})

    def test_it_is_the_same_for_any_number_of_threads(self):
        one, four = (mergelane(*self.GEMM, "--json", "-", "--threads", threads) for threads in "14")
        self.assertEqual(one.returncode, 0, one.stderr)
        self.assertEqual(one.stdout, four.stdout)


class PtxCheck(unittest.TestCase):
    HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
    GOOD = ".visible .entry good{}(.param .u64 p)\n{{\n.reg .b32 %r<9>; .reg .b64 %x<9>;\nld.param.u64 %x1, [p];\n{}st.global.u32 [%x1], %r1;\nret;\n}}\n"
    STUB = ".visible .entry idle() { trap; }\n"
    REFUSED = ".visible .entry fancy()\n{\n.reg .b32 %r<9>;\ntcgen05.fence::before_thread_sync;\nret;\n}\n"
    BROKEN = ".visible .entry broken()\n{\nadd.u32 %r1 %r2;\n}\n"

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text, name="a.ptx"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_all_accepted(self):
        done = mergelane("ptx", "check", self.file(self.HEAD + self.GOOD.format(1, "mov.u32 %r1, 7;\n") + self.STUB))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split("\n")[1].split()[1:], ["2", "1", "0", "1"])
        self.assertNotIn("reason", done.stdout)

    def test_what_is_refused_does_not_hide_the_rest(self):
        first = self.file(self.HEAD + self.REFUSED + self.BROKEN + self.GOOD.format(1, ""))
        second = self.file(self.HEAD + self.REFUSED, "b.ptx")
        done = mergelane("ptx", "check", first, os.path.join(self.folder.name, "none.ptx"), second, "--kernels")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual([line.split()[1:] for line in done.stdout.split("\n") if line.startswith("total")], [["4", "1", "3", "0"]])
        reasons = done.stdout.split("reason (first occurrence)\n")[1].split("\n")
        self.assertEqual(reasons[0].split()[:2], ["2", "2"])  # commonest first
        self.assertIn("instruction 'tcgen05.fence::before_thread_sync' is not supported", reasons[0])
        self.assertIn("a.ptx:7)", reasons[0])
        self.assertIn("none.ptx", done.stdout)
        self.assertIn("refused   broken: line 12: expected ';'", done.stdout)
        self.assertIn("accepted  good1", done.stdout)

    def test_json_has_one_object_per_kernel(self):
        path = os.path.join(self.folder.name, "out.json")
        source = self.file(self.HEAD + self.STUB + self.REFUSED + self.GOOD.format(1, ""))
        self.assertEqual(mergelane("ptx", "check", "-q", source, "--json", path).returncode, 4)
        with open(path) as file:
            result = json.load(file)
        self.assertEqual(result["totals"], {"files": 1, "kernels": 3, "accepted": 1, "refused": 1, "stubs": 1})
        self.assertEqual([(k["kernel"], k["accepted"], k["stub"]) for k in result["kernels"]], [("idle", True, True), ("fancy", False, False), ("good1", True, False)])
        self.assertEqual(result["kernels"][1]["reason"]["line"], 8)
        self.assertEqual(result["reasons"][0]["kernels"], 1)

    def test_the_result_must_not_overwrite_an_input(self):
        source = self.file(self.HEAD + self.STUB)
        self.assertEqual(mergelane("ptx", "check", source, "--json", source).returncode, 2)

    def test_large_modules_take_little_time_and_memory(self):
        body = "".join(f"mad.lo.s32 %r{k % 8}, %r{(k + 1) % 8}, %r{(k + 2) % 8}, {k};\n" for k in range(2000))
        text = self.HEAD + "".join(self.GOOD.format(n, body) for n in range(170))
        self.assertGreater(len(text), 10 << 20)

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
            resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

        done = mergelane("ptx", "check", self.file(text), preexec_fn=None if "asan" in BINARY else limit)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split("\n")[1].split()[1:], ["170", "170", "0", "0"])


class Results(unittest.TestCase):
    def test_json_has_the_promised_fields(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "r.json")
            done = mergelane("run", "--gpu", "icc60", "--synthetic", "tiled", *SMALL, "--threads", "2", "--json", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path) as file:
                result = json.load(file)
        for key in ("version", "model", "config_hash", "digest", "cycles", "warp_instructions", "cpu_seconds", "kernels", "stats"):
            self.assertIn(key, result)
        for stat in ("l1.sector_accesses", "l1.sector_misses", "l2.sector_accesses", "dram.sector_reads"):
            self.assertIsInstance(result["stats"][stat], int)
            self.assertIn(stat, result["kernels"][0]["stats"])
            self.assertEqual(result["units"][stat], "sectors")
        self.assertTrue(result["complete"])
        self.assertEqual(result["stats"]["sm.warp_instructions"], result["warp_instructions"])
        self.assertEqual(result["config"]["l1.size_kib"], 48)
        self.assertEqual(result["workload"], "synthetic:tiled ctas=60 iterations=2")

    def test_kernels_add_up_to_the_total(self):
        done = mergelane("run", "--gpu", "gtx480", "--synthetic", "store", *SMALL, "--param", "kernels=3", "--json", "-")
        result = json.loads(done.stdout)
        self.assertEqual(len(result["kernels"]), 3)
        for stat, total in result["stats"].items():
            parts = sum(kernel["stats"][stat] for kernel in result["kernels"])
            # What is still on its way to memory when the last kernel ends belongs to the total only.
            (self.assertLessEqual if stat.startswith("dram.") else self.assertEqual)(parts, total, stat)

    def test_kernel_time_and_launch_overhead_are_reported_apart(self):
        run = ["run", "--gpu", "v100", "--synthetic", "store", *SMALL, "--param", "kernels=3"]
        result = json.loads(mergelane(*run, "--json", "-").stdout)
        self.assertEqual(result["kernel_cycles"], sum(kernel["cycles"] for kernel in result["kernels"]))
        self.assertEqual(result["kernel_cycles"] + result["launch_overhead_cycles"], result["cycles"])
        # Launch latency before each kernel, and both ways of the dispatcher's latency between two of them.
        self.assertEqual(result["launch_overhead_cycles"], 3 * 5000 + 2 * 2 * result["config"]["dispatch.latency"])
        self.assertAlmostEqual(result["kernel_us"], result["kernel_cycles"] / 1132)
        rows = {row["stat"]: int(row["value"]) for row in csv.DictReader(io.StringIO(mergelane(*run, "--csv", "-").stdout)) if row["kernel"] == "total"}
        self.assertEqual((rows["kernel_cycles"], rows["launch_overhead_cycles"]), (result["kernel_cycles"], result["launch_overhead_cycles"]))
        without = json.loads(mergelane(*run, "--set", "dispatch.launch_latency=0", "--json", "-").stdout)
        self.assertLess(without["launch_overhead_cycles"], 100)

    def test_csv_loads_and_agrees_with_json(self):
        arguments = ["run", "--gpu", "icc60", "--synthetic", "stream", *SMALL]
        rows = list(csv.DictReader(io.StringIO(mergelane(*arguments, "--csv", "-").stdout)))
        stats = json.loads(mergelane(*arguments, "--json", "-").stdout)["stats"]
        totals = {row["stat"]: int(row["value"]) for row in rows if row["kernel"] == "total"}
        for derived in ("cycles", "kernel_cycles", "launch_overhead_cycles"):
            totals.pop(derived)
        self.assertEqual(totals, stats)

    def test_intervals_add_up_to_the_run(self):
        run = ["run", "--gpu", "v100", "--synthetic", "tiled", *SMALL, "--param", "kernels=2", "--interval", "1111"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "i.csv")
            result = json.loads(mergelane(*run, "--interval-csv", path, "--json", "-").stdout)
            with open(path) as file:
                text = file.read()
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
        intervals = result["intervals"]
        self.assertEqual(intervals["interval_cycles"], 1111)
        self.assertEqual(intervals["start"], list(range(0, result["cycles"], 1111)))
        self.assertEqual(sum(intervals["cycles"]), result["cycles"])
        self.assertEqual(set(intervals["cycles"][:-1]), {1111})
        for stat, total in result["stats"].items():
            self.assertEqual(sum(intervals["stats"][stat]), total, stat)
            self.assertEqual(intervals["stats"][stat], [row[stat] for row in rows], stat)
            self.assertTrue(all(0 <= count <= total for count in intervals["stats"][stat]), stat)
        self.assertEqual(intervals["start"], [row["start"] for row in rows])
        plain = json.loads(mergelane(*run[:-2], "--json", "-").stdout)
        self.assertEqual(plain["digest"], result["digest"])
        self.assertNotIn("intervals", plain)
        for options in (["--threads", "2"], ["--threads", "4"], ["--threads", "8"], ["--window", "3"]):
            self.assertEqual(mergelane(*run, *options, "--interval-csv", "-").stdout, text, options)

    def test_mistakes_with_intervals_are_answered(self):
        run = ["run", "--gpu", "icc60", "--synthetic", "stream"]
        for options, answer in ((["--interval", "5"], "--interval has no output"), (["--interval-csv", "x.csv"], "add --interval"),
                                (["--interval", "0", "--json", "-"], "--interval"), (["--timeline", "/no/such/folder/x.pftrace"], "folder"),
                                (["--interval", "5", "--json", "-", "--timeline", "-"], "--json - and --timeline - cannot both"),
                                (["--interval", "5", "--interval-csv", "-", "-q"], "increase --interval")):
            done = mergelane(*run, *options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(answer, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_reruns_are_identical(self):
        arguments = ["run", "--gpu", "v100", "--synthetic", "divergent", "--param", "ctas=40", "--param", "iterations=1", "--json", "-"]
        first, second = (json.loads(mergelane(*arguments).stdout) for _ in range(2))
        self.assertEqual(first["digest"], second["digest"])
        self.assertEqual(first["stats"], second["stats"])

    def test_cluster_mechanisms_appear_when_on(self):
        run = ["run", "--gpu", "icc60", "--synthetic", "tiled", *SMALL]
        switches = []
        for part in ("icc", "cc", "locality"):
            switches += ["--set", f"cluster.{part}.enabled=true"]
        off = json.loads(mergelane(*run, "--json", "-").stdout)
        self.assertFalse([stat for stat in off["stats"] if stat.startswith(("icc.", "cc.", "locality."))])
        results = [json.loads(mergelane(*run, *switches, "--threads", threads, "--json", "-").stdout) for threads in ("1", "2")]
        self.assertEqual(results[0]["digest"], results[1]["digest"])
        stats = results[0]["stats"]
        self.assertGreater(stats["icc.merged"], 0)
        self.assertLess(stats["l2.reads"], off["stats"]["l2.reads"])
        self.assertLessEqual(stats["locality.data_sharing_500"], stats["locality.data_sharing_2000"])
        for stat in ("icc.merged", "cc.hits", "icc.entry_cycles", "locality.line_sharing_1000"):
            self.assertTrue(results[0]["units"][stat])
            self.assertTrue(results[0]["meanings"][stat])
        text = mergelane(*run, *switches).stdout
        for word in ("Clusters", "L1 read misses merged", "merge table occupancy", "coalesced cache hit rate", "locality, 2000 cycles"):
            self.assertIn(word, text)

    def test_summary_shows_every_level(self):
        text = mergelane("run", "--gpu", "icc60", "--synthetic", "tiled", *SMALL).stdout
        for word in ("IPC", "L1 load hit rate", "L2 hit rate", "DRAM row hit rate", "Mean latency", "Bandwidth", "Scheduler cycles", "digest"):
            self.assertIn(word, text)


class Differences(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def result(self, name, *arguments):
        path = os.path.join(self.folder.name, name)
        done = mergelane("run", "--gpu", "icc60", "--synthetic", "tiled", *SMALL, "-q", "--json", path, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def test_changed_keys_time_and_counters_are_listed(self):
        a, b = self.result("a.json"), self.result("b.json", "--set", "l1.size_kib=16", "--set", "sm.scheduler=lrr")
        text = mergelane("diff", a, b).stdout
        self.assertRegex(text, r"l1\.size_kib +48 +16\n")
        self.assertRegex(text, r"sm\.scheduler +gto +lrr\n")
        self.assertLess(text.index("\nTime "), text.index("\nScheduler cycles "))
        self.assertLess(text.index("\nScheduler cycles "), text.index("\nCounters "))
        short, full = (json.loads(mergelane("diff", a, b, "--json", "-", *more).stdout) for more in ([], ["--all"]))
        self.assertEqual([k["key"] for k in short["configuration"]], ["l1.size_kib", "sm.scheduler"])
        counters = [{g["id"]: g["numbers"] for g in d["groups"]}["counters"] for d in (short, full)]
        self.assertLess(len(counters[0]), len(counters[1]))
        effects = [n["effect"] for n in counters[1]]
        self.assertEqual(effects, sorted(effects, reverse=True))
        results = []
        for path in (a, b):
            with open(path, encoding="utf-8") as file:
                results.append(json.load(file))
        for number in counters[1]:
            self.assertEqual([number["a"], number["b"]], [r["stats"][number["name"]] for r in results])

    def test_equal_results_are_said_to_be(self):
        a = self.result("a.json")
        done = mergelane("diff", a, a)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("digests are equal", done.stdout)

    def test_what_is_no_result_is_refused(self):
        a = self.result("a.json")
        bad = os.path.join(self.folder.name, "bad.json")
        for text, why in (("", "bad.json:1: is not valid JSON"), ("{}", "no 'cycles'"), ('{"stats":' + "[" * 100000, "nested")):
            with open(bad, "w") as file:
                file.write(text)
            done = mergelane("diff", a, bad)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)
        for path in ("no/such.json", self.folder.name):
            done = mergelane("diff", a, path)
            self.assertEqual(done.returncode, 2)
            self.assertIn("cannot read", done.stderr)


class Search(unittest.TestCase):
    def test_keys_statistics_workloads_and_mechanisms_are_found(self):
        def found(query):
            done = mergelane("describe", "--search", query)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.splitlines()
            self.assertEqual(lines[0].split(), ["kind", "name", "unit", "meaning"])
            return [tuple(line.split()[:2]) for line in lines[1:]]

        mshr = found("MSHR")
        self.assertIn(("key", "l1.mshrs"), mshr)
        self.assertIn(("statistic", "lsu.parked_mshr"), mshr)
        self.assertIn(("workload", "hotspot"), found("hotspot"))
        self.assertIn(("mechanism", "lsu.front=warp_pool"), found("warp_pool"))
        self.assertIn(("synthetic", "tiled"), found("tiled"))
        self.assertEqual(found("l1.mshrs")[0], ("key", "l1.mshrs"))
        self.assertLess(len(found("mshr free")), len(mshr))

    def test_mistakes(self):
        for arguments, why in ((["--search", "xyzzy"], "nothing has 'xyzzy'"), (["--search", " "], "nothing to search for"),
                               (["l1", "--search", "mshr"], "omit the part")):
            done = mergelane("describe", *arguments)
            self.assertEqual(done.returncode, 2)
            self.assertIn(why, done.stderr)


class Expectations(unittest.TestCase):
    RUN = ["run", "--gpu", "icc60", "--synthetic", "tiled", *SMALL]
    NAME = "synthetic:tiled ctas=60 iterations=2"

    def stderr(self, lines, *arguments):
        with tempfile.TemporaryDirectory() as cache:
            with open(os.path.join(cache, "speeds.tsv"), "w", encoding="utf-8") as file:
                file.write("".join(lines))
            done = mergelane(*self.RUN, *arguments, env=dict(os.environ, MERGELANE_CACHE=cache))
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stderr

    def test_long_work_is_announced(self):
        line = f"{self.NAME}\ticc60\t38400\t125\t296\n"
        other = f"{self.NAME}\tv100\t38400\t7000\t296\n"
        expected = "expecting about 2 min 05 s and 300 MiB, from an earlier run of this workload on icc60\n"
        for past in ([line], [line, other], [other, line], ["damaged\n", "\0\t\t\t\n", "a\tb\t-1\tx\t1e999\n", line, "torn\ticc60\t1"]):
            self.assertEqual(self.stderr(past), expected)
        self.assertIn("about 1 h 56 min", self.stderr([other]))
        self.assertIn("about 1 min 03 s", self.stderr([line], "--threads", "2"))
        self.assertEqual(self.stderr([line], "-q"), "")

    def test_short_or_unknown_work_is_not(self):
        self.assertEqual(self.stderr([f"{self.NAME}\ticc60\t38400\t9\t296\n"]), "")
        self.assertEqual(self.stderr(["another\ticc60\t38400\t900\t296\n"]), "")

    def test_traces_are_estimated_by_their_instructions(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "x.mlt")
            self.assertEqual(mergelane("trace", "record", "--synthetic", "tiled", *SMALL, "-o", trace).returncode, 0)
            with open(os.path.join(folder, "speeds.tsv"), "w", encoding="utf-8") as file:
                file.write("another\ticc60\t38400\t60\t1\n")
            done = mergelane("run", "--gpu", "icc60", trace, env=dict(os.environ, MERGELANE_CACHE=folder))
            self.assertIn("expecting about 1 min 00 s, from 0.0384 million warp instructions", done.stderr)

    def test_progress_without_a_terminal(self):
        run = [BINARY, "run", "--gpu", "v100", "--synthetic", "divergent", "--param", "ctas=100000", "--no-sleep"]
        with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            begun = time.monotonic()
            line = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        self.assertRegex(line, r"^kernel 1: \d+ of 100000 CTAs, cycle \d+, (estimating|about .* left)\n$")
        self.assertGreater(time.monotonic() - begun, 9)


class RealKernels(unittest.TestCase):
    def test_a_kernel_runs_from_its_manifest(self):
        manifest = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx", "saxpy.toml")
        runs = [mergelane("run", "--gpu", "icc60", manifest, "--threads", threads, "--json", "-") for threads in ("1", "2")]
        self.assertEqual(runs[0].returncode, 0, runs[0].stderr)
        first, second = (json.loads(done.stdout) for done in runs)
        self.assertEqual(first["workload"], "saxpy")
        self.assertEqual([k["name"] for k in first["kernels"]], ["saxpy", "saxpy"])
        self.assertEqual(first["stats"], second["stats"])

    def test_printf_in_a_kernel_is_not_ignored_silently(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "talk.ptx"), "w") as file:
                file.write("""
                    .version 6.3
                    .target sm_75
                    .address_size 64
                    .extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 values);
                    .visible .entry talk() {
                        .reg .b64 %rd<2>;
                        .param .b64 format;
                        .param .b64 values;
                        .param .b32 result;
                        mov.u64 %rd1, 0;
                        st.param.b64 [format], %rd1;
                        st.param.b64 [values], %rd1;
                        call.uni (result), vprintf, (format, values);
                        ret;
                    }""")
            manifest = os.path.join(folder, "talk.toml")
            with open(manifest, "w") as file:
                file.write('ptx = "talk.ptx"\nkernel = "talk"\ngrid = [1]\nblock = [32]\n')
            done = mergelane("run", "--gpu", "icc60", manifest)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kernel 'talk' calls printf; that has no effect here", done.stderr)

    def test_a_benchmark_program_is_executed_once(self):
        with tempfile.TemporaryDirectory() as cache:
            run = ["run", "--workload", "hotspot", "--size", "tiny", "--json", "-"]
            results = []
            for extra in (["--no-cache"], ["--cache", cache], ["--cache", cache]):
                done = mergelane(*run, "--gpu", "icc60", *extra)
                self.assertEqual(done.returncode, 0, done.stderr)
                results.append(json.loads(done.stdout))
                files = os.listdir(cache)
                self.assertEqual(len(files), 0 if extra == ["--no-cache"] else 1, files)
            self.assertEqual(len({result["digest"] for result in results}), 1)
            self.assertEqual(results[0]["workload"], "suite:hotspot size=tiny")
            mergelane(*run, "--gpu", "gtx480", "--cache", cache)
            self.assertEqual(os.listdir(cache), files)
            with open(os.path.join(cache, files[0]), "r+b") as file:
                file.seek(100)
                file.write(b"damage")
            done = mergelane(*run, "--gpu", "icc60", "--cache", cache)
            self.assertEqual(done.returncode, 2)
            self.assertIn("--no-cache", done.stderr)

    def test_counts_by_instruction_add_up_and_name_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "x.mlt")
            workload = ["--workload", "transpose", "--size", "tiny"]
            done = mergelane("trace", "record", *workload, "-o", trace)
            self.assertEqual(done.returncode, 0, done.stderr)
            results = []
            # Executed, from the recording that leaves behind, from a trace; with another number of threads.
            for source in (workload, workload, [trace], [trace, "--threads", "3"]):
                done = mergelane("run", "--gpu", "v100", *source, "--by-instruction", "--json", "-")
                self.assertEqual(done.returncode, 0, done.stderr)
                results.append(json.loads(done.stdout))
            for result in results[1:]:
                self.assertEqual(result["by_instruction"], results[0]["by_instruction"])
            plain = json.loads(mergelane("run", "--gpu", "v100", *workload, "--json", "-").stdout)
            self.assertEqual(plain["digest"], results[0]["digest"])
            self.assertNotIn("by_instruction", plain)
            rows = [row for kernel in results[0]["by_instruction"] for row in kernel["instructions"]]
            total = lambda name: sum(row.get(name, 0) for row in rows)
            for name, counter in (("executions", "sm.warp_instructions"), ("lanes", "sm.thread_instructions"), ("loads", "sm.loads"),
                                  ("latency", "sm.load_latency"), ("l1_hits", "l1.sector_hits"), ("requests", "sm.requests_sent")):
                self.assertEqual(total(name), plain["stats"][counter], name)
            self.assertTrue(all(row["ptx_line"] > 0 or row["opcode"] == "exit" for row in rows if "ptx_line" in row))
            self.assertEqual(plain["kernels"][0]["registers_from"], "cubin")
        table = mergelane("run", "--gpu", "v100", *workload, "--by-instruction").stdout
        self.assertIn("Instructions that wait longest", table)
        self.assertRegex(table, r"ld\.global\S* +transpose\S*\.ptx:\d+")

    def test_some_kernels_of_a_benchmark_program(self):
        done = mergelane("run", "--gpu", "icc60", "--workload", "corr", "--size", "tiny", "--kernels", "2-3", "--json", "-")
        self.assertEqual([k["name"] for k in json.loads(done.stdout)["kernels"]], ["corr_deviation", "corr_scale"])


class Sampling(unittest.TestCase):
    RUN = ("run", "--gpu", "v100", "--workload", "lud", "--size", "tiny", "--repeat", "4")

    def sampled(self, *options):
        done = mergelane(*self.RUN, "--sample", *options, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_repeated_benchmarks_run_one_after_the_other(self):
        once, twice = (json.loads(mergelane("run", "--gpu", "icc60", "--workload", "spmv", "--size", "tiny", *more, "--json", "-").stdout)
                       for more in ([], ["--repeat", "2"]))
        self.assertEqual([k["name"] for k in twice["kernels"]], 2 * [k["name"] for k in once["kernels"]])
        self.assertEqual(twice["kernels"][0]["stats"], once["kernels"][0]["stats"])
        self.assertGreater(twice["cycles"], once["cycles"])

    def test_every_statistic_has_an_interval(self):
        result = self.sampled("--error", "3%")
        sample = result["sample"]
        self.assertEqual(sample["launches"], 76)
        self.assertLess(sample["simulated_launches"], 76)
        self.assertEqual(len(result["kernels"]), sample["simulated_launches"])
        self.assertEqual(sample["stats"].keys(), result["stats"].keys())
        self.assertEqual(round(sample["cycles"]["value"]), result["cycles"])
        self.assertEqual(sum(s["launches"] for s in sample["strata"]), 76)
        self.assertEqual(sum(s["simulated_launches"] for s in sample["strata"]), sample["simulated_launches"])
        text = mergelane(*self.RUN, "--sample", "--error", "3%").stdout
        self.assertRegex(text, r"cycles +[0-9,]+ +\+- [0-9.]+ % \(95 %\)")
        self.assertRegex(text, rf"launches simulated +{sample['simulated_launches']} of 76")

    def test_threads_change_nothing(self):
        run = ("run", "--gpu", "icc60", "--workload", "lud", "--size", "tiny", "--sample", "--error", "5%", "--json", "-")
        results = [json.loads(mergelane(*run, *more).stdout) for more in ([], ["--threads", "2"], ["--sample-seed", "2"])]
        self.assertEqual(results[0]["digest"], results[1]["digest"])
        self.assertEqual(results[0]["stats"], results[1]["stats"])
        self.assertNotEqual(results[0]["digest"], results[2]["digest"])

    def test_a_complete_sample_is_the_run(self):
        """So little error is allowed that all launches are simulated, in the first pass or in later ones, from an L2 that was warmed."""
        full = json.loads(mergelane(*self.RUN[:-2], "--json", "-").stdout)
        done = mergelane(*self.RUN[:-2], "--sample", "--error", "0.05%", "--json", "-")
        result = json.loads(done.stdout)
        self.assertEqual(result["sample"]["simulated_launches"], len(full["kernels"]))
        self.assertLess(result["sample"]["cycles"]["relative"], 0.005)  # what warming may miss
        self.assertEqual(result["stats"]["sm.warp_instructions"], full["stats"]["sm.warp_instructions"])
        self.assertLess(abs(result["cycles"] / full["cycles"] - 1), 0.02)

    def test_long_launches_are_simulated_in_parts(self):
        run = ("run", "--gpu", "v100", "--set", "gpu.clusters=2", "--set", "dram.channels=2", "--synthetic", "stream", "--param", "ctas=2400", "--param", "iterations=2")
        full = json.loads(mergelane(*run, "--json", "-").stdout)
        done = mergelane(*run, "--sample", "--waves", "40", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        sample = result["sample"]
        self.assertEqual((sample["launches"], sample["simulated_launches"], sample["launches_in_parts"]), (1, 1, 1))
        self.assertLess(sample["simulated_waves"], 50)
        self.assertLess(sample["simulated_warp_instructions"], sample["warp_instructions"] / 2)
        self.assertLessEqual(abs(sample["cycles"]["value"] - full["cycles"]), sample["cycles"]["half_width"])
        self.assertEqual(result["kernels"][0]["ctas"], 2400)
        self.assertEqual(json.loads(mergelane(*run, "--sample", "--waves", "40", "--threads", "2", "--json", "-").stdout)["digest"], result["digest"])
        self.assertRegex(mergelane(*run, "--sample", "--waves", "40").stdout, rf"launches simulated in parts +1 +{sample['simulated_stretches']} of {sample['stretches']} stretches")
        self.assertRegex(mergelane(*run, "--sample", "--waves", "40", "--html", "-").stdout, rf"{sample['simulated_stretches']} of {sample['stretches']} stretches")
        done = mergelane("run", "--gpu", "icc60", "--set", "gpu.clusters=1", "--synthetic", "stream", "--param", "ctas=2400", "--sample", "--waves", "40")
        self.assertEqual(done.returncode, 2)
        self.assertIn('dispatch.scheduler = "distributed"', done.stderr)

    def test_published_selections_state_no_interval(self):
        for method in ("pka", "sieve"):
            sample = self.sampled("--sample-by", method)["sample"]
            self.assertEqual(sample["requested_error"], 0)
            self.assertEqual(sample["simulated_launches"], len(sample["strata"]))
        self.assertIn("no interval", mergelane(*self.RUN, "--sample", "--sample-by", "sieve").stdout)

    def test_the_page_shows_intervals(self):
        page = mergelane(*self.RUN, "--sample", "--html", "-").stdout
        self.assertRegex(page, r"estimates from [0-9]+ of 76 launches")
        self.assertIn("+- (95 %)", page)

    def test_mistakes_are_answered(self):
        for options, answer in ((["--error", "2%"], "--sample"), (["--sample", "--error", "0"], "0.05% to 50%"), (["--sample", "--error", "two"], "--error 2%"),
                                (["--sample", "--interval", "1000", "--json", "-"], "leave out --interval or --sample"),
                                (["--sample", "--max-cycles", "1000"], "leave out --max-cycles"), (["--sample", "--by-instruction"], "leave out --by-instruction"),
                                (["--sample", "--sample-by", "luck"], "--sample-by"), (["--sample", "--waves", "32"], "at least 33"),
                                (["--sample", "--sample-by", "pka", "--waves", "40"], "leave out one of them"), (["--waves", "40"], "--sample"), (["--sample", "--set", "gpu.groups=2"], "gpu.groups = 1"),
                                (["--kernels", "1-2"], "leave out --repeat"), (["--repeat", "0"], "--repeat")):
            done = mergelane(*self.RUN, *options)
            self.assertEqual(done.returncode, 2, (options, done.stderr))
            self.assertIn(answer, done.stderr)


class CudaPrograms(unittest.TestCase):
    def test_where_options_end_and_the_program_begins(self):
        """Any program can be started; it must get its own words and no others."""
        options = ["--gpu", "v100", "--set", "l1.mshrs=64", "--set", "l1.hit_latency=30"]
        for before in ([], options, options[2:] + options[:2], ["--time", "-t", "2"]):
            for mark in ([], ["--"]):
                done = mergelane("cuda", *before, *mark, "echo", "--gpu", "icc60", "--", "--set", "-x")
                self.assertEqual(done.stdout, "--gpu icc60 -- --set -x\n", done.stderr)
                self.assertEqual(done.returncode, 0)
        # Advice about a program runs it first; its output is kept apart. echo launches nothing.
        for before in (["--gpu", "v100"], ["-g", "v100", "--set", "l1.mshrs=64", "-q"], ["--json", "-", "--gpu=v100"]):
            done = mergelane("advise", *before, "--", "echo", "--gpu", "icc60", "--", "", "[1,2]", "{}")
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn("--gpu icc60 --  [1,2] {}\nerror: 'echo' launched no kernel", done.stderr)
        self.assertIn("no program was given", mergelane("cuda", *options).stderr)
        self.assertIn("l1.mshrs", mergelane("cuda", "--gpu", "v100", "--set", "l1.mshr=64", "echo").stderr)


    def test_mistakes_with_traces_and_programs_are_answered(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "x.mlt")
            for arguments, words in (
                    (["cuda", "--trace", "/no/such/folder/x.mlt", "echo", "started"], ["cannot write", "directory exists"]),
                    (["cuda", "--trace", folder + "/.mlt/", "echo", "started"], ["does not end in .mlt"]),
                    (["cuda", "--trace", os.path.join(folder, "x"), "echo", "started"], ["does not end in .mlt"]),
                    (["cuda", "--trace", trace, "--time", "echo", "started"], ["without timing", "mergelane run --gpu v100"]),
                    (["cuda", "--trace", trace, "--gpu", "v100", "--json", "-", "echo", "started"], ["without timing"]),
                    (["cuda", "--trace", trace, "--gpu", "v99", "echo", "started"], ["unknown GPU 'v99'"]),
                    (["cuda", "--trace", trace, "true"], ["no trace was written", "launched no kernel"]),
                    (["advise", "--gpu", "v99", "--", "echo", "started"], ["unknown GPU 'v99'"]),
                    (["advise", "--gpu", "v100", "--", "surely-no-such-program"], ["not found; for a program in the current directory"]),
                    (["advise", "--gpu", "v100", "--", folder], ["is a directory"]),
                    (["advise", "--gpu", "v100", "--workload", "bfs", BINARY, "list", "gpus"], ["give only one"]),
                    (["advise", BINARY, "--gpu", "v100"], ["--gpu is required", "options of mergelane before the program"]),
                    (["advise", "--gpu", "v100", BINARY, "list"], ["exit code 2 before it launched a kernel"]),
                    (["run", "--gpu", "v100", BINARY], ["is a program", "mergelane cuda --trace"]),
                    (["compare", "icc60", "v100", "--workload", BINARY + " list", "-q", "--store", CACHE.name], ["exit code 2 before it launched a kernel"]),
                    (["advise", "--gpu", "v100", os.path.basename(BINARY)], ["no such file", "check the path"])):
                done = mergelane(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), (arguments, done))
                for word in words:
                    self.assertIn(word, done.stderr)
                self.assertNotIn("started", done.stderr)
                self.assertEqual(os.listdir(folder), [])
        self.assertEqual(mergelane("cuda", "--trace", "x.mlt", "false").returncode, 1)
        # A previous result stays when there is no new one.
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "old.json")
            with open(path, "w") as file:
                file.write("old")
            self.assertEqual(mergelane("cuda", "--gpu", "v100", "--json", path, "true").returncode, 0)
            self.assertEqual(mergelane("cuda", "--gpu", "v100", "--json", os.path.join(folder, "new.json"), "true").returncode, 0)
            with open(path) as file:
                self.assertEqual((file.read(), os.listdir(folder)), ("old", ["old.json"]))
            for wrong in ("/no/such/folder/x.json", folder):
                self.assertIn("cannot write", mergelane("cuda", "--gpu", "v100", "--json", wrong, "true").stderr)
        # A program with the name of a workload is not run; one that is given as a program is, whatever its name.
        with tempfile.TemporaryDirectory() as folder:
            for name in ("x.mlt", "x.toml", "kernelslist.g", "x.traceg", "x.traceg.xz", "x.tracez"):
                path = os.path.join(folder, name)
                os.symlink(shutil.which("touch"), path)
                mark = os.path.join(folder, "started")
                for command in (["advise"], ["run"]):
                    done = mergelane(*command, "--gpu", "v100", path)
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                    if name in ("x.mlt", "x.toml"):
                        self.assertIn(f"'{path}' is a program", done.stderr)
                done = mergelane("advise", "--gpu", "v100", path, mark)
                self.assertEqual((done.returncode, os.path.exists(mark)), (2, False), done)
                self.assertIn("launched no kernel", mergelane("advise", "--gpu", "v100", "--", path, mark).stderr)
                os.remove(mark)
            os.symlink(shutil.which("echo"), os.path.join(folder, "app"))
            done = mergelane("advise", "--gpu", "v100", "app", cwd=folder)
            self.assertIn("advise ... -- ./app", done.stderr)
        done = mergelane("advise", "--gpu", "v100", "--", "true", env={**os.environ, "TMPDIR": "/no/such/folder"})
        self.assertIn("TMPDIR", done.stderr)


class Stopping(unittest.TestCase):
    def test_an_unwritable_file_is_noticed_before_the_run(self):
        done = mergelane("run", "--gpu", "icc60", "--synthetic", "spin", "--watchdog", "0", "--json", "/no/such/folder/x.json")
        self.assertEqual(done.returncode, 2)

    def test_output_that_cannot_be_written_is_an_error(self):
        small = ["run", "--gpu", "icc60", "--synthetic", "stream", *SMALL]
        for words in ([*small, "--json", "-"], [*small, "--csv", "-"], small, ["config", "show", "icc60"], ["list", "gpus"], ["describe", "l1"],
                      ["list", "energy"], ["--help"], ["--version"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([BINARY, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(done.stderr.count("cannot write"), 1, done.stderr)

    def test_results_appear_whole_or_not_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            old, link, pipe = (os.path.join(folder, name) for name in ("old.json", "link.json", "pipe"))
            spin = ["run", "--gpu", "icc60", "--synthetic", "spin", "--watchdog", "0"]
            with open(old, "w") as file:
                file.write("old")
            process = subprocess.Popen([BINARY, *spin, "--json", old, "--csv", os.path.join(folder, "new.csv")], stdout=subprocess.DEVNULL)
            time.sleep(1)
            process.kill()
            process.wait()
            self.assertEqual(os.listdir(folder), ["old.json"])
            os.symlink(old, link)
            small = ["run", "--gpu", "icc60", "--synthetic", "stream", *SMALL, "-q", "--json"]
            self.assertEqual(mergelane(*small, link).returncode, 0)
            self.assertTrue(os.path.islink(link))  # its target was replaced
            with open(old) as file:
                self.assertTrue(json.load(file)["complete"])
            os.mkfifo(pipe)
            with subprocess.Popen([BINARY, *small, pipe]) as process, open(pipe) as file:
                self.assertTrue(json.load(file)["complete"])
            self.assertEqual(sorted(os.listdir(folder)), ["link.json", "old.json", "pipe"])

    def test_little_memory_is_said_as_such(self):
        def limit(mebibytes):
            return lambda: resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20, mebibytes << 20))
        self.assertEqual(mergelane("--version", preexec_fn=limit(240)).returncode, 0)
        done = mergelane("run", "--gpu", "icc60", "--set", "gpu.groups=100", "--synthetic", "stream", preexec_fn=limit(240))
        self.assertEqual(done.returncode, 2)
        self.assertIn("out of memory", done.stderr)

    def endless_kernel(self, folder):
        with open(os.path.join(folder, "k.ptx"), "w") as file:
            file.write(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<3>;\nmov.u32 %r1, 0;\n"
                       "L:\nadd.u32 %r1, %r1, 1;\nst.volatile.shared.u32 [s], %r1;\nbra L;\n}\n".replace(
                           ".visible", ".shared .align 4 .b8 s[4];\n.visible", 1))
        path = os.path.join(folder, "k.toml")
        with open(path, "w") as file:
            file.write('ptx = "k.ptx"\nkernel = "k"\ngrid = [1]\nblock = [32]\n')
        return path

    def test_a_kernel_that_never_ends_is_given_up_or_interrupted(self):
        with tempfile.TemporaryDirectory() as folder:
            manifest = self.endless_kernel(folder)
            done = mergelane("run", "--gpu", "icc60", manifest, "--max-instructions", "1000000")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("does it end?", done.stderr)
            for command in (["run", "--gpu", "icc60"], ["profile"], ["trace", "record", "-o", os.path.join(folder, "t.mlt")]):
                process = subprocess.Popen([BINARY, *command, manifest], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                time.sleep(1)
                process.send_signal(signal.SIGINT)
                begin = time.monotonic()
                self.assertIn("interrupted", process.communicate(timeout=60)[1])
                self.assertLess(time.monotonic() - begin, 5)  # a tenth of it on a quiet host
                self.assertEqual(process.returncode, 130)

    def test_many_launches_of_a_manifest_take_no_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(self.endless_kernel(folder), "a") as file:
                file.write("repeat = 1000000\n")
            with open(os.path.join(folder, "k.toml")) as file:
                head, launch = file.read().split("\n", 1)
            with open(os.path.join(folder, "many.toml"), "w") as file:
                file.write(head + "\n" + ("[[launch]]\n" + launch) * 100)
            done = mergelane("run", "--gpu", "icc60", file.name, "--max-instructions", "1000",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)))
            self.assertIn("does it end?", done.stderr)

    def test_max_cycles_leaves_a_partial_result(self):
        done = mergelane("run", "--gpu", "icc60", "--synthetic", "stream", "--max-cycles", "5000", "--json", "-")
        result = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0)
        self.assertFalse(result["complete"])
        self.assertEqual(result["stopped_because"], "cycle limit")
        self.assertEqual(result["cycles"], 5000)

    def test_interrupt_leaves_a_partial_result(self):
        process = subprocess.Popen([BINARY, "run", "--gpu", "icc60", "--synthetic", "spin", "--watchdog", "0", "--json", "-"], stdout=subprocess.PIPE, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(out)["stopped_because"], "interrupted")

    def test_livelock_is_reported(self):
        done = mergelane("run", "--gpu", "icc60", "--synthetic", "spin", "--watchdog", "20000")
        self.assertEqual(done.returncode, 3)
        self.assertIn("livelock", done.stderr)
        self.assertIn("--watchdog", done.stderr)


DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "ptx")


class Traces(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def record(self, *workload, name="x.mlt", command="record"):
        done = mergelane("trace", command, *workload, "-o", self.path(name))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bytes per memory instruction", done.stdout)
        self.assertEqual([f for f in os.listdir(self.folder.name) if f.endswith(".unfinished")], [])
        return self.path(name)

    def digest(self, *arguments):
        done = mergelane("run", "--gpu", "icc60", *arguments, "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["digest"]

    def test_a_replay_has_the_digest_of_the_workload(self):
        for workload in (["--synthetic", "divergent", *SMALL, "--param", "kernels=2"], [os.path.join(DATA, "matmul.toml")]):
            trace = self.record(*workload)
            want = self.digest(*workload)
            for threads in ("1", "2", "4"):
                self.assertEqual(self.digest(trace, "--threads", threads), want)

    def test_a_recorded_trace_can_be_recorded_again(self):
        first = self.record("--synthetic", "atomic", *SMALL)
        second = self.record(first, name="y.mlt", command="convert")
        with open(first, "rb") as a, open(second, "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_info_and_cat_show_what_is_inside(self):
        trace = self.record("--synthetic", "stream", "--param", "ctas=4", "--param", "warps=2", "--param", "iterations=1", "--param", "kernels=2")
        info = mergelane("trace", "info", trace, "--check").stdout
        for word in ("synthetic:stream", "4 x 1 x 1", "64 x 1 x 1", "bytes per memory instruction", "all CTAs are readable"):
            self.assertIn(word, info)
        cat = mergelane("trace", "cat", trace).stdout
        self.assertEqual(cat.count("kernel "), 2)
        self.assertEqual(cat.count("cta "), 16)
        one = mergelane("trace", "cat", trace, "--kernel", "2", "--cta", "3", "--warp", "1").stdout
        self.assertEqual(one.count("cta "), 1)
        self.assertIn("cta 3 warp 1", one)
        self.assertRegex(one, r"load\.global\.4 .*: 0x[0-9a-f]+ stride 4")
        for option in ("--kernel", "--cta", "--warp"):
            done = mergelane("trace", "cat", trace, option, "99")
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"no (kernel|CTA|warp) 99; use \d+ to \d+")

    def test_only_some_kernels_are_replayed(self):
        trace = self.record("--synthetic", "stream", *SMALL, "--param", "kernels=3")
        result = json.loads(mergelane("run", "--gpu", "icc60", trace, "--kernels", "2-3", "--json", "-").stdout)
        self.assertEqual(len(result["kernels"]), 2)
        done = mergelane("run", "--gpu", "icc60", trace, "--kernels", "4-")
        self.assertEqual(done.returncode, 2)
        self.assertIn("3 kernels", done.stderr)

    def test_broken_files_are_answered_with_one_sentence(self):
        with open(self.record("--synthetic", "divergent", "--param", "ctas=6", "--param", "warps=2", "--param", "iterations=1"), "rb") as file:
            good = file.read()
        size = len(good)
        broken = [good[:size * k // 20] for k in range(20)] + [good[:-1], good[:-8], good[:-40], good[1:], good + b"x", good * 2, bytes(size)]
        for k in range(20):  # a byte changed somewhere
            at = size * k // 20
            broken.append(good[:at] + bytes([good[at] ^ 64]) + good[at + 1:])
        broken += [b"MLTRACE\n" + bytes(100), good[:8] + b"\3" + good[9:], good[:-40] + bytes(32) + good[-8:], b"[launch]\n" * 10]
        self.assertGreaterEqual(len(broken), 50)
        # Little memory: no size in a file is believed.
        limit = None if "asan" in BINARY else lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        for number, content in enumerate(broken):
            path = self.path("broken.mlt")
            with open(path, "wb") as file:
                file.write(content)
            for command in (["trace", "info", path, "--check"], ["profile", path]):
                done = mergelane(*command, preexec_fn=limit)
                self.assertEqual(done.returncode, 2, (number, command, done))
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertTrue(done.stderr.startswith("error: " + path), done.stderr)

    def test_mistakes_are_answered(self):
        trace = self.record("--synthetic", "stream", *SMALL)
        for arguments, word in (
            (["record", "--synthetic", "stream", "-o", self.path("x.txt")], ".mlt"),
            (["record", "--synthetic", "stream", "-o", "/no/such/folder/x.mlt"], "cannot write"),
            (["record", trace, "-o", trace], "it is also an input"),
            (["record", "-o", self.path("x.mlt")], "workload"),
            (["convert", "/no/such/kernelslist.g", "-o", self.path("x.mlt")], "no such file"),
            (["info", "/no/such/file.mlt"], "no such file"),
            (["record", "--synthetic", "stream"], "--output"),
            (["recrod"], "did you mean 'record'"),
        ):
            done = mergelane("trace", *arguments)
            self.assertEqual(done.returncode, 2, (arguments, done))
            self.assertIn(word, done.stderr)

    def test_an_interrupted_recording_leaves_nothing(self):
        process = subprocess.Popen([BINARY, "trace", "record", "--synthetic", "divergent", "--param", "ctas=1000000", "-o", self.path("x.mlt")], stderr=subprocess.PIPE)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(os.listdir(self.folder.name), [])


class Profiles(unittest.TestCase):
    def test_table_json_and_csv_agree(self):
        workload = [os.path.join(DATA, "matmul.toml")]
        table = mergelane("profile", *workload).stdout
        for word in ("Instruction mix", "Global memory", "Lane-to-word mapping", "Footprint and reuse", "Inter-warp window", "lanes per line request"):
            self.assertIn(word, table)
        result = json.loads(mergelane("profile", *workload, "--json", "-").stdout)
        total = result["total"]
        # 128 x 128 matrices in tiles of 16 x 16: three arrays of 64 KiB; every tile is read by eight CTAs.
        self.assertEqual(total["locality"]["footprint"], 3 * 128 * 128 * 4)
        self.assertEqual(total["global_memory"]["accesses"], 64 * 8 * (2 * 8 + 1))
        self.assertAlmostEqual(total["global_memory"]["lines_per_access"], 2)
        self.assertAlmostEqual(sum(total["mix"].values()), 100)
        self.assertAlmostEqual(sum(total["mapping"].values()), 100)
        self.assertEqual(result["units"]["global_memory"]["lines_per_access"], "lines")
        rows = list(csv.DictReader(io.StringIO(mergelane("profile", *workload, "--csv", "-").stdout)))
        values = {(row["group"], row["metric"]): float(row["value"]) for row in rows if row["kernel"] == "total"}
        for group, metrics in total.items():
            for name, value in metrics.items():
                self.assertAlmostEqual(values[group, name], value, places=3, msg=name)

    def test_a_trace_has_the_profile_of_its_workload(self):
        workload = ["--synthetic", "tiled", *SMALL, "--param", "kernels=2"]
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "x.mlt")
            mergelane("trace", "record", *workload, "-o", trace)
            self.assertEqual(mergelane("profile", trace, "--json", "-").stdout, mergelane("profile", *workload, "--json", "-").stdout)


class Pages(unittest.TestCase):
    def test_the_page_of_a_run_starts_with_what_limits_it(self):
        with tempfile.TemporaryDirectory() as folder:
            page, data = os.path.join(folder, "run.html"), os.path.join(folder, "run.json")
            done = mergelane("run", "--gpu", "icc60", "--synthetic", "stream", *SMALL, "--param", "kernels=3", "--html", page, "--json", data)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(data, encoding="utf-8") as file:
                run = json.load(file)
            with open(page, encoding="utf-8") as file:
                html = file.read()
        for counter, values in run["per_unit"].items():
            self.assertEqual(sum(values), run["stats"][counter], counter)
        self.assertEqual(len(run["per_unit"]["sm.warp_instructions"]), run["machine"]["sms"])
        slots = run["cycles"] * run["machine"]["sms"] * run["machine"]["schedulers_per_sm"]
        uses = {name: run["stats"][name] for name in ("sm.warp_instructions", "sm.stall_memory", "sm.stall_lsu", "sm.stall_drain")}
        uses["rest"] = slots - sum(run["stats"][name] for name in run["stats"] if name.startswith("sm.stall_")) - uses["sm.warp_instructions"]
        self.assertIn(f"<p>{100 * max(uses.values()) / slots:.1f} % of the issue slots", html)
        self.assertIn('<th scope="row">stream</th><td class="n">3</td>', html)  # three launches
        taken = mergelane("run", "--gpu", "icc60", "--synthetic", "stream", *SMALL, "--html", "-")
        self.assertTrue(taken.stdout.startswith("<!DOCTYPE html>") and taken.stdout.endswith("</html>\n"), taken.stdout[:100])
        twice = mergelane("run", "--gpu", "icc60", "--synthetic", "stream", *SMALL, "--html", "-", "--csv", "-")
        self.assertEqual(twice.returncode, 2)
        self.assertIn("cannot both write to standard output", twice.stderr)

    def test_profiles_and_comparisons_have_pages(self):
        profile = mergelane("profile", "--synthetic", "divergent", *SMALL, "--param", "kernels=2", "--html", "-")
        self.assertEqual(profile.returncode, 0, profile.stderr)
        self.assertIn("Accesses are poorly coalesced", profile.stdout)
        self.assertIn('<th scope="row">divergent</th><td class="n">2</td>', profile.stdout)
        with tempfile.TemporaryDirectory() as folder:
            compared = mergelane("compare", "icc60", "icc60", "--set-b", "l1.size_kib=96", "--workloads", "hotspot", "--size", "tiny", "--store", os.path.join(folder, "s"), "--html", "-")
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertIn("Geometric means of the kernel time", compared.stdout)
        self.assertIn("icc60 with l1.size_kib=96", compared.stdout)


class Advice(unittest.TestCase):
    def test_text_json_and_page_agree(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "advice.html")
            file = os.path.join(folder, "advice.json")
            done = mergelane("advise", "--gpu", "gtx570", "--set", "gpu.clusters=3", os.path.join(DATA, "matmul.toml"), "--simulations", "2", "--json", file, "--html", page)
            self.assertEqual(done.returncode, 0, done)
            with open(file, encoding="utf-8") as text:
                result = json.load(text)
            simulated = [c for c in result["candidates"] if "cycles" in c]
            self.assertEqual(len(simulated), 3)
            self.assertLessEqual(len(result["candidates"]), 40)
            self.assertEqual(result["candidates"][0]["name"], "as it is")
            self.assertEqual(result["kernels"][0]["class"], "algorithm-related")
            for candidate in result["candidates"]:
                self.assertIn(candidate["name"], done.stdout)
            with open(page, encoding="utf-8") as text:
                html = text.read()
            for candidate in simulated:
                self.assertIn(candidate["name"], html)
            # What was simulated is what `run` says.
            best = simulated[-1]
            run = json.loads(mergelane("run", "--gpu", "gtx570", "--set", "gpu.clusters=3", os.path.join(DATA, "matmul.toml"), *sum((["--set", o] for o in best["overrides"]), []), "--json", "-").stdout)
            self.assertEqual(run["cycles"], best["cycles"])

    def test_a_name_that_is_not_utf_8(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.fsencode(folder) + b"/name\xff.toml"
            shutil.copy(os.path.join(DATA, "samples.ptx"), folder)
            shutil.copy(os.path.join(DATA, "matmul.toml"), path)
            odd = mergelane("advise", "--gpu", "gtx570", "--set", "gpu.clusters=3", path, "--simulations", "1", "--json", "-", "--html", os.path.join(folder, "x.html"))
            self.assertEqual(odd.returncode, 0, odd.stderr)
            self.assertIn("name\ufffd", json.loads(odd.stdout)["workload"])

    def test_one_cta_and_kernels_without_loads_get_an_answer(self):
        one = mergelane("advise", "--gpu", "gtx570", "--synthetic", "stream", "--param", "ctas=1", "--simulations", "1")
        self.assertEqual(one.returncode, 0, one)
        none = mergelane("advise", "--gpu", "gtx570", "--synthetic", "shared", "--param", "ctas=4", "--simulations", "1")
        self.assertEqual(none.returncode, 0, none)
        self.assertIn("No change", none.stdout)


class Mistakes(unittest.TestCase):
    def assert_wrong_input(self, arguments, *words):
        done = mergelane(*arguments)
        self.assertEqual(done.returncode, 2, (arguments, done))
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertLess(len(done.stderr), 2000)

    def test_messages_that_nobody_can_read_change_nothing(self):
        wrong = [BINARY, "run", "--gpu", "nosuch", "--synthetic", "compute"]
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run(wrong, stderr=full, timeout=60).returncode, 2)
        self.assertEqual(subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", *wrong], timeout=60).returncode, 2)
        with tempfile.TemporaryDirectory() as folder:  # no file of ours takes the place of the stream
            path = os.path.join(folder, "r.json")
            right = [BINARY, "run", "--gpu", "icc60", "--synthetic", "stream", *SMALL, "--json", path]
            self.assertEqual(subprocess.run(["sh", "-c", '"$@" 0<&- 2>&-', "sh", *right], stdout=subprocess.DEVNULL, timeout=60).returncode, 0)
            with open(path) as file:
                json.load(file)

    def test_a_limit_on_the_size_of_files_is_a_full_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            limited = 'ulimit -f 2; exec "$@"'
            run = [BINARY, "run", "--gpu", "icc60", "--synthetic", "stream", *SMALL, "--json", os.path.join(folder, "r.json")]
            done = subprocess.run(["sh", "-c", limited, "sh", *run], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, os.listdir(folder)), (2, []))
            self.assertIn("File too large", done.stderr)
            # A recording that cannot be kept is no failure.
            run = [BINARY, "run", "--gpu", "icc60", "--workload", "hotspot", "--size", "tiny", "--cache", folder]
            self.assertEqual(subprocess.run(["sh", "-c", limited, "sh", *run], capture_output=True, timeout=60).returncode, 0)
            self.assertEqual(os.listdir(folder), [])

    def test_a_gpu_with_changes_and_a_memory_of_the_presets(self):
        done = mergelane("config", "diff", "a100", "a100 dram.channels=20")
        keys, totals = done.stdout.split("\n\n")
        self.assertEqual(keys.splitlines()[1].split(), ["dram.channels", "40", "20", "channels"])
        self.assertIn(["L2", "size", "40960", "20480", "KiB"], [line.split() for line in totals.splitlines()])
        self.assert_wrong_input(["config", "show", "a100 l2.sizekib=2"], "l2.size_kib")
        with tempfile.TemporaryDirectory() as folder:
            gpu = os.path.join(folder, "my.toml")
            with open(gpu, "w") as file:
                file.write('base = ["a100", "memory/hbm3-1309.toml"]\n')
            self.assertEqual(mergelane("config", "check", gpu).stdout, "ok\n")
            with open(gpu, "w") as file:
                file.write('base = ["a100", "memory/hbm9.toml"]\n')
            self.assertIn("no such file", mergelane("config", "check", gpu).stdout)

    def test_statistics_are_described_by_name(self):
        self.assertIn("operand collectors", mergelane("describe", "sm.stall_unit").stdout)
        self.assert_wrong_input(["describe", "sm.stall_unitt"], "did you mean 'sm.stall_unit'?")

    def test_what_is_no_workload_gets_a_remedy(self):
        self.assert_wrong_input(["run", "a.mlt"], "error: --gpu is required")
        with tempfile.TemporaryDirectory() as folder:
            for name, remedy in (("a.cu", "compile"), ("a.ptx", "launch manifest")):
                path = os.path.join(folder, name)
                open(path, "w").close()
                self.assert_wrong_input(["run", "--gpu", "icc60", path], remedy)
            self.assert_wrong_input(["cuda", os.path.join(folder, "a.cu")], "source code")

    def test_numbers_of_options_are_finite_and_in_range(self):
        for words in (["--timeout", "nan"], ["--timeout", "inf"], ["--timeout", "-NAN"], ["--cache-limit", "nan"], ["--cache-limit", "inf"],
                      ["--cache-limit", "0"], ["--cache-limit", "1e300"], ["--memory", "17592186044416"]):
            self.assert_wrong_input(["campaign", "run", "no.toml", *words], words[0])
        self.assert_wrong_input(["store", "verify", "no.jsonl.zst", "--resimulate", "nan"], "--resimulate")

    def test_no_output_replaces_an_input_or_another_output(self):
        with tempfile.TemporaryDirectory() as folder:
            gpu, trace, link, new = (os.path.join(folder, name) for name in ("my.toml", "a.mlt", "link", "new"))
            with open(gpu, "w") as file:
                file.write('base = "icc60"\n')
            self.assertEqual(mergelane("trace", "record", "--synthetic", "stream", *SMALL, "-o", trace).returncode, 0)
            os.symlink(trace, link)
            run = ["run", "--gpu", gpu, trace]
            before = {name: os.stat(name).st_mtime_ns for name in (gpu, trace)}
            for words in ([*run, "--json", gpu], [*run, "--csv", trace], [*run, "--json", link], [*run, "--json", new, "--csv", folder + "/./new"],
                          ["profile", trace, "--json", trace], ["advise", "--gpu", gpu, trace, "--html", gpu], ["trace", "convert", folder + "/../" + os.path.basename(folder) + "/a.mlt", "-o", trace],
                          ["compare", "icc60", gpu, "--workloads", "hotspot", "--size", "tiny", "--json", new, "--csv", new], ["bench", "network", "--gpu", gpu, "--json", new, "--html", new]):
                self.assert_wrong_input(words, "it is also an input, or given as output twice; choose another output file")
            self.assertEqual(before, {name: os.stat(name).st_mtime_ns for name in (gpu, trace)})
            self.assertFalse(os.path.exists(new))
            self.assertEqual(mergelane(*run, "--json", "/dev/null", "--csv", "/dev/null").returncode, 0)

    def test_each_mistake_is_answered(self):
        run = ["run", "--gpu", "icc60"]
        self.assert_wrong_input(["run", "--gpu", "icc61", "--synthetic", "stream"], "icc60")
        self.assert_wrong_input([*run, "--synthetic", "sream"], "did you mean 'stream'")
        self.assert_wrong_input([*run], "--synthetic")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--param", "cta=3"], "ctas")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--param", "ctas=0"], "ctas", "1")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--param", "ctas=ten"], "ctas")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--set", "l1.sizekib=3"], "l1.size_kib")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--set", "l1.size_kib"], "l1.size_kib")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--threads", "0"], "threads")
        self.assert_wrong_input([*run, "--synthetic", "shared", "--param", "shared_bytes=1000000"], "shared memory")
        self.assert_wrong_input([*run, "--synthetic", "stream", *SMALL, "--json", "/no/such/folder/x.json"], "cannot write")
        self.assert_wrong_input(["rnu"], "did you mean 'run'")
        self.assert_wrong_input(["list", "gpu"], "did you mean 'gpus'")
        self.assert_wrong_input([*run, "--workload", "hotspt"], "did you mean 'hotspot'")
        self.assert_wrong_input([*run, "--workload", "hotspot", "--size", "huge"], "tiny, paper, large")
        self.assert_wrong_input([*run, "--workload", "hotspot", "--synthetic", "stream"], "give only one")
        self.assert_wrong_input([*run, "kernel.toml", "--synthetic", "stream"], "kernel.toml", "give only one")
        self.assert_wrong_input([*run, TRACE_LIST, "--workload", "hotspot"], "kernelslist.g", "give only one")
        self.assert_wrong_input([*run, "no_such.toml"], "no_such.toml")
        self.assert_wrong_input([*run, TRACE_LIST], "kernelslist.g")
        self.assert_wrong_input([*run, "hotspot"], "--workload")
        self.assert_wrong_input([*run, "kernel.toml", "--param", "ctas=3"], "--param requires --synthetic")
        self.assert_wrong_input([*run, "kernel.toml", "--kernels", "1"], "--kernels")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--kernels", "1"], "--kernels")
        self.assert_wrong_input([*run, "--workload", "hotspot", "--kernels", "two"], "two")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--no-cache"], "--workload")
        self.assert_wrong_input([*run, "--workload", "hotspot", "--param", "ctas=3"], "--size")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--size", "tiny"], "--workload")
        self.assert_wrong_input(["list", "workloads", "--size", "huge"], "tiny, paper, large")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--max-cycles", "-5"], "max-cycles")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--json", "-", "--csv", "-"], "one of them")
        self.assert_wrong_input([*run, "--synthetic", "stream", "--energy", "bottom_up_40"], "did you mean 'bottom_up_40nm'")
        self.assert_wrong_input(["describe", "energy.gpuwatch_gtx480_40nm"], "did you mean 'gpuwattch_gtx480_40nm'")
        self.assert_wrong_input([])

    def test_inputs_are_regular_files_that_nobody_waits_for(self):
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)
            for name in ("f.mlt", "f.toml", "f.traceg", "f.traceg.xz", "f.tracez", "kernelslist.g", "p.ptx", "program", "s.jsonl.xz"):
                os.mkfifo(path(name))
            run = ["run", "--gpu", "icc60"]
            for name in ("f.mlt", "f.toml", "f.traceg", "f.traceg.xz", "f.tracez", "kernelslist.g"):
                self.assert_wrong_input([*run, path(name)], name + ": is not a regular file; ")
            self.assert_wrong_input(["trace", "info", path("f.mlt")], "is not a regular file; ")
            self.assert_wrong_input(["cuda", path("program")], "is not a regular file; ")
            with open(path("big.ptx"), "wb") as file:
                file.truncate(40 << 30)
            for ptx, words in (("p.ptx", "is not a regular file"), (".", "is a directory"), ("/proc/self/mem", "cannot be read"),
                               ("/dev/zero", "is not a regular file"), ("big.ptx", "larger than 268435456 bytes; split it")):
                with open(path("m.toml"), "w") as file:
                    file.write(f'ptx = "{ptx}"\nkernel = "k"\ngrid = 1\nblock = 32\n')
                self.assert_wrong_input([*run, path("m.toml")], ptx, words)
            with open(path("m.toml"), "w") as file:
                file.write(f'ptx = "{DATA}/samples.ptx"\n[buffers.x]\ntype = "u8"\ncount = 8\nfile = "p.ptx"\n')
            self.assert_wrong_input([*run, path("m.toml")], "m.toml:5: cannot read 'p.ptx': is not a regular file")
            cached = ["run", "--gpu", "icc60", "--workload", "hotspot", "--size", "tiny", "--cache", path("cache")]
            self.assertEqual(mergelane(*cached).returncode, 0)
            recording = path("cache/" + os.listdir(path("cache"))[0])
            os.remove(recording)
            os.mkfifo(recording)
            self.assertEqual(mergelane(*cached).returncode, 0)
            self.assertTrue(os.path.isfile(recording))

    def test_exit_codes_have_names(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../apps/mergelane")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".cpp"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    self.assertIsNone(re.search(r"return [1-9]\d*;|\? [1-9]\d* : 0;", file.read()), f"{name}: add it to exit_codes.hpp")

    def test_lists_the_suite_with_its_launches(self):
        text = mergelane("list", "workloads", "--size", "tiny").stdout
        self.assertIn("hotspot", text)
        self.assertRegex(text, r"lud_internal +6 times +6x6 to 1 CTAs of 16x16")
        self.assertIn("size tiny", text)

    def test_a_benchmark_of_sm_90_is_refused_by_older_machines(self):
        self.assert_wrong_input(["run", "--gpu", "a100", "--workload", "gemm_wgmma", "--size", "tiny"], "set sm.tma.blocks_per_cycle")
        self.assert_wrong_input(["run", "--gpu", "a100", "--workload", "gemm_wgmma_multicast", "--size", "tiny"], "set gpc.enabled = true")

    def test_the_page_of_statistics_is_what_the_command_says(self):
        page = mergelane("describe", "stats", "--markdown").stdout
        with open(os.path.join(os.path.dirname(__file__), "../../docs/statistics.md"), encoding="utf-8") as file:
            self.assertEqual(page, file.read(), "make it anew: mergelane describe stats --markdown > docs/statistics.md")
        run = json.loads(mergelane("run", "--gpu", "v100", "--synthetic", "tiled", *SMALL, "--set", "cluster.locality.enabled=true", "--json", "-").stdout)
        for name in run["stats"]:
            self.assertIn(f"| `{name}` |", page)
        self.assert_wrong_input(["describe", "l1", "--markdown"], "--markdown requires")

    def test_names_that_are_not_utf8_in_json(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, os.fsdecode(b"d\xff.mlt"))
            self.assertEqual(mergelane("trace", "record", "--synthetic", "stream", "--param", "ctas=2", "-o", name, errors="replace").returncode, 0)
            for words in (["bench", "--repeat", "1"], ["run", "--gpu", "icc60"], ["profile"], ["advise", "--gpu", "icc60", "--simulations", "1"]):
                done = mergelane(*words, "--json", "-", name)
                self.assertEqual(done.returncode, 0, done.stderr)
                json.loads(done.stdout)

    def test_names_do_not_control_the_terminal(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "e\x1b[31m\x9b.mlt")
            self.assertEqual(mergelane("trace", "record", "--synthetic", "stream", "--param", "ctas=2", "-o", name).stdout.count("\x1b"), 0)
            for words in (["trace", "info"], ["trace", "cat"], ["run", "--gpu", "icc60"], ["profile"], ["bench", "--repeat", "1"]):
                done = mergelane(*words, name)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn("\x1b", done.stdout)
                self.assertNotIn("\x9b", done.stdout)

    def test_bench_draws_the_curves_of_a_network(self):
        few = ["bench", "network", "--width", "4", "--height", "4", "--cycles", "400", "--load", "0.1", "--load", "0.5"]
        with tempfile.TemporaryDirectory() as folder:
            page, data = os.path.join(folder, "curves.html"), os.path.join(folder, "curves.json")
            done = mergelane(*few, "--html", page, "--json", data)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(page, encoding="utf-8") as file:
                html = file.read()
            with open(data, encoding="utf-8") as file:
                curves = json.load(file)["curves"]
        self.assertEqual([curve["pattern"] for curve in curves], ["uniform", "transpose", "bit-complement", "tornado", "hotspot"])
        for curve in curves:
            self.assertIn(curve["pattern"], done.stdout)
            self.assertEqual(len(curve["points"]), 2)
            for point in curve["points"]:
                self.assertLessEqual(point["lowest"], curve["bound"] * 1.01)
        self.assertEqual(html.count('class="mergelane-chart drawn"'), 2)
        one = json.loads(mergelane(*few, "--kind", "crossbar", "--pattern", "uniform", "--json", "-").stdout)
        self.assertEqual(one["curves"][0]["bound"], 1)
        wrong = mergelane(*few[:2], "--height", "4", "--pattern", "transpose")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("transpose requires a square", wrong.stderr)

    def test_microbench_prints_silicon_beside_the_simulation(self):
        few = ["microbench", "--gpu", "a100", "--only", "latency.l2", "--only", "latency.shared"]
        with tempfile.TemporaryDirectory() as folder:
            page, data = os.path.join(folder, "a100.html"), os.path.join(folder, "a100.json")
            done = mergelane(*few, "--html", page, "--json", data)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(page, encoding="utf-8") as file:
                html = file.read()
            with open(data, encoding="utf-8") as file:
                result = json.load(file)
        rows = {row["name"]: row for row in result["benchmarks"]}
        self.assertEqual(list(rows), ["latency.shared", "latency.l2_near", "latency.l2_far"])
        for name, row in rows.items():
            self.assertLess(abs(row["error_percent"]), 3, "what calibrates is within its band")
            self.assertIn(name, done.stdout)
            self.assertIn(name, html)
        self.assertIn("3 of 3 calibrated values within their band", result["summary"])
        self.assertIn("3 of 3 calibrated values within their band", done.stdout)
        # A setting changes what is measured, and no other GPU is beside it.
        slower = json.loads(mergelane("microbench", "--gpu", "icc60", "--only", "latency.l1", "--set", "l1.hit_latency=90", "--json", "-").stdout)
        self.assertAlmostEqual(slower["benchmarks"][0]["measured"], 90, delta=3)
        self.assertEqual(slower["benchmarks"][0]["published"], [])
        self.assert_wrong_input(["microbench", "--gpu", "icc60", "--only", "latency.l9"], "unknown microbenchmark", "latency.l1")

    def test_results_say_what_their_preset_was_validated_against(self):
        one = ["run", "--gpu", "v100", "--synthetic", "compute", *SMALL]
        self.assertIn("\nvalidated: against Accel-Sim", mergelane(*one).stdout)
        self.assertIn("Accel-Sim", json.loads(mergelane(*one, "--json", "-").stdout)["validated"])
        changed = json.loads(mergelane(*one, "--set", "dram.queue=32", "--json", "-").stdout)["validated"]
        self.assertTrue(changed.endswith("; here dram.queue is changed"), changed)
        without = json.loads(mergelane(*one, "--set", "l2.lrc.max_merged=8", "--json", "-").stdout)["validated"]
        self.assertTrue(without.endswith("; l2.lrc.max_merged has no effect here"), without)
        self.assertIn("\nvalidated: against Accel-Sim", mergelane("explain", *one[1:]).stdout)
        self.assert_wrong_input(["run", "--gpu", "V100", "--synthetic", "compute"], "did you mean 'v100'?")
        with tempfile.TemporaryDirectory() as folder:
            own = os.path.join(folder, "own.toml")
            with open(own, "w", encoding="utf-8") as file:
                file.write('base = "v100"\n')
            self.assertIn("\nvalidated: not stated\n", mergelane("run", "--gpu", own, "--synthetic", "compute", *SMALL).stdout)

    def test_bench_says_what_threads_gain_and_could_gain(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "tiled.mlt")
            self.assertEqual(mergelane("trace", "record", "--synthetic", "tiled", *SMALL, "-o", trace).returncode, 0)
            done = mergelane("bench", trace, "--threads", "2", "--repeat", "1", "--json", "-")
            text = mergelane("bench", trace, "--domains", "--repeat", "1").stdout
        self.assertEqual(done.returncode, 0, done.stderr)
        (workload,) = json.loads(done.stdout)["workloads"]
        self.assertEqual(workload["workload"], "tiled.mlt")
        threads = workload["threads"]
        self.assertGreater(threads["speedup"], 0)
        self.assertLessEqual(threads["ideal_speedup"], 2.0001)
        self.assertTrue(0 <= threads["longest_share"] <= 1)
        self.assertIn("longest domain", text)
        self.assertNotIn("ideal", text, "one thread has no speedup")
        loop = json.loads(mergelane("bench", "--loop", "--repeat", "1", "--json", "-").stdout)
        self.assertGreater(loop["loop_seconds"], 0)

    def test_every_command_explains_itself(self):
        for command in (["run"], ["trace", "record"], ["trace", "convert"], ["trace", "info"], ["trace", "cat"], ["trace", "text"], ["profile"], ["advise"], ["cuda"], ["microbench"], ["bench"], ["bench", "network"], ["describe"], ["config", "show"], ["config", "diff"], ["config", "check"], ["list", "gpus"], ["list", "synthetic"],
                        ["list", "workloads"], ["list", "energy"], ["list", "costs"], ["search"]):
            done = mergelane(*command, "--help")
            self.assertEqual(done.returncode, 0)
            self.assertIn("Example", done.stdout, command)
            self.assertIn("mergelane " + " ".join(command), done.stdout, command)
        self.assertIn("mergelane run", mergelane("--help").stdout)


class Energy(unittest.TestCase):
    TABLES = ["gpuwattch_gtx480_40nm", "bottom_up_40nm"]
    RUN = ["run", "--gpu", "icc60", "--synthetic", "store", *SMALL, "--param", "kernels=2", "--energy", TABLES[0], "--energy", TABLES[1]]

    def test_parts_add_up_in_json_and_csv(self):
        result = json.loads(mergelane(*self.RUN, "--json", "-").stdout)
        rows = list(csv.DictReader(io.StringIO(mergelane(*self.RUN, "--csv", "-", "--threads", "2").stdout)))
        totals = {row["stat"]: int(row["value"]) for row in rows if row["kernel"] == "total"}
        self.assertEqual(list(result["energy"]), self.TABLES)
        for table, energy in result["energy"].items():
            self.assertEqual(sum(item["fj"] for item in energy["items"]), energy["total_fj"])
            self.assertEqual(sum(energy["components_fj"].values()), energy["total_fj"])
            self.assertTrue(all(item["fj"] == item["count"] * item["unit_fj"] for item in energy["items"]))
            self.assertEqual(totals[f"energy.{table}.total"], energy["total_fj"])
            self.assertAlmostEqual(energy["energy_delay_product_js"], energy["joules"] * energy["seconds"])
            self.assertLessEqual(sum(kernel["energy"][table]["total_fj"] for kernel in result["kernels"]), energy["total_fj"])

    def test_is_left_out_unless_asked_for(self):
        plain = json.loads(mergelane(*self.RUN[:-4], "--json", "-").stdout)
        self.assertNotIn("energy", plain)
        self.assertEqual(plain["digest"], json.loads(mergelane(*self.RUN, "--json", "-").stdout)["digest"])

    def test_tables_and_costs_are_listed(self):
        for table in self.TABLES:
            self.assertIn(table, mergelane("list", "energy").stdout)
            self.assertIn("DSENT" if "bottom" in table else "NOC_A", mergelane("describe", "energy." + table).stdout)
        self.assertIn("structures declared by mechanisms", mergelane("describe", "energy").stdout)
        self.assertRegex(mergelane("list", "costs").stdout, r"merge table +48 +46 +2208 +276\n +coalesced cache +24 +1065 +25560 +3195")
        self.assertIn("Energy by bottom_up_40nm", mergelane(*self.RUN).stdout)


if __name__ == "__main__":
    unittest.main()
