#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the mergelane command makes of traces: counters of a known kernel, and broken or hostile files, which must end with one
sentence and exit code 2 within seconds and a gigabyte. Usage: test_traces.py PATH_TO_MERGELANE PATH_TO_tests/traces [unittest arguments]"""
import hashlib
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import launches  # noqa: E402

BINARY = os.path.abspath(sys.argv.pop(1))
TRACES = os.path.abspath(sys.argv.pop(1))
GIGABYTE = 1 << 30
MOST_SECONDS = 10  # of processor time; a second or two on a computer that is not busy


def limit_resources():
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTE, GIGABYTE))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def replay(path, *arguments):
    return subprocess.run([BINARY, "run", "--gpu", "icc60", "--set", "gpu.clusters=2", path, *arguments], capture_output=True, text=True, timeout=120,
                          preexec_fn=limit_resources)


def header(grid="(1,1,1)", block="(32,1,1)"):
    return f"-kernel name = test\n-grid dim = {grid}\n-block dim = {block}\n-nregs = 16\n-accelsim tracer version = 5\n\n#traces format\n\n"


LINE = "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x7f4b00001000 4 0\n"
BEGIN = "#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 3\n"


class Results(unittest.TestCase):
    def test_a_known_kernel_gives_the_expected_counters(self):
        """c[i] = a[i] + b[i] for 1024 floats, 128 threads per CTA."""
        text = header(grid="(8,1,1)", block="(128,1,1)")
        for cta in range(8):
            text += f"#BEGIN_TB\n\nthread block = {cta},0,0\n\n"
            for warp in range(4):
                offset = (cta * 4 + warp) * 128
                text += f"warp = {warp}\ninsts = 6\n"
                text += "0000 ffffffff 1 R0 S2R 0 0 0\n"
                text += f"0010 ffffffff 1 R4 LDG.E.SYS 1 R2 4 1 0x{0x7f4b00000000 + offset:x} 4 0\n"
                text += f"0020 ffffffff 1 R5 LDG.E.SYS 1 R2 4 1 0x{0x7f4b10000000 + offset:x} 4 0\n"
                text += "0030 ffffffff 1 R6 FADD 2 R4 R5 0 0\n"
                text += f"0040 ffffffff 0 STG.E.SYS 2 R2 R6 4 1 0x{0x7f4b20000000 + offset:x} 4 0\n"
                text += "0050 ffffffff 0 EXIT 0 0 0\n\n"
            text += "#END_TB\n\n"
        with tempfile.TemporaryDirectory() as folder:
            names = ["kernel-1.traceg", "kernel-2.traceg.xz"]
            with open(os.path.join(folder, names[0]), "w") as file:
                file.write(text)
            with lzma.open(os.path.join(folder, names[1]), "wt") as file:
                file.write(text)
            path = os.path.join(folder, "kernelslist.g")
            with open(path, "w") as file:
                file.write("MemcpyHtoD,0x7f4b00000000,4096\n" + "\n".join(names) + "\n")
            done = {range_: replay(path, "--json", "-", *(["--kernels", range_] if range_ else [])) for range_ in ("", "1", "2")}
        for run in done.values():
            self.assertEqual((run.returncode, run.stderr), (0, ""))
        both, first, second = (json.loads(run.stdout) for run in done.values())
        self.assertEqual([kernel["name"].split("#")[0] for kernel in both["kernels"]], ["test", "test"])
        self.assertEqual(first["digest"], second["digest"])
        self.assertEqual(first["warp_instructions"], 32 * 6)
        expected = {"sm.ctas_finished": 8, "sm.thread_instructions": 32 * 6 * 32, "sm.memory_instructions": 32 * 3, "sm.loads": 32 * 2,
                    "l1.sector_accesses": 32 * 3 * 4, "l1.sector_write_accesses": 32 * 4, "l2.reads": 32 * 2, "l2.writes": 32,
                    "dram.sector_reads": 32 * 2 * 4}
        self.assertEqual({name: first["stats"][name] for name in expected}, expected)


class Containers(unittest.TestCase):
    """The samples of .tracez, written by an encoder that is not in this tree."""

    # File -> SHA-256 of its text without blank lines, as published with the samples.
    SAMPLES = {"sample-matmul_naive-n32-k512.tracez": "c43eaf8de86ec74f", "sample-vecadd-ctas1.tracez": "2f56aac487603299"}

    def test_samples_mean_what_their_text_means(self):
        for name, expected in self.SAMPLES.items():
            sample = os.path.join(TRACES, "samples", name)
            text = subprocess.run([BINARY, "trace", "text", sample], capture_output=True, check=True).stdout
            lines = b"".join(line for line in text.splitlines(True) if line.strip())
            self.assertEqual(hashlib.sha256(lines).hexdigest()[:16], expected, name)
            with tempfile.TemporaryDirectory() as folder, self.subTest(name):
                os.symlink(sample, os.path.join(folder, "kernel-1.tracez"))
                with open(os.path.join(folder, "kernel-2.traceg"), "wb") as file:
                    file.write(text)
                lists = {}
                for kernel in ("kernel-1.tracez", "kernel-2.traceg"):
                    lists[kernel] = os.path.join(folder, kernel + ".g")
                    with open(lists[kernel], "w") as file:
                        file.write(kernel + "\n")
                digests = set()
                for path in lists.values():
                    for threads in ("1", "2", "4"):
                        done = replay(path, "--quiet", "--json", "-", "--threads", threads)
                        self.assertEqual((done.returncode, done.stderr), (0, ""))
                        digests.add(json.loads(done.stdout)["digest"])
                packed = os.path.join(folder, "packed.mlt")
                subprocess.run([BINARY, "trace", "convert", lists["kernel-1.tracez"], "-o", packed, "--quiet"], check=True)
                digests.add(json.loads(replay(packed, "--quiet", "--json", "-").stdout)["digest"])
                self.assertEqual(len(digests), 1)

    def test_text_is_only_of_containers(self):
        done = subprocess.run([BINARY, "trace", "text", "kernel-1.traceg"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not a .tracez file", done.stderr)

    def test_what_has_no_timing_is_read_but_neither_timed_nor_converted(self):
        text = header().replace("version = 5", "version = 6") + BEGIN + LINE.rstrip() + " NoVal\n"
        text += "0010 ffffffff 1 R24 HGMMA.64x64x16.F32 2 UR8 R24 1 0 0 NoVal\n0020 ffffffff 0 EXIT 0 0 0 NoVal\n\n#END_TB\n"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernel-1.traceg")
            with open(path, "w") as file:
                file.write(text)
            packed = os.path.join(folder, "packed.mlt")
            runs = [replay(path)]
            runs.append(subprocess.run([BINARY, "trace", "convert", path, "-o", packed], capture_output=True, text=True))
            for done in runs:
                self.assertEqual(done.returncode, 2)
                self.assertIn("HGMMA.64x64x16.F32 is a matrix product of a group of four warps, which has no timing yet", done.stderr)
            self.assertFalse(os.path.exists(packed))
            profile = subprocess.run([BINARY, "profile", path, "--json", "-"], capture_output=True, text=True)
            self.assertEqual(profile.returncode, 0)
            self.assertIn("opcodes without timing, counted as instructions without memory accesses: HGMMA", profile.stderr)


class ManyLaunches(unittest.TestCase):
    def test_a_trace_file_costs_no_more_than_a_list(self):
        """Most of a machine's CTA slots stay empty in short launches and must cost nothing; bench/launches.py measures it."""
        with tempfile.TemporaryDirectory() as folder:
            path = launches.write_traces(folder, 200, 2)
            packed = os.path.join(folder, "packed.mlt")
            subprocess.run([BINARY, "trace", "convert", path, "-o", packed, "--quiet"], check=True, stdout=subprocess.DEVNULL)
            seconds, digests = [], set()
            for trace in (path, packed):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                done = subprocess.run([BINARY, "run", "--gpu", "v100", "--quiet", "--json", "-", trace], check=True, capture_output=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                digests.add(json.loads(done.stdout)["digest"])
        self.assertEqual(len(digests), 1)
        self.assertLess(seconds[1], 3 * seconds[0])


class Mistakes(unittest.TestCase):
    def refused(self, path, expected):
        begin = time.monotonic()
        done = replay(path)
        error = "".join(line for line in done.stderr.splitlines(True) if not line.startswith("warning: "))
        self.assertEqual(done.returncode, 2, (path, done.stderr, time.monotonic() - begin))
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(expected, error)
        self.assertEqual(done.stdout, "")

    def test_broken_traces(self):
        with open(os.path.join(TRACES, "expected.txt")) as file:
            cases = dict(line.rstrip("\n").split(": ", 1) for line in file)
        self.assertGreaterEqual(len(cases), 55)
        for name, message in cases.items():
            with self.subTest(name):
                # A program is recognised before its name is believed.
                self.refused(os.path.join(TRACES, "broken", name), "is a program" if "-elf." in name else message)

    def test_large_hostile_traces(self):
        most = 1 << 20

        def written(text):
            return [("kernel-1.traceg", text.encode())]

        def packed(first, filler):
            """A few hundred kilobytes that unpack to a gigabyte: the same stream again and again."""
            piece = lzma.compress((filler * (64 * most // len(filler))).encode(), preset=0)
            return [("kernel-1.traceg.xz", lzma.compress(first.encode()) + 16 * piece)]

        insts = header() + BEGIN
        cases = {
            "a line of a megabyte": (written("-kernel name = " + most * "x" + "\n"), ":1: this line is longer than 64 KiB"),
            "a line of 100 KB in the header": (written("-kernel name = " + "x" * 100_000 + "\n" + header()), "the header has no end"),
            "a line of a megabyte in a warp": (written(insts + LINE + "0" * 2 * most + "\n#END_TB\n"), "this line is longer than 64 KiB"),
            "a line of 100 KB in a warp": (written(insts + LINE + "0" * 100_000 + "\n" + LINE + "#END_TB\n"), ":16: expected the program counter"),
            "blank characters in a warp": (written(insts + LINE + " " * 100_000 + "\n" + 2 * LINE + "#END_TB\n"), "line is longer than 4 KiB"),
            "no thread block": (written(header() + 40_000 * LINE), "no thread block within 1 MiB behind line"),
            "empty lines": (written(insts + "\n" * 2 * most + 3 * LINE + "#END_TB\n"), "more than 64 KiB of empty lines"),
            "a header without end": (written("-key = value\n" * 100_000), "the header has no end"),
            "no second block": (written(header(grid="(2147483647,65535,65535)") + (BEGIN + 3 * LINE + "#END_TB\n")), "in its grid: 9223090559730712575"),
            "a block twice, and again": (written(header(grid="(2147483647,1,1)") + 20_000 * (BEGIN + 3 * LINE + "#END_TB\n")), "in the file: 20000"),
            "a gigabyte of zeros": (packed("", "\0"), ":1: this line is longer than 64 KiB"),
            "a gigabyte of blanks": (packed(insts, " "), ":15: this line is longer than 64 KiB"),
            "a gigabyte of empty lines": (packed(header(), "\n"), "no thread block within 1 MiB"),
            "a gigabyte of empty lines in a warp": (packed(insts, "\n"), "more than 64 KiB of empty lines"),
            "a gigabyte of one instruction": (packed(insts, LINE), ":1: unpacks to more than 4000 times its size"),
        }
        for name, (files, expected) in cases.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                for file_name, content in files:
                    with open(os.path.join(folder, file_name), "wb") as file:
                        file.write(content)
                self.refused(os.path.join(folder, files[0][0]), expected)

    def test_a_list_that_is_too_large(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernelslist.g")
            with open(path, "wb") as file:
                file.truncate(65 << 20)
            self.refused(path, "has more than 64 MiB")

    def test_wrong_ranges(self):
        fine = os.path.join(TRACES, "broken", "kernel-fine.traceg")
        for range_, words in (("2", "has 1 kernel, but the range starts at 2"), ("0", "counted from 1"), ("x", "counted from 1")):
            done = replay(fine, "--kernels", range_)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
        self.assertEqual(replay(fine, "--kernels", "1").returncode, 0)


if __name__ == "__main__":
    unittest.main()
