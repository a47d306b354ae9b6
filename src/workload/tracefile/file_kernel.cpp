// SPDX-License-Identifier: MIT
#include "workload/tracefile/file_kernel.hpp"

#include <fmt/format.h>

#include "core/bits.hpp"
#include "core/passing_stream.hpp"
#include "workload/record/cta_reader.hpp"

namespace mergelane::tracefile {

namespace {

class FileStream final : public PassingStream {
public:
    explicit FileStream(const FileKernel& kernel)
        : kernel_(kernel), reader_(kernel.program().program, kernel.info().warps_per_cta(), kernel.prefix(), kernel.open_bytes()) {}

    void open(std::uint64_t cta) override {
        const Block block = kernel_.cta(cta);
        if (block.raw > room_) {
            bytes_.reset();
            reader_.claim(block.raw - room_);
            room_ = block.raw;
            bytes_.reset(new char[room_]);  // not cleared: it is about to be written
        }
        try {
            kernel_.file().unpack(block, bytes_.get(), kernel_.dictionary(cta), "CTA");
        } catch (const Damage& damage) {
            kernel_.file().fail(fmt::format("{}CTA {} is damaged: {}; record it again", kernel_.where(), cta, damage.what));
        }
        reader_.start(cta);
        const char* at = bytes_.get();
        const char* const end = at + block.raw;
        if (at == end || *at++ != '\0') reader_.damaged();
        read_firsts(at, end);
        reader_.open(at, end);
    }

    bool next_run(std::uint32_t warp, Run& run) override { return reader_.next_run(warp, run); }
    void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
        reader_.addresses(warp, inst, active, out);
    }
    void pass_addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active) override { reader_.pass(warp, inst, active); }

private:
    void read_firsts(const char*& at, const char* end) {
        const std::vector<Addr>& references = kernel_.program().references;
        const std::uint64_t all = low_bits(kernel_.info().warps_per_cta());
        std::uint64_t memory = 0;
        for (std::uint64_t left = reader_.varint(at, end); left != 0; --left, ++memory) {
            const std::uint64_t head = reader_.varint(at, end);
            if (head >> 1 >= references.size() || (memory += head >> 1) >= references.size()) reader_.damaged();
            std::uint64_t seen = (head & 1) != 0 ? reader_.varint(at, end) : all;
            if (seen == 0 || (seen & ~all) != 0) reader_.damaged();
            Addr base = references[memory];
            Addr step = 0;
            for (bool first = true; seen != 0; seen &= seen - 1, first = false) {
                step += static_cast<Addr>(record::unzigzag(reader_.varint(at, end)));
                base += step;
                if (first) step = 0;
                reader_.expect(lowest_bit(seen), static_cast<std::uint32_t>(memory), base);
            }
        }
    }

    const FileKernel& kernel_;
    record::CtaReader reader_;
    std::unique_ptr<char[]> bytes_;
    std::uint64_t room_ = 0;
};

}  // namespace

FileKernel::FileKernel(const TraceFile& file, std::size_t number)
    : file_(file),
      entry_(file.index().kernels[number]),
      info_(entry_.info),
      prefix_(fmt::format("{}: kernel {}: ", file.name(), number + 1)) {
    try {
        load();
    } catch (const Damage& damage) {
        file_.fail(fmt::format("{}{}; record it again", where(), damage.what));
    }
}

void FileKernel::load() {
    const auto unpacked = [&](const Block& block, std::string_view what) {
        if (!Unpacker::plausible(block.raw, block.packed)) throw Damage{fmt::format("its {} has an impossible size", what)};
        std::string raw(block.raw, '\0');
        try {
            file_.unpack(block, raw.data(), nullptr, fmt::format("{}its {}", where(), what));
        } catch (const Damage& damage) {
            throw Damage{what == "CTA 0" ? fmt::format("its CTA 0 is damaged: {}", damage.what) : damage.what};
        }
        return raw;
    };
    try {
        program_ = decode_program(unpacked(entry_.program, "program"), entry_.info.register_slots);
        info_.registers_from = program_.registers_from;
        info_.cluster = program_.cluster;
        if (!fits_grid(info_.cluster, info_.grid)) throw Damage{"its grid cannot be divided into its clusters of CTAs"};
    } catch (const Damage& damage) {
        throw Damage{fmt::format("its program is damaged: {}", damage.what)};
    }
    try {
        read_table(unpacked(entry_.table, "CTA table"));
    } catch (const Damage& damage) {
        throw Damage{fmt::format("its CTA table is damaged: {}", damage.what)};
    }
    if (entry_.info.ctas() > 1) {
        const std::string first = unpacked(cta(0), "CTA 0");
        dictionary_ = std::make_unique<UnpackDictionary>(std::string_view(first).substr(0, kDictionaryBytes));
    }
}

void FileKernel::read_table(std::string_view table) {
    Scanner in(table);
    const std::uint64_t ctas = entry_.info.ctas();
    offsets_.reserve(ctas + 1);
    raw_.reserve(ctas);
    offsets_.push_back(entry_.first_cta);
    for (std::uint64_t c = 0; c < ctas; ++c) {
        const std::uint64_t packed = in.varint();
        const std::uint64_t raw = in.at_most(kMostCtaBytes, "the unpacked size of a CTA");
        const std::uint64_t room = entry_.program.offset - offsets_.back();
        if (room < kHashBytes || packed > room - kHashBytes) throw Damage{fmt::format("CTA {} lies outside the file", c)};
        if (!Unpacker::plausible(raw, packed)) throw Damage{fmt::format("CTA {} has an impossible size", c)};
        offsets_.push_back(offsets_.back() + kHashBytes + packed);
        raw_.push_back(static_cast<std::uint32_t>(raw));
    }
    if (offsets_.back() != entry_.program.offset || !in.at_end()) throw Damage{"it does not fit the CTAs"};
}

std::unique_ptr<CtaStream> FileKernel::make_stream() const {
    return std::make_unique<FileStream>(*this);
}

}  // namespace mergelane::tracefile
