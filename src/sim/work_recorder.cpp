// SPDX-License-Identifier: MIT
#include "sim/work_recorder.hpp"

#include <algorithm>

#include "sm/load_table.hpp"

namespace mergelane {

WorkRecorder::WorkRecorder(Timeline::Sm& record, std::size_t sms, std::uint64_t group, std::uint64_t groups)
    : record_(record),
      most_ctas_(std::max<std::size_t>(kMostCtas / sms, 64)),
      most_requests_(std::max<std::size_t>(kMostRequests / sms, 16)),
      group_(group),
      groups_(groups) {}

void WorkRecorder::cta_started(std::uint64_t cta, std::uint32_t slot, Cycle now) {
    if (open_.size() <= slot) open_.resize(slot + 1);
    open_[slot] = {cta, now};
}

void WorkRecorder::cta_finished(std::uint32_t slot, Cycle now) {
    if (record_.ctas.size() < most_ctas_)
        record_.ctas.push_back({open_[slot].cta, open_[slot].since, now, slot});
    else
        ++record_.ctas_left_out;
    open_[slot].since = kNever;
}

void WorkRecorder::request_finished(const Load& load, const LoadHistory& history) {
    const std::uint64_t request = history.journey()->served_by() * groups_ + group_;
    if (!is_sampled(request)) return;
    const std::size_t before = record_.steps.size();
    history.steps([this](std::uint8_t stage, Time until) { record_.steps.push_back({until, stage}); });
    record_.requests.push_back(
        {history.issued(), request, load.inst->pc, static_cast<std::uint16_t>(record_.steps.size() - before), load.warp, history.merged()});
    while (record_.requests.size() >= most_requests_) thin(2 * sampled_one_of());
}

void WorkRecorder::thin(std::uint32_t one_of) {
    mask_ = one_of - 1;
    std::size_t kept = 0, kept_steps = 0, step = 0;
    for (const Timeline::Request request : record_.requests) {
        if (is_sampled(request.served_by)) {
            record_.requests[kept++] = request;
            std::copy_n(record_.steps.begin() + step, request.steps, record_.steps.begin() + kept_steps);
            kept_steps += request.steps;
        }
        step += request.steps;
    }
    record_.requests.resize(kept);
    record_.steps.resize(kept_steps);
}

void WorkRecorder::finish(Cycle end) {
    for (std::uint32_t slot = 0; slot < open_.size(); ++slot) {
        if (open_[slot].since != kNever) cta_finished(slot, end);
    }
}

}  // namespace mergelane
