#!/usr/bin/env python3
"""What one channel of each memory achieves by access pattern, with every constraint of its table, refresh and a write queue.

    python3 validation/dram/bandwidth.py [--write | --check] [--only MEMORY,...] [--patterns PATTERN,...] [COMMAND]

Plays the patterns of streams.py, 20,000 requests each as fast as the channel accepts them, and prints the share of the peak. --write
makes bandwidth.csv and docs/images/dram-bandwidth.svg; --check compares the numbers with bandwidth.csv, and the picture with what this
script draws from it. COMMAND is mergelane_dram_play (build/release/tests/mergelane_dram_play).
"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import streams  # noqa: E402

TOP = os.path.join(HERE, "..", "..")
TABLE = os.path.join(HERE, "bandwidth.csv")
PICTURE = os.path.join(TOP, "docs", "images", "dram-bandwidth.svg")

# Name, machine with its channel, MHz of the command clock that its table is for.
MEMORIES = [
    ("GDDR5", "gtx480", 1000),
    ("GDDR5X", "memory/gddr5x.toml", 1500),
    ("GDDR6", "memory/gddr6.toml", 1750),
    ("GDDR6X", "memory/gddr6x.toml", 1187.5),
    ("HBM2", "memory/hbm2-jedec.toml", 1000),
    ("HBM2e", "memory/hbm2e.toml", 1600),
    ("HBM3", "memory/hbm3.toml", 1600),
]
# Name, pattern and its argument, writes.
READS, MIXED = streams.percent(0), streams.percent(30)
PATTERNS = [
    ("sequential", streams.sequential, lambda m: None, READS),
    ("sequential, 30 % writes", streams.sequential, lambda m: None, MIXED),
    ("every 8th access", streams.stride_column, lambda m: 8, READS),
    ("bank after bank", streams.stride_bank, lambda m: None, READS),
    ("banks of one group", streams.stride_group, lambda m: None, READS),
    ("random rows, 8 accesses each", streams.row_local, lambda m: (8, m.BANKS), READS),
    ("the same, 30 % writes", streams.row_local, lambda m: (8, m.BANKS), MIXED),
    ("random", streams.uniform, lambda m: None, READS),
    ("random, 30 % writes", streams.uniform, lambda m: None, MIXED),
    ("rows of one bank", streams.stride_row, lambda m: None, READS),
]
SETTINGS = ["dram.controller.enabled=true", "dram.controller.queue=64", "dram.controller.write_queue=64", "dram.controller.write_high=48",
            "dram.controller.write_low=16", "dram.controller.refresh=all_bank"]
COLUMNS = ["memory", "pattern", "access_bytes", "peak_gb_per_s", "refresh_limit_percent", "requests", "cycles", "activates",
           "percent_of_peak"]


def keys_of(machine):
    """What the files of a machine say about its channel."""
    found = {}

    def read(path):
        section = ""
        with open(path) as file:
            for line in file:
                line = line.split("#")[0].strip()
                if line.startswith("base"):
                    for base in re.findall(r'"([^"]+)"', line):
                        read(os.path.join(os.path.dirname(path), base))
                elif line.startswith("["):
                    section = line.strip("[]")
                elif "=" in line and section.startswith("dram"):
                    key, _, value = line.partition("=")
                    found[section + "." + key.strip()] = value.strip().strip('"')
    read(machine)
    return found


class Channel(streams.Memory):
    """The geometry of a machine's channel; pseudo-channels are the highest bit of the bank."""

    def __init__(self, keys):
        address_map = keys["dram.address_map"]
        super().__init__("", int(keys["dram.access_bytes"]), int(keys["dram.bus_bytes"]), address_map)
        self.bank_bits += [bit for bit, letter in enumerate(reversed(address_map)) if letter == "P"]
        self.BANKS = 1 << len(self.bank_bits)
        self.GROUPS = int(keys["dram.bank_groups"])
        self.refresh_limit = 1 - int(keys["dram.timing.tRFC"]) / int(keys["dram.timing.tREFI"])


def write_stream(path, channel, number, pattern, argument, writes):
    places, kinds = streams.Random(3 * number), streams.Random(3 * number + 1)
    with open(path, "w") as out:
        for n, address in enumerate(pattern(channel, places, argument(channel))):
            if n == streams.REQUESTS:
                return
            out.write("0 %x %s\n" % (address, "W" if writes(n, kinds) else "R"))


def measure(command, memories, patterns):
    """Lines of the table."""
    gpus = os.path.join(TOP, "gpus")
    for name, machine, mhz in MEMORIES:
        if memories and name not in memories:
            continue
        path = os.path.join(gpus, machine if machine.endswith(".toml") else machine + ".toml")
        channel = Channel(keys_of(path))
        for number, (pattern, addresses, argument, writes) in enumerate(PATTERNS, 1):
            if patterns and pattern not in patterns:
                continue
            with tempfile.TemporaryDirectory() as folder:
                stream = os.path.join(folder, "stream.txt")
                write_stream(stream, channel, number, addresses, argument, writes)
                done = subprocess.run([command, path, stream, *SETTINGS], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(done.stderr)
            result = json.loads(done.stdout)
            share = result["requests"] * channel.access_bytes / (result["cycles"] * channel.bus_bytes)
            yield dict(zip(COLUMNS, [name, pattern, str(channel.access_bytes), "%g" % (channel.bus_bytes * mhz / 1000),
                                     "%.1f" % (100 * channel.refresh_limit), str(result["requests"]), str(result["cycles"]),
                                     str(result["activates"]), "%.1f" % (100 * share)]))


def read_table():
    with open(TABLE, newline="") as file:
        return list(csv.DictReader(file))


STYLE = """
text { fill: #1f2328; font: 12px sans-serif } .head { font-weight: bold } .small { fill: #59636e; font-size: 11px }
.track { fill: #eaeef2 } .bar { fill: #2f7fd0 } .limit { stroke: #b3541e; stroke-dasharray: 3 2 } .back { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9da7b1 } .track { fill: #262c34 } .bar { fill: #4c96e0 } .limit { stroke: #f0a060 } .back { fill: #0d1117 }
}"""
LEFT, TOP_EDGE, CELL, BAR, ROW = 206, 76, 104, 62, 24


def picture(table):
    """A row per pattern, a column per memory, a bar per pair: the share of the peak."""
    memories = [name for name, _, _ in MEMORIES]
    patterns = [pattern for pattern, _, _, _ in PATTERNS]
    width, height = LEFT + CELL * len(memories) + 8, TOP_EDGE + ROW * len(patterns) + 14
    title = "Achieved share of the peak bandwidth of one channel, by access pattern"
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">' % (width, height, width, height),
           "<title>%s</title><style>%s</style>" % (title, STYLE), '<rect class="back" width="100%" height="100%"/>',
           '<text class="head" x="10" y="22">%s</text>' % title]
    for column, memory in enumerate(memories):
        x = LEFT + CELL * column
        line = next(line for line in table if line["memory"] == memory)
        out.append('<text class="head" x="%d" y="48">%s</text>' % (x, memory))
        out.append('<text class="small" x="%d" y="64">%s GB/s, %s B</text>' % (x, line["peak_gb_per_s"], line["access_bytes"]))
        limit = x + BAR * float(line["refresh_limit_percent"]) / 100
        for row, pattern in enumerate(patterns):
            y = TOP_EDGE + ROW * row
            percent = next(line["percent_of_peak"] for line in table if (line["memory"], line["pattern"]) == (memory, pattern))
            out.append("<g><title>%s, %s: %s %% of the peak</title>" % (memory, pattern, percent))
            out.append('<rect class="track" x="%d" y="%d" width="%d" height="14"/>' % (x, y, BAR))
            out.append('<rect class="bar" x="%d" y="%d" width="%.1f" height="14"/>' % (x, y, BAR * float(percent) / 100))
            out.append('<text x="%d" y="%d">%.0f</text></g>' % (x + BAR + 5, y + 11, float(percent)))
        out.append('<line class="limit" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>' % (limit, limit, TOP_EDGE - 4, height - 14))
    for row, pattern in enumerate(patterns):
        out.append('<text x="10" y="%d">%s</text>' % (TOP_EDGE + ROW * row + 11, pattern))
    out.append('<text class="small" x="10" y="64">percent; dashed: limit by refresh</text></svg>')
    return "\n".join(out) + "\n"


def check(lines):
    committed = read_table()
    wrong = ["%s, %s: %s" % (line["memory"], line["pattern"], line) for line in lines if line not in committed]
    with open(PICTURE) as file:
        if file.read() != picture(committed):
            wrong.append("dram-bandwidth.svg is not what bandwidth.csv makes")
    for text in wrong:
        print("changed: " + text + "; run bandwidth.py --write")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--patterns", default="", help="separated by semicolons")
    parser.add_argument("command", nargs="?", default=os.path.join(TOP, "build/release/tests/mergelane_dram_play"))
    options = parser.parse_args()
    memories, patterns = (set(filter(None, text.split(mark))) for text, mark in ((options.only, ","), (options.patterns, ";")))
    lines = []
    for line in measure(options.command, memories, patterns):
        print("%-7s %-30s %5s %% of %s GB/s" % (line["memory"], line["pattern"], line["percent_of_peak"], line["peak_gb_per_s"]))
        lines.append(line)
    if options.write:
        with open(TABLE, "w", newline="") as file:
            table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(lines)
        with open(PICTURE, "w") as file:
            file.write(picture(lines))
    return check(lines) if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
