// SPDX-License-Identifier: MIT
// 60 SMs in 12 clusters, a credit link per cluster and slice in each direction, 8 L2 slices with a GDDR5 channel each.
// Clusters and memory partitions run windows as long as a link's latency; inside, a calendar of component bits.
#include "bare_loop.hpp"

#include <time.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mergelane {

namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 kNever = ~0u;
constexpr u32 kClusters = 12, kSmsPerCluster = 5, kSlices = 8, kWarps = 64, kSchedulers = 2, kLanes = 32;
constexpr u32 kHitLatency = 28, kLinkLatency = 16, kWindow = kLinkLatency, kDataFlits = 3;
constexpr u32 kL2Latency = 90, kDramLatency = 100;  // fixed parts, beside links and timing
constexpr u32 kMerges = 8, kMshrs = 32;
constexpr u32 kTotalWarps = kClusters * kSmsPerCluster * kWarps;

u32 lowest(u64 mask) {
    return static_cast<u32>(std::countr_zero(mask));
}
constexpr u64 bit64(u32 index) {
    return u64{1} << index;
}
u32 mix(u32 x) {
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    return x ^ (x >> 16);
}
/// First set bit at or after `start`, wrapping around; the mask is not empty.
u32 round_robin(u32 mask, u32 start) {
    const u32 from_start = mask >> start << start;
    return lowest(from_start != 0 ? from_start : mask);
}

/// Slices take turns every 256 bytes, XOR-folded; a slice sees a dense space of its own.
u32 slice_of(u32 line) {
    const u32 chunk = line >> 1;
    return (chunk ^ chunk >> 3 ^ chunk >> 6 ^ chunk >> 11 ^ chunk >> 17 ^ chunk >> 25) % kSlices;
}
u32 local_of(u32 line) {
    return line >> 4 << 1 | (line & 1);
}

template <class T, u32 kSize>
struct Ring {
    std::array<T, kSize> slots;
    u32 head = 0, tail = 0;
    bool empty() const { return head == tail; }
    u32 room() const { return kSize - (tail - head); }
    T& front() { return slots[head % kSize]; }
    void push(const T& value) { slots[tail++ % kSize] = value; }
};

/// Who wants to be stepped when, up to 63 cycles ahead; early is harmless.
struct Calendar {
    u64 used = 0;
    u32 now = 0;
    std::array<u8, 64> due{};

    void wake(u32 who, u32 at) {
        const u32 slot = std::min(at, now + 63) % 64;
        due[slot] = static_cast<u8>(due[slot] | 1u << who);
        used |= bit64(slot);
    }
    template <class Step>
    void run_until(u32 end, Step&& step) {
        while (used != 0) {
            const u32 at = now + lowest(std::rotr(used, static_cast<int>(now % 64)));
            if (at >= end) break;
            now = at;
            u32 mask = due[at % 64];
            due[at % 64] = 0;
            used &= ~bit64(at % 64);
            for (; mask != 0; mask &= mask - 1) {
                const u32 who = lowest(mask);
                const u32 next = step(who, at);
                if (next != kNever) wake(who, next);
            }
        }
        now = end;
    }
};

enum class Kind : u8 { read, write, data, ack };
struct Packet {
    u32 line;
    u8 cluster, sm, mshr;
    Kind kind;
};
u32 flits(Kind kind) {
    return kind == Kind::read || kind == Kind::ack ? 1 : kDataFlits;
}

/// The receiving end of links from `kSources` senders: eight packets each, a time stamp per packet and per credit.
template <u32 kSources>
struct Inbox {
    static constexpr u32 kDepth = 8;
    struct Link {
        std::array<Packet, kDepth> packets;
        std::array<u32, kDepth> arrives_at, free_at{};
        u32 head = 0, tail = 0;
    };
    std::array<u32, kSources> head_at;
    std::array<Link, kSources> links;
    u32 next_source = 0, port_free_at = 0;

    Inbox() { head_at.fill(kNever); }
    u32 credit_at(u32 source) const { return links[source].free_at[links[source].tail % kDepth]; }
    void send(u32 source, const Packet& packet, u32 at) {
        Link& link = links[source];
        const u32 slot = link.tail++ % kDepth;
        link.packets[slot] = packet;
        link.arrives_at[slot] = at;
        link.free_at[slot] = kNever;
        head_at[source] = std::min(head_at[source], at);
    }
    u32 arrived(u32 now) const {
        if (port_free_at > now) return 0;
        u32 mask = 0;
        for (u32 s = 0; s < kSources; ++s) mask |= (head_at[s] <= now ? 1u : 0u) << s;
        return mask;
    }
    const Packet& front(u32 source) const { return links[source].packets[links[source].head % kDepth]; }
    void take(u32 source, u32 now) {
        Link& link = links[source];
        const u32 slot = link.head++ % kDepth;
        port_free_at = now + flits(link.packets[slot].kind);
        link.free_at[slot] = now + kLinkLatency;
        head_at[source] = link.head == link.tail ? kNever : link.arrives_at[link.head % kDepth];
        next_source = source + 1 == kSources ? 0 : source + 1;
    }
    u32 next_time(u32 now) const {
        const u32 first = *std::min_element(head_at.begin(), head_at.end());
        return first == kNever ? kNever : std::max({first, port_free_at, now + 1});
    }
};

/// Tags with LRU stamps; a line under fetch names its MSHR entry, so nobody ever searches the MSHRs.
template <u32 kSets, u32 kWays>
struct Tags {
    static constexpr u8 kValid = 0xFF;
    std::array<u32, kSets * kWays> tag, stamp{};
    std::array<u8, kSets * kWays> fetch;  ///< MSHR entry, or kValid
    std::array<bool, kSets * kWays> dirty{};
    u32 clock = 0;

    Tags() {
        tag.fill(kNever);
        fetch.fill(kValid);
    }
    static u32 first_of(u32 line) { return static_cast<u32>(u64{line * 0x9E3779B1u} * kSets >> 32) * kWays; }
    u32 find(u32 line) const {
        const u32 first = first_of(line);
        for (u32 way = first; way < first + kWays; ++way) {
            if (tag[way] == line) return way;
        }
        return kNever;
    }
    u32 victim(u32 line) const {
        u32 best = kNever;
        for (u32 way = first_of(line), end = way + kWays; way < end; ++way) {
            if (fetch[way] == kValid && (best == kNever || stamp[way] < stamp[best])) best = way;
        }
        return best;
    }
    void touch(u32 way) { stamp[way] = ++clock; }
    void install(u32 way, u32 line, u8 state) {
        tag[way] = line;
        fetch[way] = state;
        touch(way);
    }
};

template <class Target>
struct Mshrs {
    u32 free = ~0u;
    std::array<u32, kMshrs> way;
    std::array<u8, kMshrs> count;
    std::array<std::array<Target, kMerges>, kMshrs> targets;

    u32 take(u32 for_way, const Target& target) {
        const u32 entry = lowest(free);
        free &= free - 1;
        way[entry] = for_way;
        count[entry] = 1;
        targets[entry][0] = target;
        return entry;
    }
    bool merge(u32 entry, const Target& target) {
        if (count[entry] == kMerges) return false;
        targets[entry][count[entry]++] = target;
        return true;
    }
};

enum class Pattern : u8 { tiled, stream, divergent };
enum class Op : u8 { compute, load, store };
struct alignas(8) Instruction {
    static constexpr u8 kNoReg = 31;  ///< always ready
    Op op = Op::compute;
    bool last = false;
    u8 dst = kNoReg, first = kNoReg, second = kNoReg;  ///< all three must be ready
    u8 latency = 0;
    u8 array = 0;
};
struct Program {
    Pattern pattern;
    u32 reuse;
    std::vector<Instruction> body;

    /// One memory instruction and some arithmetic per group; half of it depends on the result before, and once per
    /// group on the load of the group before. The last group stores.
    explicit Program(std::string_view kind)
        : pattern(kind == "compute"  ? Pattern::tiled
                  : kind == "stream" ? Pattern::stream
                                     : Pattern::divergent),
          reuse(8) {
        constexpr u8 kLatencies[] = {4, 5, 5, 4};
        u32 alu = 0;
        for (u8 group = 0; group < 8; ++group) {
            Instruction& memory = body.emplace_back();
            memory.op = group == 7 ? Op::store : Op::load;
            memory.dst = static_cast<u8>(group == 7 ? 8 + alu : group);
            memory.array = group;
            for (u32 k = 0; k < (pattern == Pattern::tiled ? 20u : 4u); ++k) {
                Instruction& inst = body.emplace_back();
                if (mix(static_cast<u32>(body.size())) % 2 == 0) inst.first = static_cast<u8>(8 + alu);
                alu = (alu + 1) % 23;
                inst.dst = static_cast<u8>(8 + alu);
                inst.latency = kLatencies[k % 4];
                if (k == 0 && group != 0) inst.second = static_cast<u8>(group - 1);
            }
        }
        body.back().last = true;
    }
    /// Lines one instruction of a warp touches, without repetition; returns how many.
    u32 lines(u32 warp, u32 iteration, u32 array, std::array<u32, kLanes>& out) const {
        const u32 cta = warp / 8;
        if (pattern == Pattern::stream) out[0] = (array << 28) + iteration * kTotalWarps + warp;
        if (pattern == Pattern::tiled) {
            const u32 tile = array % 2 == 0 ? cta / 16 : cta % 16;
            out[0] = (array % 2 << 28) + (tile * 4096 + iteration / reuse % 4096) * 8 + (warp + array) % 8;
        }
        if (pattern != Pattern::divergent) return 1;
        u32 key = mix(warp * 0x10001u + (iteration * 8 + array) * 0x1000193u), count = 0;
        u64 seen = 0;
        for (u32 lane = 0; lane < kLanes; ++lane) {
            key = mix(key + 0x9E3779B9u);
            const u32 line = key % 2 != 0 ? key >> 8 & 8191 : 1u << 28 | (key >> 8 & 0x7FFFF);  // half in a hot megabyte
            const u64 print = bit64((line * 0x9E3779B1u) >> 26);
            const bool repeated = (seen & print) != 0 && std::find(out.begin(), out.begin() + count, line) != out.begin() + count;
            seen |= print;
            if (!repeated) out[count++] = line;
        }
        return count;
    }
};

struct Sm {
    struct Access {
        u8 warp, dst;
        bool store;
        u32 count, next;
        std::array<u32, kLanes> lines;
    };
    u64 ready = ~u64{0}, memory_next = ~u64{0}, waits_for_load = 0;  ///< bit per warp; bodies start with a load
    u32 wheel_used = 0;
    bool parked = false;
    u8 cluster = 0, index = 0;
    u32 first_warp = 0;
    const Program* program = nullptr;
    std::array<u32, kSchedulers> last{};
    std::array<u64, 32> wheel{};
    std::array<u16, kWarps> pc{};
    std::array<u32, kWarps> iteration{};
    std::array<std::array<u32, 32>, kWarps> reg_ready{};
    std::array<std::array<u8, 8>, kWarps> lines_left{};
    std::array<std::array<u32, 8>, kWarps> latest{};
    Ring<Access, 4> lsu;
    Ring<Packet, 8> misses;
    Tags<96, 4> tags;
    Mshrs<u16> mshrs;  ///< targets: warp and register
    u64 instructions = 0, line_requests = 0, hits = 0, merged = 0, fills = 0, fill_time = 0;

    /// When the next instruction of a warp may issue; kNever: not before a load comes back.
    u32 operands_at(const Instruction& next, u32 warp) const {
        const auto& regs = reg_ready[warp];
        return std::max(regs[next.dst], std::max(regs[next.first], regs[next.second]));
    }
    void line_done(u32 warp, u32 dst, u32 at, u32 now) {
        latest[warp][dst] = std::max(latest[warp][dst], at);
        if (--lines_left[warp][dst] != 0) return;
        reg_ready[warp][dst] = latest[warp][dst];
        if ((waits_for_load & bit64(warp)) == 0) return;
        const u32 ready_at = operands_at(program->body[pc[warp]], warp);
        if (ready_at == kNever) return;
        waits_for_load &= ~bit64(warp);
        const u32 slot = std::max(ready_at, now + 1) % 32;
        wheel[slot] |= bit64(warp);
        wheel_used |= 1u << slot;
    }
    void receive(const Packet& packet, u32 now) {
        if (packet.kind == Kind::ack) return;
        const u32 entry = packet.mshr;
        tags.fetch[mshrs.way[entry]] = tags.kValid;
        for (u32 k = 0; k < mshrs.count[entry]; ++k) line_done(mshrs.targets[entry][k] >> 8, mshrs.targets[entry][k] & 255, now, now);
        mshrs.free |= 1u << entry;
        parked = false;
        ++fills;
        fill_time += now;
    }
    /// False: the line cannot be handled before a reply arrives or a miss leaves.
    bool look_up(const Access& access, u32 line, u32 now) {
        const u32 way = tags.find(line);
        const auto target = static_cast<u16>(access.warp << 8 | access.dst);
        if (access.store) {
            if (misses.room() == 0) return false;
            if (way != kNever && tags.fetch[way] == tags.kValid) tags.tag[way] = kNever;  // write-evict
            misses.push({line, cluster, index, 0, Kind::write});
        } else if (way == kNever) {
            const u32 victim = tags.victim(line);
            if (mshrs.free == 0 || misses.room() == 0 || victim == kNever) return false;
            const auto entry = static_cast<u8>(mshrs.take(victim, target));
            tags.install(victim, line, entry);
            misses.push({line, cluster, index, entry, Kind::read});
        } else {
            if (tags.fetch[way] == tags.kValid) {
                line_done(access.warp, access.dst, now + kHitLatency, now);
                ++hits;
            } else if (mshrs.merge(tags.fetch[way], target)) {
                ++merged;
            } else {
                return false;
            }
            tags.touch(way);
        }
        ++line_requests;
        return true;
    }
    void issue_memory(u32 warp, const Instruction& inst) {
        Access& access = lsu.slots[lsu.tail++ % 4];
        access.warp = static_cast<u8>(warp);
        access.dst = inst.dst;
        access.store = inst.op == Op::store;
        access.next = 0;
        access.count = program->lines(first_warp + warp, iteration[warp], inst.array, access.lines);
        if (access.store) return;
        lines_left[warp][inst.dst] = static_cast<u8>(access.count);
        latest[warp][inst.dst] = 0;
        reg_ready[warp][inst.dst] = kNever;
    }
    u32 step(u32 now) {
        // 1. The load/store unit handles one line.
        if (!lsu.empty() && !parked) {
            Access& access = lsu.front();
            parked = !look_up(access, access.lines[access.next], now);
            if (!parked && ++access.next == access.count) ++lsu.head;
        }
        // 2. Warps whose operands are ready now. The masks stay in registers until the end.
        const Instruction* const body = program->body.data();
        u64 can_issue = ready | wheel[now % 32], memory = memory_next;
        u32 used = wheel_used & ~(1u << now % 32);
        wheel[now % 32] = 0;
        bool lsu_room = lsu.room() != 0;
        // 3. Each scheduler issues the warp it issued last, else its first.
        for (u32 s = 0; s < kSchedulers; ++s) {
            const u64 mine = can_issue & (0x5555555555555555ull << s) & (lsu_room ? ~u64{0} : ~memory);
            if (mine == 0) continue;
            const u32 warp = (mine & bit64(last[s])) != 0 ? last[s] : lowest(mine);
            last[s] = warp;
            const Instruction* inst = body + pc[warp];
            if (inst->op == Op::compute) {
                reg_ready[warp][inst->dst] = now + inst->latency;
            } else {
                issue_memory(warp, *inst);
                lsu_room = lsu.room() != 0;
            }
            iteration[warp] += inst->last;
            inst = inst->last ? body : inst + 1;
            pc[warp] = static_cast<u16>(inst - body);
            // 4. The warp waits for its next instruction's operands.
            can_issue &= ~bit64(warp);
            memory = (memory & ~bit64(warp)) | u64{inst->op != Op::compute} << warp;
            const u32 at = operands_at(*inst, warp);
            if (at == kNever) {
                waits_for_load |= bit64(warp);
            } else {
                const u32 slot = std::max(at, now + 1) % 32;
                wheel[slot] |= bit64(warp);
                used |= 1u << slot;
            }
            ++instructions;
        }
        ready = can_issue;
        memory_next = memory;
        wheel_used = used;
        if ((can_issue & (lsu_room ? ~u64{0} : ~memory)) != 0 || (!lsu.empty() && !parked)) return now + 1;
        return used == 0 ? kNever : now + 1 + lowest(std::rotr(used, static_cast<int>((now + 1) % 32)));
    }
};

struct Partition;

struct Cluster {
    static constexpr u32 kPort = kSmsPerCluster;  ///< steps after the SMs
    Calendar calendar;
    std::array<Sm, kSmsPerCluster> sms;
    Inbox<kSlices> replies;
    u32 index = 0, next_sm = 0, inject_free_at = 0;
    u32 inject_at = kNever;  ///< before this no request can leave
    u32 pending = 0;         ///< SMs with requests
    Partition* partitions = nullptr;

    u32 step_port(u32 now);
    void inject(u32 now);
    void try_inject_at(u32 at) {
        if (at >= inject_at) return;
        inject_at = at;
        calendar.wake(kPort, at);
    }
    void run_until(u32 end) {
        calendar.run_until(end, [this](u32 who, u32 now) {
            if (who == kPort) return step_port(now);
            const u32 sent = sms[who].misses.tail;
            const u32 next = sms[who].step(now);
            if (sms[who].misses.tail != sent && (pending >> who & 1) == 0) {
                pending |= 1u << who;
                try_inject_at(std::max(now + 1, inject_free_at));
            }
            return next;
        });
    }
};

struct Channel {
    static constexpr u32 kBanks = 16;
    static constexpr u32 tRCD = 12, tRP = 12, tRAS = 28, tRC = 40, tRRD = 6, tBurst = 2, tCL = 12, tRTP = 2, tWR = 18, tWTR = 11, tRTW = 12;
    struct Done {
        u32 at;
        u8 mshr;
    };
    // Requests sit in order of arrival on a circle of 64, so the oldest of a mask is its first bit after `oldest`.
    u64 occupied = 0, writes = 0;
    u32 oldest = 0, arrivals = 0, busy_banks = 0;
    u32 read_at = 0, write_at = 0, any_activate_at = 0;
    std::array<u64, kBanks> waiting{}, row_hits{};
    std::array<u32, kBanks> open_row, column_at{}, activate_at{}, precharge_at{};
    std::array<u32, 64> row{};
    std::array<u8, 64> bank{}, mshr{};
    Ring<Done, 64> done;
    u64 columns = 0, activates = 0;

    Channel() { open_row.fill(kNever); }
    u32 room() const { return 64 - (arrivals - oldest); }
    void push(u32 line, u8 entry, bool write) {
        const u32 slot = arrivals++ % 64, local = local_of(line), b = local >> 4 & 15;
        bank[slot] = static_cast<u8>(b);
        row[slot] = local >> 8;
        mshr[slot] = entry;
        occupied |= bit64(slot);
        writes = (writes & ~bit64(slot)) | u64{write} << slot;
        waiting[b] |= bit64(slot);
        busy_banks |= 1u << b;
        if (open_row[b] == row[slot]) row_hits[b] |= bit64(slot);
    }
    u32 first_of(u64 mask) const { return (oldest + lowest(std::rotr(mask, static_cast<int>(oldest % 64)))) % 64; }
    void column(u32 slot, u32 now) {
        const u32 b = bank[slot];
        const bool write = (writes >> slot & 1) != 0;
        read_at = std::max(read_at, now + (write ? tWTR : tBurst));
        write_at = std::max(write_at, now + (write ? tBurst : tRTW));
        precharge_at[b] = std::max(precharge_at[b], now + (write ? tWR : tRTP));
        if (!write) done.push({now + tCL + tBurst + kDramLatency, mshr[slot]});
        occupied &= ~bit64(slot);
        waiting[b] &= ~bit64(slot);
        row_hits[b] &= ~bit64(slot);
        if (waiting[b] == 0) busy_banks &= ~(1u << b);
        while (oldest != arrivals && (occupied >> oldest % 64 & 1) == 0) ++oldest;
        ++columns;
    }
    void open_or_close(u32 slot, u32 now) {
        const u32 b = bank[slot];
        if (open_row[b] != kNever) {
            open_row[b] = kNever;
            activate_at[b] = std::max(activate_at[b], now + tRP);
            return;
        }
        open_row[b] = row[slot];
        column_at[b] = now + tRCD;
        precharge_at[b] = now + tRAS;
        activate_at[b] = now + tRC;
        any_activate_at = now + tRRD;
        for (u64 mask = waiting[b]; mask != 0; mask &= mask - 1) {
            if (row[lowest(mask)] == open_row[b]) row_hits[b] |= mask & -mask;
        }
        ++activates;
    }
    /// One command: the oldest row hit that is legal, else the oldest request whose bank can open or close a row.
    u32 step(u32 now) {
        u64 columns_ready = 0, rows_ready = 0;
        u32 next = kNever;
        const u64 reads_now = read_at <= now ? ~writes : 0, writes_now = write_at <= now ? writes : 0;
        for (u32 banks = busy_banks; banks != 0; banks &= banks - 1) {
            const u32 b = lowest(banks);
            if (const u64 hits = row_hits[b]; hits != 0) {
                const u64 legal = column_at[b] <= now ? hits & (reads_now | writes_now) : 0;
                columns_ready |= legal;
                if (legal == 0)
                    next = std::min(next, std::max(column_at[b], (hits & ~writes) == 0  ? write_at
                                                                 : (hits & writes) == 0 ? read_at
                                                                                        : std::min(read_at, write_at)));
            } else {
                const u32 at = open_row[b] != kNever ? precharge_at[b] : std::max(activate_at[b], any_activate_at);
                if (at <= now)
                    rows_ready |= waiting[b];
                else
                    next = std::min(next, at);
            }
        }
        if (columns_ready != 0) {
            column(first_of(columns_ready), now);
            return occupied == 0 ? kNever : rows_ready != 0 ? now + 1 : std::min(next, now + tBurst);
        }
        if (rows_ready == 0) return next;
        const u32 slot = first_of(rows_ready);
        open_or_close(slot, now);
        return (rows_ready & ~waiting[bank[slot]]) != 0 ? now + 1 : std::min(next, now + tRP);
    }
};

struct Partition {
    static constexpr u32 kChannel = 0, kSlice = 1;
    struct Later {
        u32 at;
        Packet packet;
    };
    Calendar calendar;
    Inbox<kClusters> requests;
    Ring<Later, 128> hits;  ///< looked up, inside the L2's latency
    Ring<Packet, 64> replies;
    u32 inject_free_at = 0, index = 0;
    u32 waits_for = kNever;  ///< cluster whose credit will be announced
    u32 input_at = kNever;   ///< before this no request can be looked up
    bool blocked = false;    ///< the oldest request was turned away and waits for another event
    Tags<512, 8> tags;
    Mshrs<Packet> mshrs;
    Channel channel;
    Cluster* clusters = nullptr;
    u64 hit_count = 0, merged = 0, fetches = 0, written_back = 0;

    void try_input_at(u32 at) {
        if (at >= input_at || blocked) return;
        input_at = at;
        calendar.wake(kSlice, at);
    }
    void unblock(u32 at) {
        if (!blocked) return;
        blocked = false;
        try_input_at(at);
    }
    u32 take_line(u32 line, u32 requests_behind, u32 now) {
        const u32 way = tags.victim(line);
        if (way == kNever || channel.room() < requests_behind + tags.dirty[way]) return kNever;
        if (tags.dirty[way]) {
            channel.push(tags.tag[way], 0, true);
            calendar.wake(kChannel, now + 1);
            tags.dirty[way] = false;
            ++written_back;
        }
        return way;
    }
    bool look_up(const Packet& packet, u32 now) {
        if (hits.room() == 0) return false;
        u32 way = tags.find(packet.line);
        if (packet.kind == Kind::write) {
            if (way == kNever) {
                way = take_line(packet.line, 0, now);
                if (way == kNever) return false;
                tags.install(way, packet.line, tags.kValid);
            }
            tags.dirty[way] = true;
            hits.push({now + kL2Latency, {packet.line, packet.cluster, packet.sm, 0, Kind::ack}});
            return true;
        }
        const Packet reply{packet.line, packet.cluster, packet.sm, packet.mshr, Kind::data};
        if (way == kNever) {
            if (mshrs.free == 0) return false;
            way = take_line(packet.line, 1, now);
            if (way == kNever) return false;
            const auto entry = static_cast<u8>(mshrs.take(way, reply));
            tags.install(way, packet.line, entry);
            channel.push(packet.line, entry, false);
            calendar.wake(kChannel, now + 1);
            ++fetches;
        } else if (tags.fetch[way] != tags.kValid) {
            if (!mshrs.merge(tags.fetch[way], reply)) return false;
            ++merged;
        } else {
            hits.push({now + kL2Latency, reply});
            ++hit_count;
        }
        tags.touch(way);
        return true;
    }
    void finish_fetch(u32 entry) {
        tags.fetch[mshrs.way[entry]] = tags.kValid;
        for (u32 k = 0; k < mshrs.count[entry]; ++k) replies.push(mshrs.targets[entry][k]);
        mshrs.free |= 1u << entry;
    }
    u32 send_reply(u32 now) {
        waits_for = kNever;
        if (replies.empty()) return kNever;
        const Packet packet = replies.front();
        Inbox<kSlices>& inbox = clusters[packet.cluster].replies;
        const u32 credit = inbox.credit_at(index);
        if (credit == kNever) waits_for = packet.cluster;
        if (credit == kNever || credit > now || inject_free_at > now)
            return credit == kNever ? kNever : std::max({credit, inject_free_at, now + 1});
        const u32 at = now + kLinkLatency + flits(packet.kind);
        inbox.send(index, packet, at);
        clusters[packet.cluster].calendar.wake(Cluster::kPort, at);
        inject_free_at = now + flits(packet.kind);
        ++replies.head;
        return replies.empty() ? kNever : inject_free_at;
    }
    void look_up_one(u32 now) {
        if (const u32 mask = requests.arrived(now); mask != 0) {
            const u32 source = round_robin(mask, requests.next_source);
            blocked = !look_up(requests.front(source), now);
            if (blocked) {
                requests.next_source = source;
                input_at = kNever;
                return;
            }
            requests.take(source, now);
            if (clusters[source].pending != 0)
                clusters[source].try_inject_at(std::max(now + kLinkLatency, clusters[source].inject_free_at));
        }
        input_at = requests.next_time(now);
    }
    u32 step_slice(u32 now) {
        // 1. Data from DRAM, then hits whose latency is over, become replies; one of them leaves.
        const u32 moved = channel.done.head + hits.head;
        while (!channel.done.empty() && channel.done.front().at <= now && replies.room() >= kMerges)
            finish_fetch(channel.done.slots[channel.done.head++ % 64].mshr);
        while (!hits.empty() && hits.front().at <= now && replies.room() != 0) replies.push(hits.slots[hits.head++ % 128].packet);
        if (channel.done.head + hits.head != moved) unblock(now);
        u32 next = send_reply(now);
        // 2. One request, round robin over the clusters.
        if (input_at <= now) look_up_one(now);
        // 3. When is there more to do?
        next = std::min(next, input_at);
        if (!hits.empty() && replies.room() != 0) next = std::min(next, std::max(hits.front().at, now + 1));
        if (!channel.done.empty() && replies.room() >= kMerges) next = std::min(next, std::max(channel.done.front().at, now + 1));
        return next;
    }
    u32 step_channel(u32 now) {
        const u32 waiting_reads = channel.done.tail, room = channel.room();
        const u32 next = channel.step(now);
        if (channel.done.tail != waiting_reads && channel.done.tail - channel.done.head == 1)
            calendar.wake(kSlice, channel.done.front().at);
        if (channel.room() != room) unblock(now + 1);
        return next;
    }
    void run_until(u32 end) {
        calendar.run_until(end, [this](u32 who, u32 now) { return who == kSlice ? step_slice(now) : step_channel(now); });
    }
};

void Cluster::inject(u32 now) {
    u32 next = kNever;
    for (u32 candidates = pending; candidates != 0;) {
        const u32 s = round_robin(candidates, next_sm);
        candidates &= ~(1u << s);
        Sm& sm = sms[s];
        const Packet packet = sm.misses.front();
        Partition& partition = partitions[slice_of(packet.line)];
        const u32 credit = partition.requests.credit_at(index);
        if (credit > now) {  // kNever: the slice will call when it takes a packet
            next = std::min(next, credit);
            continue;
        }
        const u32 at = now + kLinkLatency + flits(packet.kind);
        partition.requests.send(index, packet, at);
        partition.try_input_at(at);
        inject_free_at = now + flits(packet.kind);
        next_sm = s + 1 == kSmsPerCluster ? 0 : s + 1;
        ++sm.misses.head;
        if (sm.misses.empty()) pending &= ~(1u << s);
        if (sm.parked) {
            sm.parked = false;
            calendar.wake(s, now + 1);
        }
        next = pending != 0 ? inject_free_at : kNever;
        break;
    }
    inject_at = next;
}

u32 Cluster::step_port(u32 now) {
    // 1. One reply leaves the network.
    if (const u32 mask = replies.arrived(now); mask != 0) {
        const u32 source = round_robin(mask, replies.next_source);
        const Packet packet = replies.front(source);
        replies.take(source, now);
        if (partitions[source].waits_for == index) partitions[source].calendar.wake(Partition::kSlice, now + kLinkLatency);
        sms[packet.sm].receive(packet, now);
        calendar.wake(packet.sm, now + 1);
    }
    // 2. One request enters it.
    if (inject_at <= now) inject(now);
    return std::min(inject_at, replies.next_time(now));
}

struct Machine {
    Program program;
    std::array<Cluster, kClusters> clusters;
    std::array<Partition, kSlices> partitions;

    explicit Machine(std::string_view kind) : program(kind) {
        for (u32 p = 0; p < kSlices; ++p) {
            partitions[p].index = p;
            partitions[p].clusters = clusters.data();
        }
        for (u32 c = 0; c < kClusters; ++c) {
            clusters[c].index = c;
            clusters[c].partitions = partitions.data();
            for (u32 s = 0; s < kSmsPerCluster; ++s) {
                Sm& sm = clusters[c].sms[s];
                sm.cluster = static_cast<u8>(c);
                sm.index = static_cast<u8>(s);
                sm.program = &program;
                sm.first_warp = (c * kSmsPerCluster + s) * kWarps;
                clusters[c].calendar.wake(s, 0);
            }
        }
    }
    void run(u32 cycles) {
        for (u32 begin = 0; begin < cycles; begin += std::min(kWindow, cycles - begin)) {
            const u32 end = begin + std::min(kWindow, cycles - begin);
            for (Partition& partition : partitions) partition.run_until(end);
            for (Cluster& cluster : clusters) cluster.run_until(end);
        }
    }
    void collect(BareResult& result) const {
        const auto hash = [&](u64 value) { result.check = (result.check ^ value) * 0x100000001B3ull; };
        result.check = 0xCBF29CE484222325ull;
        for (const Cluster& cluster : clusters) {
            for (const Sm& sm : cluster.sms) {
                result.warp_instructions += sm.instructions;
                result.lines += sm.line_requests;
                for (const u64 value : {sm.instructions, sm.line_requests, sm.hits, sm.merged, sm.fills, sm.fill_time}) hash(value);
            }
        }
        for (const Partition& p : partitions) {
            for (const u64 value : {p.hit_count, p.merged, p.fetches, p.written_back, p.channel.columns, p.channel.activates}) hash(value);
        }
    }
};

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

BareResult run_bare_loop(std::string_view kind, std::uint64_t cycles) {
    if (kind != "compute" && kind != "stream" && kind != "divergent") {
        throw std::invalid_argument("the bare loop knows compute, stream and divergent, not '" + std::string(kind) + "'");
    }
    if (cycles > 0xF0000000u) throw std::invalid_argument("the bare loop counts cycles in 32 bits; ask for fewer than 4,000,000,000");
    const auto machine = std::make_unique<Machine>(kind);
    BareResult result;
    const double start = cpu_seconds();
    machine->run(static_cast<u32>(cycles));
    result.seconds = cpu_seconds() - start;
    result.cycles = cycles;
    machine->collect(result);
    return result;
}

}  // namespace mergelane
