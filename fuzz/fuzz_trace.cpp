// SPDX-License-Identifier: MIT
// Any bytes given as a trace must be replayed or rejected with an InputError of one printable line. Bytes that begin like an .xz file are
// treated as one; a first line "@list" makes the rest a kernelslist.g, "@xz" a trace that is packed into a correct .xz file, "@raw" a
// .tracez. "@tracez", a line break, a byte with the instructions per sub-chunk and one of options make the rest a trace that is packed into
// a .tracez, which is then damaged as the bytes behind the first two 0xFD say.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "workload/accelsim/kernel_list.hpp"
#include "workload/accelsim/traced_kernel.hpp"
#include "xz.hpp"

#include "../tests/support/tracez_writer.hpp"

namespace {

using namespace mergelane;

constexpr std::uint64_t kMostCtas = 16;
constexpr std::uint64_t kMostInstructions = 20'000;

void require(bool condition) {
    if (!condition) std::abort();
}

int file_of(std::string_view bytes) {
    const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
    require(file >= 0);
    while (!bytes.empty()) {
        const ssize_t put = ::write(file, bytes.data(), bytes.size());
        require(put > 0);
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    ::lseek(file, 0, SEEK_SET);
    return file;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
    return std::rotl((hash ^ value) * 0x9E3779B97F4A7C15ull, 29);
}

/// The next run of a warp into its hash; false when there is none.
bool step(CtaStream& stream, std::uint32_t warp, std::uint64_t& hash) {
    Run run;
    if (!stream.next_run(warp, run)) {
        require(!stream.next_run(warp, run));
        return false;
    }
    require(run.count != 0);
    for (std::uint32_t i = 0; i < run.count; ++i) {
        const StaticInst& inst = run.first[i];
        require(inst.reg_count <= StaticInst::kMaxRegs && inst.dst_count <= inst.reg_count);
        for (std::uint32_t r = 0; r < inst.reg_count; ++r) require(inst.regs[r] < 255);
        hash = mix(mix(mix(hash, inst.pc), run.active), static_cast<std::uint64_t>(inst.op));
        if (run.active == 0 || inst.op < OpClass::load || inst.op > OpClass::atomic) continue;
        require(inst.lane_bytes >= 1 && inst.lane_bytes <= 16);
        LaneAddresses lanes;
        stream.addresses(warp, inst, run.active, lanes);
        lanes.expand(run.active);
        for (std::uint32_t active = run.active; active != 0; active &= active - 1)
            hash = mix(hash, lanes.of(static_cast<std::uint32_t>(std::countr_zero(active))));
    }
    return true;
}

/// Warps in turn and warps one after the other must see the same.
void replay(const KernelSource& kernel) {
    const auto in_turn = kernel.make_stream();
    const auto one_by_one = kernel.make_stream();
    const std::uint32_t warps = kernel.info().warps_per_cta();
    std::uint64_t budget = kMostInstructions;
    for (std::uint64_t cta = 0; cta < std::min(kernel.info().ctas(), kMostCtas); ++cta) {
        std::vector<std::uint64_t> hashes(warps, 0);
        std::vector<bool> live(warps, true);
        in_turn->open(cta);
        for (bool any = true; any;) {
            any = false;
            for (std::uint32_t w = 0; w < warps; ++w) {
                if (budget-- == 0) return;
                if (live[w]) live[w] = step(*in_turn, w, hashes[w]);
                any = any || live[w];
            }
        }
        one_by_one->open(cta);
        for (std::uint32_t w = warps; w-- > 0;) {
            std::uint64_t hash = 0;
            while (step(*one_by_one, w, hash)) {
            }
            require(hash == hashes[w]);
        }
    }
}

/// Two bytes and a text; behind two 0xFD changes of four bytes: the part of the file, the place in it (two bytes), the new value.
std::string tracez_of(std::string_view rest) {
    if (rest.size() < 2) return {};
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(rest[at]); };
    testing::TracezOptions options;
    options.chunk = byte(0);
    options.dictionary = (byte(1) & 1) != 0;
    options.content_size = (byte(1) & 2) == 0;
    rest.remove_prefix(2);
    const std::size_t end = std::min(rest.find("\xFD\xFD"), rest.size());
    testing::TracezFileParts file = testing::TracezWriter(options).write(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 2));
    for (; rest.size() >= 4; rest.remove_prefix(4)) {
        const std::size_t parts[] = {file.dictionary_size_at, file.data_at, file.index_at, file.bytes.size() - 8};
        const std::size_t at = parts[byte(0) % 4] + (byte(1) | std::size_t{byte(2)} << 8);
        if (at < file.bytes.size()) file.bytes[at] = rest[3];
    }
    return file.bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::string_view kList = "@list\n";
    constexpr std::string_view kPacked = "@xz\n";
    constexpr std::string_view kTracez = "@tracez\n";
    constexpr std::string_view kRaw = "@raw\n";
    constexpr std::string_view kXz =
        "\xFD"
        "7zXZ";
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    std::string packed;
    accelsim::Packing packing = accelsim::Packing::none;
    if (bytes.starts_with(kTracez)) {
        packed = tracez_of(bytes.substr(kTracez.size()));
        bytes = packed;
        packing = accelsim::Packing::tracez;
    } else if (bytes.starts_with(kRaw)) {
        bytes.remove_prefix(kRaw.size());
        packing = accelsim::Packing::tracez;
    } else if (bytes.starts_with(kPacked)) {
        packed = xz_of(bytes.substr(kPacked.size()));
        bytes = packed;
    }
    if (packing == accelsim::Packing::none && bytes.starts_with(kXz)) packing = accelsim::Packing::xz;
    int list = -1;
    try {
        if (packing == accelsim::Packing::none && bytes.starts_with(kList)) {
            list = file_of(bytes.substr(kList.size()));
            accelsim::ReplayOptions options;
            options.warn = [](const std::string& text) { require(text.size() < 500); };
            const auto workload = accelsim::open_trace("/proc/self/fd/" + std::to_string(list), options);
            while (const KernelSource* kernel = workload->next_kernel()) replay(*kernel);
        } else {
            replay(accelsim::TracedKernel(std::make_unique<accelsim::TraceFile>(file_of(bytes), "fuzz.traceg", packing)));
        }
    } catch (const InputError& error) {
        const std::string_view message = error.what();
        require(!message.empty() && message.size() < 500);
        require(std::all_of(message.begin(), message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    }
    if (list >= 0) ::close(list);
    return 0;
}
