#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Timelines as Perfetto reads them: decoded by protoc, compared with the result of the run. Usage: test_timeline.py PATH_TO_MERGELANE"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
FOLDER = os.path.dirname(os.path.abspath(__file__))
# Clusters in which requests are merged, two kernels, and time between them in which nothing happens.
RUN = ["run", "--gpu", "icc60", "--set", "gpu.clusters=3", "--set", "cluster.icc.enabled=true", "--set", "dispatch.launch_latency=2500",
       "--synthetic", "tiled", "--param", "ctas=90", "--param", "iterations=6", "--param", "kernels=2", "--quiet"]
FIELD = re.compile(rb'\s*(\w+)(?:: (?:"((?:[^"\\]|\\.)*)"|(\S+))| (\{))')


def decode(data):
    """The packets as dictionaries of lists, from protoc's text. Strings stay bytes."""
    schema = ["--proto_path", FOLDER, "--decode=timeline.Trace", "perfetto.proto"]
    text = subprocess.run(["protoc", *schema], input=data, capture_output=True, check=True).stdout
    top = collections.defaultdict(list)
    path = [top]
    for line in text.splitlines():
        if line.endswith(b"}"):
            path.pop()
            continue
        name, string, value, opens = FIELD.match(line).groups()
        if opens:
            path.append(collections.defaultdict(list))
            path[-2][name.decode()].append(path[-1])
        else:
            path[-1][name.decode()].append(value if string is None else string)
    return top["packet"]


class Trace:
    """Tracks by number, slices and counter values by track."""

    def __init__(self, data):
        self.tracks, self.slices, self.values, self.instants = {}, collections.defaultdict(list), collections.defaultdict(list), []
        open_slices, last = collections.defaultdict(list), collections.Counter()
        for packet in decode(data):
            if packet["track_descriptor"]:
                self.add_track(packet["track_descriptor"][0])
                continue
            event, at = packet["track_event"][0], int(packet["timestamp"][0])
            track, kind = int(event["track_uuid"][0]), event["type"][0]
            assert track in self.tracks, "a track is described before its events"
            assert at >= last[track], "events of a track are in order"
            last[track] = at
            if kind == b"TYPE_SLICE_BEGIN":
                slice_ = {"name": event["name"][0].decode(), "start": at, "flows": event["flow_ids"], "inner": []}
                (open_slices[track][-1]["inner"] if open_slices[track] else self.slices[track]).append(slice_)
                open_slices[track].append(slice_)
            elif kind == b"TYPE_SLICE_END":
                open_slices[track].pop()["end"] = at
            elif kind == b"TYPE_COUNTER":
                assert self.tracks[track]["counter"]
                self.values[track].append((at, float((event["counter_value"] or event["double_counter_value"])[0])))
            else:
                self.instants.append(event["name"][0].decode())
        assert not any(open_slices.values()), "every slice ends"

    def add_track(self, track):
        parent = int(track["parent_uuid"][0]) if track["parent_uuid"] else 0
        assert parent == 0 or parent in self.tracks
        name = track["name"][0].decode()
        path = (self.tracks[parent]["path"] if parent else ()) + (name,)
        self.tracks[int(track["uuid"][0])] = {"name": name, "path": path, "counter": bool(track["counter"])}

    def below(self, *path):
        """Tracks of this name or below it, without the root."""
        return [number for number, track in self.tracks.items() if track["path"][1:1 + len(path)] == path]

    def slices_of(self, name):
        return [slice_ for number, track in self.tracks.items() if track["name"] == name for slice_ in self.slices[number]]


class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.data, cls.result = cls.run_with()
        cls.trace = Trace(cls.data)

    @classmethod
    def run_with(cls, *options):
        path, result = os.path.join(cls.folder.name, "run.pftrace"), os.path.join(cls.folder.name, "run.json")
        done = subprocess.run([BINARY, *RUN, "--timeline", path, "--json", result, *options], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and done.stderr == "", done.stderr
        with open(path, "rb") as file, open(result, encoding="utf-8") as text:
            return file.read(), json.load(text)

    def test_kernels_are_those_of_the_result(self):
        expected = [(kernel["start"], kernel["start"] + kernel["cycles"]) for kernel in self.result["kernels"]]
        self.assertEqual([(s["start"], s["end"]) for s in self.trace.slices_of("kernels")], expected)

    def test_every_cta_is_in_a_kernel(self):
        ctas = self.trace.slices_of("CTAs")
        self.assertEqual(len(ctas), self.result["stats"]["sm.ctas_finished"])
        kernels = self.trace.slices_of("kernels")
        for kernel in kernels:
            names = sorted(int(s["name"].split()[1]) for s in ctas if kernel["start"] <= s["start"] <= s["end"] <= kernel["end"])
            self.assertEqual(names, list(range(90)))
        self.assertEqual(max(s["end"] for s in ctas), kernels[-1]["end"])

    def test_stages_fill_the_time_of_their_load(self):
        loads = self.trace.slices_of("loads")
        self.assertGreater(len(loads), 200)
        stages = set(self.result["load_time"]["stages"])
        for load in loads:
            at = load["start"]
            for stage in load["inner"]:
                self.assertEqual(stage["start"], at)
                self.assertEqual(stage["inner"], [])
                self.assertIn(stage["name"], stages)
                at = stage["end"]
            self.assertEqual(at, load["end"])
            self.assertGreater(load["end"], load["start"])

    def test_stages_are_those_of_the_account(self):
        """All loads are shown whose line is followed and whose last value came from a request: nothing is missing below the L1."""
        shown = collections.Counter()
        for load in self.trace.slices_of("loads"):
            for stage in load["inner"]:
                shown[stage["name"]] += stage["end"] - stage["start"]
        counted = {name: cycles for name, cycles in self.result["load_time"]["stages"].items()
                   if name.split(".")[0] in ("flight", "cluster", "noc", "l2", "dram")}
        self.assertGreater(len(counted), 8)
        for name, cycles in counted.items():
            self.assertLessEqual(abs(shown[name] - cycles), 0.02 * cycles + 5, name)  # shown in whole core cycles

    def test_merges_are_flows(self):
        flows = collections.defaultdict(list)
        for load in self.trace.slices_of("loads"):
            for flow in load["flows"]:
                flows[flow].append(load)
        self.assertGreater(len(flows), 10)
        for loads in flows.values():
            self.assertGreater(len(loads), 1)
            self.assertLessEqual(sum(load["name"] == "load" for load in loads), 1, "one of them sent the request")
        merged = [load for load in self.trace.slices_of("loads") if load["name"] == "merged load"]
        # The load that sent the request may have waited longer for another one, and is then not shown with this one.
        self.assertGreater(sum(bool(load["flows"]) for load in merged), 0.8 * len(merged))

    def check_counters(self, trace, result):
        seen = set()
        for number in trace.below("counters, per interval"):
            track = trace.tracks[number]
            if not track["counter"]:
                continue
            seen.add(track["name"])
            self.assertEqual(sum(value for _, value in trace.values[number]), result["stats"][track["name"]], track["name"])
        self.assertEqual(seen, {name for name, value in result["stats"].items() if value != 0})

    def test_counters_add_up_to_the_statistics(self):
        self.check_counters(self.trace, self.result)
        data, result = self.run_with("--interval", "7")
        self.assertGreater(len(result["intervals"]["start"]), 2000, "more than a timeline shows")
        trace = Trace(data)
        self.check_counters(trace, result)
        self.assertLessEqual(max(len(trace.values[number]) for number in trace.tracks), 2002)

    def test_utilisation_and_depths_are_possible(self):
        for number in self.trace.below("utilisation"):
            self.assertTrue(all(0 <= value <= 100 for _, value in self.trace.values[number]))
        names = {self.trace.tracks[number]["name"] for number in self.trace.below("utilisation")}
        self.assertLessEqual({"issue", "L1", "request network", "reply network", "L2", "DRAM"}, names)
        depths = {self.trace.tracks[number]["name"]: max(value for _, value in self.trace.values[number])
                  for number in self.trace.below("requests in components and on links") if self.trace.values[number]}
        for name in ("lsu.queued", "l2.held", "dram.held", "sm -> cluster"):
            self.assertGreater(depths[name], 0, name)

    def test_bytes_depend_on_neither_threads_nor_windows(self):
        for options in (["--threads", "2"], ["--threads", "4"], ["--threads", "8"], ["--window", "1"], ["--no-sleep"]):
            data, result = self.run_with(*options)
            self.assertEqual(result["digest"], self.result["digest"], options)
            self.assertTrue(data == self.data, options)

    def test_a_run_that_is_cut_has_a_timeline(self):
        data, result = self.run_with("--max-cycles", "6000")
        trace = Trace(data)
        self.check_counters(trace, result)
        self.assertEqual(max(s["end"] for s in trace.slices_of("CTAs")), 6000)


if __name__ == "__main__":
    BINARY = os.path.abspath(sys.argv.pop(1))
    if shutil.which("protoc") is None:
        print("protoc is not installed (protobuf-compiler)")
        sys.exit(SKIPPED)
    unittest.main()
