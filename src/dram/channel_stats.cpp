// SPDX-License-Identifier: MIT
#include "dram/channel_stats.hpp"

#include "core/bits.hpp"

namespace mergelane {

void DramStats::report(StatFields& f) const {
    f.group("dram");
    f.add("requests", requests, "requests", "requests that reached a controller");
    f.add("sector_reads", sector_reads, "sectors", "32-byte sectors read");
    f.add("sector_writes", sector_writes, "sectors", "32-byte sectors written");
    f.add("read_bursts", read_bursts, "bursts", "read column commands");
    f.add("write_bursts", write_bursts, "bursts", "write column commands");
    f.add("activates", activates, "commands", "row activations");
    f.add("precharges", precharges, "commands", "precharges");
    f.add("row_misses", row_misses, "requests", "requests that required a row activation");
    f.add("queue_wait", queue_wait, "DRAM cycles", "cycles from arrival to the last column command, summed over requests");
    f.add("replies", replies, "requests", "reads answered");
    f.add("writes", writes, "requests", "writes completed");
}

BurstCounts burst_counts(std::uint32_t access_bytes) {
    BurstCounts counts{};
    const std::uint32_t per_burst = access_bytes / kSectorBytes;
    for (std::uint32_t sectors = 0; sectors < counts.size(); ++sectors) {
        for (std::uint32_t first = 0; first < kMaxLineBytes / kSectorBytes; first += per_burst) {
            if ((sectors >> first & low_bits(per_burst)) != 0) ++counts[sectors];
        }
    }
    return counts;
}

void declare_dram_stages(Stages& out, Stage& queue, Stage& row, Stage& bus) {
    out.group("dram");
    out.add(queue, "queue", "in the controller's queue, until its row activation or column command");
    out.add(row, "row", "precharge and activation of its row");
    out.add(bus, "column", "its row is open: waiting for column commands of other requests, or for its own remaining ones");
}

}  // namespace mergelane
