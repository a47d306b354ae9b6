// SPDX-License-Identifier: MIT
// Records the CTAs and some requests of one SM for a timeline. Deterministic: it sees one SM only, in the order of simulated time.
#pragma once

#include <vector>

#include "core/observers.hpp"
#include "core/timeline.hpp"

namespace mergelane {

class WorkRecorder final : public WorkObserver {
public:
    // Of all SMs together; the file has some 50 bytes for a CTA and 300 for a request.
    static constexpr std::uint64_t kMostCtas = 250'000;
    static constexpr std::uint64_t kMostRequests = 64'000;

    /// Observes one of so many SMs. Groups number their requests alike.
    WorkRecorder(Timeline::Sm& record, std::size_t sms, std::uint64_t group = 0, std::uint64_t groups = 1);

    void cta_started(std::uint64_t cta, std::uint32_t slot, Cycle now) override;
    void cta_finished(std::uint32_t slot, Cycle now) override;
    void request_finished(const Load& load, const LoadHistory& history) override;

    /// CTAs that have not finished end with the run.
    void finish(Cycle end);
    std::uint32_t sampled_one_of() const { return mask_ + 1; }
    /// Keeps one of so many requests: those with the loads that were merged with them, or none of these.
    void thin(std::uint32_t one_of);

private:
    struct Open {
        std::uint64_t cta = 0;
        Cycle since = kNever;  ///< kNever: there is none
    };
    bool is_sampled(std::uint64_t request) const { return (request * 0x9E3779B97F4A7C15u >> 32 & mask_) == 0; }

    Timeline::Sm& record_;
    const std::size_t most_ctas_, most_requests_;
    const std::uint64_t group_, groups_;
    std::uint32_t mask_ = 0;
    std::vector<Open> open_;  ///< per slot
};

}  // namespace mergelane
