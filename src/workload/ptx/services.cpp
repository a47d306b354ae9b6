// SPDX-License-Identifier: MIT
// Functions of the device runtime that have no PTX body: printf, assert, malloc and free; and trap.
#include <bit>
#include <cstring>

#include "core/bits.hpp"
#include "workload/ptx/decode.hpp"
#include "workload/ptx/executor.hpp"
#include "workload/ptx/print_format.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::size_t kMostText = std::size_t{1} << 16;        ///< characters of a string that is printed
constexpr std::size_t kMostAssertions = std::size_t{1} << 20;  ///< characters of the messages of a CTA

struct ServiceRow {
    std::string_view name;
    Service what;
    std::size_t arguments;
};
constexpr ServiceRow kServices[] = {
    {"vprintf", Service::print, 2},
    {"__assertfail", Service::fail_assertion, 5},
    {"malloc", Service::allocate, 1},
    {"free", Service::release, 1},
};
const ServiceRow* find_service(std::string_view name) {
    const auto found = std::find_if(std::begin(kServices), std::end(kServices), [&](const ServiceRow& row) { return row.name == name; });
    return found == std::end(kServices) ? nullptr : found;
}

/// The bytes from a generic address of a lane to the end of that memory; empty: it points nowhere.
std::span<const std::byte> bytes_from(const Warp& warp, std::uint32_t lane, Addr address) {
    const auto within = [](const std::byte* memory, std::uint64_t size, Addr offset) -> std::span<const std::byte> {
        if (offset >= size) return {};
        return {memory + offset, size - offset};
    };
    if (address - kSharedWindow < kWindowBytes) return within(warp.shared, warp.shared_bytes, address - kSharedWindow);
    if (address - kLocalWindow < kWindowBytes) {
        const std::size_t size = warp.launch->program.local_bytes;
        return within(warp.local + lane * size, size, address - kLocalWindow);
    }
    const DeviceMemory::Range range = warp.launch->memory.find(address);
    return range.host == nullptr ? std::span<const std::byte>{} : within(range.host, range.bytes, address - range.base);
}

std::string text_at(const Warp& warp, std::uint32_t lane, Addr address) {
    if (address == 0) return "(null)";
    const std::span<const std::byte> bytes = bytes_from(warp, lane, address);
    const auto* const text = reinterpret_cast<const char*>(bytes.data());
    return bytes.empty() ? std::string() : std::string(text, strnlen(text, std::min(bytes.size(), kMostText)));
}

std::uint64_t number_at(std::span<const std::byte> bytes, std::uint64_t at, std::uint32_t size) {
    std::uint64_t value = 0;
    if (at <= bytes.size() && bytes.size() - at >= size) std::memcpy(&value, bytes.data() + at, size);
    return value;
}

Printed print(const Warp& warp, std::uint32_t lane, Addr format, Addr list) {
    const std::span<const std::byte> bytes = bytes_from(warp, lane, list);
    std::uint64_t at = 0;
    PrintArguments arguments;
    arguments.next = [&](std::uint32_t size) {
        const std::uint64_t place = (at + size - 1) / size * size;
        at = place + size;
        return number_at(bytes, place, size);
    };
    arguments.text_at = [&](Addr text) { return text_at(warp, lane, text); };
    return format_print(text_at(warp, lane, format), arguments);
}

std::string position(Dim3 size, std::uint64_t number) {
    return fmt::format("[{},{},{}]", number % size.x, number / size.x % size.y, number / size.x / size.y);
}

}  // namespace

bool Decoder::is_service(std::string_view function) {
    return find_service(function) != nullptr;
}

void Decoder::decode_service(std::string_view name, const std::vector<Operand>& results, const std::vector<Operand>& arguments,
                             Block& block) {
    const ServiceRow& row = *find_service(name);
    if (arguments.size() != row.arguments || results.size() > 1)
        fail("{} has {} arguments, but the call gives {}; make them agree", in_quotes(name), row.arguments, arguments.size());
    ServiceSite site;
    site.what = row.what;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        const Place place = call_parameter(arguments[k]);
        // The line number of a failed assertion is the only argument of 32 bits.
        if (place.bytes < 8 && !(row.what == Service::fail_assertion && k == 2))
            fail("argument {} of {} needs 64 bits; declare it .param .b64", k + 1, in_quotes(name));
        site.arguments[k] = static_cast<std::uint32_t>(place.offset);
    }
    if (!results.empty()) {
        const Place place = call_parameter(results[0]);
        site.result = static_cast<std::uint32_t>(place.offset);
        site.result_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(place.bytes, 8));
    }
    program_->prints = program_->prints || row.what == Service::print;
    block.how = End::service;
    block.target = static_cast<std::uint32_t>(program_->services.size());
    program_->services.push_back(site);
}

/// Lane after lane, in order. Lanes whose assertion failed end; the launch fails when their CTA has ended, too.
void Executor::service(Warp& warp, const Block& block) {
    const std::uint32_t mask = lanes_at_end(warp, block);
    const ServiceSite& site = program_.services[block.target];
    warp.stack.back().block = warp.block + 1;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        std::byte* const params = warp.call_params + std::size_t{lane} * program_.parameter_bytes;
        const std::span<const std::byte> bytes(params, program_.parameter_bytes);
        const auto argument = [&](std::size_t k) { return number_at(bytes, site.arguments[k], 8); };
        std::uint64_t result = 0;
        switch (site.what) {
            case Service::print: {
                if (!options_.print) break;
                const Printed printed = print(warp, lane, argument(0), argument(1));
                options_.print(printed.text);
                result = printed.arguments;
                break;
            }
            case Service::fail_assertion:
                if (assertions_.size() > kMostAssertions) break;
                assertions_ +=
                    fmt::format("{}{}:{}: {}: block: {}, thread: {} Assertion `{}` failed.", assertions_.empty() ? "" : "\n",
                                text_at(warp, lane, argument(1)), number_at(bytes, site.arguments[2], 4), text_at(warp, lane, argument(3)),
                                position(config_.grid, warp.cta), position(config_.block, std::uint64_t{warp.index} * kWarpLanes + lane),
                                text_at(warp, lane, argument(0)));
                break;
            case Service::allocate: result = launch_.memory.heap().allocate(launch_.memory, argument(0)); break;
            case Service::release:
                if (argument(0) != 0 && !launch_.memory.heap().release(argument(0)))
                    fail("CTA {} frees {:#x}, which malloc did not return", warp.cta, argument(0));
                break;
        }
        if (site.result != kNone) std::memcpy(params + site.result, &result, site.result_bytes);
    }
    ++launch_.changes;
    if (site.what == Service::fail_assertion) remove_lanes(warp, mask);
}

void Executor::remove_lanes(Warp& warp, std::uint32_t mask) {
    for (Level& level : warp.stack) level.mask &= ~mask;
}

void Executor::trap(Warp& warp, const Block& block) {
    const std::uint32_t mask = lanes_at_end(warp, block);
    warp.stack.back().block = warp.block + 1;
    if (mask == 0) return;
    const std::uint64_t thread = std::uint64_t{warp.index} * kWarpLanes + lowest_bit(mask);
    throw KernelFault(KernelFault::Kind::trap,
                      fmt::format("{}:{}: kernel {}: thread {} of CTA {} executed trap", launch_.module.file_name(), block.line,
                                  in_quotes(program_.name), position(config_.block, thread), position(config_.grid, warp.cta)));
}

void Executor::check_fault() const {
    if (!assertions_.empty()) throw KernelFault(KernelFault::Kind::assertion, assertions_);
}

}  // namespace mergelane::ptx
