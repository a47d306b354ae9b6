// SPDX-License-Identifier: MIT
#include "dispatch/own_instructions.hpp"
#include "dispatch/past_l1.hpp"

namespace mergelane {

namespace {

/// CTA n does the work of a CTA that belongs to the SM on which n runs under round-robin dispatch. With one cluster, it does the work of
/// the n-th CTA of the order.
class RedirectedKernel final : public KernelSource {
public:
    RedirectedKernel(const KernelSource& kernel, const ClusteringSpec& spec, const TransformTarget& target)
        : past_l1_(past_l1(kernel, pc_list(spec.bypass))),
          kernel_(past_l1_ != nullptr ? *past_l1_ : kernel),
          info_(kernel.info()),
          order_(spec.order_of(info_.grid)),
          clusters_(info_.ctas(), spec.clusters == 0 ? target.sms : spec.clusters),
          first_(address_arithmetic(info_, spec.cta_instructions)) {}

    const KernelInfo& info() const override { return info_; }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }
    Listing listing() const override { return kernel_.listing(); }

private:
    std::uint64_t task(std::uint64_t cta) const { return order_.cta(clusters_.task(clusters_.dealt(cta))); }

    class Stream final : public CtaStream {
    public:
        explicit Stream(const RedirectedKernel& kernel)
            : kernel_(kernel), inner_(kernel.kernel_.make_stream()), begun_(kernel.info_.warps_per_cta()) {}
        void open(std::uint64_t cta) override {
            begun_.assign(begun_.size(), kernel_.first_.empty());
            inner_->open(kernel_.task(cta));
        }
        bool next_run(std::uint32_t warp, Run& run) override {
            if (begun_[warp]) return inner_->next_run(warp, run);
            begun_[warp] = true;
            run = run_of(kernel_.first_, kernel_.info_, warp);
            return true;
        }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
            inner_->addresses(warp, inst, active, out);
        }
        std::uint64_t task(std::uint32_t, std::uint64_t opened) const override { return kernel_.task(opened); }

    private:
        const RedirectedKernel& kernel_;
        std::unique_ptr<CtaStream> inner_;
        std::vector<bool> begun_;  ///< by warp
    };

    const std::unique_ptr<KernelSource> past_l1_;  ///< if some loads bypass the L1
    const KernelSource& kernel_;
    KernelInfo info_;
    TaskOrder order_;
    TaskClusters clusters_;
    std::vector<StaticInst> first_;
};

}  // namespace

std::unique_ptr<KernelTransform> make_redirect(const DispatchSpec&, const Sections& sections) {
    return std::make_unique<WrappedBy<RedirectedKernel>>("redirect", sections);
}

}  // namespace mergelane
