// SPDX-License-Identifier: MIT
#include "workload/tracefile/writer.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/error.hpp"
#include "files/atomic_file.hpp"
#include "workload/tracefile/cta_encoder.hpp"
#include "workload/tracefile/format.hpp"
#include "workload/tracefile/program_text.hpp"

namespace mergelane::tracefile {

class TraceWriter {
public:
    explicit TraceWriter(const std::string& path) : file_(path) {
        std::string header(kMagic);
        put_u32(header, kVersion);
        put_u32(header, 0);
        put_u64(header, hash(header));
        file_.write(header);
    }

    Block put_block(std::string_view raw, bool with_dictionary) {
        Block block{file_.size(), 0, raw.size()};
        packer_.pack(raw, block.offset, with_dictionary, packed_);
        block.packed = packed_.size() - kHashBytes;
        file_.write(packed_);
        return block;
    }

    void put_kernel(const KernelSource& source, KernelEntry& entry, const std::function<void(std::uint64_t)>& done) {
        const KernelInfo& info = source.info();
        if (info.ctas() > kMostCtas || info.ctas() == 0 || info.warps_per_cta() > kMostWarps)
            throw InputError(fmt::format("kernel '{}' has {} CTAs of {} warps; a trace file holds 1 to {} of up to {}", info.name,
                                         info.ctas(), info.warps_per_cta(), kMostCtas, kMostWarps));
        entry.info = info;
        entry.first_cta = file_.size();
        RunDictionary runs;
        CtaEncoder encoder(runs, info.warps_per_cta());
        const std::unique_ptr<CtaStream> stream = source.make_stream();
        std::string table;
        for (std::uint64_t cta = 0; cta < info.ctas(); ++cta) {
            stream->open(cta);
            const std::string& bytes = encoder.encode(*stream);
            const Block block = put_block(bytes, cta != 0);
            if (cta == 0 && info.ctas() > 1) packer_.set_dictionary(std::string_view(bytes).substr(0, kDictionaryBytes));
            put_varint(table, block.packed);
            put_varint(table, block.raw);
            done(cta + 1);
        }
        packer_.drop_dictionary();
        entry.info.register_slots = runs.register_slots();
        entry.warp_instructions = encoder.warp_instructions;
        entry.thread_instructions = encoder.thread_instructions;
        entry.memory_instructions = encoder.memory_instructions;
        std::vector<Addr> references = encoder.references();
        references.resize(runs.memory_count());
        std::string program = encode_program(runs.instructions(), runs.runs(), references);
        if (const auto text = source.listing().text; text != nullptr && text->origins.size() <= kMostInstructions)
            put_text_of_program(program, *text, info.registers_from, info.cluster);
        else if (info.cluster_ctas() != 1)
            put_text_of_program(program, {.file = "", .words = {""}, .origins = {}}, info.registers_from, info.cluster);
        if (program.size() > kMostProgramBytes) throw InputError("the program of a kernel takes too much room for a trace file");
        entry.program = put_block(program, false);
        entry.table = put_block(table, false);
    }

    void flush() { file_.flush(); }

    std::uint64_t finish(const Index& index) {
        const std::string bytes = encode_index(index);
        if (bytes.size() > kMostIndexBytes || index.kernels.size() > kMostKernels)
            throw InputError("the workload has too many kernels for one trace file; record some of them with --kernels");
        const Block block = put_block(bytes, false);
        std::string footer;
        put_u64(footer, block.offset);
        put_u64(footer, block.packed);
        put_u64(footer, block.raw);
        put_u64(footer, hash(footer));
        footer += kEndMagic;
        file_.write(footer);
        const std::uint64_t size = file_.size();
        file_.commit();
        return size;
    }

private:
    AtomicFile file_;
    Packer packer_;
    std::string packed_;
};

struct TraceRecorder::State {
    TraceWriter writer;
    Index index;
    WriteOptions options;
    WriteTotals totals;
};

TraceRecorder::TraceRecorder(const std::string& path, std::string source, WriteOptions options)
    : state_(new State{TraceWriter(path), {}, std::move(options), {}}) {
    state_->index.source = std::move(source);
    state_->index.writer = state_->options.writer;
}

TraceRecorder::~TraceRecorder() = default;

void TraceRecorder::add(const KernelSource& kernel) {
    State& s = *state_;
    KernelEntry& entry = s.index.kernels.emplace_back();
    s.writer.put_kernel(kernel, entry, [&](std::uint64_t done) {
        if (s.options.progress) s.options.progress({s.index.kernels.size(), done, kernel.info().ctas()});
    });
    s.writer.flush();
    s.totals.ctas += entry.info.ctas();
    s.totals.warp_instructions += entry.warp_instructions;
    s.totals.memory_instructions += entry.memory_instructions;
}

WriteTotals TraceRecorder::finish() {
    State& s = *state_;
    if (s.index.kernels.empty()) throw InputError(fmt::format("'{}' has no kernels to record", s.index.source));
    s.totals.kernels = s.index.kernels.size();
    s.totals.bytes = s.writer.finish(s.index);
    return s.totals;
}

WriteTotals write_trace(Workload& workload, const std::string& path, const WriteOptions& options) {
    TraceRecorder recorder(path, workload.name(), options);
    while (const KernelSource* kernel = workload.next_kernel()) recorder.add(*kernel);
    return recorder.finish();
}

}  // namespace mergelane::tracefile
