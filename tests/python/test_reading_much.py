# SPDX-License-Identifier: MIT
"""Memory and time of loading many records: some thousand, or with MERGELANE_LONG=1 a million (6 GB in the temporary directory)."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND, SYNTHETIC = os.environ["MERGELANE"], os.environ.get("SYNTHETIC_STORE", "")
LONG = os.environ.get("MERGELANE_LONG") == "1"
SWEEP = f"""machines = ["icc60", "v100"]
workloads = ["hotspot", "bfs", "atax", "lud", "nn"]
sizes = ["tiny"]
seeds = "1-{2500 if LONG else 8}"
[grid]
l1.size_kib = [32, 64]
l1.mshrs = [16, 32, 48, 64, 128]
gpu.noc_mhz = [350, 500]
l2.mshrs = [16, 32]
"""
RUNS = 10 * 40 * (2500 if LONG else 8)
TWENTY = ["gpu", "workload", "overrides", "seed", "digest", "cycles", "warp_instructions", "seconds", "l2.reads", "l2.sector_hits", "l2.sector_accesses",
          "l1.sector_hits", "l1.sector_accesses", "dram.activates", "dram.read_bursts", "noc.reply.flits", "noc.request.flits", "sm.stall_memory",
          "sm.active_cycles", "highest l2.reads"]
LOAD = """import json, resource, sys, time
import mergelane
import pandas
before, begin = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
frame = mergelane.load(sys.argv[1], json.loads(sys.argv[2]))
after = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([frame.shape, time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1e6]))
"""


@unittest.skipIf(SYNTHETIC == "", "needs bench/synthetic_store (-DMERGELANE_BENCH=ON)")
class Much(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.store, sweep, template = (os.path.join(cls.temporary.name, name) for name in ("store", "sweep.toml", "template"))
        pathlib.Path(sweep).write_text(SWEEP, encoding="utf-8")
        for words in ([COMMAND, "compare", "icc60", "icc60", "--workloads", "hotspot", "--size", "tiny", "--store", template, "-q"],
                      [COMMAND, "campaign", "plan", sweep, "--store", cls.store, "-q"], [SYNTHETIC, cls.store, template, "400" if LONG else "4"]):
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def loaded(self, columns, gigabytes):
        """In a process of its own, whose memory is known."""
        answer = subprocess.run([sys.executable, "-c", LOAD, self.store, json.dumps(columns)], check=True, stdout=subprocess.PIPE)
        shape, wall, cpu, peak = json.loads(answer.stdout)
        print(f"{shape[0]} x {shape[1]}: {wall:.1f} s, {cpu:.1f} s of CPU time, {peak:.2f} GB", file=sys.stderr)
        self.assertEqual(shape[0], RUNS)
        self.assertLess(peak, gigabytes)
        return cpu

    def test_twenty_columns(self):
        self.assertLess(self.loaded(TWENTY, 2 if LONG else 0.3), 20)

    def test_all_columns(self):
        self.loaded(None, 8 if LONG else 0.4)

    def test_interrupted(self):
        """Ctrl-C ends it within a second."""
        if not LONG:
            self.skipTest("takes a large store")
        process = subprocess.Popen([sys.executable, "-c", LOAD, self.store, "null"], stderr=subprocess.PIPE)
        time.sleep(4)
        process.send_signal(2)
        begin = time.monotonic()
        self.assertIn(b"KeyboardInterrupt", process.communicate()[1])
        self.assertLess(time.monotonic() - begin, 1.5)


if __name__ == "__main__":
    unittest.main()
