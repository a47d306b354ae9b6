# SPDX-License-Identifier: MIT
"""What the command writes, read by the Python package."""

import os
import subprocess
import tempfile
import unittest

import mergelane

COMMAND = os.environ["MERGELANE"]


def command(*arguments):
    subprocess.run([COMMAND, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Reading(unittest.TestCase):
    def test_a_store_and_a_packed_one_are_the_same_frame(self):
        with tempfile.TemporaryDirectory() as folder:
            store, packed = os.path.join(folder, "store"), os.path.join(folder, "store.jsonl.zst")
            command("reproduce", "icc", "--size", "tiny", "--experiment", "ICC-2", "--store", store)
            command("store", "pack", store, packed)
            frame = mergelane.load(store)
            self.assertEqual(len(frame), 11)
            self.assertTrue(frame.equals(mergelane.load(packed)))
            self.assertTrue((frame["l1.sector_accesses"] > frame["highest l1.sector_accesses"]).all())


if __name__ == "__main__":
    unittest.main()
