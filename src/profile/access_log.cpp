// SPDX-License-Identifier: MIT
#include "profile/access_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "core/error.hpp"
#include "profile/line_request.hpp"
#include "profile/warp_walk.hpp"

namespace mergelane {

namespace {

constexpr std::uint64_t kWatchedCtas = 16;

/// The lines that a CTA loaded most recently: few enough to stay in any L1, whatever other CTAs do.
class LastLines {
public:
    void clear() { lines_.fill({}); }
    /// Whether all of it was present; it is now.
    bool put(Addr line, std::uint8_t sectors) {
        for (Line& known : lines_) {
            if (known.line != line || known.sectors == 0) continue;
            const bool all = (sectors & ~known.sectors) == 0;
            known.sectors = static_cast<std::uint8_t>(known.sectors | sectors);
            return all;
        }
        lines_[next_] = {line, sectors};
        next_ = (next_ + 1) % lines_.size();
        return false;
    }
    void drop(Addr line) {
        for (Line& known : lines_) {
            if (known.line == line) known.sectors = 0;
        }
    }

private:
    struct Line {
        Addr line = 0;
        std::uint8_t sectors = 0;
    };
    std::array<Line, 8> lines_;
    std::size_t next_ = 0;
};

}  // namespace

class AccessLog::Recorder {
public:
    Recorder(AccessLog& log, const KernelSource& kernel, const Options& options)
        : log_(log),
          options_(options),
          stream_(kernel.make_stream()),
          warps_(kernel.info().warps_per_cta()),
          registers_(kernel.info().register_slots),
          watch_every_(kernel.info().ctas() / kWatchedCtas + 1) {}

    void record(std::uint64_t cta) {
        cta_ = cta;
        instructions_ = 0;
        last_.clear();
        watching_ = cta % watch_every_ == 0;
        if (watching_) from_memory_.assign(warps_.size() * registers_, false);
        stream_->open(cta);
        for (WarpWalk& warp : warps_) warp = {};
        for (std::size_t live = warps_.size(); live != 0;) {
            for (std::uint32_t w = 0; w < warps_.size(); ++w) {
                if (!warps_[w].done && !to_next_access(w)) --live;
            }
        }
        log_.counts_.warp_instructions += instructions_;
    }

private:
    /// Returns false if the warp has ended.
    bool to_next_access(std::uint32_t index) {
        WarpWalk& warp = warps_[index];
        const StaticInst* const inst = warp.next_access(
            *stream_, index, lanes_,
            [&] {
                instructions_ += warp.run.count;
                check_that_it_ends(log_.info_, cta_, instructions_);
            },
            [&](const StaticInst& each) {
                if (watching_ && warp.run.active != 0) watch(index, each);
            });
        if (inst != nullptr) access(*inst, warp.run.active);
        return inst != nullptr;
    }

    /// Tracks values from memory through registers.
    void watch(std::uint32_t warp, const StaticInst& inst) {
        const auto from_memory = from_memory_.begin() + static_cast<std::ptrdiff_t>(std::size_t{warp} * registers_);
        bool depends = false;
        for (std::uint32_t r = inst.dst_count; r < inst.reg_count; ++r) depends |= from_memory[inst.regs[r]];
        if (inst.op == OpClass::load && inst.space == Space::global) {
            ++log_.counts_.watched;
            log_.counts_.found += depends ? 1 : 0;
        } else if (inst.op == OpClass::load && inst.space == Space::shared) {
            ++log_.counts_.watched_shared;
            log_.counts_.found_shared += depends ? 1 : 0;
        }
        for (std::uint32_t d = 0; d < inst.dst_count; ++d) from_memory[inst.regs[d]] = depends || is_memory(inst);
    }

    std::uint32_t site_of(std::uint32_t pc) {
        std::vector<Site>& sites = log_.sites_;
        if (last_site_ < sites.size() && sites[last_site_].pc == pc) return last_site_;
        const auto known = std::find_if(sites.begin(), sites.end(), [pc](const Site& site) { return site.pc == pc; });
        if (known == sites.end() && sites.size() == kUnknownSite) return kUnknownSite;
        last_site_ = static_cast<std::uint32_t>(known - sites.begin());
        if (known == sites.end()) sites.push_back({pc});
        return last_site_;
    }

    void access(const StaticInst& inst, std::uint32_t active) {
        const auto kind = static_cast<Kind>(static_cast<std::uint8_t>(inst.op) - static_cast<std::uint8_t>(OpClass::load));
        const std::size_t before = log_.entries_.size();
        Counts& counts = log_.counts_;
        const std::uint32_t site = kind == Kind::load ? site_of(inst.pc) : kUnknownSite;
        if (kind == Kind::load) ++counts.loads;
        for (const LineRequest& request : splitter_.split(lanes_, active, inst.lane_bytes)) {
            if (kind == Kind::load) {
                const auto sectors = static_cast<std::uint32_t>(std::popcount(request.sectors));
                ++counts.load_lines;
                counts.load_sectors += sectors;
                if (site != kUnknownSite) log_.sites_[site].sectors += sectors;
                if (!inst.bypass_l1 && last_.put(request.line, request.sectors)) {
                    counts.near_sectors += sectors;
                    if (site != kUnknownSite) log_.sites_[site].near_sectors += sectors;
                    continue;
                }
            } else {
                last_.drop(request.line);
            }
            log_.entries_.emplace_back(request.line, request.sectors, kind, inst.bypass_l1, site);
        }
        if (log_.entries_.size() != before) log_.entries_.back().end();
        if (log_.entries_.size() > options_.most_entries)
            throw InputError(fmt::format("kernel '{}' accesses more than {} million lines; use a smaller grid, or raise the limit",
                                         log_.info_.name, options_.most_entries >> 20));
    }

    AccessLog& log_;
    const Options& options_;
    const std::unique_ptr<CtaStream> stream_;
    std::vector<WarpWalk> warps_;
    const std::size_t registers_;
    const std::uint64_t watch_every_;  ///< CTAs
    bool watching_ = false;
    std::vector<bool> from_memory_;  ///< by warp and register
    LastLines last_;
    std::uint32_t last_site_ = 0;
    std::uint64_t cta_ = 0;
    std::uint64_t instructions_ = 0;
    LineRequests splitter_;
    LaneAddresses lanes_;
};

AccessLog::AccessLog(const KernelSource& kernel, const Options& options) : info_(kernel.info()) {
    Recorder recorder(*this, kernel, options);
    const std::uint64_t ctas = info_.ctas();
    begin_.reserve(ctas + 1);
    for (std::uint64_t cta = 0; cta < ctas; ++cta) {
        begin_.push_back(entries_.size());
        recorder.record(cta);
        if (options.progress) options.progress(cta + 1, ctas);
    }
    begin_.push_back(entries_.size());
}

}  // namespace mergelane
