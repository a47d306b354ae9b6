// SPDX-License-Identifier: MIT
#include <algorithm>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dispatch/task_mapping.hpp"
#include "files/toml_text.hpp"
#include "study/examples.hpp"

namespace mergelane::study {

namespace {

constexpr std::uint32_t kMostClusters = 40;
constexpr std::uint64_t kMostTasks = 400;

/// As we map them: every task has one place, and every place one task.
bool is_one_to_one(std::uint64_t tasks, std::uint32_t clusters) {
    const TaskClusters c(tasks, clusters);
    std::uint64_t next = 0;
    for (std::uint32_t cluster = 0; cluster < clusters; ++cluster) {
        if (c.first(cluster) != next) return false;
        if (c.size(cluster) != tasks / clusters + (cluster < tasks % clusters ? 1 : 0)) return false;
        for (std::uint64_t within = 0; within < c.size(cluster); ++within, ++next) {
            if (c.task({within, cluster}) != next || c.of(next) != TaskClusters::Position{within, cluster}) return false;
        }
    }
    return next == tasks;
}

bool redirects_all(std::uint64_t tasks, std::uint32_t clusters) {
    const TaskClusters c(tasks, clusters);
    std::vector<bool> seen(tasks);
    for (std::uint64_t cta = 0; cta < tasks; ++cta) {
        const std::uint64_t task = c.task(c.dealt(cta));
        if (task >= tasks || seen[task] || c.of(task).cluster != cta % clusters) return false;
        seen[task] = true;
    }
    return true;
}

bool agents_do_all(std::uint64_t tasks, std::uint32_t clusters) {
    const TaskClusters c(tasks, clusters);
    for (const std::uint64_t agents : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 24u, 32u}) {
        std::uint64_t done = 0;
        std::vector<bool> seen(tasks);
        for (std::uint32_t cluster = 0; cluster < clusters; ++cluster) {
            for (std::uint64_t agent = 0; agent < agents; ++agent) {
                for (std::uint64_t w = agent; w < c.size(cluster); w += agents, ++done) {
                    if (seen[c.task({w, cluster})]) return false;
                    seen[c.task({w, cluster})] = true;
                }
            }
        }
        if (done != tasks) return false;
    }
    return true;
}

/// As printed: V tasks in M clusters, q = V / M, r = V mod M.
struct Printed {
    std::int64_t tasks, clusters, q, r;
    Printed(std::uint64_t v, std::uint32_t m)
        : tasks(static_cast<std::int64_t>(v)), clusters(m), q(tasks / clusters), r(tasks % clusters) {}

    std::int64_t inverse(std::int64_t w, std::int64_t i) const { return i * (q + 1) + w + std::min<std::int64_t>(r - i, 0); }
    /// With the condition as printed or corrected, and equation 5 with v mod q or (v - r) mod q.
    bool leads_back(bool right_condition, bool right_position) const {
        for (std::int64_t v = 0; v < tasks; ++v) {
            const bool in_larger = right_condition ? v < r * (q + 1) : v % clusters <= r;
            if (!in_larger && q == 0) return false;
            const std::int64_t back =
                in_larger ? inverse(v % (q + 1), v / (q + 1)) : inverse((right_position ? v - r : v) % q, (v - r) / q);
            if (back != v) return false;
        }
        return true;
    }
    /// The header has ceil(V / M) + 1 where q + 1 is meant. Clusters without tasks do not matter.
    bool header_begins_where_it_should() const {
        const std::int64_t printed = (tasks + clusters - 1) / clusters + 1;
        for (std::int64_t i = 0; i < clusters; ++i) {
            const std::int64_t size = q + (i < r ? 1 : 0);
            if (size != 0 && printed * i + std::min<std::int64_t>(r - i, 0) != i * q + std::min(i, r)) return false;
        }
        return true;
    }
};

struct MappingKind {
    const char* name;
    bool (*holds)(std::uint64_t tasks, std::uint32_t clusters);
};
const MappingKind kMappingKinds[] = {
    {"clusters", is_one_to_one},
    {"redirection", redirects_all},
    {"agents", agents_do_all},
    {"printed", [](std::uint64_t v, std::uint32_t m) { return Printed(v, m).leads_back(false, false); }},
    {"printed, right condition", [](std::uint64_t v, std::uint32_t m) { return Printed(v, m).leads_back(true, false); }},
    {"corrected", [](std::uint64_t v, std::uint32_t m) { return Printed(v, m).leads_back(true, true); }},
    {"printed header", [](std::uint64_t v, std::uint32_t m) { return Printed(v, m).header_begins_where_it_should(); }},
};

}  // namespace

std::uint32_t mapping_failures(std::string_view kind) {
    const auto found =
        std::find_if(std::begin(kMappingKinds), std::end(kMappingKinds), [&](const MappingKind& k) { return k.name == kind; });
    if (found == std::end(kMappingKinds))
        throw InputError("has " + unknown_name("mapping", kind, names_of(kMappingKinds, &MappingKind::name)));
    std::uint32_t failed = 0;
    for (std::uint32_t clusters = 1; clusters <= kMostClusters; ++clusters) {
        for (std::uint64_t tasks = 1; tasks <= kMostTasks; ++tasks) failed += found->holds(tasks, clusters) ? 0 : 1;
    }
    return failed;
}

}  // namespace mergelane::study
