// SPDX-License-Identifier: MIT
#include "sim/thread_model.hpp"

#include <stdexcept>

#include "sim/packing.hpp"

namespace mergelane {

DomainCosts::DomainCosts(std::vector<std::uint32_t> threads) : threads_(std::move(threads)) {
    std::sort(threads_.begin(), threads_.end());
    threads_.erase(std::unique(threads_.begin(), threads_.end()), threads_.end());
    packed_.resize(threads_.size());
}

void DomainCosts::add_window(std::span<const std::uint64_t> costs) {
    sums_.resize(costs.size());
    for (std::size_t d = 0; d < costs.size(); ++d) sums_[d] += costs[d];
    for (std::size_t i = 0; i < threads_.size(); ++i) packed_[i] += static_cast<double>(pack_longest_first(costs, threads_[i]).longest());
    ++windows_;
}

double DomainCosts::window_on(std::uint32_t threads) const {
    const auto at = std::find(threads_.begin(), threads_.end(), threads);
    if (at == threads_.end()) throw std::logic_error("windows were not packed for this number of threads");
    return windows_ == 0 ? 0 : packed_[static_cast<std::size_t>(at - threads_.begin())] / static_cast<double>(windows_);
}

double DomainCosts::ideal_speedup(std::uint32_t threads) const {
    const std::uint64_t longest = pack_longest_first(sums_, threads).longest();
    return longest == 0 ? 1 : static_cast<double>(total()) / static_cast<double>(longest);
}

double ThreadModel::speedup(const DomainCosts& costs, std::uint32_t threads) const {
    const double several = serial + scale * costs.window_on(threads) + meeting * (threads - 1);
    return several <= 0 ? 1 : one / several;
}

ThreadModel fit_thread_model(const DomainCosts& costs, double one, std::uint32_t threads, double several) {
    ThreadModel model;
    model.one = one;
    const double domains = costs.window();
    model.serial = std::max(0.0, one - domains);
    model.scale = domains > one ? one / domains : 1;
    if (threads > 1) {
        const double working = model.serial + model.scale * costs.window_on(threads);
        model.meeting = std::max(0.0, (several - working) / (threads - 1));
    }
    return model;
}

}  // namespace mergelane
