// SPDX-License-Identifier: MIT
#include "workload/ptx/print_format.hpp"

#include <fmt/printf.h>

#include <bit>

namespace mergelane::ptx {

namespace {

constexpr std::size_t kMostWidth = 4096;  ///< of one conversion; a kernel may ask for any

/// One conversion: "%-8.3llx" is flags "-", width 8, precision 3, two of 'l', conversion 'x'.
struct Conversion {
    std::string spec = "%";  ///< without the length, which the argument's type says
    int size = 4;            ///< bytes of an integer
    char kind = 0;
};

/// Reads what follows '%'; returns the characters that it takes, or 0 if it is not a conversion.
std::size_t parse(std::string_view text, const PrintArguments& arguments, std::uint32_t& count, Conversion& made) {
    std::size_t at = 0;
    const auto number = [&] {
        std::size_t value = 0;
        if (at < text.size() && text[at] == '*') {
            ++at;
            ++count;
            const auto given = static_cast<std::int32_t>(arguments.next(4));
            if (given < 0) made.spec += '-';
            value = static_cast<std::size_t>(given < 0 ? -std::int64_t{given} : given);
        } else {
            for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
                value = std::min(kMostWidth, value * 10 + static_cast<std::size_t>(text[at] - '0'));
        }
        return std::to_string(std::min(value, kMostWidth));
    };
    while (at < text.size() && std::string_view("-+ #0").find(text[at]) != std::string_view::npos) made.spec += text[at++];
    if (const std::string width = number(); width != "0") made.spec += width;
    if (at < text.size() && text[at] == '.') {
        ++at;
        made.spec += "." + number();
    }
    for (; at < text.size() && std::string_view("hlLzjt").find(text[at]) != std::string_view::npos; ++at)
        made.size = text[at] == 'h' ? made.size / 2 : 8;
    if (at == text.size()) return 0;
    made.kind = text[at++];
    return at;
}

std::string convert(const Conversion& how, const PrintArguments& arguments) {
    const auto print = [&](const char* kind, const auto& value) { return fmt::sprintf(how.spec + kind, value); };
    const char kind[] = {how.kind, 0};
    switch (how.kind) {
        case 'd':
        case 'i': {
            const std::uint64_t bits = arguments.next(how.size == 8 ? 8 : 4);
            const int unused = 64 - 8 * std::max(how.size, 1);
            return print("d", static_cast<long long>(bits << unused) >> unused);
        }
        case 'u':
        case 'x':
        case 'X':
        case 'o': {
            const std::uint64_t bits = arguments.next(how.size == 8 ? 8 : 4);
            const int unused = 64 - 8 * std::max(how.size, 1);
            return print(kind, static_cast<unsigned long long>(bits << unused >> unused));
        }
        case 'c': return print("c", static_cast<char>(arguments.next(4)));
        case 's': return print("s", arguments.text_at(arguments.next(8)));
        case 'p': return fmt::sprintf(how.spec + "s", fmt::format("{:#x}", arguments.next(8)));
        default: return print(kind, std::bit_cast<double>(arguments.next(8)));
    }
}

}  // namespace

Printed format_print(std::string_view format, const PrintArguments& arguments) {
    Printed made;
    while (!format.empty()) {
        const std::size_t plain = std::min(format.find('%'), format.size());
        made.text += format.substr(0, plain);
        format.remove_prefix(plain);
        if (format.empty()) break;
        if (format.starts_with("%%")) {
            made.text += '%';
            format.remove_prefix(2);
            continue;
        }
        Conversion how;
        const std::size_t taken = parse(format.substr(1), arguments, made.arguments, how);
        if (taken == 0 || std::string_view("diuxXocspfFeEgGaA").find(how.kind) == std::string_view::npos) {
            made.text += format.substr(0, taken + 1);
        } else {
            ++made.arguments;
            made.text += convert(how, arguments);
        }
        format.remove_prefix(taken + 1);
    }
    return made;
}

}  // namespace mergelane::ptx
