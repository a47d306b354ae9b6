// SPDX-License-Identifier: MIT
#include "workload/accelsim/line_fields.hpp"

#include <fmt/format.h>

#include "core/types.hpp"
#include "workload/accelsim/text_scan.hpp"

namespace mergelane::accelsim {

namespace {

constexpr std::uint64_t kMostAddresses = 1 << 16;  ///< of a bulk copy; one for each 16 bytes of shared memory would be fewer

class Fields {
public:
    Fields(const char*& at, std::string& problem) : at_(at), problem_(problem) {}

    bool hex(std::uint64_t most, std::uint64_t& value, std::string_view what) {
        at_ = skip_blanks(at_);
        const char* const end = scan_hex(at_, value);
        return accept(end, value <= most, what);
    }
    bool decimal(std::uint64_t most, std::uint64_t& value, std::string_view what) {
        at_ = skip_blanks(at_);
        const char* const end = scan_decimal(at_, value);
        return accept(end, value <= most, what);
    }
    bool distance(std::uint64_t& value) {
        at_ = skip_blanks(at_);
        return accept(scan_signed(at_, value), true, "the distance to the address before, a whole number of at most 18 digits");
    }
    bool wrong(std::string_view what) {
        problem_ = fmt::format("expected {}, found {}", what, token_at(at_));
        return false;
    }
    /// A decimal number of any size that a 64-bit register holds, with or without sign; false if there is none.
    bool immediate() {
        at_ = skip_blanks(at_);
        const char* end = at_ + (*at_ == '-' ? 1 : 0);
        const char* const digits = end;
        while (*end >= '0' && *end <= '9') ++end;
        if (end == digits || end - digits > 20 || !ends_token(*end)) return false;
        at_ = end;
        return true;
    }

private:
    bool accept(const char* end, bool in_range, std::string_view what) {
        if (end == nullptr || !ends_token(*end) || !in_range) return wrong(what);
        at_ = end;
        return true;
    }

    const char*& at_;
    std::string& problem_;
};

bool read_addresses(Fields& fields, BulkCopy& copy) {
    constexpr std::string_view kAddress = "a hexadecimal address of at most 16 digits";
    constexpr std::string_view kCount = "the number of addresses of a bulk copy (0 to 65536)";
    std::uint64_t mode = 0;
    std::uint64_t count = 0;
    Addr address = 0;
    if (!fields.decimal(4, mode, "the address mode of a bulk copy (3 list, 4 base and deltas)")) return false;
    if (mode < 3) return fields.wrong("an address mode of bulk copies (3 list, 4 base and deltas) before this");
    if (mode == 4 && !fields.hex(~Addr{0}, address, kAddress)) return false;
    if (!fields.decimal(kMostAddresses, count, kCount)) return false;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t delta = 0;
        if (mode == 3 && !fields.hex(~Addr{0}, address, kAddress)) return false;
        if (mode == 4 && i != 0 && !fields.distance(delta)) return false;
        copy.addresses.push_back(address += delta);
    }
    return true;
}

}  // namespace

const char* scan_bulk_copy(const char*& at, BulkCopy& copy, std::string& problem) {
    Fields fields(at, problem);
    std::uint64_t multicast = 0;
    std::uint64_t mask = 0;
    copy = {};
    const bool fine = fields.hex(~Addr{0}, copy.mbarrier, "the address of the mbarrier of a bulk copy, a hexadecimal number") &&
                      fields.decimal(1, multicast, "the multicast flag of a bulk copy (0 or 1)") &&
                      (multicast == 0 || fields.hex(0xffff, mask, "the CTAs that receive a bulk copy, a hexadecimal mask of 16 bits")) &&
                      fields.decimal(~0ull, copy.bytes, "the bytes of a bulk copy") &&
                      fields.decimal(~0ull, copy.bytes_out_of_bounds, "the bytes of a bulk copy that are out of bounds") &&
                      read_addresses(fields, copy);
    copy.cta_mask = static_cast<std::uint32_t>(mask);
    return fine ? at : nullptr;
}

const char* scan_line_end(const char*& at, std::uint32_t registers, std::string& problem) {
    Fields fields(at, problem);
    for (int i = 0; i < 2 && fields.immediate(); ++i) {
    }
    at = skip_blanks(at);
    const std::string_view word(at, static_cast<std::size_t>(skip_token(at) - at));
    if (word == "Val" || word == "NoVal") {
        at += word.size();
        for (std::uint32_t r = 0; word == "Val" && r < registers; ++r) {
            std::uint64_t values = 0;
            std::uint64_t value = 0;
            if (!fields.decimal(kWarpLanes, values, "the number of values of a register (1 or 32)")) return nullptr;
            if (values != 1 && values != kWarpLanes) {
                problem = fmt::format("a register has {} values; it must have 1 for all lanes or 32", values);
                return nullptr;
            }
            for (std::uint64_t i = 0; i < values; ++i) {
                if (!fields.hex(~0ull, value, "the value of a register, a hexadecimal number")) return nullptr;
            }
        }
        at = skip_blanks(at);
    }
    if (*at == '\n') return at;
    fields.wrong("an immediate, Val, NoVal or the end of the line");
    return nullptr;
}

}  // namespace mergelane::accelsim
