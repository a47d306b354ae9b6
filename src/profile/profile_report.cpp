// SPDX-License-Identifier: MIT
// A profile as text, JSON and CSV. All three show the same list of metrics.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <variant>

#include "core/json_text.hpp"
#include "core/kernel_name.hpp"
#include "core/text.hpp"
#include "profile/add_counts.hpp"
#include "profile/profile.hpp"

namespace mergelane {

namespace {

class Metrics {
public:
    void group(std::string_view name, std::string_view heading) {
        group_ = name;
        heading_ = heading;
    }
    void count(std::string name, std::uint64_t value, std::string unit) {
        list.push_back({std::string(group_), std::string(heading_), std::move(name), value, std::move(unit)});
    }
    void mean(std::string name, std::uint64_t sum, std::uint64_t by, std::string unit) {
        list.push_back({std::string(group_), std::string(heading_), std::move(name), mergelane::share(sum, by), std::move(unit)});
    }
    void share(std::string name, std::uint64_t part, std::uint64_t whole) {
        list.push_back({std::string(group_), std::string(heading_), std::move(name), 100 * mergelane::share(part, whole), "%"});
    }
    std::vector<ProfileMetric> list;

private:
    std::string_view group_, heading_;
};

std::string value_text(const ProfileMetric& metric) {
    if (const auto* count = std::get_if<std::uint64_t>(&metric.value)) return grouped(*count);
    return fmt::format("{:.2f}", std::get<double>(metric.value));
}

}  // namespace

std::vector<ProfileMetric> profile_metrics(const ProfileCounts& c) {
    Metrics m;
    const ProfileCounts::Access all = c.all_accesses();
    m.group("instructions", "Instructions");
    m.count("warp_instructions", c.warp_instructions, "warp instr");
    m.mean("active_lanes", c.thread_instructions, c.warp_instructions, "lanes per warp instr");
    m.share("full_warps", c.full_warps, c.warp_instructions);
    m.group("mix", "Instruction mix (share of warp instructions)");
    for (std::uint32_t kind = 0; kind < kInstructionKinds; ++kind) {
        if (c.kinds[kind] != 0) m.share(kind_name(kind), c.kinds[kind], c.warp_instructions);
    }
    m.group("global_memory", "Global memory");
    m.count("accesses", all.accesses, "warp accesses");
    m.share("reads", c.access[0].accesses, all.accesses);
    m.share("writes", c.access[1].accesses, all.accesses);
    m.share("atomics", c.access[2].accesses, all.accesses);
    m.mean("lanes_per_access", all.lanes, all.accesses, "lanes");
    m.count("line_requests", all.lines, "lines of 128 B");
    m.mean("lines_per_access", all.lines, all.accesses, "lines");
    m.mean("lines_per_read", c.access[0].lines, c.access[0].accesses, "lines");
    m.mean("lines_per_write", c.access[1].lines, c.access[1].accesses, "lines");
    m.mean("sectors_per_access", all.sectors, all.accesses, "sectors of 32 B");
    m.mean("coalescing_degree", all.lanes, all.lines, "lanes per line request");
    m.share("sector_bytes_used", all.bytes, all.sectors * kSectorBytes);
    m.group("accesses_by_lines", "Accesses by number of lines");
    for (std::size_t b = 0; b < c.by_lines.size(); ++b) {
        const std::uint32_t low = b == 0 ? 1 : ProfileCounts::kLineBuckets[b - 1] + 1;
        const std::uint32_t high = ProfileCounts::kLineBuckets[b];
        const std::string name = b + 1 == c.by_lines.size() ? fmt::format("{}_or_more", low)
                                 : low == high              ? fmt::format("{}", low)
                                                            : fmt::format("{}_to_{}", low, high);
        m.share(name, c.by_lines[b], all.accesses);
    }
    m.group("mapping", "Lane-to-word mapping (share of line requests)");
    for (std::size_t p = 0; p < c.mapping.size(); ++p) m.share(std::string(kMappingNames[p]), c.mapping[p], all.lines);
    m.group("locality", "Footprint and reuse of lines");
    m.count("footprint", c.footprint_lines * kProfileLineBytes, "bytes in lines");
    m.count("footprint_sectors", c.footprint_sectors * kSectorBytes, "bytes in sectors");
    const std::uint64_t reuses = c.intra_cta_reuses + c.inter_cta_reuses;
    m.share("line_requests_that_reuse", reuses, all.lines);
    m.share("intra_cta_reuse_share", c.intra_cta_reuses, reuses);
    m.share("inter_cta_reuse_share", c.inter_cta_reuses, reuses);
    m.group("inter_warp_window", "Inter-warp window (load line requests after merging)");
    for (std::size_t w = 0; w < kStudyWindows.size(); ++w)
        m.share(fmt::format("left_with_window_{}", kStudyWindows[w]), c.window_left[w], c.window_left[0]);
    return std::move(m.list);
}

std::vector<ProfileMetric> all_metrics(const Profile& profile) {
    std::vector<ProfileMetric> list = profile_metrics(profile.total);
    list.insert(list.end(), profile.more.begin(), profile.more.end());
    return list;
}

std::string dimensions(const Dim3& size) {
    return fmt::format("{} x {} x {}", size.x, size.y, size.z);
}

Profile by_name(const Profile& profile) {
    Profile merged{profile.workload, profile.sms, {}, profile.total, profile.more};
    std::map<std::string, std::size_t> places;
    for (const KernelProfile& kernel : profile.kernels) {
        const auto [at, fresh] = places.try_emplace(name_without_number(kernel.info.name), merged.kernels.size());
        if (fresh) {
            merged.kernels.push_back(kernel);
            merged.kernels.back().info.name = at->first;
            continue;
        }
        KernelProfile& sum = merged.kernels[at->second];
        ++sum.launches;
        sum.counts.add(kernel.counts);
        sum.counts.footprint_lines = std::max(sum.counts.footprint_lines, kernel.counts.footprint_lines);
        sum.counts.footprint_sectors = std::max(sum.counts.footprint_sectors, kernel.counts.footprint_sectors);
    }
    return merged;
}

std::string profile_summary(const Profile& profile) {
    const std::size_t count = profile.kernels.size();
    std::string text =
        fmt::format("{}: {} kernel{}, {} CTAs\n", printable(profile.workload), count, count == 1 ? "" : "s", grouped(profile.total.ctas));
    std::string last;
    const std::vector<ProfileMetric> list = all_metrics(profile);
    for (const ProfileMetric& metric : list) {
        if (metric.group != last) text += fmt::format("\n{}\n", metric.heading);
        last = metric.group;
        std::string name = metric.name;
        for (char& c : name) {
            if (c == '_' && metric.group != "mix") c = ' ';
        }
        text += fmt::format("  {:<28}{:>18} {}\n", name, value_text(metric), metric.unit);
    }
    constexpr std::size_t kMostRows = 40;
    text += fmt::format("\nKernels\n  {:<24} {:<18} {:<14} {:>14} {:>12} {:>12} {:>12} {:>10}\n", "name", "grid", "block", "warp instr",
                        "accesses", "lines/access", "footprint", "inter-CTA");
    text += fmt::format("  {:<24} {:<18} {:<14} {:>14} {:>12} {:>12} {:>12} {:>10}\n", "", "(CTAs)", "(threads)", "", "", "", "(KiB)",
                        "(% reuse)");
    for (std::size_t k = 0; k < count && k < kMostRows; ++k) {
        const KernelProfile& kernel = profile.kernels[k];
        const ProfileCounts& c = kernel.counts;
        const ProfileCounts::Access all = c.all_accesses();
        text += fmt::format("  {:<24} {:<18} {:<14} {:>14} {:>12} {:>12.2f} {:>12} {:>10.1f}\n", printable(kernel.info.name.substr(0, 24)),
                            dimensions(kernel.info.grid), dimensions(kernel.info.block), grouped(c.warp_instructions),
                            grouped(all.accesses), share(all.lines, all.accesses), grouped(c.footprint_lines * kProfileLineBytes / 1024),
                            100 * share(c.inter_cta_reuses, c.intra_cta_reuses + c.inter_cta_reuses));
    }
    if (count > kMostRows) text += fmt::format("  and {} more; --json and --csv list all\n", count - kMostRows);
    return text;
}

std::string profile_json(const Profile& profile) {
    using Json = nlohmann::ordered_json;
    const auto object = [](const std::vector<ProfileMetric>& list) {
        Json json = Json::object();
        for (const ProfileMetric& metric : list) {
            Json& group = json.emplace(metric.group, Json::object()).first.value();
            std::visit([&](auto value) { group[metric.name] = value; }, metric.value);
        }
        return json;
    };
    Json json = Json::object();
    json["schema"] = 1;  // docs/schema/profile.json
    json["workload"] = profile.workload;
    json["window_study_sms"] = profile.sms;
    json["ctas"] = profile.total.ctas;
    json["total"] = object(all_metrics(profile));
    json["kernels"] = Json::array();
    for (const KernelProfile& kernel : profile.kernels) {
        Json one = Json::object();
        one["name"] = kernel.info.name;
        if (kernel.launches != 1) one["launches"] = kernel.launches;
        one["grid"] = {kernel.info.grid.x, kernel.info.grid.y, kernel.info.grid.z};
        one["block"] = {kernel.info.block.x, kernel.info.block.y, kernel.info.block.z};
        one.update(object(profile_metrics(kernel.counts)));
        json["kernels"].push_back(std::move(one));
    }
    Json units = Json::object();
    for (const ProfileMetric& metric : all_metrics(profile)) units[metric.group][metric.name] = metric.unit;
    json["units"] = std::move(units);
    return json_text(json, 2) + "\n";
}

std::string profile_csv(const Profile& profile) {
    std::string text = "workload,kernel,name,group,metric,value,unit\n";
    const auto rows = [&](const std::string& number, std::string_view name, const std::vector<ProfileMetric>& list) {
        for (const ProfileMetric& metric : list) {
            const std::string value = std::holds_alternative<double>(metric.value)
                                          ? fmt::format("{:.6g}", std::get<double>(metric.value))
                                          : fmt::format("{}", std::get<std::uint64_t>(metric.value));
            text += fmt::format("{},{},{},{},{},{},{}\n", csv_field(profile.workload), number, csv_field(name), metric.group, metric.name,
                                value, metric.unit);
        }
    };
    for (std::size_t k = 0; k < profile.kernels.size(); ++k)
        rows(fmt::format("{}", k + 1), profile.kernels[k].info.name, profile_metrics(profile.kernels[k].counts));
    rows("total", "total", all_metrics(profile));
    return text;
}

}  // namespace mergelane
