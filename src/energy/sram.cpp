// SPDX-License-Identifier: MIT
#include "energy/sram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <span>
#include <sstream>

#include "core/error.hpp"
#include "energy/portable_math.hpp"
#include "files/input_file.hpp"

namespace mergelane {

namespace {

constexpr std::array kQuantities = {&SramCost::read_pj, &SramCost::write_pj, &SramCost::search_pj, &SramCost::tag_pj,
                                    &SramCost::leak_mw, &SramCost::area_mm2, &SramCost::access_ns};

/// A point of a curve: where it was run, what came out.
struct Point {
    double at;
    SramCost cost;
};

/// The straight line through two points of a log-log plot.
SramCost between(const Point& a, const Point& b, double at) {
    const double share = (portable_log(at) - portable_log(a.at)) / (portable_log(b.at) - portable_log(a.at));
    SramCost cost;
    for (const auto quantity : kQuantities) {
        const double low = a.cost.*quantity;
        const double high = b.cost.*quantity;
        // A quantity the kind does not have is 0 everywhere.
        if (low > 0 && high > 0) cost.*quantity = portable_exp(portable_log(low) + share * (portable_log(high) - portable_log(low)));
    }
    cost.extrapolated = a.cost.extrapolated || b.cost.extrapolated || at < a.at || at > b.at;
    return cost;
}

/// On a curve sorted by `at`, which has at least two points unless `at` is one of them.
SramCost on_curve(std::span<const Point> curve, double at) {
    for (const Point& point : curve) {
        if (point.at == at) return point.cost;
    }
    std::size_t right = 1;
    while (right + 1 < curve.size() && curve[right].at < at) ++right;
    return between(curve[right - 1], curve[right], at);
}

/// The only width there is, with everything but time in proportion to the width.
SramCost in_proportion(SramCost cost, double factor) {
    for (const auto quantity : {&SramCost::read_pj, &SramCost::write_pj, &SramCost::search_pj, &SramCost::leak_mw, &SramCost::area_mm2})
        cost.*quantity *= factor;
    return cost;
}

SramCost at_width(std::span<const SramRow* const> rows, std::uint32_t width, std::uint64_t bits) {
    std::vector<Point> curve;
    for (const SramRow* row : rows) {
        if (row->port_bits == width) curve.push_back({static_cast<double>(row->bytes * 8), row->cost});
    }
    std::sort(curve.begin(), curve.end(), [](const Point& a, const Point& b) { return a.at < b.at; });
    if (curve.size() == 1) {
        curve.front().cost.extrapolated = curve.front().at != static_cast<double>(bits);
        return curve.front().cost;
    }
    return on_curve(curve, static_cast<double>(bits));
}

SramCost at_node(std::span<const SramRow* const> rows, const SramQuery& query) {
    std::set<std::uint32_t> widths;
    for (const SramRow* row : rows) widths.insert(row->port_bits);
    if (widths.size() == 1) {
        const std::uint32_t width = *widths.begin();
        // Words of the width that was run: as many of them as asked for.
        const std::uint64_t bits = width == query.port_bits ? query.bits : query.bits * width / query.port_bits;
        const SramCost cost = at_width(rows, width, bits);
        return width == query.port_bits ? cost : in_proportion(cost, static_cast<double>(query.port_bits) / width);
    }
    std::vector<Point> curve;
    for (const std::uint32_t width : widths) {
        if (width == query.port_bits) return at_width(rows, width, query.bits);
        curve.push_back({static_cast<double>(width), at_width(rows, width, query.bits)});
    }
    return on_curve(curve, query.port_bits);
}

std::string_view cell(std::string_view& line) {
    const std::size_t comma = std::min(line.find(','), line.size());
    const std::string_view text = line.substr(0, comma);
    line.remove_prefix(std::min(comma + 1, line.size()));
    return text;
}

template <class Number>
bool parse(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

SramTable SramTable::read(const std::filesystem::path& file) {
    std::istringstream in(read_input(file));
    std::vector<SramRow> rows;
    std::string line;
    bool header = false;
    for (std::uint32_t number = 1; std::getline(in, line); ++number) {
        if (line.empty() || line[0] == '#') continue;
        if (!header) {
            header = true;
            if (line != "tool,node_nm,kind,port_bits,bytes,ways,name,read_pj,write_pj,search_pj,tag_pj,leak_mw,area_mm2,access_ns")
                throw InputError(fmt::format("{}:{}: not the columns of a table of SRAM structures", file.string(), number));
            continue;
        }
        std::string_view rest = line;
        SramRow row;
        row.tool = cell(rest);
        bool good = parse(cell(rest), row.node_nm);
        row.kind = cell(rest);
        good = parse(cell(rest), row.port_bits) && good;
        good = parse(cell(rest), row.bytes) && good;
        cell(rest);  // ways
        row.name = cell(rest);
        for (const auto quantity : kQuantities) {
            const std::string_view text = cell(rest);
            if (!text.empty()) good = parse(text, row.cost.*quantity) && row.cost.*quantity >= 0 && good;
        }
        if (!good || !rest.empty() || row.node_nm == 0 || row.port_bits == 0 || row.bytes == 0)
            throw InputError(fmt::format("{}:{}: not a row of a table of SRAM structures: {}", file.string(), number, line.substr(0, 80)));
        rows.push_back(std::move(row));
    }
    return SramTable(std::move(rows));
}

SramCost SramTable::cost(const SramQuery& query) const {
    std::set<std::uint32_t> nodes;
    std::vector<const SramRow*> rows;
    for (const SramRow& row : rows_) {
        if (row.tool != query.tool || row.kind != query.kind) continue;
        nodes.insert(row.node_nm);
        rows.push_back(&row);
    }
    if (rows.empty() || query.bits == 0 || query.port_bits == 0)
        throw InputError(fmt::format("the table of SRAM structures has no {} of {} for {} bits with a port of {} bits", query.kind,
                                     query.tool, query.bits, query.port_bits));
    const auto of_node = [&](std::uint32_t node) {
        std::vector<const SramRow*> some;
        std::copy_if(rows.begin(), rows.end(), std::back_inserter(some), [&](const SramRow* row) { return row->node_nm == node; });
        return at_node(some, query);
    };
    if (nodes.contains(query.node_nm) || nodes.size() == 1) {
        SramCost cost = of_node(nodes.size() == 1 ? *nodes.begin() : query.node_nm);
        cost.extrapolated = cost.extrapolated || !nodes.contains(query.node_nm);
        return cost;
    }
    std::vector<Point> curve;
    for (const std::uint32_t node : nodes) curve.push_back({static_cast<double>(node), of_node(node)});
    return on_curve(curve, query.node_nm);
}

}  // namespace mergelane
