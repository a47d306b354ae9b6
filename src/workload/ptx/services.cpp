// SPDX-License-Identifier: MIT
// Functions of the device runtime that have no PTX body: printf, assert, malloc and free, launches; and trap.
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
    std::initializer_list<std::uint32_t> bytes;  ///< of each argument
};
constexpr ServiceRow kServices[] = {
    {"vprintf", Service::print, {8, 8}},
    {"__assertfail", Service::fail_assertion, {8, 8, 4, 8, 8}},
    {"malloc", Service::allocate, {8}},
    {"free", Service::release, {8}},
};
/// Device-side launches. Programs call functions with the first prefix, of which libcudadevrt defines some by those with the second one;
/// both have the same arguments. Before CUDA 12 it was the third one.
constexpr std::string_view kLaunchPrefixes[] = {"__cudaCDP2", "__cuda_syscall_cnpv2", "cuda"};
constexpr ServiceRow kLaunchServices[] = {
    {"Malloc", Service::cuda_allocate, {8, 8}},
    {"Free", Service::cuda_release, {8}},
    {"GetParameterBufferV2", Service::launch_buffer, {8, 12, 12, 4}},
    {"LaunchDeviceV2", Service::launch, {8, 8}},
    {"StreamCreateWithFlags", Service::make_handle, {8, 4}},
    {"StreamCreate", Service::make_handle, {8, 4}},
    {"EventCreateWithFlags", Service::make_handle, {8, 4}},
    {"EventCreate", Service::make_handle, {8, 4}},
    {"StreamDestroy", Service::succeed, {8}},
    {"StreamWaitEvent", Service::succeed, {8, 8, 4}},
    {"EventRecord", Service::succeed, {8, 8}},
    {"EventDestroy", Service::succeed, {8}},
    {"GetLastError", Service::succeed, {}},
    {"PeekAtLastError", Service::succeed, {}},
    {"SetLastError", Service::succeed, {4}},
};
const ServiceRow* find_row(std::span<const ServiceRow> rows, std::string_view name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const ServiceRow& row) { return row.name == name; });
    return found == rows.end() ? nullptr : &*found;
}
const ServiceRow* find_service(std::string_view name) {
    if (const ServiceRow* const row = find_row(kServices, name)) return row;
    for (const std::string_view prefix : kLaunchPrefixes) {
        if (name.starts_with(prefix)) return find_row(kLaunchServices, name.substr(prefix.size()));
    }
    return nullptr;
}

/// The bytes from a generic address of a lane to the end of that memory; empty: it points nowhere.
std::span<std::byte> bytes_from(const Warp& warp, std::uint32_t lane, Addr address) {
    const auto within = [](std::byte* memory, std::uint64_t size, Addr offset) -> std::span<std::byte> {
        if (offset >= size) return {};
        return {memory + offset, size - offset};
    };
    if (address - kSharedWindow < kWindowBytes) return within(warp.shared, warp.shared_bytes, address - kSharedWindow);
    if (address - kLocalWindow < kWindowBytes) {
        const std::size_t size = warp.launch->program.local_bytes;
        return within(warp.local + lane * size, size, address - kLocalWindow);
    }
    const DeviceMemory::Range range = warp.launch->memory.find(address);
    return range.host == nullptr ? std::span<std::byte>{} : within(range.host, range.bytes, address - range.base);
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
    if (arguments.size() != row.bytes.size() || results.size() > 1)
        fail("{} has {} arguments, but the call gives {}; make them agree", in_quotes(name), row.bytes.size(), arguments.size());
    ServiceSite site;
    site.what = row.what;
    for (std::size_t k = 0; k < arguments.size(); ++k) {
        const Place place = call_parameter(arguments[k]);
        const std::uint32_t bytes = row.bytes.begin()[k];
        if (place.bytes < bytes)
            fail("argument {} of {} needs {} bits; declare it .param .b{}", k + 1, in_quotes(name), bytes * 8, bytes * 8);
        site.arguments[k] = static_cast<std::uint32_t>(place.offset);
    }
    if (!results.empty()) {
        const Place place = call_parameter(results[0]);
        site.result = static_cast<std::uint32_t>(place.offset);
        site.result_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(place.bytes, 8));
    }
    program_->prints = program_->prints || row.what == Service::print;
    if (row.what == Service::launch) program_->untimed = name;
    block.how = End::service;
    block.target = static_cast<std::uint32_t>(program_->services.size());
    program_->services.push_back(site);
}

/// Device-side launches and what belongs to them. The result is an error code, or the address of the memory for parameters.
std::uint64_t Executor::serve_launch(Warp& warp, const ServiceSite& site, std::uint32_t lane) {
    constexpr std::uint64_t kOutOfMemory = 2, kInvalidHandle = 1;
    constexpr std::uint64_t kHandle = 0x100;  // not one of the streams with fixed numbers
    const std::byte* const params = warp.call_params + std::size_t{lane} * program_.parameter_bytes;
    const std::span<const std::byte> bytes(params, program_.parameter_bytes);
    const auto argument = [&](std::size_t k) { return number_at(bytes, site.arguments[k], 8); };
    const auto word = [&](std::size_t k, std::uint32_t n) {
        return static_cast<std::uint32_t>(number_at(bytes, site.arguments[k] + 4 * n, 4));
    };
    const auto give = [&](std::uint64_t value) {
        const std::span<std::byte> to = bytes_from(warp, lane, argument(0));
        if (to.size() < sizeof value) return kInvalidHandle;
        std::memcpy(to.data(), &value, sizeof value);
        return std::uint64_t{0};
    };
    if (site.what == Service::make_handle) return give(kHandle);
    if (site.what == Service::cuda_allocate) {
        const Addr made = launch_.memory.heap().allocate(launch_.memory, argument(1));
        const std::uint64_t status = give(made);
        return made == 0 ? kOutOfMemory : status;
    }
    if (site.what == Service::cuda_release) {
        return argument(0) == 0 || launch_.memory.heap().release(argument(0)) ? 0 : kInvalidHandle;
    }
    if (site.what == Service::launch) return children_.launch(argument(0), argument(1));
    if (site.what != Service::launch_buffer) return 0;
    LaunchConfig config;
    config.grid = {word(1, 0), word(1, 1), word(1, 2)};
    config.block = {word(2, 0), word(2, 1), word(2, 2)};
    config.dynamic_shared = word(3, 0);
    return children_.prepare(launch_.memory, launch_.module, argument(0), config);
}

std::uint64_t Executor::serve(Warp& warp, const ServiceSite& site, std::uint32_t lane) {
    const std::byte* const params = warp.call_params + std::size_t{lane} * program_.parameter_bytes;
    const std::span<const std::byte> bytes(params, program_.parameter_bytes);
    const auto argument = [&](std::size_t k) { return number_at(bytes, site.arguments[k], 8); };
    switch (site.what) {
        case Service::print: {
            if (!options_.print) return 0;
            const Printed printed = print(warp, lane, argument(0), argument(1));
            options_.print(printed.text);
            return printed.arguments;
        }
        case Service::fail_assertion:
            if (assertions_.size() > kMostAssertions) return 0;
            assertions_ +=
                fmt::format("{}{}:{}: {}: block: {}, thread: {} Assertion `{}` failed.", assertions_.empty() ? "" : "\n",
                            text_at(warp, lane, argument(1)), number_at(bytes, site.arguments[2], 4), text_at(warp, lane, argument(3)),
                            position(config_.grid, warp.cta), position(config_.block, std::uint64_t{warp.index} * kWarpLanes + lane),
                            text_at(warp, lane, argument(0)));
            return 0;
        case Service::allocate: return launch_.memory.heap().allocate(launch_.memory, argument(0));
        case Service::release:
            if (argument(0) != 0 && !launch_.memory.heap().release(argument(0)))
                fail("CTA {} frees {:#x}, which malloc did not return", warp.cta, argument(0));
            return 0;
        default: return serve_launch(warp, site, lane);
    }
}

/// Lane after lane, in order. Lanes whose assertion failed end; the launch fails when their CTA has ended, too.
void Executor::service(Warp& warp, const Block& block) {
    const std::uint32_t mask = lanes_at_end(warp, block);
    const ServiceSite& site = program_.services[block.target];
    warp.stack.back().block = warp.block + 1;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const std::uint32_t lane = lowest_bit(left);
        const std::uint64_t result = serve(warp, site, lane);
        std::byte* const params = warp.call_params + std::size_t{lane} * program_.parameter_bytes;
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
