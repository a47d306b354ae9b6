// SPDX-License-Identifier: MIT
// The network between the SMs of one GPC, and the barriers of the clusters of CTAs that run there (ADR 0049). It knows where the CTAs of
// each cluster are, because the dispatcher tells it; SMs only know ranks.
#pragma once

#include <array>
#include <vector>

#include "core/component.hpp"
#include "core/gpc_message.hpp"
#include "core/kernel.hpp"
#include "core/link.hpp"
#include "gpc/gpc_spec.hpp"

namespace mergelane {

class GpcSwitch final : public Component {
public:
    GpcSwitch(std::string name, const GpcSpec& spec) : Component(std::move(name)), spec_(spec), clusters_(GpcMessage::kClusters) {}

    void connect(Link<GpcMessage>& placements, std::vector<Link<GpcMessage>*> from_sms, std::vector<Link<GpcMessage>*> to_sms);

    Cycle step(Cycle now) override;
    void stats(StatFields& out, Cycle now) const override;
    void explain(std::vector<Wait>& waits) const override;
    std::uint64_t held() const override { return releases_.size(); }

private:
    struct Place {
        std::uint8_t sm = 0, slot = 0;
    };
    struct Cluster {
        std::uint32_t ranks = 0;    ///< bit per CTA
        std::uint32_t arrived = 0;  ///< at the barrier
        std::uint32_t left = 0;     ///< CTAs that have ended
        std::array<Place, kMostClusterCtas> place;
    };
    struct Release {
        Cycle at;
        std::uint16_t cluster;
        std::uint16_t ranks;
    };

    void place(const GpcMessage& message);
    bool pass(const GpcMessage& message, Cycle now);
    bool deliver(const GpcMessage& message, std::uint32_t ranks, Cycle now);
    bool may_send(std::uint32_t sm, Cycle now);
    void send(std::uint32_t sm, const GpcMessage& message, Cycle now);
    void count_barrier(const GpcMessage& message, Cycle now);
    void retry_at(Cycle at) { retry_ = std::min(retry_, at); }

    const GpcSpec& spec_;
    Link<GpcMessage>* placements_ = nullptr;
    std::vector<Link<GpcMessage>*> from_sms_, to_sms_;
    std::vector<Cycle> free_at_;  ///< of the output to each SM
    std::vector<Cluster> clusters_;
    std::vector<Release> releases_;  ///< in order of time
    std::uint32_t first_ = 0;        ///< input whose turn it is
    Cycle retry_ = kNever;
    std::uint64_t received_ = 0, sent_ = 0, bytes_ = 0, barriers_ = 0;
};

}  // namespace mergelane
