// SPDX-License-Identifier: MIT
// Any bytes given as a trace file must be read completely or rejected with an InputError. The first byte selects: 0, the rest is a file,
// with checksums ignored; otherwise the rest is cut into the parts of a file, which is assembled from them, so that the fuzzer need not
// know the packing.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "read_kernel.hpp"
#include "workload/tracefile/format.hpp"
#include "workload/tracefile/trace_file.hpp"

namespace {

using namespace mergelane;

/// Up to the next 0xFD 0xFD.
std::string_view take(std::string_view& rest) {
    const std::size_t end = rest.find("\xFD\xFD");
    const std::string_view part = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 2);
    return part;
}

/// Parts: program, CTA 0, CTA 1.
std::string build(std::string_view rest) {
    using namespace tracefile;
    Packer packer;
    std::string packed;
    std::string file(kHeaderBytes, '\0');
    file.replace(0, kMagic.size(), kMagic);
    file[kMagic.size()] = kVersion;
    const auto add = [&](std::string_view raw, bool with_dictionary) {
        Block block{file.size(), 0, raw.size()};
        packer.pack(raw, block.offset, with_dictionary, packed);
        block.packed = packed.size() - kHashBytes;
        file += packed;
        return block;
    };
    const std::string_view program = take(rest);
    KernelEntry entry;
    entry.info.grid = {2, 1, 1};
    entry.info.block = {96, 1, 1};
    entry.info.register_slots = 64;
    entry.first_cta = file.size();
    std::string table;
    for (int cta = 0; cta < 2; ++cta) {
        const std::string_view raw = take(rest);
        const Block block = add(raw, cta != 0);
        if (cta == 0) packer.set_dictionary(raw.substr(0, kDictionaryBytes));
        put_varint(table, block.packed);
        put_varint(table, block.raw);
    }
    entry.program = add(program, false);
    entry.table = add(table, false);
    const Block index = add(encode_index({"fuzz", "fuzz", {entry}}), false);
    put_u64(file, index.offset);
    put_u64(file, index.packed);
    put_u64(file, index.raw);
    put_u64(file, 0);
    return file + std::string(kEndMagic);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::string bytes = data[0] == 0 ? std::string(rest) : build(rest);
    try {
        const tracefile::TraceFile file(file_of(bytes), "fuzz.mlt", tracefile::Checksums::ignore);
        for (std::size_t k = 0; k < file.index().kernels.size() && k < 4; ++k) read_kernel(*file.kernel(k));
    } catch (const InputError& error) {
        check_message(error);
    }
    return 0;
}
