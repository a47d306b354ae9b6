// SPDX-License-Identifier: MIT
#include "workload/accelsim/trace_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "workload/accelsim/text_scan.hpp"

namespace mergelane::accelsim {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (is_blank(text.front()) || text.front() == '\n')) text.remove_prefix(1);
    while (!text.empty() && (is_blank(text.back()) || text.back() == '\n')) text.remove_suffix(1);
    return text;
}

bool parse_number(std::string_view text, std::uint64_t most, std::uint32_t& value) {
    std::uint64_t wide = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wide);
    value = static_cast<std::uint32_t>(wide);
    return error == std::errc{} && end == text.data() + text.size() && wide <= most;
}

namespace {
bool parse_address(std::string_view text, Addr& value) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

bool parse_triple(std::string_view text, Dim3& value) {
    text = trimmed(text);
    if (text.size() >= 2 && text.front() == '(' && text.back() == ')') text = text.substr(1, text.size() - 2);
    std::uint32_t* const parts[] = {&value.x, &value.y, &value.z};
    for (std::uint32_t i = 0; i < 3; ++i) {
        const std::size_t comma = text.find(',');
        if ((comma == std::string_view::npos) != (i == 2)) return false;
        if (!parse_number(trimmed(text.substr(0, comma)), 0xffffffff, *parts[i])) return false;
        if (i != 2) text.remove_prefix(comma + 1);
    }
    return true;
}

std::string parse_header_line(std::string_view line, TraceHeader& header) {
    const std::size_t equals = line.find('=');
    if (line.front() != '-' || equals == std::string_view::npos)
        return fmt::format("expected a header line '-key = value' or the '#' line that ends the header, found '{}'", shown(line));
    const std::string_view key = trimmed(line.substr(1, equals - 1));
    const std::string_view value = trimmed(line.substr(equals + 1));
    const auto bad = [&](std::string_view wanted) { return fmt::format("'-{}' is '{}', expected {}", key, shown(value), wanted); };
    if (key == "kernel name") {
        header.kernel_name = shown(value, 4096);
    } else if (key == "grid dim") {
        const bool fine = parse_triple(value, header.grid) && header.grid.x != 0 && header.grid.y != 0 && header.grid.z != 0;
        if (!fine || header.grid.x > 0x7fffffff || header.grid.y > 65535 || header.grid.z > 65535)
            return bad("(x,y,z) with x of 1 to 2147483647, y and z of 1 to 65535");
    } else if (key == "block dim") {
        const bool fine = parse_triple(value, header.block) && header.block.x <= 1024 && header.block.y <= 1024 && header.block.z <= 64;
        if (!fine || header.block.count() < 1 || header.block.count() > 1024) return bad("(x,y,z) with 1 to 1024 threads in all");
    } else if (key == "shmem") {
        if (!parse_number(value, 16u << 20, header.shared_bytes)) return bad("bytes of shared memory per CTA, at most 16 MiB");
    } else if (key == "nregs") {
        if (!parse_number(value, 255, header.registers)) return bad("registers per thread, at most 255");
    } else if (key == "binary version") {
        if (!parse_number(value, 1000, header.sm_version)) return bad("the SM number, for example 70");
    } else if (key == "shmem base_addr") {
        if (!parse_address(value, header.shared_base)) return bad("a hexadecimal address");
    } else if (key == "local mem base_addr") {
        if (!parse_address(value, header.local_base)) return bad("a hexadecimal address");
    } else if (key == "accelsim tracer version") {
        std::uint32_t major = 0;
        if (!parse_number(value.substr(0, value.find('.')), 1000, major)) return bad("a version number such as 5");
        if (major > 6) return bad("at most 6, the newest version this reader knows");
        header.version = major;
        header.warp_prefix = major < 3;
    } else if (key == "enable lineinfo") {
        if (value != "0" && value != "1") return bad("0 or 1");
        header.line_numbers = value == "1";
    }
    return {};
}

std::string missing_in(const TraceHeader& header) {
    if (header.grid.x == 0) return "the header has no '-grid dim = (x,y,z)' line";
    if (header.block.x == 0) return "the header has no '-block dim = (x,y,z)' line";
    return {};
}

std::string parse_cluster_line(std::string_view line, TraceHeader& header) {
    const std::size_t equals = line.find('=');
    const std::string_view key = trimmed(line.substr(0, equals));
    const std::string_view value = equals == std::string_view::npos ? std::string_view{} : trimmed(line.substr(equals + 1));
    Dim3 triple;
    std::uint32_t rank = 0;
    if (key == "cluster id") {
        if (parse_triple(value, triple)) return {};
    } else if (key == "cluster cta") {
        if (parse_triple(value, triple)) return {};
    } else if (key == "cluster rank") {
        if (parse_number(value, kMostClusterRank, rank)) {
            header.cluster_ctas = std::max(header.cluster_ctas, rank + 1);
            return {};
        }
    }
    return fmt::format("expected 'cluster id = x,y,z', 'cluster cta = x,y,z' or 'cluster rank = 0 to {}', found '{}'", kMostClusterRank,
                       shown(line));
}

}  // namespace mergelane::accelsim
