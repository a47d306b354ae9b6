// SPDX-License-Identifier: MIT
#include "sm/warp_pool.hpp"

#include <algorithm>
#include <bit>

#include "core/bits.hpp"
#include "core/error.hpp"

namespace mergelane {

WarpPool::WarpPool(const FrontContext& context, const WarpPoolSpec& spec)
    : spec_(spec),
      lsu_(context.lsu),
      l1_spec_(context.l1),
      loads_(context.loads),
      port_(context.port),
      warps_per_queue_(static_cast<std::uint32_t>(divide_up(context.sm.warps, spec.instruction_queues))),
      line_shift_(index_bits(context.l1.line_bytes)),
      set_hash_(context.l1.set_hash, context.l1.sets()),
      l1_(context.l1, context.policies),
      queues_(spec.instruction_queues, Ring<Instruction>(spec.queue_entries)),
      coalescers_(spec.coalescers),
      lines_(std::size_t{spec.line_queues} * spec.tags),
      accesses_(std::size_t{context.l1.mshrs} * context.l1.mshr_merges + 1),
      maps_free_at_(spec.map_entries, 0),
      last_ends_(spec.writeback_buffer, 0) {
    // The selector stops while accesses wait for the write-back port, so the MSHRs and the buffer bound the reservations.
    const std::size_t cycles = 64 + 2 * context.l1.hit_latency + (accesses_.size() + spec.writeback_buffer + 1) * spec.merges;
    booked_.resize(std::bit_ceil(divide_up(cycles, 64)));
    for (std::size_t a = accesses_.size(); a > 0; --a) free_accesses_.push_back(static_cast<std::uint16_t>(a - 1));
    // Loads whose requests wait before, in and after the L1.
    const std::size_t loads = accesses_.size() * spec.merges + lines_.size() * spec.merges + queues_.size() * spec.queue_entries;
    loads_.allow(static_cast<std::uint32_t>(std::min<std::size_t>(loads + coalescers_.size(), kDirect - 0x100)));
}

void WarpPool::launch(std::uint32_t shared_kib) {
    l1_.begin_kernel(shared_kib);
    refuse();
}

void WarpPool::accept(const MemoryAccess& access, Cycle now) {
    if (access.inst->space == Space::shared) throw SimulationError("WarpPool requires sm.shared_path = \"own\"");
    const std::uint32_t queue = access.warp / warps_per_queue_;
    Instruction& instruction = queues_[queue].claim();
    instruction.inst = access.inst;
    instruction.cta = access.cta;
    instruction.age = ages_++;
    instruction.ready_at = now + 1 + spec_.added_latency;
    instruction.warp = static_cast<std::uint8_t>(access.warp);
    instruction.requests = static_cast<std::uint16_t>(lists_.size());
    if (free_lists_.empty()) {
        lists_.emplace_back();
    } else {
        instruction.requests = free_lists_.back();
        free_lists_.pop_back();
    }
    Requests& requests = requests_of(instruction);
    const bool load = access.inst->op == OpClass::load;
    coalesce_access(access, lsu_, l1_spec_, port_.describes_reads(), requests.blocks);
    loads_.coalesced(access, requests.blocks.count);
    if (load) classify(access, requests);
    if (access.inst->op == OpClass::store)
        loads_.listener().store_split(access.warp, requests.blocks.count - 1);
    else
        instruction.load = loads_.open(*access.inst, access.warp, access.issued, requests.blocks.count);
    ++counts_.instructions;
    ++waiting_;
    queues_waiting_ |= bit(queue);
    ++unsent_[access.warp];
    has_unsent_ |= bit(access.warp);
    last_was_store_ = load ? last_was_store_ & ~bit(access.warp) : last_was_store_ | bit(access.warp);
    if (queues_[queue].full()) queue_full_ |= low_bits(warps_per_queue_) << (queue * warps_per_queue_);
    refuse();
    sleep_like(*this, instruction.ready_at);
}

namespace {

/// Conservative fast path: false means unknown.
bool all_want_one_word(const LaneAddresses& lanes) {
    if (lanes.run_count > 1 || (lanes.run_count == 0 && !lanes.affine)) return false;
    const bool run = lanes.run_count == 1;
    return (run ? lanes.runs[0].stride : lanes.stride) == 0 && ((run ? lanes.runs[0].base : lanes.base) & 3) == 0;
}

bool are_aligned(const LaneAddresses& lanes, std::uint32_t active, std::uint32_t bytes) {
    Addr bits = 0;
    for (std::uint32_t left = active; left != 0; left &= left - 1) bits |= lanes.of(lowest_bit(left));
    return (bits & (bytes - 1)) == 0;
}

}  // namespace

/// Which lanes want which words of each line, with fast paths for common patterns.
void WarpPool::classify(const MemoryAccess& access, Requests& requests) const {
    const BlockList& blocks = requests.blocks;
    const std::uint32_t bytes = access.inst->lane_bytes;
    const auto active = static_cast<std::uint32_t>(std::popcount(access.active));
    if (blocks.count == 1 && bytes == 4 && active > 1 && all_want_one_word(*access.lanes)) {
        requests.mapping[0] = Mapping::broadcast;
        return;
    }
    access.lanes->expand(access.active);
    if (blocks.count == active && bytes == 4 && are_aligned(*access.lanes, access.active, bytes)) {
        std::fill_n(requests.mapping.begin(), active, Mapping::single);
        return;
    }
    look_at_lanes(access, requests, active);
}

/// Visits each lane once; lanes of a line are mostly consecutive.
void WarpPool::look_at_lanes(const MemoryAccess& access, Requests& requests, std::uint32_t active) const {
    struct Seen {
        std::uint32_t lanes = 0, first_lane = 0, last_lane = 0, first_word = 0;
        bool same = true, linear = true, whole = true;
    };
    const BlockList& blocks = requests.blocks;
    const std::uint32_t bytes = access.inst->lane_bytes;
    const Addr mask = ~static_cast<Addr>(lsu_.block_bytes - 1);
    std::array<Seen, BlockList::kMax> seen;
    std::fill_n(seen.begin(), blocks.count, Seen{});
    std::uint32_t at = 0;
    const auto place = [&](Addr block) {
        for (std::uint32_t k = 0; k < blocks.count && blocks.block[at] != block; ++k) at = at + 1 == blocks.count ? 0 : at + 1;
        return at;
    };
    for (std::uint32_t left = access.active; left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        const Addr address = access.lanes->of(lane);
        const Addr block = address & mask;
        Seen& s = seen[place(block)];
        const auto word = static_cast<std::uint32_t>((address - block) / bytes);
        if (s.lanes == 0) {
            s.first_lane = lane;
            s.first_word = word;
        } else {
            s.same = s.same && word == s.first_word;
            s.linear = s.linear && lane == s.last_lane + 1 && word == s.first_word + (lane - s.first_lane);
        }
        s.whole = s.whole && (address - block) % bytes == 0 && address - block + bytes <= lsu_.block_bytes;
        s.last_lane = lane;
        ++s.lanes;
        if (address - block + bytes > lsu_.block_bytes) {  // the rest is in the next line
            Seen& other = seen[place(block + lsu_.block_bytes)];
            other.whole = false;
            ++other.lanes;
        }
    }
    for (std::uint32_t b = 0; b < blocks.count; ++b) {
        const Seen& s = seen[b];
        Mapping& mapping = requests.mapping[b];
        if (!s.whole)
            mapping = Mapping::table;
        else if (s.linear && s.lanes == kWarpLanes && s.first_word == 0)
            mapping = Mapping::consecutive;
        else if (bytes > 4)
            mapping = s.linear && s.lanes > 1 ? Mapping::range : Mapping::table;
        else if (s.lanes == 1)
            mapping = Mapping::single;
        else if (s.same && s.lanes == active)  // identifies the word, not the lanes
            mapping = Mapping::broadcast;
        else
            mapping = s.linear ? Mapping::range : Mapping::table;
    }
}

void WarpPool::step(Cycle now) {
    progress_ = false;
    waits_for_room_ = false;
    stopped_until_ = maps_until_ = kNever;
    look_at_policy(now);
    select(now);
    emit(now);
    fetch_instructions(now);
    if (progress_) return sleep_until(now + 1);
    // Nothing moved, so nothing will until a reply, an instruction or credits arrive, or a known time.
    Cycle next_time = std::min(stopped_until_, maps_until_);
    for (std::uint64_t waiting = queues_waiting_; waiting != 0; waiting &= waiting - 1) {
        const Cycle ready = queues_[lowest_bit(waiting)].front().ready_at;
        if (ready > now) next_time = std::min(next_time, ready);
    }
    if (lines_waiting_ != 0 && spec_.policy == WarpPoolSpec::Policy::switching) next_time = std::min(next_time, quantum_ends_);
    if (store_lost_since_ != kNever && now < store_lost_since_ + spec_.store_patience)
        next_time = std::min(next_time, store_lost_since_ + spec_.store_patience);
    next_time = std::max(next_time, now + 1);
    if (!waits_for_room_) return sleep_until(next_time);
    wait_for(port_.link(), now);
    sleep_like(*this, next_time);
}

/// The selector: a line of loads, or a store if there is none.
void WarpPool::select(Cycle now) {
    const bool store_first = store_lost_since_ != kNever && now - store_lost_since_ >= spec_.store_patience;
    if (lines_waiting_ == 0 || store_first) {
        const bool sent = send_store(now);
        if (sent) store_lost_since_ = kNever;
        if (sent || lines_waiting_ == 0) return;
    }
    if (spec_.store_patience != 0 && store_lost_since_ == kNever && next_store() != nullptr) store_lost_since_ = now;
    drain(chosen_line(), now);
}

std::uint16_t WarpPool::chosen_line() const {
    if (!by_warp_id_) return oldest_;
    std::uint16_t best = oldest_;
    std::uint32_t lowest = ~0u;
    for (std::uint16_t line = oldest_; line != kNobody; line = lines_[line].newer) {
        for (std::uint32_t m = 0; m < lines_[line].count; ++m) {
            if (lines_[line].members[m].warp >= lowest) continue;
            lowest = lines_[line].members[m].warp;
            best = line;
        }
    }
    return best;
}

void WarpPool::drain(std::uint16_t number, Cycle now) {
    Line& line = lines_[number];
    const Cycle ready = now + l1_spec_.hit_latency;
    if (spec_.writeback_per_cycle != 0) {
        // The buffer would still be full.
        if (last_ends_.back() > ready) {
            stopped_until_ = last_ends_.back() - l1_spec_.hit_latency;
            return;
        }
    }
    if (number == refused_line_) return;  // nothing has come back since
    const bool room = port_.room(now);
    if (free_accesses_.empty()) return;  // without an L1, whose MSHRs are fewer
    const std::uint16_t number_of_access = free_accesses_.back();
    const L1Cache::Lookup lookup = l1_spec_.enabled ? l1_.read(line.block, number_of_access, room, now)
                                   : room           ? L1Cache::Lookup{L1Cache::Outcome::miss, number_of_access}
                                                    : L1Cache::Lookup{L1Cache::Outcome::no_queue};
    if (lookup.outcome >= L1Cache::Outcome::no_mshr) {
        const bool room_helps = lookup.outcome == L1Cache::Outcome::no_queue;
        waits_for_room_ = waits_for_room_ || room_helps;
        if (!room_helps) refused_line_ = number;
        return;
    }
    free_accesses_.pop_back();
    Access& access = accesses_[number_of_access];
    access.count = line.count;
    access.members = line.members;
    access.asked = now;
    ++quantum_accesses_;
    const bool merged = lookup.outcome == L1Cache::Outcome::merged;
    const bool missed = lookup.outcome == L1Cache::Outcome::miss;
    counts_.misses += missed ? 1 : 0;
    counts_.merged_misses += merged ? 1 : 0;
    if (missed || merged) counts_.missed_requests += line.count;
    if (missed || (merged && spec_.count_merged_misses)) ++quantum_misses_;
    if (missed) {
        Packet packet = read_request(*line.inst, line.block, static_cast<std::uint16_t>(lookup.mshr), line.words);
        port_.send(packet, line.cta, now);
    }
    loads_.looked_up(*line.inst, l1_.stats(), port_.sent());
    const Addr line_block = line.block;
    for (std::uint32_t m = 0; m < line.count; ++m) {
        left_for_l1(line.members[m].warp);
        if (l1_spec_.enabled) port_.accessed(line.members[m].warp, line.block, now);
    }
    counts_.drained += line.count;
    ++counts_.lines_drained;
    free_line(number);
    if (lookup.outcome == L1Cache::Outcome::hit) {
        write_back(access, {ready, now * hit_.period, nullptr, hit_}, port_.followed().contains(line_block, now), now);
        free_accesses_.push_back(number_of_access);
    }
    progress_ = true;
}

/// The older of the stores held by coalescers. Atomics and loads that bypass the L1 take the same path.
WarpPool::Coalescer* WarpPool::next_store() {
    Coalescer* first = nullptr;
    for (Coalescer& c : coalescers_) {
        if (!c.busy) continue;
        if (!c.pooled && (first == nullptr || c.instruction.age < first->instruction.age)) first = &c;
    }
    return first;
}

bool WarpPool::send_store(Cycle now) {
    Coalescer* const first = next_store();
    if (first == nullptr) return false;
    if (!port_.room(now)) {
        waits_for_room_ = true;
        return false;
    }
    const Instruction& instruction = first->instruction;
    const Requests& requests = requests_of(instruction);
    const Addr block = requests.blocks.block[first->next];
    const ByteMask& bytes = requests.blocks.bytes[first->next];
    const OpClass op = instruction.inst->op;
    Packet packet;
    if (op == OpClass::store) {
        if (l1_spec_.enabled && !l1_.write(block, bytes, now)) return false;
        refused_line_ = kNobody;
        packet = write_request(*instruction.inst, PacketKind::write, block, instruction.warp, bytes);
        ++counts_.stores;
    } else {
        const auto tag = static_cast<std::uint16_t>(instruction.load | kDirect);
        packet = op == OpClass::atomic ? write_request(*instruction.inst, PacketKind::atomic, block, tag, bytes)
                                       : read_request(*instruction.inst, block, tag, port_.describes_reads() ? bytes.touched_words() : 0);
        ++counts_.direct;
    }
    port_.send(packet, instruction.cta, now);
    loads_.looked_up(*instruction.inst, l1_.stats(), port_.sent());
    left_for_l1(instruction.warp);
    progress_ = true;
    if (++first->next == requests.blocks.count) finish(*first);
    return true;
}

/// Every coalescer emits one load request, the older instruction first; a queue accepts one per cycle.
void WarpPool::emit(Cycle now) {
    std::array<Coalescer*, 8> order{};
    std::size_t count = 0;
    for (Coalescer& c : coalescers_) {
        if (!c.busy || !c.pooled) continue;
        std::size_t place = count++;
        for (; place > 0 && order[place - 1]->instruction.age > c.instruction.age; --place) order[place] = order[place - 1];
        order[place] = &c;
    }
    std::uint64_t taken = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Coalescer& c = *order[i];
        if ((taken & bit(c.queue)) != 0) {
            progress_ = true;  // the other coalescer's request was accepted
            continue;
        }
        if (!insert(c, now)) continue;
        taken |= bit(c.queue);
        progress_ = true;
        if (++c.next == requests_of(c.instruction).blocks.count)
            finish(c);
        else
            find_queue(c);
    }
}

bool WarpPool::insert(Coalescer& coalescer, Cycle now) {
    const Instruction& instruction = coalescer.instruction;
    const Requests& requests = requests_of(instruction);
    const Addr block = requests.blocks.block[coalescer.next];
    std::uint16_t same = kNobody, empty = kNobody;
    for (std::uint32_t t = 0; t < spec_.tags; ++t) {
        const auto number = static_cast<std::uint16_t>(coalescer.queue * spec_.tags + t);
        const Line& line = lines_[number];
        if (line.count == 0) {
            if (empty == kNobody) empty = number;
        } else if (line.block == block && line.count < spec_.merges) {
            same = number;
        }
    }
    if (same == kNobody && empty == kNobody) return false;
    Member member{instruction.load, instruction.warp, kNoMap};
    const Mapping mapping = requests.mapping[coalescer.next];
    if (mapping == Mapping::table) {
        member.map = take_map(now);
        if (member.map == kNoMap) return false;
    }
    ++counts_.mappings[static_cast<std::size_t>(mapping)];
    ++counts_.load_requests;
    port_.queued(instruction.warp, block, now);
    const std::uint32_t words = port_.describes_reads() ? requests.blocks.bytes[coalescer.next].touched_words() : 0;
    if (same != kNobody) {
        Line& line = lines_[same];
        line.members[line.count++] = member;
        line.words |= words;
        ++counts_.merged;
        return true;
    }
    Line& line = lines_[empty];
    line.block = block;
    line.cta = instruction.cta;
    line.inst = instruction.inst;
    line.words = words;
    line.members[0] = member;
    line.count = 1;
    line.older = newest_;
    line.newer = kNobody;
    (newest_ == kNobody ? oldest_ : lines_[newest_].newer) = empty;
    newest_ = empty;
    ++lines_waiting_;
    ++counts_.lines;
    return true;
}

void WarpPool::free_line(std::uint16_t number) {
    Line& line = lines_[number];
    (line.older == kNobody ? oldest_ : lines_[line.older].newer) = line.newer;
    (line.newer == kNobody ? newest_ : lines_[line.newer].older) = line.older;
    line.count = 0;
    --lines_waiting_;
}

/// Idle coalescers take the head of the first queue that has one ready: lower warps first.
void WarpPool::fetch_instructions(Cycle now) {
    for (Coalescer& c : coalescers_) {
        if (c.busy) continue;
        for (std::uint64_t waiting = queues_waiting_; waiting != 0; waiting &= waiting - 1) {
            const std::uint32_t queue = lowest_bit(waiting);
            if (queues_[queue].front().ready_at > now) continue;
            c.instruction = queues_[queue].front();
            if (c.instruction.inst->op != OpClass::store) loads_.start(c.instruction.load, now);
            c.busy = true;
            c.next = 0;
            c.pooled = is_pooled(c.instruction);
            if (c.pooled) find_queue(c);
            queues_[queue].pop();
            --waiting_;
            if (queues_[queue].empty()) queues_waiting_ &= ~bit(queue);
            queue_full_ &= ~(low_bits(warps_per_queue_) << (queue * warps_per_queue_));
            // The count for the whole instruction now stands for its first request.
            unsent_[c.instruction.warp] =
                static_cast<std::uint16_t>(unsent_[c.instruction.warp] + requests_of(c.instruction).blocks.count - 1);
            refuse();
            progress_ = true;
            break;
        }
    }
}

void WarpPool::find_queue(Coalescer& coalescer) {
    const Addr block = requests_of(coalescer.instruction).blocks.block[coalescer.next];
    coalescer.queue = set_hash_.index(block >> line_shift_) & (spec_.line_queues - 1);
}

void WarpPool::finish(Coalescer& coalescer) {
    free_lists_.push_back(coalescer.instruction.requests);
    coalescer.busy = false;
}

void WarpPool::left_for_l1(std::uint32_t warp) {
    if (--unsent_[warp] != 0) return;
    has_unsent_ &= ~bit(warp);
    refuse();
}

void WarpPool::comes_with_store(std::uint32_t warp, bool store) {
    store_next_ = store ? store_next_ | bit(warp) : store_next_ & ~bit(warp);
    refuse();
}

void WarpPool::refuse() {
    const std::uint64_t nobody = loads_.full() ? ~std::uint64_t{0} : queue_full_;
    refused_ = nobody | (has_unsent_ & (last_was_store_ | store_next_));
}

std::uint16_t WarpPool::take_map(Cycle now) {
    for (std::size_t entry = 0; entry < maps_free_at_.size(); ++entry) {
        if (maps_free_at_[entry] > now) {
            maps_until_ = std::min(maps_until_, maps_free_at_[entry]);
            continue;
        }
        maps_free_at_[entry] = kNever;
        maps_until_ = kNever;
        return static_cast<std::uint16_t>(entry);
    }
    return kNoMap;
}

void WarpPool::forget_bookings(Cycle now) {
    if (now >= booked_from_ + 64 * booked_.size()) {  // all of them, after a long idle time
        std::fill(booked_.begin(), booked_.end(), 0);
        booked_from_ = now / 64 * 64;
    }
    for (; booked_from_ + 64 <= now; booked_from_ += 64) booked_[booked_from_ / 64 & (booked_.size() - 1)] = 0;
}

/// The first cycle from `earliest` on in which the write-back port is free.
Cycle WarpPool::book(Cycle earliest) {
    for (Cycle at = earliest; at < booked_from_ + 64 * booked_.size(); at = (at / 64 + 1) * 64) {
        std::uint64_t& word = booked_[at / 64 & (booked_.size() - 1)];
        const auto taken = static_cast<std::uint32_t>(std::countr_one(word >> at % 64));
        if (at % 64 + taken == 64) continue;
        word |= bit(at % 64 + taken);
        return at + taken;
    }
    throw SimulationError("the write-back port is booked too far ahead");
}

/// Keeps the latest ones, last first.
void WarpPool::note_end(Cycle end) {
    if (end <= last_ends_.back()) return;
    std::size_t place = last_ends_.size() - 1;
    for (; place > 0 && last_ends_[place - 1] < end; --place) last_ends_[place] = last_ends_[place - 1];
    last_ends_[place] = end;
}

/// Registers are written one warp after another; the values are available then.
void WarpPool::write_back(const Access& access, Arrival arrival, bool followed, Cycle now) {
    forget_bookings(now);
    const Cycle ready = arrival.at;
    Cycle at = ready;
    for (std::uint32_t m = 0; m < access.count; ++m) {
        if (spec_.writeback_per_cycle != 0 && m % spec_.writeback_per_cycle == 0) at = book(m == 0 ? ready : at + 1);
        const Member& member = access.members[m];
        if (member.map != kNoMap) maps_free_at_[member.map] = at + 1;
        arrival.at = at;
        if (followed)
            loads_.resolve(member.load, arrival, now);
        else
            loads_.resolve(member.load, at, now);
    }
    counts_.written_back += access.count;
    if (spec_.writeback_per_cycle != 0) note_end(at + 1);
    refuse();
}

void WarpPool::reply(const Packet& packet, Cycle now) {
    refused_line_ = kNobody;
    const Journey* const journey = journey_of(packet);
    if (packet.kind == PacketKind::write_ack) return loads_.listener().store_answered(packet.tag, now);
    if ((packet.tag & kDirect) != 0) {
        resolve_direct(loads_, port_, packet.tag & (kDirect - 1), packet, now);
        refuse();
    } else if (!l1_spec_.enabled) {
        write_back(accesses_[packet.tag], {now, accesses_[packet.tag].asked * hit_.period, journey, reply_}, journey != nullptr, now);
        free_accesses_.push_back(packet.tag);
    } else {
        if (!l1_.waits(packet.tag)) throw SimulationError("received a reply without an outstanding request");
        for (const L1Cache::Target target : l1_.fill(packet.tag, now)) {
            write_back(accesses_[target.load()], {now, target.since() * hit_.period, journey, reply_}, journey != nullptr, now);
            free_accesses_.push_back(target.load());
        }
        l1_.release(packet.tag);
    }
    if (lines_waiting_ != 0 || std::any_of(coalescers_.begin(), coalescers_.end(), [](const Coalescer& c) { return c.busy; }))
        sleep_until(now);
}

void WarpPool::look_at_policy(Cycle now) {
    if (spec_.policy != WarpPoolSpec::Policy::switching) {
        by_warp_id_ = spec_.policy == WarpPoolSpec::Policy::warp_id;
        return;
    }
    if (quantum_ends_ == 0) quantum_ends_ = (now / spec_.quantum + 1) * spec_.quantum;
    if (now < quantum_ends_) return;
    if (quantum_accesses_ != 0 && quantum_misses_ * 100 > quantum_accesses_ * spec_.switch_percent) {
        if (by_warp_id_) counts_.warp_id_cycles += quantum_ends_ - policy_since_;
        policy_since_ = quantum_ends_;
        by_warp_id_ = !by_warp_id_;
        ++counts_.switches;
    }
    quantum_accesses_ = quantum_misses_ = 0;
    quantum_ends_ = (now / spec_.quantum + 1) * spec_.quantum;
}

void WarpPool::stats(StatFields& f, Cycle now) const {
    const bool switched = by_warp_id_ && spec_.policy == WarpPoolSpec::Policy::switching && now > policy_since_;
    f.group("warp_pool");
    f.add("instructions", counts_.instructions, "warp instructions", "memory instructions put into the instruction queues");
    f.add("load_requests", counts_.load_requests, "requests", "line requests of loads put into the line queues");
    f.add("lines", counts_.lines, "requests", "of these, the first requests for their line");
    f.add("merged", counts_.merged, "requests", "of these, requests merged with a waiting line");
    f.add("load_requests_drained", counts_.drained, "requests", "line requests of loads that went to the L1");
    f.add("lines_drained", counts_.lines_drained, "accesses", "L1 accesses of these requests");
    f.add("written_back", counts_.written_back, "requests",
          "line requests of loads that were written back, or have a write-back cycle reserved");
    f.add("stores", counts_.stores, "requests", "line requests of stores that went to the L1");
    f.add("direct", counts_.direct, "requests", "line requests of atomics and of loads that bypass the L1");
    f.add("misses", counts_.misses, "accesses", "accesses that requested a line from the L2");
    f.add("merged_misses", counts_.merged_misses, "accesses", "hits on misses: accesses to a line in flight");
    f.add("missed_requests", counts_.missed_requests, "requests", "line requests of these two kinds of accesses");
    f.add("switches", counts_.switches, "changes", "changes of the selector's policy");
    f.add("warp_id_cycles", counts_.warp_id_cycles + (switched ? now - policy_since_ : 0), "cycles", "cycles under the warp-ID policy");
    f.add("map_consecutive", counts_.mappings[0], "requests", "lane i reads word i, all lanes");
    f.add("map_broadcast", counts_.mappings[1], "requests", "all lanes read one word");
    f.add("map_single", counts_.mappings[2], "requests", "one lane reads one word");
    f.add("map_range", counts_.mappings[3], "requests", "consecutive lanes read consecutive words");
    f.add("map_table", counts_.mappings[4], "requests", "any other mapping: uses the thread map table");
    l1_.stats().fields(f);
}

void WarpPool::stages(Stages& out) {
    declare(out, loads_, "in the instruction queues, waiting for a coalescer",
            "in the line queues, until the selector chooses the line and the L1 accepts it");
}

void WarpPool::gauges(StatFields& f) const {
    std::uint64_t queued = 0, waiting = 0, instructions = 0;
    for (std::uint16_t line = oldest_; line != kNobody; line = lines_[line].newer) queued += lines_[line].count;
    for (const Access& access : accesses_) waiting += access.count;
    for (const std::uint16_t number : free_accesses_) waiting -= accesses_[number].count;
    for (const auto& queue : queues_) instructions += queue.size();
    for (const Coalescer& c : coalescers_) instructions += c.busy ? 1 : 0;
    f.group("warp_pool");
    f.add("queued_requests", queued, "requests", "in the line queues");
    f.add("waiting_requests", waiting, "requests", "requests whose line is in flight");
    f.add("queued_instructions", instructions, "instructions", "in instruction queues and coalescers");
    f.group("l1");
    f.add("mshrs", l1_.mshrs_in_use(), "entries", "L1 fills in flight");
}

}  // namespace mergelane
