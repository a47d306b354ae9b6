// SPDX-License-Identifier: MIT
// Every task is done once by every thread, wherever agents are put and however many there are: counted, launch after launch with the
// same state. Run with several dispatchers. With the argument `one`, all agents must be on SM 0.
#include <algorithm>
#include <set>

#include "cluster.cuh"

using mergelane::AgentId;
using mergelane::Agents;
using mergelane::Order;

/// `done`: how many threads did each task. `sms`: where. Some threads do not come to the end of a task.
__global__ void count(Agents agents, unsigned* done, unsigned* sms) {
    for (const dim3 block : agents) {
        const dim3 grid = agents.grid();
        const unsigned task = block.x + grid.x * (block.y + grid.y * block.z);
        atomicAdd(&done[task], 1u);
        if (threadIdx.x % 3 == 1) continue;
        if (threadIdx.x == 0) asm volatile("mov.u32 %0, %%smid;" : "=r"(sms[task]));
    }
}

/// The number of every CTA in turn, counted in the plainest way.
std::vector<unsigned> listed(const dim3& grid, char kind, unsigned size) {
    std::vector<unsigned> places;
    const unsigned wide = kind == 't' ? size : grid.x, high = kind == 'c' ? grid.y : kind == 'r' ? 1 : size;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned top = 0; top < grid.y; top += high)
            for (unsigned left = 0; left < grid.x; left += wide) {
                std::vector<std::pair<unsigned, unsigned>> tile;
                const bool down = kind == 'c' || kind == 'b';
                const unsigned width = std::min(wide, grid.x - left), height = std::min(high, grid.y - top);
                for (unsigned n = 0; n < width * height; ++n)
                    tile.emplace_back(left + (down ? n / height : n % width), top + (down ? n % height : n / width));
                for (const auto& at : tile) places.push_back(at.first + grid.x * (at.second + grid.y * z));
            }
    return places;
}

void orders_are_right() {
    for (const dim3& grid : {dim3(1), dim3(7, 5, 3), dim3(12, 1, 1), dim3(1, 9, 2), dim3(8, 8, 1), dim3(5, 11, 2)})
        for (const unsigned size : {1u, 2u, 3u, 4u, 100u, 0xFFFFFFFFu}) {
            const unsigned tasks = grid.x * grid.y * grid.z, side = std::min(size, 100u);
            const std::vector<unsigned> table = shuffled(tasks);
            const std::pair<Order, std::vector<unsigned>> orders[] = {{Order::rows(), listed(grid, 'r', 1)},
                                                                      {Order::columns(), listed(grid, 'c', 1)},
                                                                      {Order::partition_y(), listed(grid, 'r', 1)},
                                                                      {Order::partition_x(), listed(grid, 'c', 1)},
                                                                      {Order::tiles(size), listed(grid, 't', side)},
                                                                      {Order::bands(size), listed(grid, 'b', side)},
                                                                      {Order::table(table.data()), table}};
            for (const auto& [order, expected] : orders)
                for (unsigned place = 0; place < tasks; ++place) {
                    const dim3 cta = order.cta(place, grid);
                    CHECK(cta.x + grid.x * (cta.y + grid.y * cta.z) == expected[place]);
                }
        }
    // Sizes near the end of what 32 bits can count, and a size of nothing, which counts as one.
    CHECK(Order::tiles(0x80000000u).cta(65535u * 65536u - 1, dim3(65536, 65535)).y == 65534);
    CHECK(Order::tiles(0).cta(5, dim3(3, 3)).x == 2 && Order::bands(0).cta(5, dim3(3, 3)).y == 1);
}

void clusters_are_right() {
    for (unsigned clusters = 1; clusters <= 20; ++clusters)
        for (unsigned tasks = 0; tasks <= 90; ++tasks) {
            const mergelane::Clusters parts(tasks, clusters);
            unsigned next = 0;
            for (unsigned cluster = 0; cluster < clusters; ++cluster) {
                CHECK(parts.first(cluster) == next);
                next += parts.size(cluster);
                CHECK(parts.size(cluster) - tasks / clusters <= 1 && parts.size(cluster) <= parts.size(0));
            }
            CHECK(next == tasks);
        }
}

void bad_sizes_are_refused(const mergelane::AgentState& state) {
    Agents agents;
    for (const dim3& grid : {dim3(0), dim3(4, 0), dim3(4, 4, 0), dim3(65536, 32768), dim3(65536, 65536, 65535)}) {
        CHECK(state.plan(agents, count, 64, 0, grid, Order::rows()) == cudaErrorInvalidValue);
        CHECK(agents.ctas() == 0);
    }
    CHECK(state.plan(agents, count, 0, 0, 4, Order::rows()) == cudaErrorInvalidValue);
    CHECK(state.plan(agents, count, 1056, 0, 4, Order::rows()) != cudaSuccess);
    mergelane::AgentState none;
    CHECK(none.plan(agents, count, 64, 0, 4, Order::rows()) == cudaErrorInvalidValue);
    CHECK(none.create(0xFFFFFFFFu) == cudaErrorInvalidValue && none.clusters() == 0);
    cudaGetLastError();
}

class Counting {
public:
    explicit Counting(bool on_one) : on_one_(on_one), done_(kMost), sms_(kMost) {}

    /// `launches` in a row, with nothing between them.
    void run(const mergelane::AgentState& state, const dim3& grid, const Order& order, unsigned active, AgentId id, int ctas,
             int launches) {
        mergelane::AgentOptions options;
        options.active = active;
        options.id = id;
        Agents agents;
        OK(state.plan(agents, count, kThreads, 0, grid, order, options));
        CHECK(agents.active() == active || active == 0 || agents.active() < active);
        if (ctas == kMore) ctas = static_cast<int>(agents.ctas()) + 37;
        if (ctas == kPlanned) ctas = static_cast<int>(agents.ctas());
        done_.fill(0);
        sms_.fill(0xFF);
        for (int launch = 0; launch < launches; ++launch) count<<<ctas, kThreads>>>(agents, done_.at(), sms_.at());
        OK(cudaGetLastError());
        const std::vector<unsigned> done = done_.values(), sms = sms_.values();
        const unsigned tasks = grid.x * grid.y * grid.z;
        for (unsigned task = 0; task < kMost; ++task) CHECK(done[task] == (task < tasks ? kThreads * launches : 0));
        for (unsigned task = 0; task < tasks; ++task) {
            CHECK(!on_one_ || sms[task] == 0);
            seen_.insert(sms[task]);
        }
        launches_ += launches;
    }
    int launches() const { return launches_; }
    std::size_t sms() const { return seen_.size(); }

    static constexpr int kPlanned = -1, kMore = -2;

private:
    static constexpr unsigned kMost = 160, kThreads = 96;
    bool on_one_;
    DeviceArray<unsigned> done_, sms_;
    std::set<unsigned> seen_;
    int launches_ = 0;
};

int main(int argc, char** argv) {
    Counting counting(argc > 1 && std::strcmp(argv[1], "one") == 0);
    orders_are_right();
    clusters_are_right();
    const DeviceArray<unsigned> table(shuffled(105));
    mergelane::AgentState state, few, many, one;
    OK(state.create());
    bad_sizes_are_refused(state);
    OK(few.create(3));                      // SMs of higher numbers have no cluster
    OK(many.create(state.clusters() + 5));  // no SM has the last clusters
    OK(one.create(1));
    for (const AgentId id : {AgentId::counter, AgentId::slot}) {
        // As planned; too few, even one; too many.
        for (const int ctas : {Counting::kPlanned, 1, 7, Counting::kMore}) {
            counting.run(state, dim3(7, 5, 3), Order::rows(), 0, id, ctas, 2);
            counting.run(state, dim3(7, 5, 3), Order::table(table.at()), 1, id, ctas, 1);
            counting.run(few, dim3(11, 9), Order::tiles(4), 2, id, ctas, 1);
            counting.run(many, dim3(131), Order::bands(2), 3, id, ctas, 1);
        }
        counting.run(one, dim3(17, 9), Order::columns(), 0, id, Counting::kPlanned, 2);
        counting.run(one, dim3(17, 9), Order::columns(), 1, id, 3, 2);
        // Fewer tasks than SMs, and one; more agents wanted than fit.
        counting.run(state, dim3(1), Order::columns(), 0, id, Counting::kPlanned, 3);
        counting.run(state, dim3(2, 1, 3), Order::tiles(2), 100, id, Counting::kPlanned, 2);
    }
    std::printf("once: every task, in %d launches on %zu SMs\n", counting.launches(), counting.sms());
}
