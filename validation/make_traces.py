#!/usr/bin/env python3
"""Writes small one-kernel traces in Accel-Sim's text format (tracer version 5, SM 7.0 opcodes).

    python3 validation/make_traces.py NAME FOLDER [key=value ...]

The kernels are SASS-like sketches of well-known programs: they compare simulators and say nothing about real hardware.
The output depends only on NAME and the parameters. In addition to the trace, `expected.json` holds what follows from the
addresses alone: instructions, 32-byte sectors of loads and stores, and the number of distinct sectors.
"""
import json
import os
import random
import sys

BASE = 0x7F4B00000000
FULL = 0xFFFFFFFF
SECTOR = 32


def array(index):
    """Arrays lie 256 MiB apart."""
    return BASE + index * 0x10000000


def address_text(addresses, mask):
    """As the tracer packs addresses: base and stride for one contiguous run of lanes, else base and deltas."""
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    if not lanes:
        return "1 0x0 0 "
    steps = [addresses[b] - addresses[a] for a, b in zip(lanes, lanes[1:])]
    if steps and lanes[-1] - lanes[0] + 1 == len(lanes) and len(set(steps)) == 1:
        return "1 0x%x %d " % (addresses[lanes[0]], steps[0])
    return "2 0x%x %s" % (addresses[lanes[0]], "".join("%d " % step for step in steps))


class Counters:
    """What can be known without simulating."""

    def __init__(self):
        self.warp_instructions = 0
        self.thread_instructions = 0
        self.load_sectors = 0
        self.store_sectors = 0
        self.loaded = set()

    def count(self, opcode, width, addresses, mask):
        self.warp_instructions += 1
        self.thread_instructions += bin(mask).count("1")
        if addresses is None or opcode[:3] not in ("LDG", "STG"):
            return
        sectors = {(addresses[lane] + byte) // SECTOR for lane in range(32) if mask >> lane & 1 for byte in (0, width - 1)}
        if opcode.startswith("LDG"):
            self.load_sectors += len(sectors)
            self.loaded |= sectors
        else:
            self.store_sectors += len(sectors)


class Warp:
    """The instructions of one warp."""

    def __init__(self, counters):
        self.lines = []
        self.pc = 0
        self.counters = counters

    def _line(self, opcode, dst, src, mask, tail):
        registers = "".join("R%d " % r for r in src)
        self.lines.append("%04x %08x %s%s %d %s%s" % (self.pc, mask, "0 " if dst is None else "1 R%d " % dst, opcode, len(src),
                                                      registers, tail))
        self.pc += 16

    def alu(self, opcode, dst=None, src=(), mask=FULL):
        self._line(opcode, dst, src, mask, "0 0 ")
        self.counters.count(opcode, 0, None, mask)

    def memory(self, opcode, dst, src, width, addresses, mask=FULL):
        self._line(opcode, dst, src, mask, "%d %s0 " % (width, address_text(addresses, mask)))
        self.counters.count(opcode, width, addresses, mask)

    def prologue(self, two_d=False):
        self.alu("IMAD.MOV.U32", 1, (255, 255))
        self.alu("S2R", 6)
        self.alu("S2R", 3)
        if two_d:
            self.alu("S2R", 5)
            self.alu("S2R", 7)
            self.alu("IMAD", 5, (5, 7))
        self.alu("IMAD", 6, (6, 3))
        self.alu("ISETP.GE.AND", None, (6,))
        self.alu("EXIT", None, (), 0)
        self.alu("MOV", 7)


class Kernel:
    """Grid, block and how to write one warp of one CTA."""

    def __init__(self, grid, block, warp, registers, shared=0):
        self.grid = grid
        self.block = block
        self.warp = warp
        self.registers = registers
        self.shared = shared


def lanes_2d(warp, width):
    """(x, y) of the 32 lanes of a warp in a block of this width."""
    return [((warp * 32 + lane) % width, (warp * 32 + lane) // width) for lane in range(32)]


def linear_bytes(cta, warp, block=256):
    return [(cta * block + warp * 32 + lane) * 4 for lane in range(32)]


def vecadd(p):
    def write(w, cta, warp):
        w.prologue()
        at = linear_bytes(cta, warp)
        w.alu("IMAD.WIDE", 2, (6, 7))
        w.alu("IMAD.WIDE", 4, (6, 7))
        w.memory("LDG.E.SYS", 2, (2,), 4, [array(0) + x for x in at])
        w.memory("LDG.E.SYS", 4, (4,), 4, [array(1) + x for x in at])
        w.alu("IMAD.WIDE", 8, (6, 7))
        w.alu("FADD", 9, (2, 4))
        w.memory("STG.E.SYS", None, (8, 9), 4, [array(2) + x for x in at])
        w.alu("EXIT")

    return Kernel((p["ctas"], 1, 1), (256, 1, 1), write, 12)


def matmul_naive(p):
    n, k = p["n"], p["k"]
    side = n // 16

    def write(w, cta, warp):
        by, bx = divmod(cta, side)
        lanes = lanes_2d(warp, 16)
        w.prologue(True)
        w.alu("IMAD.WIDE", 2, (6, 7))
        w.alu("IMAD.WIDE", 4, (5, 7))
        w.alu("MOV", 20, (255,))
        loop = w.pc
        for kk in range(0, k, 4):
            w.pc = loop
            for u in range(4):
                w.memory("LDG.E.SYS", 8 + u, (2,), 4, [array(0) + ((by * 16 + y) * k + kk + u) * 4 for x, y in lanes])
                w.memory("LDG.E.SYS", 12 + u, (4,), 4, [array(1) + ((kk + u) * n + bx * 16 + x) * 4 for x, y in lanes])
            for u in range(4):
                w.alu("FFMA", 20, (8 + u, 12 + u, 20))
            w.alu("IADD3", 2, (2,))
            w.alu("IADD3", 4, (4,))
            w.alu("ISETP.NE.AND", None, (2,))
            w.alu("BRA")
        w.memory("STG.E.SYS", None, (18, 20), 4, [array(2) + ((by * 16 + y) * n + bx * 16 + x) * 4 for x, y in lanes])
        w.alu("EXIT")

    return Kernel((side, side, 1), (16, 16, 1), write, 32)


def matmul_tiled(p):
    n, k = p["n"], p["k"]
    side = n // 16

    def write(w, cta, warp):
        by, bx = divmod(cta, side)
        lanes = lanes_2d(warp, 16)
        w.prologue(True)
        w.alu("IMAD.WIDE", 2, (6, 7))
        w.alu("IMAD.WIDE", 4, (5, 7))
        w.alu("MOV", 20, (255,))
        loop = w.pc
        for kk in range(0, k, 16):
            w.pc = loop
            w.memory("LDG.E.SYS", 8, (2,), 4, [array(0) + ((by * 16 + y) * k + kk + x) * 4 for x, y in lanes])
            w.memory("LDG.E.SYS", 9, (4,), 4, [array(1) + ((kk + y) * n + bx * 16 + x) * 4 for x, y in lanes])
            w.memory("STS", None, (16, 8), 4, [(y * 16 + x) * 4 for x, y in lanes])
            w.memory("STS", None, (17, 9), 4, [1024 + (y * 16 + x) * 4 for x, y in lanes])
            w.alu("BAR.SYNC")
            for u in range(0, 16, 4):
                w.memory("LDS.U.128", 24, (16,), 16, [(y * 16 + u) * 4 for x, y in lanes])
                for v in range(4):
                    w.memory("LDS.U", 12 + v, (17,), 4, [1024 + ((u + v) * 16 + x) * 4 for x, y in lanes])
                for v in range(4):
                    w.alu("FFMA", 20, (24 + v, 12 + v, 20))
            w.alu("BAR.SYNC")
            w.alu("IADD3", 2, (2,))
            w.alu("IADD3", 4, (4,))
            w.alu("ISETP.NE.AND", None, (2,))
            w.alu("BRA")
        w.memory("STG.E.SYS", None, (18, 20), 4, [array(2) + ((by * 16 + y) * n + bx * 16 + x) * 4 for x, y in lanes])
        w.alu("EXIT")

    return Kernel((side, side, 1), (16, 16, 1), write, 32, 2048)


def strided(p):
    """One thread per row, which it walks: 32 lines per warp load."""

    def write(w, cta, warp):
        rows = [cta * 256 + warp * 32 + lane for lane in range(32)]
        w.prologue()
        w.alu("IMAD.WIDE", 2, (6, 7))
        loop = w.pc
        for j in range(0, p["cols"], 2):
            w.pc = loop
            for u in range(2):
                w.memory("LDG.E.SYS", 8 + u, (2,), 4, [array(0) + row * p["pitch"] + (j + u) * 4 for row in rows])
            for u in range(2):
                w.alu("FADD", 20, (8 + u, 20))
            w.alu("IADD3", 2, (2,))
            w.alu("ISETP.NE.AND", None, (2,))
            w.alu("BRA")
        w.memory("STG.E.SYS", None, (18, 20), 4, [array(2) + row * 4 for row in rows])
        w.alu("EXIT")

    return Kernel((p["ctas"], 1, 1), (256, 1, 1), write, 24)


def transpose(p):
    n = p["n"]
    side = n // 16

    def write(w, cta, warp):
        by, bx = divmod(cta, side)
        lanes = lanes_2d(warp, 16)
        w.prologue(True)
        w.alu("IMAD.WIDE", 2, (6, 7))
        w.alu("IMAD.WIDE", 4, (5, 7))
        w.memory("LDG.E.SYS", 8, (2,), 4, [array(0) + ((by * 16 + y) * n + bx * 16 + x) * 4 for x, y in lanes])
        w.memory("STG.E.SYS", None, (4, 8), 4, [array(2) + ((bx * 16 + x) * n + by * 16 + y) * 4 for x, y in lanes])
        w.alu("EXIT")

    return Kernel((side, side, 1), (16, 16, 1), write, 16)


def stencil2d(p):
    """Five points; border lanes leave early."""
    n = p["n"]
    side = n // 16

    def write(w, cta, warp):
        by, bx = divmod(cta, side)
        points = [(bx * 16 + x, by * 16 + y) for x, y in lanes_2d(warp, 16)]
        mask = sum(1 << lane for lane, (x, y) in enumerate(points) if 0 < x < n - 1 and 0 < y < n - 1)
        w.prologue(True)
        w.alu("EXIT", None, (), FULL & ~mask)
        if not mask:
            return
        w.alu("IMAD.WIDE", 2, (6, 7), mask)
        for index, (dx, dy) in enumerate(((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))):
            w.memory("LDG.E.SYS", 8 + index, (2,), 4, [array(0) + ((y + dy) * n + x + dx) * 4 for x, y in points], mask)
        w.alu("FADD", 20, (9, 10), mask)
        w.alu("FADD", 21, (11, 12), mask)
        w.alu("FADD", 20, (20, 21), mask)
        w.alu("FFMA", 20, (8, 20), mask)
        w.alu("IMAD.WIDE", 4, (6, 7), mask)
        w.memory("STG.E.SYS", None, (4, 20), 4, [array(2) + (y * n + x) * 4 for x, y in points], mask)
        w.alu("EXIT", None, (), mask)

    return Kernel((side, side, 1), (16, 16, 1), write, 28)


def gather(p):
    """out[i] = data[index[i]] with random indices."""
    rng = random.Random(1)

    def write(w, cta, warp):
        at = linear_bytes(cta, warp)
        w.prologue()
        w.alu("IMAD.WIDE", 2, (6, 7))
        w.memory("LDG.E.SYS", 4, (2,), 4, [array(0) + x for x in at])
        w.alu("IMAD.WIDE", 4, (4, 7))
        w.memory("LDG.E.SYS", 5, (4,), 4, [array(4) + rng.randrange(p["span"] // 4) * 4 for _ in at])
        w.alu("IMAD.WIDE", 8, (6, 7))
        w.memory("STG.E.SYS", None, (8, 5), 4, [array(2) + x for x in at])
        w.alu("EXIT")

    return Kernel((p["ctas"], 1, 1), (256, 1, 1), write, 12)


def reduce_atomic(p):
    """Every thread adds to one of 256 bins."""
    rng = random.Random(2)

    def write(w, cta, warp):
        at = linear_bytes(cta, warp)
        w.prologue()
        w.alu("IMAD.WIDE", 2, (6, 7))
        w.memory("LDG.E.SYS", 4, (2,), 4, [array(0) + x for x in at])
        w.alu("IMAD.WIDE", 8, (4, 7))
        w.memory("RED.E.ADD.STRONG.GPU", None, (8, 5), 4, [array(2) + rng.randrange(256) * 4 for _ in at])
        w.alu("EXIT")

    return Kernel((p["ctas"], 1, 1), (256, 1, 1), write, 12)


# The two shapes below were not looked at while the machine was calibrated.


def row_sum(p):
    """Hold-out: a warp sums one row with 16-byte loads, four in flight, then reduces with shuffles."""

    def write(w, cta, warp):
        row = array(0) + (cta * 8 + warp) * p["row_bytes"]
        w.prologue()
        w.alu("IMAD.WIDE", 2, (6, 7))
        loop = w.pc
        for at in range(0, p["row_bytes"], 2048):
            w.pc = loop
            for u in range(4):
                w.memory("LDG.E.128.SYS", 8 + 4 * u, (2,), 16, [row + at + u * 512 + lane * 16 for lane in range(32)])
            for u in range(4):
                w.alu("FADD", 40, (8 + 4 * u, 40))
            w.alu("IADD3", 2, (2,))
            w.alu("ISETP.NE.AND", None, (2,))
            w.alu("BRA")
        for _ in range(5):
            w.alu("SHFL.DOWN", 41, (40,))
            w.alu("FADD", 40, (40, 41))
        w.memory("STG.E.SYS", None, (4, 40), 4, [array(2) + (cta * 8 + warp) * 4] * 32, 1)
        w.alu("EXIT")

    return Kernel((p["ctas"], 1, 1), (256, 1, 1), write, 48)


def histogram_shared(p):
    """Hold-out: bytes of a stream counted in shared memory with conflicts, added up by atomics at the end."""
    rng = random.Random(3)

    def write(w, cta, warp):
        w.prologue()
        w.memory("STS", None, (16, 255), 4, [(warp * 32 + lane) * 4 for lane in range(32)])
        w.alu("BAR.SYNC")
        loop = w.pc
        for step in range(p["steps"]):
            w.pc = loop
            at = [((cta * p["steps"] + step) * 256 + warp * 32 + lane) * 4 for lane in range(32)]
            w.memory("LDG.E.SYS", 8, (2,), 4, [array(0) + x for x in at])
            w.alu("LOP3.LUT", 9, (8,))
            w.memory("ATOMS.ADD", 10, (9,), 4, [rng.randrange(256) * 4 for _ in at])
            w.alu("IADD3", 2, (2,))
            w.alu("ISETP.NE.AND", None, (2,))
            w.alu("BRA")
        w.alu("BAR.SYNC")
        w.memory("LDS.U", 12, (16,), 4, [(warp * 32 + lane) * 4 for lane in range(32)])
        w.memory("RED.E.ADD.STRONG.GPU", None, (8, 12), 4, [array(2) + (warp * 32 + lane) * 4 for lane in range(32)])
        w.alu("EXIT")

    return Kernel((p["ctas"], 1, 1), (256, 1, 1), write, 20, 1024)


KERNELS = {
    "vecadd": (vecadd, dict(ctas=2048)),
    "matmul_naive": (matmul_naive, dict(n=512, k=64)),
    "matmul_tiled": (matmul_tiled, dict(n=512, k=64)),
    "strided": (strided, dict(ctas=512, cols=16, pitch=1024)),
    "transpose": (transpose, dict(n=512)),
    "stencil2d": (stencil2d, dict(n=512)),
    "gather": (gather, dict(ctas=1024, span=64 << 20)),
    "reduce_atomic": (reduce_atomic, dict(ctas=512)),
    "row_sum": (row_sum, dict(ctas=640, row_bytes=8192)),
    "histogram_shared": (histogram_shared, dict(ctas=640, steps=8)),
}

HEADER = """-kernel name = {name}
-kernel id = 1
-grid dim = ({grid[0]},{grid[1]},{grid[2]})
-block dim = ({block[0]},{block[1]},{block[2]})
-shmem = {shared}
-nregs = {registers}
-binary version = 70
-cuda stream id = 0
-shmem base_addr = 0x00007f4ace000000
-local mem base_addr = 0x00007f4ad0000000
-nvbit version = 1.7
-accelsim tracer version = 5
-enable lineinfo = 0

#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses] immediate

"""


def make(name, folder, **changes):
    maker, defaults = KERNELS[name]
    kernel = maker({**defaults, **changes})
    os.makedirs(folder, exist_ok=True)
    counters = Counters()
    gx, gy, gz = kernel.grid
    warps = kernel.block[0] * kernel.block[1] * kernel.block[2] // 32
    with open(os.path.join(folder, "kernel-1.traceg"), "w") as out:
        out.write(HEADER.format(name=name, grid=kernel.grid, block=kernel.block, shared=kernel.shared, registers=kernel.registers))
        for cta in range(gx * gy * gz):
            out.write("\n#BEGIN_TB\n\nthread block = %d,%d,%d\n" % (cta % gx, cta // gx % gy, cta // gx // gy))
            for index in range(warps):
                warp = Warp(counters)
                kernel.warp(warp, cta, index)
                out.write("\nwarp = %d\ninsts = %d\n%s\n" % (index, len(warp.lines), "\n".join(warp.lines)))
            out.write("\n#END_TB\n")
    with open(os.path.join(folder, "kernelslist.g"), "w") as out:
        out.write("kernel-1.traceg\n")
    expected = dict(ctas=gx * gy * gz, warp_instructions=counters.warp_instructions, thread_instructions=counters.thread_instructions,
                    l1_accesses=counters.load_sectors + counters.store_sectors, different_sectors_loaded=len(counters.loaded))
    with open(os.path.join(folder, "expected.json"), "w") as out:
        json.dump(expected, out, indent=1)
    return expected


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in KERNELS:
        sys.exit("usage: make_traces.py NAME FOLDER [key=value ...]\nnames: " + ", ".join(KERNELS))
    changes = dict((key, int(value, 0)) for key, value in (item.split("=") for item in sys.argv[3:]))
    print(make(sys.argv[1], sys.argv[2], **changes))


if __name__ == "__main__":
    main()
