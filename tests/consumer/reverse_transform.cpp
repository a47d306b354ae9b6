// SPDX-License-Identifier: MIT
// A kernel transform of a user's own: CTAs come in reverse order, block by block.
#include "outside.hpp"

using namespace mergelane;

namespace outside {

namespace {

struct ReverseSpec final : SectionOf<ReverseSpec> {
    std::uint32_t block = 1;
    std::uint32_t expected_ctas = 0;

    void fields(SpecFields& f) override {
        f.section("reverse");
        f.belongs_to("dispatch.transform", {"reverse"});
        f.integer("block", block, 1, 1024, "CTAs", "neighbours that keep their order");
        f.integer("expected_ctas", expected_ctas, 0, 1u << 30, "CTAs", "a run with another number fails; 0: any number");
    }
    void laws(LawBook& book) const override {
        if (expected_ctas != 0 && book.drained()) book.balance("reverse.expected_ctas", book("dispatch.ctas_completed"), expected_ctas);
    }
};

class Reversed final : public KernelSource {
public:
    Reversed(const KernelSource& kernel, std::uint64_t block) : kernel_(kernel), block_(block) {}
    const KernelInfo& info() const override { return kernel_.info(); }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }

private:
    /// Whole blocks change places; what is left over at the end stays there.
    std::uint64_t other(std::uint64_t cta) const {
        const std::uint64_t blocks = info().ctas() / block_;
        return cta / block_ >= blocks ? cta : (blocks - 1 - cta / block_) * block_ + cta % block_;
    }

    class Stream final : public CtaStream {
    public:
        explicit Stream(const Reversed& kernel) : kernel_(kernel), inner_(kernel.kernel_.make_stream()) {}
        void open(std::uint64_t cta) override { inner_->open(kernel_.other(cta)); }
        bool next_run(std::uint32_t warp, Run& run) override { return inner_->next_run(warp, run); }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
            inner_->addresses(warp, inst, active, out);
        }
        std::uint64_t task(std::uint32_t, std::uint64_t opened) const override { return kernel_.other(opened); }

    private:
        const Reversed& kernel_;
        std::unique_ptr<CtaStream> inner_;
    };

    const KernelSource& kernel_;
    const std::uint64_t block_;
};

class Reverse final : public KernelTransform {
public:
    explicit Reverse(std::uint32_t block) : block_(block) {}
    std::unique_ptr<KernelSource> wrap(const KernelSource& kernel, const TransformTarget&) const override {
        return std::make_unique<Reversed>(kernel, block_);
    }

private:
    const std::uint32_t block_;
};

}  // namespace

void add_reverse_transform(Registry& registry) {
    registry.add_section<ReverseSpec>();
    registry.add<KernelTransform>(
        "reverse", "the last CTAs first, in blocks of reverse.block", {.persistent_ctas = false},
        [](const DispatchSpec&, const Sections& sections) { return std::make_unique<Reverse>(sections.get<ReverseSpec>().block); });
}

}  // namespace outside
