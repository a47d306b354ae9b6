// SPDX-License-Identifier: MIT
#include "workload/array/array_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "core/structure.hpp"
#include "workload/record/recorder.hpp"

namespace mergelane {

namespace {

constexpr std::uint32_t kAccumulators = 4;
// A program that is longer is a loop: reports by instruction, and their counters on every SM, stay small.
constexpr std::uint64_t kMostPositions = 1024;
constexpr std::uint64_t kMostStatic = 65536;

void check(std::string_view name, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value < least || value > most) throw InputError(fmt::format("{} is {}; it must be from {} to {}", name, value, least, most));
}

void check(const ArrayParams& p) {
    check("the number of CTAs", p.ctas, 1, std::uint64_t{1} << 28);
    check("the number of warps per CTA", p.warps, 1, 32);
    if (!std::has_single_bit(p.lane_bytes) || p.lane_bytes > 16)
        throw InputError(fmt::format("size is {}; it must be 1, 2, 4, 8 or 16", p.lane_bytes));
    check("in_flight", p.in_flight, 1, ArrayParams::kMostInFlight);
    check("registers", p.registers, 1, 255);
    check("shared_bytes", p.shared_bytes, 0, 1 << 20);
    if (!is_power_of_two(p.lane_bytes)) throw InputError(fmt::format("size is {}; it must be 1, 2, 4, 8 or 16", p.lane_bytes));
    if (p.write.empty() || p.compute.empty()) throw InputError("write and compute must not be empty");
    check("compute", *std::max_element(p.compute.begin(), p.compute.end()), 0, ArrayParams::kMostCompute);
}

template <class T>
T at(const std::vector<T>& values, std::uint64_t index) {
    return values.size() == 1 ? values.front() : values[index];
}

/// The program is a loop over positions. A position has, for a load or a store or both, the access and as many arithmetic instructions as
/// ever follow one; a run is as many of them as follow this one.
class ArrayKernel final : public KernelSource {
public:
    ArrayKernel(ArrayParams values, ArraySource source)
        : params(std::move(values)),
          open(std::move(source)),
          length_(1u + *std::max_element(params.compute.begin(), params.compute.end())) {
        const bool loads = std::find(params.write.begin(), params.write.end(), false) != params.write.end();
        const bool stores = std::find(params.write.begin(), params.write.end(), true) != params.write.end();
        kinds_ = loads && stores ? 2 : 1;
        const std::uint64_t most = std::min(kMostPositions, kMostStatic / (std::uint64_t{length_} * kinds_));
        positions_ = params.instructions;
        if (positions_ == 0 || positions_ > most)  // whole turns of the registers
            positions_ = std::max<std::uint64_t>(most / params.in_flight, 1) * params.in_flight;
        for (std::uint32_t p = 0; p < positions_; ++p) {
            if (loads) add_position(p, OpClass::load);
            if (stores) add_position(p, OpClass::store);
        }
        const auto ctas = static_cast<std::uint32_t>(params.ctas);
        info_ = {params.name,        {ctas, 1, 1}, {params.warps * kWarpLanes, 1, 1}, params.registers, params.in_flight + kAccumulators,
                 params.shared_bytes};
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override;
    Listing listing() const override { return {body_, nullptr}; }

    /// Access `index` of a warp and the arithmetic after it.
    Run run(std::uint64_t index, std::uint32_t active) const {
        const std::uint64_t second = kinds_ == 2 && at(params.write, index) ? length_ : 0;
        return {body_.data() + (index % positions_) * kinds_ * length_ + second, 1u + at(params.compute, index), active};
    }

    const ArrayParams params;
    const ArraySource open;

private:
    StaticInst& add() {
        StaticInst& inst = body_.emplace_back();
        inst.pc = static_cast<std::uint32_t>(body_.size() - 1);
        return inst;
    }
    /// Registers of loads take turns. What follows a load works on the oldest value: with one in flight, on the one just loaded.
    void add_position(std::uint32_t position, OpClass op) {
        const auto slots = static_cast<std::uint16_t>(params.in_flight);
        const auto slot = static_cast<std::uint16_t>(position % slots);
        const auto oldest = static_cast<std::uint16_t>((position + 1) % slots);
        StaticInst& access = add();
        access.op = op;
        access.space = params.space;
        access.lane_bytes = static_cast<std::uint8_t>(params.lane_bytes);
        access.dst_count = op == OpClass::load ? 1 : 0;
        access.reg_count = 1;
        access.regs[0] = op == OpClass::load ? slot : oldest;
        for (std::uint32_t k = 0; k + 1 < length_; ++k) {
            StaticInst& inst = add();
            inst.op = OpClass::fp_mad;
            inst.dst_count = 1;
            inst.reg_count = k == 0 ? 2 : 1;
            inst.regs = {static_cast<std::uint16_t>(slots + k % kAccumulators), oldest};
        }
    }

    std::uint32_t length_;  ///< instructions of a position of one kind
    std::uint32_t kinds_ = 1;
    std::uint64_t positions_ = 1;
    std::vector<StaticInst> body_;
    KernelInfo info_;
};

class ArrayStream final : public CtaStream {
public:
    explicit ArrayStream(const ArrayKernel& kernel) : kernel_(kernel), done_(kernel.params.warps) {}

    void open(std::uint64_t cta) override {
        cta_ = kernel_.open(cta);
        check_cta(cta);
        std::fill(done_.begin(), done_.end(), 0);
    }
    bool next_run(std::uint32_t warp, Run& run) override {
        if (warp >= cta_.warps || done_[warp] == cta_.instructions) return false;
        const std::uint64_t index = done_[warp]++;
        run = kernel_.run(index, active(first_lane(warp, index)));
        return true;
    }
    void addresses(std::uint32_t warp, const StaticInst&, std::uint32_t active, LaneAddresses& out) override {
        const Addr* const lanes = cta_.addresses + first_lane(warp, done_[warp] - 1);
        out.affine = record::find_affine(lanes, active, out.base, out.stride);
        if (!out.affine) std::copy_n(lanes, cta_.lanes, out.lane.begin());
    }

private:
    /// What a source says is not trusted: it may come from a function of the user's.
    void check_cta(std::uint64_t number) const {
        const ArrayParams& p = kernel_.params;
        const auto is_short = [&](std::size_t size) { return size != 1 && size < cta_.instructions; };
        if (cta_.warps > p.warps)
            throw InputError(fmt::format("CTA {} has {} warps, but the CTAs of kernel '{}' have {}", number, cta_.warps, p.name, p.warps));
        if (is_short(p.write.size()) || is_short(p.compute.size()))
            throw InputError(fmt::format("CTA {} of kernel '{}' has {} accesses per warp; write or compute has fewer elements", number,
                                         p.name, cta_.instructions));
        if (cta_.lanes == 0 || cta_.lanes > kWarpLanes)
            throw InputError(fmt::format("CTA {} of kernel '{}' has {} lanes per warp; a warp has 1 to 32", number, p.name, cta_.lanes));
        check_addresses(number);
    }
    /// They may have changed since the kernel was made.
    void check_addresses(std::uint64_t number) const {
        const std::uint64_t count = cta_.warps * cta_.instructions * cta_.lanes;
        const Addr wrong = ~low_bits(kAddressBits) | (kernel_.params.lane_bytes - 1);
        Addr all = 0;
        if (cta_.active == nullptr)
            for (std::uint64_t i = 0; i < count; ++i) all |= cta_.addresses[i];
        else
            for (std::uint64_t i = 0; i < count; ++i) all |= cta_.active[i] != 0 ? cta_.addresses[i] : 0;
        if ((all & wrong) == 0) [[likely]]
            return;
        for (std::uint64_t i = 0; i < count; ++i) {
            if ((cta_.active != nullptr && cta_.active[i] == 0) || (cta_.addresses[i] & wrong) == 0) continue;
            throw InputError(fmt::format(
                "CTA {} of kernel '{}': address {} of warp {}, access {}, lane {} is {}", number, kernel_.params.name,
                static_cast<std::int64_t>(cta_.addresses[i]), i / cta_.lanes / cta_.instructions, i / cta_.lanes % cta_.instructions,
                i % cta_.lanes, cta_.addresses[i] >> kAddressBits != 0 ? "not below 2^48" : "not a multiple of the bytes per lane"));
        }
    }
    std::uint64_t first_lane(std::uint32_t warp, std::uint64_t index) const { return (warp * cta_.instructions + index) * cta_.lanes; }
    std::uint32_t active(std::uint64_t first) const {
        if (cta_.active == nullptr) return static_cast<std::uint32_t>(low_bits(cta_.lanes));
        std::uint32_t mask = 0;
        for (std::uint32_t lane = 0; lane < cta_.lanes; ++lane) mask |= std::uint32_t{cta_.active[first + lane] != 0} << lane;
        return mask;
    }

    const ArrayKernel& kernel_;
    ArrayCta cta_;
    std::vector<std::uint64_t> done_;  ///< accesses, per warp
};

std::unique_ptr<CtaStream> ArrayKernel::make_stream() const {
    return std::make_unique<ArrayStream>(*this);
}

class KernelList final : public Workload {
public:
    KernelList(std::string name, std::vector<std::shared_ptr<const KernelSource>> kernels)
        : name_(std::move(name)), kernels_(std::move(kernels)) {}
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return next_ < kernels_.size() ? kernels_[next_++].get() : nullptr; }

private:
    std::string name_;
    std::vector<std::shared_ptr<const KernelSource>> kernels_;
    std::size_t next_ = 0;
};

}  // namespace

std::shared_ptr<const KernelSource> make_array_kernel(ArrayParams params, ArraySource source) {
    check(params);
    return std::make_shared<ArrayKernel>(std::move(params), std::move(source));
}

std::unique_ptr<Workload> make_kernel_list(std::string name, std::vector<std::shared_ptr<const KernelSource>> kernels) {
    return std::make_unique<KernelList>(std::move(name), std::move(kernels));
}

}  // namespace mergelane
