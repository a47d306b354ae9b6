// SPDX-License-Identifier: MIT
#include "dispatch/past_l1.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"

namespace mergelane {

namespace {

class PastL1Kernel final : public KernelSource {
public:
    PastL1Kernel(const KernelSource& kernel, std::vector<std::uint32_t> pcs) : kernel_(kernel), pcs_(std::move(pcs)) {}
    const KernelInfo& info() const override { return kernel_.info(); }
    std::unique_ptr<CtaStream> make_stream() const override { return std::make_unique<Stream>(*this); }
    Listing listing() const override { return kernel_.listing(); }

private:
    /// Number of instructions of the run before the first listed one.
    std::uint32_t before_listed(const Run& run) const {
        const auto listed = [&](const StaticInst& inst) {
            return inst.op == OpClass::load && inst.space == Space::global && std::binary_search(pcs_.begin(), pcs_.end(), inst.pc);
        };
        return static_cast<std::uint32_t>(std::find_if(run.first, run.first + run.count, listed) - run.first);
    }

    /// Instructions belong to the kernel, so a listed load is returned as a copy, in a separate run.
    class Stream final : public CtaStream {
    public:
        explicit Stream(const PastL1Kernel& kernel)
            : kernel_(kernel), inner_(kernel.kernel_.make_stream()), warps_(kernel.info().warps_per_cta()) {}

        void open(std::uint64_t cta) override {
            std::fill(warps_.begin(), warps_.end(), Warp());
            inner_->open(cta);
        }
        bool next_run(std::uint32_t warp, Run& run) override {
            Warp& w = warps_[warp];
            if (w.rest.count == 0 && !inner_->next_run(warp, w.rest)) return false;
            run = w.rest;
            run.count = kernel_.before_listed(run);
            if (run.count == 0 && w.rest.count != 0) {
                w.load = &*copies_.try_emplace(w.rest.first, *w.rest.first).first;
                w.load->second.bypass_l1 = true;
                run = {&w.load->second, 1, w.rest.active};
            }
            w.rest.first += run.count;
            w.rest.count -= run.count;
            return true;
        }
        void addresses(std::uint32_t warp, const StaticInst& inst, std::uint32_t active, LaneAddresses& out) override {
            const Copy* const load = warps_[warp].load;
            inner_->addresses(warp, load != nullptr && &load->second == &inst ? *load->first : inst, active, out);
        }

    private:
        using Copies = std::unordered_map<const StaticInst*, StaticInst>;  // node-based: references stay valid
        using Copy = Copies::value_type;
        struct Warp {
            Run rest;              ///< of the kernel's run
            Copy* load = nullptr;  ///< the most recently returned listed load
        };

        const PastL1Kernel& kernel_;
        std::unique_ptr<CtaStream> inner_;
        std::vector<Warp> warps_;
        Copies copies_;
    };

    const KernelSource& kernel_;
    const std::vector<std::uint32_t> pcs_;
};

}  // namespace

std::vector<std::uint32_t> pc_list(std::string_view text) {
    std::vector<std::uint32_t> pcs;
    if (text == "none") return pcs;
    const auto fail = [](std::string_view problem) {
        throw InputError(fmt::format("clustering.bypass {}; write program counters of loads as 0x40,0x58 or in decimal, or none", problem));
    };
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(" ,\t\n"), text.size()));
        if (text.empty()) break;
        const std::string_view word = text.substr(0, text.find_first_of(" ,\t\n"));
        text.remove_prefix(word.size());
        const bool hex = word.starts_with("0x") || word.starts_with("0X");
        const std::string_view digits = word.substr(hex ? 2 : 0);
        std::uint32_t pc = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pc, hex ? 16 : 10);
        if (error == std::errc::result_out_of_range) fail(fmt::format("has '{}', which is more than 32 bits", word));
        if (error != std::errc() || end != digits.data() + digits.size()) fail(fmt::format("has '{}' where a number is expected", word));
        pcs.push_back(pc);
    }
    if (pcs.empty()) fail("is empty");
    std::sort(pcs.begin(), pcs.end());
    return pcs;
}

std::unique_ptr<KernelSource> past_l1(const KernelSource& kernel, std::vector<std::uint32_t> pcs) {
    return pcs.empty() ? nullptr : std::make_unique<PastL1Kernel>(kernel, std::move(pcs));
}

}  // namespace mergelane
