// SPDX-License-Identifier: MIT
// Hand-made trace files: correct format and checksums, with whatever error a test wants.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "workload/tracefile/format.hpp"
#include "workload/tracefile/program_text.hpp"
#include "workload/tracefile/trace_file.hpp"

namespace mergelane::testing {

struct TraceForge {
    /// One kernel of two CTAs of two warps; each warp loads once, 128 bytes.
    TraceForge() {
        info.name = "forged";
        info.grid = {2, 1, 1};
        info.block = {64, 1, 1};
        info.register_slots = 4;
        StaticInst load;
        load.op = OpClass::load;
        load.dst_count = load.reg_count = 1;
        load.regs[0] = 3;
        program = tracefile::encode_program({load}, {{0}}, {0x1000});
        // Form, one memory instruction (number 0, both warps) at 0x1000 and 0x1080, two strings of two bytes: run 0, stride 4.
        const std::string cta = {0, 1, 0, 0, '\x80', 2, 2, 2, 0, '\x81', 0, '\x81'};
        ctas = {cta, cta};
    }

    KernelInfo info;
    std::string program;
    std::vector<std::string> ctas;
    std::function<void(tracefile::KernelEntry&)> change_entry;
    std::function<void(std::string&)> change_table;
    std::function<void(std::string&)> change_index;  ///< unpacked
    std::function<void(tracefile::Block&)> change_footer;
    std::function<void(std::size_t, std::string&)> change_frame;  ///< of a CTA: hash and frame; the hash is renewed

    std::string bytes() const {
        using namespace tracefile;
        Packer packer;
        std::string packed;
        std::string file(kMagic);
        put_u32(file, kVersion);
        put_u32(file, 0);
        put_u64(file, hash(file));
        const auto add = [&](const std::string& raw, bool with_dictionary, std::size_t cta = ~std::size_t{0}) {
            Block block{file.size(), 0, raw.size()};
            packer.pack(raw, block.offset, with_dictionary, packed);
            if (cta != ~std::size_t{0} && change_frame) {
                change_frame(cta, packed);
                std::string sum;
                put_u64(sum, hash(std::string_view(packed).substr(kHashBytes), block.offset));
                packed.replace(0, kHashBytes, sum);
            }
            block.packed = packed.size() - kHashBytes;
            file += packed;
            return block;
        };
        KernelEntry entry;
        entry.info = info;
        entry.first_cta = file.size();
        std::string table;
        for (std::size_t c = 0; c < ctas.size(); ++c) {
            const Block block = add(ctas[c], c != 0, c);
            if (c == 0) packer.set_dictionary(ctas[0].substr(0, kDictionaryBytes));
            put_varint(table, block.packed);
            put_varint(table, block.raw);
        }
        entry.program = add(program, false);
        if (change_table) change_table(table);
        entry.table = add(table, false);
        if (change_entry) change_entry(entry);
        std::string index = encode_index({"forge", "test", {entry}});
        if (change_index) change_index(index);
        Block block = add(index, false);
        if (change_footer) change_footer(block);
        std::string footer;
        put_u64(footer, block.offset);
        put_u64(footer, block.packed);
        put_u64(footer, block.raw);
        put_u64(footer, hash(footer));
        return file + footer + std::string(kEndMagic);
    }
};

inline std::unique_ptr<tracefile::TraceFile> open_bytes(std::string_view bytes,
                                                        tracefile::Checksums checksums = tracefile::Checksums::verify) {
    const int file = ::memfd_create("trace", 0);
    if (file < 0 || ::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
        throw std::runtime_error("cannot make a file in memory");
    return std::make_unique<tracefile::TraceFile>(file, "forged.mlt", checksums);
}

/// Reads all there is; returns the number of warp instructions.
inline std::uint64_t read_everything(const KernelSource& kernel) {
    std::uint64_t count = 0;
    const std::unique_ptr<CtaStream> stream = kernel.make_stream();
    LaneAddresses lanes;
    for (std::uint64_t cta = 0; cta < kernel.info().ctas(); ++cta) {
        stream->open(cta);
        for (std::uint32_t warp = 0; warp < kernel.info().warps_per_cta(); ++warp) {
            mergelane::Run run;
            while (stream->next_run(warp, run)) {
                count += run.count;
                for (std::uint32_t i = 0; i < run.count && run.active != 0; ++i) {
                    if (is_memory(run.first[i])) stream->addresses(warp, run.first[i], run.active, lanes);
                }
            }
        }
    }
    return count;
}
inline std::uint64_t read_everything(const tracefile::TraceFile& file) {
    std::uint64_t count = 0;
    for (std::size_t k = 0; k < file.index().kernels.size(); ++k) count += read_everything(*file.kernel(k));
    return count;
}

}  // namespace mergelane::testing
