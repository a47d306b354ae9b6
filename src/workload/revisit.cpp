// SPDX-License-Identifier: MIT
#include "workload/revisit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace mergelane {

namespace {

constexpr Addr kArray = Addr{1} << 36;
constexpr std::uint32_t kBytesPerSm = 128;
constexpr std::uint32_t kMostAtOnce = 64;

class RevisitKernel final : public KernelSource {
public:
    RevisitKernel(std::uint32_t ctas, std::uint32_t divisions)
        : divisions_(divisions), info_{"revisit", {ctas, 1, 1}, {kWarpLanes, 1, 1}, 8, 2}, sms_(ctas) {
        for (StaticInst& inst : waiting_) {
            inst.op = OpClass::int_div;
            inst.dst_count = inst.reg_count = 1;
        }
        reading_[0].op = OpClass::load;
        reading_[0].regs = {1, 0};
        reading_[1].regs = {0, 1};
        for (StaticInst& inst : reading_) {
            inst.dst_count = 1;
            inst.reg_count = 2;
        }
    }
    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }
    bool wants_places() const override { return true; }
    /// A CTA is placed before it is opened, by one dispatcher.
    void place(std::uint64_t cta, const CtaPlace& place) const override { sms_[cta] = place.sm; }

private:
    class Stream final : public CtaStream {
    public:
        explicit Stream(const RevisitKernel& kernel) : kernel_(kernel) {}
        void open(std::uint64_t cta) override {
            cta_ = cta;
            left_ = cta * kernel_.divisions_;
            has_read_ = false;
        }
        bool next_run(std::uint32_t, Run& run) override {
            if (left_ != 0) {
                const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(left_, kMostAtOnce));
                left_ -= count;
                run = {kernel_.waiting_.data(), count, 1};
                return true;
            }
            if (has_read_) return false;
            has_read_ = true;
            run = {kernel_.reading_.data(), 2, 1};
            return true;
        }
        void addresses(std::uint32_t, const StaticInst&, std::uint32_t, LaneAddresses& out) override {
            out.affine = true;
            out.base = kArray + Addr{kernel_.sms_[cta_]} * kBytesPerSm;
            out.stride = 0;
        }

    private:
        const RevisitKernel& kernel_;
        std::uint64_t cta_ = 0;
        std::uint64_t left_ = 0;  ///< divisions
        bool has_read_ = false;
    };

    const std::uint32_t divisions_;
    KernelInfo info_;
    std::array<StaticInst, kMostAtOnce> waiting_;
    std::array<StaticInst, 2> reading_;
    mutable std::vector<std::uint32_t> sms_;  ///< by CTA
};

class RevisitWorkload final : public Workload {
public:
    RevisitWorkload(std::uint32_t ctas, std::uint32_t divisions, std::uint32_t kernels)
        : name_(fmt::format("synthetic:revisit ctas={} alu={}", ctas, divisions)), kernel_(ctas, divisions), left_(kernels) {}
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override { return left_ == 0 ? nullptr : (--left_, &kernel_); }

private:
    std::string name_;
    RevisitKernel kernel_;
    std::uint32_t left_;
};

}  // namespace

std::unique_ptr<Workload> make_revisit(std::uint32_t ctas, std::uint32_t divisions, std::uint32_t kernels) {
    return std::make_unique<RevisitWorkload>(ctas, divisions, kernels);
}

}  // namespace mergelane
