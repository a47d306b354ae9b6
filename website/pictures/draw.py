#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws each mechanism at work: draw.py [--check] EVENTS [FOLDER]

EVENTS is the program mergelane_picture_events, which prints what happens in real runs (events.cpp). Each picture is a file
mechanism-NAME.svg in FOLDER (docs/images), and its text alternative that of the page docs/mechanisms/NAME.md. Nothing in a picture is drawn by
hand: boxes, places, cycles and numbers are those of the events.
--check: writes nothing; fails if a file or page is not what it would write, or if a colour is too close to its ground."""
import argparse
import collections
import html
import json
import pathlib
import re
import subprocess
import sys

from svg import MARGIN, WIDTH, Svg, poor_contrasts

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
FOLDER = DOCS / "images"


def one(events, kind, **wanted):
    """Events of a kind, as they were printed: [kind, cycle, ...]; `at2=3`: those with 3 at index 2."""
    return [e for e in events if e[0] == kind and all(e[int(k[2:])] == v for k, v in wanted.items())]


BASE = 1 << 20


def row_of(address):
    """Of the image that the stencil reads (events.cpp)."""
    assert (address - BASE) % 2048 == 0
    return (address - BASE) // 2048


class Lanes:
    """A panel with rows of boxes over cycles."""
    LEFT, HIGH = 66, 22

    def __init__(self, picture, names, first, last, every=0, wide=None):
        """`every`: cycles between two marks of an axis above; 0: there is none. `wide`: boxes; None: one cycle."""
        self.picture, self.first = picture, first
        self.pitch = (WIDTH - 8 - self.LEFT - (wide or 0)) / (last - first + (wide is None))
        self.wide = wide or self.pitch - 2
        above = 24 if every else 5
        self.y = picture.panel(above + len(names) * self.HIGH + 2) + above
        for row, name in enumerate(names):
            picture.text(MARGIN, self.top(row) + 14, name)
        if every:
            picture.text(MARGIN, self.y - 8, "cycle", kind="soft", size=11)
            for cycle in range(-(-first // every) * every, last + 1, every):
                picture.text(self.x(cycle), self.y - 8, str(cycle), kind="soft", anchor="middle", size=11)

    def x(self, cycle):
        return self.LEFT + (cycle - self.first) * self.pitch + self.wide / 2 + 1

    def top(self, row):
        return self.y + row * self.HIGH

    def box(self, cycle, row, line):
        self.picture.box(self.x(cycle), self.top(row), self.wide, self.HIGH - 3, line, line)

    def ghost(self, cycle, row, line):
        self.picture.ghost(self.x(cycle), self.top(row), self.wide, self.HIGH - 3, line)

    def frame(self, cycle, first, last):
        """Around the boxes of a cycle in these rows."""
        self.picture.rect(self.x(cycle) - self.wide / 2 - 1.2, self.top(first) - 2, self.wide + 2.4, (last - first + 1) * self.HIGH + 1, "frame")


# --- intra-cluster coalescing

def icc(off, on):
    sms = range(5)  # of the first cluster
    sent = [[(e[1], e[2], row_of(e[4])) for e in one(run["events"], "sent") if e[2] in sms] for run in (off, on)]
    assert sent[0] == sent[1], "the SMs send alike in both runs"
    bus = [(e[1], row_of(e[4])) for e in one(on["events"], "bus", at2=0)]
    out = [[(e[1], row_of(e[4])) for e in one(run["events"], "out", at2=0)] for run in (off, on)]
    merged = [request for request in bus if request not in out[1]]
    replies = [[(e[1], row_of(e[4])) for e in one(run["events"], "in", at2=0)] for run in (off, on)]
    fills = [(e[1], e[2], row_of(e[3])) for e in one(on["events"], "filled") if e[2] in sms]
    assert len(replies[1]) == len(out[1]) and len(fills) == len(sent[1]) and len(bus) == len(out[1]) + len(merged)
    rows = len({row for _, _, row in sent[0]})
    names = [f"SM {sm}" for sm in sms]

    s = Svg("Intra-cluster coalescing (ICC)")
    s.prose("Five SMs share a port to the network. Each reads three rows of an image; a box is a read, with its row. Neighbours' rows overlap.")
    span = sent[0][0][0], bus[-1][0]
    s.step(f"The L1s miss: {len(sent[0])} reads for {rows} rows reach the port.")
    lanes = Lanes(s, names, *span, every=2)
    for cycle, sm, row in sent[0]:
        lanes.box(cycle, sm, row)
    s.step(f"Without ICC each read goes on to the network: {len(out[0])}.")
    lanes = Lanes(s, ["without"], *span)
    for cycle, row in out[0]:
        lanes.box(cycle, 0, row)
    s.step(f"With ICC the first read of a row goes on: {len(out[1])}. The other {len(merged)} (dashed) wait for it in the merge table. A lookup takes a cycle.")
    lanes = Lanes(s, ["with ICC"], *span)
    for cycle, row in out[1]:
        lanes.box(cycle, 0, row)
    for cycle, row in merged:
        lanes.ghost(cycle, 0, row)

    span = min(replies[0][0][0], replies[1][0][0]), replies[0][-1][0]
    s.step(f"Without ICC each read gets its own reply; the last one passes the port in cycle {replies[0][-1][0]}.")
    lanes = Lanes(s, ["without"], *span, every=10, wide=14)
    for cycle, row in replies[0]:
        lanes.box(cycle, 0, row)
    s.step(f"With ICC a reply goes to all SMs that wait, in one cycle. {len(replies[1])} replies answer {len(fills)} reads, the last in cycle {replies[1][-1][0]}.")
    lanes = Lanes(s, ["with ICC"] + names, *span, wide=14)
    for cycle, row in replies[1]:
        copies = [(at, sm) for at, sm, filled in fills if filled == row]
        assert {at for at, _ in copies} == {cycle + 1}
        s.line(lanes.x(cycle), lanes.top(0), lanes.x(cycle), lanes.top(1 + copies[-1][1]), kind="frame", width=1.2)
        for place in [0] + [1 + sm for _, sm in copies]:
            lanes.box(cycle, place, row)
    s.prose(f"One cluster of the machine icc60, in a run of 60 CTAs: {off['cycles']} cycles without ICC, {on['cycles']} with it.")
    return s.done(f"Two runs of one kernel on the machine icc60; one of its clusters. In cycles {sent[0][0][0]} to {sent[0][-1][0]} five SMs send {len(sent[0])} reads "
                  f"for {rows} rows of an image. Without ICC all {len(out[0])} go to the network and {len(replies[0])} replies return, the last in cycle "
                  f"{replies[0][-1][0]}. With ICC {len(out[1])} reads go to the network, {len(merged)} are merged, and {len(replies[1])} replies answer all SMs, the last "
                  f"in cycle {replies[1][-1][0]}. The kernel takes {off['cycles']} cycles without ICC and {on['cycles']} with it.")


# --- WarpPool

def warppool(off, on):
    names = [f"warp {warp}" for warp in range(6)]
    requests = [[(e[1], e[3], (e[4] - BASE) // 4096) for e in one(run["events"], kind)] for run, kind in ((off, "accessed"), (on, "queued"), (on, "accessed"))]
    lines = len({line for _, _, line in requests[0]})
    accesses = [collections.defaultdict(list) for _ in range(2)]  # by cycle
    for accesses_of, of_run in zip(accesses, (requests[0], requests[2])):
        for cycle, warp, line in of_run:
            accesses_of[cycle].append((warp, line))
    before, after = accesses
    assert all(len(members) == 1 for members in before.values()) and all(len({line for _, line in members}) == 1 for members in after.values())
    together = [cycle for cycle, members in after.items() if len(members) > 1]
    assert all(len(after[cycle]) == 2 for cycle in together)
    queued = [cycle for cycle, _, _ in requests[1]]
    misses = [len(one(run["events"], "missed")) for run in (off, on)]
    assert misses[0] == misses[1] == lines

    s = Svg("Inter-warp coalescing (WarpPool)")
    s.prose(f"Six warps of an SM read neighbouring columns of a matrix. The {lines} lanes of a warp touch {lines} lines, and all warps touch the same. "
            "A box is a request, with its line.")
    span = min([*before, *after]), max([*before, *after])

    def draw(of_run, framed=()):
        lanes = Lanes(s, names, *span, every=2)
        for cycle in framed:
            lanes.frame(cycle, min(after[cycle])[0], max(after[cycle])[0])
        for cycle, warp, line in of_run:
            lanes.box(cycle, warp, line)

    s.step(f"Without WarpPool a warp accesses the L1 line by line, one per cycle: {len(before)} accesses. The next warp asks for the same lines again.")
    draw(requests[0])
    s.step(f"With WarpPool two coalescers put requests into queues, up to two per cycle. Here they enter, in cycles {min(queued)} to {max(queued)}.")
    draw(requests[1])
    s.step(f"The selector takes one line per cycle to the L1, with all requests that wait for it: frames show the {len(together)} accesses that serve two warps. "
           f"{len(after)} accesses instead of {len(before)}.")
    draw(requests[2], together)
    s.prose(f"One SM of the machine gtx480. In both runs {lines} accesses miss; later ones wait for the same lines. WarpPool's stages take 4 cycles more, "
            f"so this short kernel takes {on['cycles']} cycles instead of {off['cycles']}.")
    return s.done(f"Two runs of one kernel on the machine gtx480. Six warps make {len(queued)} requests for {lines} lines. Without WarpPool they are {len(before)} accesses "
                  f"of the L1, in cycles {min(before)} to {max(before)}. With WarpPool they enter the line queues in cycles {min(queued)} to {max(queued)} and are "
                  f"{len(after)} accesses, in cycles {min(after)} to {max(after)}; {len(together)} of them serve two warps each. The kernel takes {off['cycles']} cycles "
                  f"without WarpPool and {on['cycles']} with it.")


# --- decoupled L1s

def dcl1(off, on):
    sms, nodes = 8, 4
    sent = [[(e[1], e[2], row_of(e[4])) for e in one(run["events"], "sent") if e[2] < sms] for run in (off, on)]
    assert sent[0] == sent[1], "the SMs send alike in both runs"
    private = [(e[1], e[2], row_of(e[3])) for e in one(off["events"], "filled") if e[2] < sms]
    rows = {row for _, _, row in sent[0]}
    missed = [(e[1], e[2], row_of(e[3])) for e in one(on["events"], "missed") if e[2] < nodes and row_of(e[3]) in rows]
    assert len(missed) == len(rows), "one copy in the node cluster"
    to_l2 = [len(one(off["events"], "missed")), len(one(on["events"], "missed"))]

    s = Svg("Decoupled L1s (DC-L1)")
    s.prose("Eight SMs each read three rows of an image; a box is a row of it. Neighbours' rows overlap.")
    pitch = (WIDTH - 20) / sms
    centre = lambda sm: 10 + (sm + 0.5) * pitch
    size, high = 15, 19

    def column_boxes(top, list_of):
        for sm in range(sms):
            for place, row in enumerate(list_of(sm)):
                s.box(centre(sm) + (place - 1) * (size + 1), top, size, high, row, row)

    s.step(f"Without DC-L1 each SM has a private L1. All {len(private)} reads miss and go to the L2, and the {sms} L1s then hold {len(private)} lines: {len(rows)} different ones.")
    top = s.panel(76)
    for sm in range(sms):
        s.text(centre(sm), top + 17, f"SM {sm}", anchor="middle")
        s.rect(centre(sm) - pitch / 2 + 1.5, top + 23, pitch - 3, 27, "frame")
        s.line(centre(sm), top + 50, centre(sm), top + 58)
    column_boxes(top + 27, lambda sm: sorted(row for _, n, row in private if n == sm))
    s.text(WIDTH / 2, top + 70, f"{len(private)} requests to the L2", anchor="middle", bold=True)

    s.step(f"With DC-L1 the SMs have no L1. They send the same reads, in cycles {sent[1][0][0]} to {max(c for c, _, _ in sent[1])}, to four nodes. Each row has one home, to which strokes lead.")
    top = s.panel(210)
    home = {row: node for _, node, row in missed}
    kept = {node: [row for _, n, row in sorted(missed) if n == node] for node in range(nodes)}
    wide = (WIDTH - 20) / nodes
    place = {}
    for node in range(nodes):
        for i, row in enumerate(kept[node]):
            place[row] = 10 + (node + 0.5) * wide + (i - (len(kept[node]) - 1) / 2) * 24
    for sm in range(sms):
        s.text(centre(sm), top + 17, f"SM {sm}", anchor="middle")
        for i, (_, _, row) in enumerate(e for e in sent[1] if e[1] == sm):
            s.lead(centre(sm) + (i - 1) * (size + 1), top + 42, place[row], top + 126, row)
    column_boxes(top + 23, lambda sm: [row for _, n, row in sent[1] if n == sm])
    for node in range(nodes):
        left = 10 + node * wide + 4
        s.rect(left, top + 120, wide - 8, 52, "ground")
        s.rect(left, top + 120, wide - 8, 52, "frame")
        s.text(left + 6, top + 165, f"node {node}")
        s.line(left + wide / 2 - 4, top + 172, left + wide / 2 - 4, top + 183)
        for row in kept[node]:
            s.box(place[row], top + 126, 20, high, row, row)
    s.text(WIDTH / 2, top + 198, f"{len(missed)} requests to the L2", anchor="middle", bold=True)
    s.step(f"The first read of a row misses in its home (cycles {min(c for c, _, _ in missed)} to {max(c for c, _, _ in missed)}). The other {len(sent[1]) - len(missed)} wait for "
           f"it there. The four nodes hold {len(missed)} lines instead of {len(private)}.")
    s.prose(f"One cluster of the machine dcl1-80, in a run of 80 CTAs: {to_l2[0]} requests to the L2 and {off['cycles']} cycles with private L1s, {to_l2[1]} and {on['cycles']} with DC-L1.")
    return s.done(f"Two runs of one kernel on the machine dcl1-80; eight of its SMs, which share four nodes. The SMs read {len(sent[0])} times, {len(rows)} different rows. With private L1s "
                  f"{len(private)} requests go to the L2 and the L1s hold {len(private)} lines. With decoupled L1s each row has one home among four nodes; {len(missed)} requests go to the L2 and the "
                  f"nodes hold {len(missed)} lines. The whole machine makes {to_l2[0]} and {to_l2[1]} requests, and takes {off['cycles']} and {on['cycles']} cycles.")


# --- CTA clustering

def clustering(off, on):
    sms, ctas = 4, 16

    def placement(run):
        """Per SM: its CTAs, each with its rows and whether they were fetched. A warp is a CTA, which its first row tells."""
        fetched = {(e[2], e[1]): (e[3], row_of(e[4])) for e in one(run["events"], "sent")}
        accesses = collections.defaultdict(list)
        for _, cycle, sm, warp, address in one(run["events"], "accessed"):
            accesses[sm, warp].append((row_of(address), fetched.get((sm, cycle))))
        table = [[] for _ in range(sms)]
        for (sm, _), rows in accesses.items():
            cta = min(row for row, _ in rows)
            assert sorted(row for row, _ in rows) == [cta, cta + 1, cta + 2] and all(by in (None, (cta, row)) for row, by in rows)
            table[sm].append((cta, sorted((row, by is not None) for row, by in rows)))
        assert sorted(cta for column in table for cta, _ in column) == list(range(ctas))
        return [sorted(column) for column in table]

    tables = [placement(run) for run in (off, on)]
    fetches = [len(one(run["events"], "sent")) for run in (off, on)]

    s = Svg("CTA clustering")
    s.prose(f"{ctas} CTAs run on four SMs. CTA n reads the rows n, n + 1 and n + 2 of an image. A filled box is a row that the L1 fetches from the L2. A dashed "
            "box is a row that another CTA of the SM has fetched or is fetching.")
    wide = (WIDTH - 20) / sms

    def draw(table):
        top = s.panel(24 + 24 * (ctas // sms) + 24)
        for sm, column in enumerate(table):
            left = 10 + sm * wide
            s.text(left + wide / 2, top + 17, f"SM {sm}", anchor="middle", bold=True)
            for place, (cta, rows) in enumerate(column):
                y = top + 24 + place * 24
                s.text(left + 2, y + 14, f"CTA {cta}", kind="soft", size=11)
                for i, (row, was_fetched) in enumerate(sorted(rows)):
                    (lambda *a: s.box(*a, row) if was_fetched else s.ghost(*a))(left + 55 + i * 19.5, y, 18, 20, row)
            count = sum(was_fetched for _, rows in column for _, was_fetched in rows)
            s.text(left + wide / 2, top + 24 + 24 * (ctas // sms) + 14, f"{count} fetches", anchor="middle")
            if sm:
                s.line(left - 1, top + 8, left - 1, top + 36 + 24 * (ctas // sms))

    s.step(f"CTAs are dispatched round robin: neighbours run on different SMs, and their L1s fetch the same rows. {fetches[0]} fetches.")
    draw(tables[0])
    s.step(f"The kernel is rewritten: each SM gets one cluster of neighbouring CTAs, and its L1 fetches a row once. {fetches[1]} fetches.")
    draw(tables[1])
    start = [min(e[1] for e in one(run["events"], "accessed")) for run in (off, on)]
    s.prose(f"The machine gtx570 with four SMs, without a transform and with agents. The first access comes in cycle {start[0]} and, with agents, in cycle {start[1]}: first an agent computes "
            f"which CTA it executes. A kernel as short as this one does not regain that: it takes {off['cycles']} and {on['cycles']} cycles.")
    return s.done(f"Two runs of one kernel on the machine gtx570 with four SMs. Without CTA clustering, SM 0 runs the CTAs {', '.join(str(cta) for cta, _ in tables[0][0])}, and the L1s fetch "
                  f"{fetches[0]} rows. With CTA clustering, SM 0 runs the CTAs {', '.join(str(cta) for cta, _ in tables[1][0])}, and the L1s fetch {fetches[1]} rows. "
                  f"The runs take {off['cycles']} and {on['cycles']} cycles; {start[1] - start[0]} of the difference compute which CTA an agent executes.")


# --- packet coalescing

ACROSS, MEMORY = 6, 3  # of the mesh of pkt28: routers in a row, and the one of the memory node that all reads go to
LOCAL, LEADS = 0, {1: (1, 0), 2: (-1, 0), 3: (0, -1), 4: (0, 1)}  # ports of a router, and where they lead
COMES_BY = {1: "west", 2: "east", 3: "south", 4: "north"}
Passing = collections.namedtuple("Passing", "kind cycle router port flits destination members")


def passings(run):
    """Heads of packets that pass the switch of a router. Members are its reads: source, DRAM row, address."""
    return [Passing(*event) for event in one(run["events"], "switched")]


def meeting(on, leaving):
    """The packets that came to the router of a packet that leaves it, with their reads: the last step of each read before."""
    parts = {}
    for read in leaving.members:
        before = [p for p in passings(on) if p.cycle < leaving.cycle and p.router != leaving.router and read in p.members]
        last = before[-1] if before else None
        parts.setdefault(last and (last.cycle, last.router), (last, []))[1].append(read)
    return sorted(parts.values(), key=lambda part: part[0].cycle if part[0] else 0)


class Reads:
    """What packet coalescing did with the reads of two runs."""

    def __init__(self, off, on):
        self.rows = sorted({read[1] for p in passings(off) for read in p.members})
        assert len(self.rows) == 2 and all(p.destination == MEMORY for run in (off, on) for p in passings(run))
        self.links = [collections.Counter((p.router, p.port) for p in passings(run) if p.port != LOCAL) for run in (off, on)]
        self.arrivals = [[(p.cycle, "".join(map(self.letter, p.members))) for p in passings(run) if p.port == LOCAL] for run in (off, on)]
        assert all(len(set(letters)) == 1 for run in self.arrivals for _, letters in run)
        # The packet that leaves a router, not the memory's, after most packets have met there; and what these were without.
        forward = [p for p in passings(on) if p.port != LOCAL]
        self.big = max(forward, key=lambda p: (sum(last is not None for last, _ in meeting(on, p)), len(p.members), -p.cycle))
        self.met = meeting(on, self.big)
        self.apart = [p for p in passings(off) if (p.router, p.port) == (self.big.router, self.big.port) and p.members[0] in self.big.members]
        assert len(self.apart) == len(self.big.members)

    def letter(self, read):
        return "AB"[self.rows.index(read[1])]

    def order(self, n):
        return "".join(letters for _, letters in self.arrivals[n])

    def changes(self, n):
        return sum(a != b for a, b in zip(self.order(n), self.order(n)[1:]))


def draw_meshes(s, reads):
    """Links as wide as many packets cross them."""
    pitch, reach = 33, 34.5
    top = s.panel(ACROSS * pitch + 26)
    for n, title in enumerate(("without", "with coalescing")):
        left = 29 + n * 216

        def middle(router, left=left):
            return left + router % ACROSS * reach, top + 42 + router // ACROSS * pitch

        s.text(left + 2.5 * reach, top + 18, title, anchor="middle", bold=True)
        for (router, port), count in sorted(reads.links[n].items()):
            (x, y), (dx, dy) = middle(router), LEADS[port]
            s.line(x + dx * 9, y + dy * 9, x + dx * (pitch - 8), y + dy * (pitch - 8), kind="frame", width=0.8 + count * 0.42)
            if count >= 4:
                assert dx == 0
                s.text(x + 11, y + dy * pitch / 2 + 4, str(count), size=11)
        for router in range(ACROSS * ACROSS):
            x, y = middle(router)
            s.rect(x - 8, y - 8, 16, 16, "rule" if router != MEMORY else "badge")
        for router, name, kind in ((MEMORY, "M", "on"), (reads.big.router, "R", "ink")):
            s.text(middle(router)[0], middle(router)[1] + 4.3, name, kind=kind, anchor="middle", bold=True)


def draw_packet(s, left, y, letters):
    for i, letter in enumerate(letters):
        s.box(left + 9.5 + i * 21, y + 2, 19, 19, letter, "AB".index(letter))
    if len(letters) > 1:
        s.rect(left - 3, y - 0.5, 21 * len(letters) + 4, 24, "frame")
    return left + 21 * len(letters) + 3


def draw_meeting(s, reads):
    """Packets that come to a router, its table, and the packet that leaves."""
    high = 27
    top = s.panel(len(reads.met) * high + 16)
    middle = top + 8 + len(reads.met) * high / 2
    for place, (last, members) in enumerate(reads.met):
        y = top + 10 + place * high
        s.text(MARGIN, y + 15, f"from the {COMES_BY[last.port]}, sent in {last.cycle}" if last else "from R's own SM", kind="soft")
        s.line(draw_packet(s, 178, y, list(map(reads.letter, members))), y + 11.5, 256, middle)
    s.rect(256, middle - 15, 50, 30, "ground")
    s.rect(256, middle - 15, 50, 30, "frame")
    s.text(281, middle + 4, "table", anchor="middle")
    s.line(306, middle, 322, middle)
    draw_packet(s, 325, middle - 11.5, list(map(reads.letter, reads.big.members)))
    flits = reads.big.flits
    s.text(322, middle + 27, f"{flits} flit{'s' if flits > 1 else ''}, not {sum(p.flits for p in reads.apart)}", kind="soft")


def draw_arrivals(s, arrivals, every):
    """Packets in the order in which they reach M: a column each, its reads one above the other."""
    tallest = max(len(letters) for _, letters in arrivals)
    top = s.panel(tallest * 16 + 32)
    pitch = min((WIDTH - 16) / len(arrivals), 34)
    wide = min(pitch - 2, 20)
    for place, (cycle, letters) in enumerate(arrivals):
        x = (WIDTH - pitch * len(arrivals)) / 2 + (place + 0.5) * pitch
        for i, letter in enumerate(letters):
            s.box(x, top + 6 + (tallest - 1 - i) * 16, wide, 15, letter, "AB".index(letter))
        if len(letters) > 1:
            s.rect(x - wide / 2 - 2, top + 4 + (tallest - len(letters)) * 16, wide + 4, len(letters) * 16 + 3, "frame")
        if place % every == 0:
            s.text(x, top + tallest * 16 + 23, str(cycle), kind="soft", size=11, anchor="middle")


def packets(off, on):
    reads = Reads(off, on)
    count, reach = len(reads.order(0)), [len(arrivals) for arrivals in reads.arrivals]
    hops = [sum(links.values()) for links in reads.links]
    misses = [run["stats"]["dram.row_misses"] for run in (off, on)]
    s = Svg("Packet coalescing in a mesh")
    s.prose(f"{count} SMs each read one line from memory node M: half of them a line of matrix A, half of matrix B. They lie in two rows of one DRAM bank.")
    s.step(f"Packets on their way to M, per link. Without packet coalescing each read is a packet of its own: {hops[0]} packets cross links. With it, routers "
           f"hold and merge reads: {hops[1]} packets. Reads go along their row, then up the column of M.")
    draw_meshes(s, reads)
    s.step(f"How: {len(reads.met)} packets meet at router R. It holds their reads in a table and sends one Big Packet, in cycle {reads.big.cycle}. Without, they left "
           f"as {len(reads.apart)} packets in cycles {reads.apart[0].cycle} to {reads.apart[-1].cycle}.")
    draw_meeting(s, reads)
    s.step(f"Without: {reach[0]} packets reach M (below: the network cycle), A and B mixed. The order changes between A and B {reads.changes(0)} times; "
           f"{misses[0]} of the reads have to open a DRAM row.")
    draw_arrivals(s, reads.arrivals[0], 3)
    s.step(f"With: {reach[1]} packets. Frames are Big Packets, whose reads are of one DRAM row. The order changes {reads.changes(1)} times; {misses[1]} reads open a row.")
    draw_arrivals(s, reads.arrivals[1], 1)
    s.prose(f"The machine pkt28, 28 SMs on a 6 x 6 mesh: {off['cycles']} core cycles without packet coalescing, {on['cycles']} with it. Routers hold reads, so the "
            f"last one reaches M in network cycle {reads.arrivals[1][-1][0]} instead of {reads.arrivals[0][-1][0]}.")
    return s.done(f"Two runs of one kernel on the machine pkt28, a 6 by 6 mesh. {count} SMs each send a read to one memory node, half of them for DRAM row A, half for "
                  f"row B of one bank. Without packet coalescing, {hops[0]} packets cross links and {reach[0]} reach the memory node, in the order {reads.order(0)}; "
                  f"{misses[0]} row misses. With it, {hops[1]} packets cross links and {reach[1]} reach the memory node, "
                  f"{sum(len(letters) > 1 for _, letters in reads.arrivals[1])} of them Big Packets, in the order "
                  f"{' '.join(letters for _, letters in reads.arrivals[1])}; {misses[1]} row misses. The kernel takes {off['cycles']} core cycles without packet "
                  f"coalescing and {on['cycles']} with it.")


PICTURES = {"icc": icc, "warppool": warppool, "dcl1": dcl1, "cta-clustering": clustering, "packet-coalescing": packets}


def files(name, svg):
    """What is to be written, by path."""
    page = DOCS / f"mechanisms/{name}.md"
    alternative = html.unescape(re.search("<desc[^>]*>(.*)</desc>", svg)[1])
    shown = rf"!\[[^\]]*\](?=\(\.\./images/mechanism-{name}\.svg\))"
    text, count = re.subn(shown, lambda _: f"![{alternative}]", page.read_text(encoding="utf-8"))
    if count != 1:
        sys.exit(f"{page}: shows ../images/mechanism-{name}.svg {count} times, not once")
    return {FOLDER / f"mechanism-{name}.svg": svg, page: text}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    problems = [f"too little contrast: {pair}" for pair in poor_contrasts()]
    for name, draw in PICTURES.items():
        printed = subprocess.run([options.events, name], check=True, capture_output=True, text=True).stdout
        svg = draw(*json.loads(printed))
        for path, text in ({options.folder / f"mechanism-{name}.svg": svg} if options.folder else files(name, svg)).items():
            if not options.check:
                path.write_text(text, encoding="utf-8")
            elif not path.exists() or path.read_text(encoding="utf-8") != text:
                problems.append(f"{path}: not what the runs give today; scripts/pictures writes it")
    print("\n".join(problems) or f"{len(PICTURES)} pictures are as their runs")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
