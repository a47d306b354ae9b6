// SPDX-License-Identifier: MIT
#include "workload/record/recorded_kernel.hpp"

#include <bit>
#include <utility>

#include "core/bits.hpp"
#include "core/error.hpp"

namespace mergelane::record {

namespace {

[[noreturn]] void damaged() {
    throw InputError("a recorded CTA is damaged; record it again");
}

std::uint64_t read_varint(const char*& at, const char* end) {
    std::uint64_t value = 0;
    for (std::uint32_t shift = 0; at != end && shift < 64; shift += 7) {
        const auto byte = static_cast<std::uint8_t>(*at++);
        value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
        if (byte < 0x80) return value;
    }
    damaged();
}

class RecordedStream final : public CtaStream {
public:
    explicit RecordedStream(const RecordedKernel& kernel)
        : kernel_(kernel),
          warps_(kernel.info().warps_per_cta()),
          predictions_(std::size_t{kernel.info().warps_per_cta()} * kernel.memory_count()) {}

    void open(std::uint64_t cta) override {
        const std::string& bytes = kernel_.cta(cta);
        const char* at = bytes.data();
        const char* const end = at + bytes.size();
        std::fill(predictions_.begin(), predictions_.end(), Prediction{});
        for (Cursor& warp : warps_) {
            warp = {};
            warp.bytes = bytes.empty() ? 0 : read_varint(at, end);
        }
        for (Cursor& warp : warps_) {
            if (warp.bytes > static_cast<std::uint64_t>(end - at)) damaged();
            warp.at = at;
            at += warp.bytes;
            warp.end = at;
        }
    }

    bool next_run(std::uint32_t index, Run& run) override {
        Cursor& warp = warps_[index];
        if (warp.at == warp.end) return false;
        const std::uint64_t head = read_varint(warp.at, warp.end);
        const std::uint32_t code = head & 3;
        warp.run = static_cast<std::uint32_t>(warp.run + unzigzag(head >> 2));
        if (code != 0) {
            std::uint32_t mask = code == 1 ? warp.masks.before : 0xFFFFFFFFu;
            if (code == 3) {
                if (warp.end - warp.at < 4) damaged();
                mask = 0;
                for (std::uint32_t i = 0; i < 4; ++i) mask |= std::uint32_t{static_cast<std::uint8_t>(*warp.at++)} << 8 * i;
            }
            warp.masks.before = warp.masks.now;
            warp.masks.now = mask;
        }
        if (warp.run >= kernel_.runs().size()) damaged();
        const StaticRun& fixed = kernel_.runs()[warp.run];
        run = {kernel_.instructions().data() + fixed.first, fixed.count, warp.masks.now};
        return true;
    }

    void addresses(std::uint32_t index, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
        Cursor& warp = warps_[index];
        if (warp.at == warp.end) damaged();
        const auto head = static_cast<std::uint8_t>(*warp.at++);
        const std::uint8_t shape = head & 0x7F;
        Prediction& last = predictions_[std::size_t{index} * kernel_.memory_count() + kernel_.memory_of(inst)];
        if ((head & kSameMove) == 0) last.move = unzigzag(read_varint(warp.at, warp.end));
        last.base += static_cast<Addr>(last.move);
        out.affine = shape <= kStrideFollows;
        if (out.affine) {
            out.base = last.base;
            out.stride = shape < kStrideFollows ? kStrides[shape] : unzigzag(read_varint(warp.at, warp.end));
            return;
        }
        if (shape == kDeltas)
            read_deltas(warp, last.base, active, out);
        else
            read_pieces(warp, last.base, shape - std::uint32_t{kPieces}, active, out);
    }

private:
    struct Cursor {
        const char* at = nullptr;
        const char* end = nullptr;
        std::uint64_t bytes = 0;
        std::uint32_t run = 0;
        MaskHistory masks;
    };

    static void read_deltas(Cursor& warp, Addr here, std::uint32_t active, LaneAddresses& out) {
        out.lane[lowest_bit(active)] = here;
        for (std::uint32_t left = active & (active - 1); left != 0; left &= left - 1)
            out.lane[lowest_bit(left)] = here += static_cast<Addr>(unzigzag(read_varint(warp.at, warp.end)));
    }

    /// Few pieces are handed on as runs, more of them as a list.
    static void read_pieces(Cursor& warp, Addr here, std::uint32_t pieces, std::uint32_t active, LaneAddresses& out) {
        const bool as_runs = pieces <= LaneAddresses::kMostRuns;
        std::uint32_t left = active;  // lanes without an address yet
        auto lanes = static_cast<std::uint32_t>(std::popcount(active));
        for (std::uint32_t piece = 0; piece < pieces; ++piece) {
            if (piece > 0) here += static_cast<Addr>(unzigzag(read_varint(warp.at, warp.end)));
            const std::uint64_t more = read_varint(warp.at, warp.end);
            if (more >= lanes) damaged();
            const auto count = static_cast<std::uint32_t>(more) + 1;
            lanes -= count;
            const std::int64_t stride = count == 1 ? 0 : unzigzag(read_varint(warp.at, warp.end));
            if (as_runs) out.runs[piece] = {here, stride, count};
            for (std::uint32_t k = 0; !as_runs && k < count; ++k, left &= left - 1)
                out.lane[lowest_bit(left)] = here + static_cast<Addr>(stride) * k;
            here += static_cast<Addr>(stride) * (count - 1);
        }
        if (lanes != 0) damaged();
        if (as_runs) out.run_count = pieces;
    }

    const RecordedKernel& kernel_;
    std::vector<Cursor> warps_;
    std::vector<Prediction> predictions_;
};

}  // namespace

RecordedKernel::RecordedKernel(KernelInfo info, std::vector<StaticInst> instructions, std::vector<StaticRun> runs,
                               std::vector<std::uint32_t> memory_of, std::uint32_t memory_count)
    : info_(std::move(info)),
      instructions_(std::move(instructions)),
      runs_(std::move(runs)),
      memory_of_(std::move(memory_of)),
      memory_count_(memory_count),
      ctas_(info_.ctas()) {}

std::unique_ptr<CtaStream> RecordedKernel::make_stream() const {
    return std::make_unique<RecordedStream>(*this);
}

void RecordedKernel::put(std::uint64_t cta, const std::vector<const WarpRecorder*>& warps) {
    std::string bytes;
    std::size_t size = 0;
    for (const WarpRecorder* warp : warps) size += warp->bytes().size() + 5;
    bytes.reserve(size);
    for (const WarpRecorder* warp : warps) {
        std::uint64_t length = warp->bytes().size();
        for (; length >= 0x80; length >>= 7) bytes.push_back(static_cast<char>(length | 0x80));
        bytes.push_back(static_cast<char>(length));
    }
    for (const WarpRecorder* warp : warps) bytes += warp->bytes();
    put_bytes(cta, std::move(bytes));
}

void RecordedKernel::put_bytes(std::uint64_t cta, std::string bytes) {
    totals.bytes += bytes.size();
    ctas_[cta] = std::move(bytes);
}

}  // namespace mergelane::record
