// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "core/text.hpp"
#include "report/drawings.hpp"
#include "report/html_report.hpp"
#include "report/page.hpp"

namespace mergelane {

using namespace report;

namespace {

double profiled(const Json& counts, const char* group, const char* name) {
    return number(member(counts, group), name).value_or(0);
}

std::string spaced(std::string name) {
    for (char& c : name) c = c == '_' ? ' ' : c;
    return name;
}

/// The metrics of a group that are shares of a whole, as one stack.
std::string share_stack(const Json& total, const char* group, const char* label) {
    const Json& shares = member(total, group);
    if (!shares.is_object()) return "";
    std::vector<StackPart> parts;
    StackRow row{label, {}};
    for (const auto& one : shares.items()) {
        parts.push_back({spaced(one.key()), "", ""});
        row.values.push_back(std::max(0.0, number_of(one.value()).value_or(0)));
    }
    return stacks(parts, std::vector{row});
}

std::string profile_lead(const Json& total) {
    const double lines = profiled(total, "global_memory", "lines_per_access"), used = profiled(total, "global_memory", "sector_bytes_used");
    if (profiled(total, "global_memory", "accesses") <= 0)
        return "<div class=\"bottleneck\"><p><strong>No access to global memory</strong></p></div>\n";
    return fmt::format(
        "<div class=\"bottleneck\"><p><strong>{}</strong></p><p>A warp access touches {:.2f} lines of 128 bytes on average; {:.0f} % of "
        "the "
        "bytes of the touched 32-byte sectors are used. {:.0f} % of the line requests reuse a line of the same launch.</p></div>\n",
        lines <= 1.5   ? "Accesses are well coalesced"
        : lines <= 4.5 ? "Accesses are partly coalesced"
                       : "Accesses are poorly coalesced",
        lines, used, profiled(total, "locality", "line_requests_that_reuse"));
}

Chart window_chart(const Json& total) {
    Json chart = {{"kind", "lines"},
                  {"title", "Load line requests after merging"},
                  {"x_title", "inter-warp window, requests"},
                  {"y_title", "% left"}};
    chart["data"] = Json::array();
    const Json& group = member(total, "inter_warp_window");
    constexpr std::string_view kPrefix = "left_with_window_";
    if (group.is_object()) {
        for (const auto& one : group.items()) {
            if (!one.key().starts_with(kPrefix)) continue;
            chart["data"].push_back(
                {{"x", one.key().substr(kPrefix.size())}, {"series", "left"}, {"y", number_of(one.value()).value_or(0)}});
        }
    }
    return read_chart(chart);
}

std::string profiled_kernels(const Json& profile) {
    std::string head = head_cell("kernel"), rows;
    for (const char* const name : {"launches", "warp instr", "active lanes", "accesses", "lines/access", "bytes used",
                                   "largest footprint, KiB", "reuse", "inter-CTA"})
        head += head_cell(name, true);
    for (const Json& kernel : list(profile, "kernels")) {
        const auto count = [&](const char* group, const char* name, double unit = 1) {
            return cell(whole(profiled(kernel, group, name) / unit), true);
        };
        const auto mean = [&](const char* group, const char* name, const char* unit = "") {
            return cell(fmt::format("{:.2f}{}", profiled(kernel, group, name), unit), true);
        };
        rows +=
            fmt::format("<tr><th scope=\"row\">{}</th>{}{}{}{}{}{}{}{}{}</tr>\n", escaped(readable_name(text(kernel, "name"))),
                        cell(whole(number(kernel, "launches").value_or(1)), true), count("instructions", "warp_instructions"),
                        mean("instructions", "active_lanes"), count("global_memory", "accesses"), mean("global_memory", "lines_per_access"),
                        mean("global_memory", "sector_bytes_used", " %"), count("locality", "footprint", 1024),
                        mean("locality", "line_requests_that_reuse", " %"), mean("locality", "inter_cta_reuse_share", " %"));
    }
    return table_of(head, rows, kWide);
}

std::string all_metrics(const Json& profile) {
    std::string rows;
    const Json& total = member(profile, "total");
    if (!total.is_object()) return "";
    for (const auto& group : total.items()) {
        if (!group.value().is_object()) continue;
        for (const auto& one : group.value().items())
            rows += fmt::format("<tr>{}<th scope=\"row\">{}</th>{}{}</tr>\n", cell(spaced(group.key())), escaped(spaced(one.key())),
                                cell(text_of(one.value()), true),
                                cell(text(member(member(profile, "units"), group.key().c_str()), one.key().c_str())));
    }
    return table_of("<th>group</th><th>metric</th><th class=\"n\">value</th><th>unit</th>", rows);
}

}  // namespace

std::string profile_page(const nlohmann::ordered_json& profile) {
    const Json& total = member(profile, "total");
    Page page("Profile of " + printable(text(profile, "workload")));
    page.lead(profile_lead(total));
    page.fact("CTAs", whole(number(profile, "ctas").value_or(0)));
    page.fact("Warp instructions", whole(profiled(total, "instructions", "warp_instructions")));
    page.fact("Active lanes", text(member(total, "instructions"), "active_lanes"));
    page.section("Instruction mix");
    page.add(share_stack(total, "mix", "warp instructions"));
    page.section("Coalescing");
    page.add("<p>Warp accesses to global memory, by the number of 128-byte lines that they touch.</p>\n");
    page.add(share_stack(total, "accesses_by_lines", "accesses"));
    page.add("<p>Line requests, by the mapping of lanes to words.</p>\n");
    page.add(share_stack(total, "mapping", "line requests"));
    page.section("Inter-warp window");
    page.add(
        "<p>How many load requests would remain if each SM merged a request with one of the same line among its last unmerged "
        "requests.</p>\n");
    page.add(window_chart(total));
    page.section("Kernels");
    page.add("<p>All launches; those of the same name share a row.</p>\n");
    page.add(profiled_kernels(profile));
    page.section("All metrics");
    page.add(all_metrics(profile));
    return page.write();
}

}  // namespace mergelane
