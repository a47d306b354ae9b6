// SPDX-License-Identifier: MIT
#include "workload/record/recorded_kernel.hpp"

#include "core/passing_stream.hpp"

namespace mergelane::record {

namespace {

class RecordedStream final : public PassingStream {
public:
    explicit RecordedStream(const RecordedKernel& kernel)
        : kernel_(kernel), reader_(kernel.program(), kernel.info().warps_per_cta(), "", kernel.open_bytes()) {}

    void open(std::uint64_t cta) override {
        const std::string& bytes = kernel_.cta(cta);
        reader_.start(cta);
        reader_.open(bytes.data(), bytes.data() + bytes.size());
    }
    bool next_run(std::uint32_t warp, Run& run) override { return reader_.next_run(warp, run); }
    void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
        reader_.addresses(warp, inst, active, out);
    }
    void pass_addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active) override { reader_.pass(warp, inst, active); }

private:
    const RecordedKernel& kernel_;
    CtaReader reader_;
};

}  // namespace

std::unique_ptr<CtaStream> RecordedKernel::make_stream() const {
    return std::make_unique<RecordedStream>(*this);
}

void RecordedKernel::put(std::uint64_t cta, const std::vector<const WarpRecorder*>& warps) {
    std::string bytes;
    std::size_t size = 0;
    for (const WarpRecorder* warp : warps) size += warp->bytes().size() + 5;
    bytes.reserve(size);
    for (const WarpRecorder* warp : warps) put_varint(bytes, warp->bytes().size());
    for (const WarpRecorder* warp : warps) bytes += warp->bytes();
    put_bytes(cta, std::move(bytes));
}

void RecordedKernel::put_bytes(std::uint64_t cta, std::string bytes) {
    totals.bytes += bytes.size();
    ctas_[cta] = std::move(bytes);
}

}  // namespace mergelane::record
