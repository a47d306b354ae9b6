#!/usr/bin/env python3
"""Writes 40 request streams for one DRAM channel, 12 for a channel of two pseudo-channels, and 12 of six recorded programs: one file per
stream, index.csv, index_pc.csv and index_recorded.csv with the settings.

    streams.py DIRECTORY

recorded/ has what arrived at the first channel of a machine while a program ran (record.cpp): as it was timed, and with all arrivals at
cycle 0.

Each stream file has one line per request: arrival in DRAM cycles, channel-local byte address in hex, R or W. A request is one column
access (one burst). No address occurs twice in a stream, so that merging and forwarding cannot matter. A "saturated" stream has all
arrivals at cycle 0: a simulator takes the requests in order, one per cycle, as soon as it has space. A timed stream has at most one
arrival per cycle, drawn for each cycle with a fixed probability (share of the peak column rate).

The generator is splitmix64 with the stream's number as seed: the files are the same everywhere.
"""
import csv
import lzma
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

REQUESTS = 20000
MASK = (1 << 64) - 1


class Random:
    def __init__(self, seed):
        self.state = (seed * 0x9E3779B97F4A7C15 + 0x1234567) & MASK

    def word(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return (self.word() >> 32) * n >> 32

    def chance(self, numerator, denominator):
        return self.below(denominator) < numerator


class Memory:
    """Geometry: bits are named from the most significant down, as in dram.address_map."""
    GROUPS, ROWS = 4, 8192

    def __init__(self, kind, access_bytes, bus_bytes, address_map):
        self.kind, self.access_bytes, self.bus_bytes, self.address_map = kind, access_bytes, bus_bytes, address_map
        self.burst = access_bytes // bus_bytes
        self.BANKS = 1 << address_map.count("B")
        self.bank_bits, self.column_bits, self.row_shift = [], [], 0
        for bit, letter in enumerate(reversed(address_map)):
            if letter == "B":
                self.bank_bits.append(bit)
            elif letter == "C":
                self.column_bits.append(bit)
            elif letter == "R":
                self.row_shift = bit
        self.columns = 1 << len(self.column_bits)

    def address(self, bank, row, column):
        address = row << self.row_shift
        for k, bit in enumerate(self.bank_bits):
            address |= (bank >> k & 1) << bit
        for k, bit in enumerate(self.column_bits):
            address |= (column >> k & 1) << bit
        return address


MEMORIES = {
    # GDDR5, 64 data lines at four transfers per command clock. g64: BL 8, 2 cycles per burst; g128: BL 16, 4 cycles (as gtx480).
    "g64": Memory("gddr5", 64, 32, "RBBBBCCCCCSSSSSS"),
    "g128": Memory("gddr5", 128, 32, "RBBBBCCCCSSSSSSS"),
    # HBM2, 128 data lines at double rate, BL 2 (as v100).
    "h32": Memory("hbm2", 32, 32, "RBBBCCCBCCCSSSSS"),
    # HBM2 or HBM3 with two pseudo-channels of 16 banks (bank 16 up: the second one) and rows of 1 KiB; bus_bytes of the whole channel.
    "p32": Memory("hbm", 32, 32, "RBBBBCCBCCCSSSSS"),
    # Of recorded streams, whose columns are numbered in order of access.
    "rg128": Memory("gddr5", 128, 32, "RBBBBCCCCCCCCCCCCSSSSSSS"),
    "rh32": Memory("hbm2", 32, 32, "RBBBBCCCCCCCCCCCCSSSSS"),
}

OFF = {"tRRDL": 0, "tFAW": 0, "tREFI": 0, "tRFC": 0}
G_FAW = {"tRRDL": 8, "tFAW": 32}
H_FAW16 = {"tRRDL": 4, "tFAW": 16}
H_FAW26 = {"tRRDL": 4, "tFAW": 26}
G_REF = {"tREFI": 3600, "tRFC": 120}
H_REF = {"tREFI": 3315, "tRFC": 221}

# Patterns: each yields addresses.


def sequential(m, rng, _):
    for n in range(REQUESTS):
        yield n * m.access_bytes


def uniform(m, rng, _):
    while True:
        yield m.address(rng.below(m.BANKS), rng.below(m.ROWS), rng.below(m.columns))


def stride_column(m, rng, step):
    """Every step-th column of the address space."""
    for n in range(REQUESTS):
        yield n * step * m.access_bytes


def stride_row(m, rng, _):
    """A new row of one bank each time."""
    for n in range(REQUESTS):
        yield m.address(0, n % m.ROWS, n // m.ROWS)


def stride_bank(m, rng, _):
    """The next bank each time; a row of all banks is used up before the next row."""
    for n in range(REQUESTS):
        visit = n // m.BANKS
        yield m.address(n % m.BANKS, visit // m.columns, visit % m.columns)


def stride_group(m, rng, _):
    """The next bank of group 0 each time (banks 0, 4, 8, 12)."""
    per_group = m.BANKS // m.GROUPS
    for n in range(REQUESTS):
        visit = n // per_group
        yield m.address(n % per_group * m.GROUPS, visit // m.columns, visit % m.columns)


def interleaved(m, rng, count):
    """count sequential streams, whose starts are random rows; the stream is drawn for each request."""
    span = m.ROWS // count << m.row_shift
    at = [k * span + (rng.below(m.ROWS // count // 4) << m.row_shift) + m.address(rng.below(m.BANKS), 0, 0) for k in range(count)]
    while True:
        k = rng.below(count)
        yield at[k]
        at[k] += m.access_bytes


def row_local(m, rng, spec):
    """Random rows, k accesses each. Eight rows are in use at a time; the row is drawn for each request. spec: (k, banks)"""
    k, banks = spec
    live = []

    def fresh():
        return [rng.below(banks), rng.below(m.ROWS), rng.below(m.columns // k) * k, k]
    for _ in range(8):
        live.append(fresh())
    while True:
        i = rng.below(8)
        bank, row, column, left = live[i]
        yield m.address(bank, row, column)
        live[i] = [bank, row, column + 1, left - 1] if left > 1 else fresh()


def percent(share):
    return lambda n, rng: rng.chance(share, 100)


def bursts(n, rng):
    """32 writes after every 96 reads."""
    return n % 128 >= 96


NONE = percent(0)

# number, name, memory, pattern, its argument, writes, load in percent of peak (0: saturated), constraints
STREAMS = [
    (1, "g_seq_sat", "g64", sequential, None, NONE, 0, {}),
    (2, "g_seq_t90", "g128", sequential, None, NONE, 90, {}),
    (3, "g_rand_sat", "g64", uniform, None, NONE, 0, {}),
    (4, "g_rand_t25", "g64", uniform, None, NONE, 25, {}),
    (5, "g_stridecol_sat", "g64", stride_column, 8, NONE, 0, {}),
    (6, "g_striderow_sat", "g64", stride_row, None, NONE, 0, {}),
    (7, "g_stridebank_sat", "g64", stride_bank, None, NONE, 0, {}),
    (8, "g_stridegroup_sat", "g64", stride_group, None, NONE, 0, {}),
    (9, "g_inter2_sat", "g128", interleaved, 2, NONE, 0, {}),
    (10, "g_inter8_t75", "g64", interleaved, 8, NONE, 75, {}),
    (11, "g_seq_w30_sat", "g64", sequential, None, percent(30), 0, {}),
    (12, "g_rand_w50_sat", "g128", uniform, None, percent(50), 0, {}),
    (13, "g_local8_wburst_t50", "g128", row_local, (8, 16), bursts, 50, {}),
    (14, "g_banks2_local4_w10_sat", "g64", row_local, (4, 2), percent(10), 0, {}),
    (15, "g_local1_sat_faw", "g64", row_local, (1, 16), NONE, 0, G_FAW),
    (16, "g_local2_sat_faw", "g64", row_local, (2, 16), NONE, 0, G_FAW),
    (17, "g_rand_w30_t25_faw", "g128", uniform, None, percent(30), 25, G_FAW),
    (18, "g_local4_w50_sat_faw", "g64", row_local, (4, 16), percent(50), 0, G_FAW),
    (19, "g_seq_sat_ref", "g128", sequential, None, NONE, 0, G_REF),
    (20, "g_local4_w30_t25_ref", "g64", row_local, (4, 16), percent(30), 25, G_REF),
    (21, "h_seq_sat", "h32", sequential, None, NONE, 0, {}),
    (22, "h_seq_t50", "h32", sequential, None, NONE, 50, {}),
    (23, "h_rand_sat", "h32", uniform, None, NONE, 0, {}),
    (24, "h_rand_t25", "h32", uniform, None, NONE, 25, {}),
    (25, "h_stridegroup_sat", "h32", stride_group, None, NONE, 0, {}),
    (26, "h_stridebank_sat", "h32", stride_bank, None, NONE, 0, {}),
    (27, "h_inter4_sat", "h32", interleaved, 4, NONE, 0, {}),
    (28, "h_inter16_t75", "h32", interleaved, 16, NONE, 75, {}),
    (29, "h_inter8_w10_t50", "h32", interleaved, 8, percent(10), 50, {}),
    (30, "h_local4_w50_sat", "h32", row_local, (4, 16), percent(50), 0, {}),
    (31, "h_local8_t50", "h32", row_local, (8, 16), NONE, 50, {}),
    (32, "h_bank1_local2_sat", "h32", row_local, (2, 1), NONE, 0, {}),
    (33, "h_banks4_local4_sat", "h32", row_local, (4, 4), NONE, 0, {}),
    (34, "h_seq_wburst_sat", "h32", sequential, None, bursts, 0, {}),
    (35, "h_local1_sat_faw16", "h32", row_local, (1, 16), NONE, 0, H_FAW16),
    (36, "h_local2_sat_faw26", "h32", row_local, (2, 16), NONE, 0, H_FAW26),
    (37, "h_rand_w10_t10_faw16", "h32", uniform, None, percent(10), 10, H_FAW16),
    (38, "h_local4_w30_sat_faw26", "h32", row_local, (4, 16), percent(30), 0, H_FAW26),
    (39, "h_inter4_w30_t25_ref", "h32", interleaved, 4, percent(30), 25, H_REF),
    (40, "h_local8_sat_ref", "h32", row_local, (8, 16), NONE, 0, H_REF),
]

# Refresh of these is chosen by the last field; its timing is that of the memory's preset.
PC_STREAMS = [
    (41, "p_seq_sat", "p32", sequential, None, NONE, 0, "none"),
    (42, "p_rand_sat", "p32", uniform, None, NONE, 0, "none"),
    (43, "p_rand_t10", "p32", uniform, None, NONE, 10, "none"),
    (44, "p_stridebank_sat", "p32", stride_bank, None, NONE, 0, "none"),
    (45, "p_inter16_sat", "p32", interleaved, 16, NONE, 0, "none"),
    (46, "p_inter8_t50", "p32", interleaved, 8, NONE, 50, "none"),
    (47, "p_local8_t25", "p32", row_local, (8, 32), NONE, 25, "none"),
    (48, "p_local4_w30_sat", "p32", row_local, (4, 32), percent(30), 0, "none"),
    (49, "p_rand_w50_sat", "p32", uniform, None, percent(50), 0, "none"),
    (50, "p_local8_w10_t25", "p32", row_local, (8, 32), percent(10), 25, "none"),
    (51, "p_local8_sat_refab", "p32", row_local, (8, 32), NONE, 0, "all_bank"),
    (52, "p_local8_sat_refpb", "p32", row_local, (8, 32), NONE, 0, "per_bank"),
]

# Program, memory, machine.
RECORDED = [
    ("blackscholes", "rg128", "gtx480"),
    ("dct8x8", "rg128", "gtx480"),
    ("bfs", "rg128", "gtx480"),
    ("spmv", "rh32", "v100"),
    ("kmeans", "rh32", "v100"),
    ("transpose", "rh32", "v100"),
]
RECORDED_STREAMS = [(0, "%s_%s_%s" % (machine, program, kind), memory, program, machine, NONE, kind == "timed", {})
                    for program, memory, machine in RECORDED for kind in ("sat", "timed")]


def recorded(stream):
    _, _, _, program, machine, _, timed, _ = stream
    with lzma.open(os.path.join(HERE, "recorded", "%s_%s.txt.xz" % (machine, program)), "rt") as lines:
        for line in lines:
            cycle, address, kind = line.split()
            yield int(cycle) if timed else 0, int(address, 16), kind


def requests(stream):
    if stream in RECORDED_STREAMS:
        return recorded(stream)
    number, _, memory, pattern, argument, writes, load, _ = stream
    m = MEMORIES[memory]
    places, kinds, times = Random(3 * number), Random(3 * number + 1), Random(3 * number + 2)
    seen, out, cycle = set(), [], -1
    for address in pattern(m, places, argument):
        if address in seen:
            continue
        seen.add(address)
        if load == 0:
            cycle = 0
        else:
            cycle += 1
            while not times.chance(load, 100 * m.burst):
                cycle += 1
        out.append((cycle, address, "W" if writes(len(out), kinds) else "R"))
        if len(out) == REQUESTS:
            return out
    raise SystemExit(f"stream {number} ends early")


def write_one(directory, name):
    """Writes the stream with this name."""
    stream = next(stream for stream in STREAMS + PC_STREAMS + RECORDED_STREAMS if stream[1] == name)
    with open(os.path.join(directory, name + ".txt"), "w") as out:
        for cycle, address, kind in requests(stream):
            out.write(f"{cycle} {address:x} {kind}\n")


def write(directory, index, streams, head, settings):
    with open(os.path.join(directory, index), "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["stream", "memory", "access_bytes", "bus_bytes", "address_map", "arrival", *head])
        for stream in streams:
            _, name, memory, _, _, _, load, extra = stream
            m = MEMORIES[memory]
            write_one(directory, name)
            arrival = "saturated" if not load else "timed" if load is True else f"{load}%"
            table.writerow([name, m.kind, m.access_bytes, m.bus_bytes, m.address_map, arrival, *settings(extra)])


def main():
    directory = sys.argv[1]
    os.makedirs(directory, exist_ok=True)
    write(directory, "index.csv", STREAMS, OFF, lambda extra: {**OFF, **extra}.values())
    write(directory, "index_pc.csv", PC_STREAMS, ["refresh"], lambda extra: [extra])
    write(directory, "index_recorded.csv", RECORDED_STREAMS, OFF, lambda extra: {**OFF, **extra}.values())


if __name__ == "__main__":
    main()
