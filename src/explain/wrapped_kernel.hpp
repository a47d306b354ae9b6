// SPDX-License-Identifier: MIT
// A kernel that is another one but for a detail.
#pragma once

#include <memory>
#include <utility>

#include "core/kernel.hpp"

namespace mergelane::explain {

class WrappedStream : public CtaStream {
public:
    explicit WrappedStream(std::unique_ptr<CtaStream> inner) : inner_(std::move(inner)) {}
    void open(std::uint64_t cta) override { inner_->open(cta); }
    bool next_run(std::uint32_t warp, Run& run) override { return inner_->next_run(warp, run); }
    void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
        inner_->addresses(warp, inst, active, out);
    }
    std::uint64_t task(std::uint32_t warp, std::uint64_t opened) const override { return inner_->task(warp, opened); }

private:
    std::unique_ptr<CtaStream> inner_;
};

class WrappedKernel : public KernelSource {
public:
    explicit WrappedKernel(const KernelSource& inner) : inner_(inner) {}
    const KernelInfo& info() const override { return inner_.info(); }
    Listing listing() const override { return inner_.listing(); }
    bool executes_at_placement() const override { return inner_.executes_at_placement(); }
    bool wants_places() const override { return inner_.wants_places(); }
    void place(std::uint64_t cta, const CtaPlace& place) const override { inner_.place(cta, place); }
    void finish() const override { inner_.finish(); }

protected:
    const KernelSource& inner() const { return inner_; }

private:
    const KernelSource& inner_;
};

}  // namespace mergelane::explain
