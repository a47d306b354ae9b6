// SPDX-License-Identifier: MIT
// CTA clustering for CUDA kernels: neighbouring CTAs run on one SM and reuse each other's data in its L1.
//
//   const dim3 block = mergelane::swizzle(order);         the same grid; CTA u does the work of the u-th CTA of an order
//   const dim3 block = mergelane::redirect(order, sms);   the same, with the order cut into one CTA cluster per SM
//   for (const dim3 block : agents) { ... }               as many CTAs as fit; each executes the tasks of its SM's cluster in turn
//
// The rest of the kernel uses `block` instead of blockIdx. docs/cta-cluster.md has kernels before and after, costs and limits.
// Requires C++17, and nvcc or clang; this file is self-contained.
#pragma once

#include <cstddef>

namespace mergelane {

/// The numbering of the CTAs of a grid. Planes of z follow each other. The number of a CTA is x + grid.x * (y + grid.y * z).
class Order {
public:
    /// Along x. Clusters are then rows of the grid: partition along y.
    static __host__ __device__ Order rows() { return Order(Kind::rows, 1, nullptr); }
    static __host__ __device__ Order partition_y() { return rows(); }
    /// Along y. Clusters are then columns of the grid: partition along x.
    static __host__ __device__ Order columns() { return Order(Kind::columns, 1, nullptr); }
    static __host__ __device__ Order partition_x() { return columns(); }
    /// Tiles of `side` x `side` CTAs in rows of tiles, CTAs in rows within a tile; tiles at the edges are smaller.
    static __host__ __device__ Order tiles(unsigned side) { return Order(Kind::tiles, side, nullptr); }
    /// Bands of `height` rows, each column by column (called a group or swizzle in matrix products); the last band may be lower.
    static __host__ __device__ Order bands(unsigned height) { return Order(Kind::bands, height, nullptr); }
    /// Any order: `numbers`, in device memory, lists the number of every CTA of the grid once, in order.
    static __host__ __device__ Order table(const unsigned* numbers) { return Order(Kind::table, 1, numbers); }

    Order() = default;

    /// The CTA at position `place`. Fewer than 2^32 CTAs.
    __host__ __device__ dim3 cta(unsigned place, const dim3& grid) const {
        if (kind_ == Kind::table) place = table_[place];
        const unsigned plane = grid.x * grid.y;
        const unsigned z = grid.z == 1 ? 0 : place / plane;
        place -= z * plane;
        switch (kind_) {
            case Kind::columns: return dim3(place / grid.y, place % grid.y, z);
            case Kind::tiles: return in_tiles(place, grid, z);
            case Kind::bands: return in_bands(place, grid, z);
            default: return dim3(place % grid.x, place / grid.x, z);
        }
    }

private:
    enum class Kind : unsigned { rows, columns, tiles, bands, table };

    __host__ __device__ Order(Kind kind, unsigned size, const unsigned* table) : kind_(kind), size_(size), table_(table) {}

    static __host__ __device__ unsigned lower(unsigned a, unsigned b) { return a < b ? a : b; }
    /// At most the size of the grid, so that products fit into 32 bits, and at least one, to avoid division by zero.
    __host__ __device__ unsigned size_of(unsigned there_are) const { return size_ == 0 ? 1 : lower(size_, there_are); }

    __host__ __device__ dim3 in_tiles(unsigned place, const dim3& grid, unsigned z) const {
        const unsigned rows = size_of(grid.y), columns = size_of(grid.x);
        const unsigned top = place / (grid.x * rows) * rows;
        const unsigned height = lower(rows, grid.y - top);
        place -= top * grid.x;
        const unsigned left = place / (height * columns) * columns;
        const unsigned width = lower(columns, grid.x - left);
        place -= left * height;
        return dim3(left + place % width, top + place / width, z);
    }
    __host__ __device__ dim3 in_bands(unsigned place, const dim3& grid, unsigned z) const {
        const unsigned rows = size_of(grid.y);
        const unsigned top = place / (grid.x * rows) * rows;
        const unsigned height = lower(rows, grid.y - top);
        place -= top * grid.x;
        return dim3(place / height, top + place % height, z);
    }

    Kind kind_ = Kind::rows;
    unsigned size_ = 1;
    const unsigned* table_ = nullptr;
};

/// Distributes tasks over clusters as evenly as possible: the first (tasks mod clusters) have one more than the others.
class Clusters {
public:
    __host__ __device__ Clusters(unsigned tasks, unsigned clusters) : least_(tasks / clusters), larger_(tasks % clusters) {}
    __host__ __device__ unsigned size(unsigned cluster) const { return least_ + (cluster < larger_ ? 1 : 0); }
    __host__ __device__ unsigned first(unsigned cluster) const { return cluster * least_ + (cluster < larger_ ? cluster : larger_); }

private:
    unsigned least_;
    unsigned larger_;
};

/// The CTA whose work this CTA does, assuming round-robin assignment to `sms` SMs. A permutation of the grid for any placement of CTAs.
inline __device__ dim3 redirect(const Order& order, unsigned sms) {
    const dim3 grid(gridDim.x, gridDim.y, gridDim.z);
    const unsigned cta = blockIdx.x + grid.x * (blockIdx.y + grid.y * blockIdx.z);
    const unsigned clusters = sms == 0 ? 1 : sms;
    return order.cta(Clusters(grid.x * grid.y * grid.z, clusters).first(cta % clusters) + cta / clusters, grid);
}

/// The CTA whose work this CTA does, if only the order of CTAs changes.
inline __device__ dim3 swizzle(const Order& order) {
    return redirect(order, 1);
}

/// How an agent obtains its number on its SM.
enum class AgentId : unsigned {
    counter,  ///< from an atomic counter
    slot      ///< %warpid / warps of a CTA; the hardware guarantees nothing about %warpid, so a second owner of a number stays idle
};

struct AgentOptions {
    unsigned active = 0;  ///< active agents per SM, the others exit immediately (throttling); 0: all that fit, at most 32
    AgentId id = AgentId::counter;
    unsigned per_sm = 0;  ///< CTAs that fit on an SM; 0: query the runtime
};

/// A kernel parameter: its tasks, and the shared state of its agents. Created by AgentState::plan.
///
/// The tasks of a cluster are divided into `active` stripes: stripe a has the tasks a, a + active, a + 2 active, ... The agent that claims
/// a stripe executes all of it. An agent claims the stripe with its number in its SM's cluster, registers its arrival, and executes the
/// stripe. After that, if all CTAs of the launch have arrived, it claims unclaimed stripes of any cluster until there are none, and
/// departs.
///
/// No task is executed twice: a stripe is claimed by one atomic operation, which succeeds for only one agent.
/// No task is lost: the CTA that arrives last, wherever it is and even if it is throttled, finds that all have arrived, and checks every
/// cluster. No CTA waits for another, so it does not matter which CTAs are resident at the same time.
///
/// The words in memory are all zero between launches: every CTA departs after its last access to them, and the last one to depart clears
/// them. Only the next launch can observe that, and a stream starts it after the end of this one.
class Agents {
public:
    struct End {};
    class Iterator;

    __host__ __device__ unsigned ctas() const { return ctas_; }      ///< to launch; any other number is correct too
    __host__ __device__ dim3 grid() const { return grid_; }          ///< of the tasks: the original gridDim
    __host__ __device__ unsigned active() const { return active_; }  ///< active agents per SM

    inline __device__ Iterator begin() const;
    __device__ End end() const { return End(); }

private:
    friend class AgentState;
    /// Words of the state, followed by one per cluster: which of its stripes are claimed, as a count (counter) or as a bit mask (slot).
    enum Word : unsigned { progress = 0 /* two words: stripes taken, CTAs arrived */, left = 2, taken = 3 };
    static constexpr unsigned kNone = ~0u;

    // All of these are called by one thread of a CTA.
    inline __device__ unsigned own_stripe(unsigned sm) const;
    inline __device__ unsigned left_over_stripe(unsigned sm, unsigned& looked_at) const;
    inline __device__ bool may_have_any(unsigned cluster) const;
    inline __device__ unsigned take_any(unsigned* cluster, unsigned stripes) const;
    inline __device__ void leave() const;

    __device__ unsigned long long* at_progress() const { return reinterpret_cast<unsigned long long*>(words_ + progress); }
    /// A cluster with few tasks has no more stripes than tasks, so that no stripe is empty.
    __host__ __device__ unsigned stripes_of(unsigned cluster) const {
        return tasks_.size(cluster) < active_ ? tasks_.size(cluster) : active_;
    }
    static __device__ unsigned launched() { return gridDim.x * gridDim.y * gridDim.z; }

    unsigned* words_ = nullptr;
    dim3 grid_ = dim3(0, 0, 0);
    Order order_;
    Clusters tasks_ = Clusters(0, 1);
    unsigned clusters_ = 0;
    unsigned active_ = 0;
    unsigned stripes_ = 0;  ///< of all clusters
    unsigned ctas_ = 0;
    AgentId id_ = AgentId::counter;
};

/// Iterator over the tasks of an agent. All threads of a CTA have equal iterators, and synchronise at a barrier between tasks.
class Agents::Iterator {
public:
    __device__ explicit Iterator(const Agents& agents) : agents_(agents) {
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm_));
        next_stripe(true);
    }
    __device__ dim3 operator*() const { return agents_.order_.cta(place_, agents_.grid_); }
    __device__ bool operator!=(End) const { return place_ < end_; }
    __device__ void operator++() {
        place_ += agents_.active_;
        if (place_ < end_)
            __syncthreads();
        else
            next_stripe(false);
    }

private:
    __device__ void next_stripe(bool first) {
        __shared__ unsigned stripe;
        const bool speaks = (threadIdx.x | threadIdx.y | threadIdx.z) == 0;
        __syncthreads();  // all threads have finished their task and read the previous stripe
        if (speaks) {
            const unsigned own = first ? agents_.own_stripe(sm_) : kNone;
            stripe = own != kNone ? own : agents_.left_over_stripe(sm_, looked_at_);
        }
        __syncthreads();
        place_ = end_ = 0;
        if (stripe == kNone) return;
        const unsigned cluster = stripe / agents_.active_;
        place_ = agents_.tasks_.first(cluster);
        end_ = place_ + agents_.tasks_.size(cluster);
        place_ += stripe % agents_.active_;
    }

    const Agents& agents_;
    unsigned sm_ = 0;
    unsigned place_ = 0;      ///< of the task in the order
    unsigned end_ = 0;        ///< of the cluster
    unsigned looked_at_ = 0;  ///< clusters without unclaimed stripes; known only to the leading thread
};

inline __device__ Agents::Iterator Agents::begin() const {
    return Iterator(*this);
}

/// Stripes are numbered over all clusters: cluster * active + stripe.
inline __device__ unsigned Agents::own_stripe(unsigned sm) const {
    unsigned own = kNone;
    if (sm < clusters_) {
        unsigned* cluster = words_ + taken + sm;
        if (id_ == AgentId::counter) {
            own = atomicAdd(cluster, 1u);
        } else {
            unsigned warp;
            asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
            own = warp / ((blockDim.x * blockDim.y * blockDim.z + 31) / 32);
            if (own < stripes_of(sm) && (atomicOr(cluster, 1u << own) >> own & 1) != 0) own = kNone;
        }
    }
    const bool works = sm < clusters_ && own < stripes_of(sm);
    __threadfence();  // an agent that sees that all have arrived must not claim a stripe that belongs to one of them
    atomicAdd(at_progress(), (1ull << 32) + (works ? 1 : 0));
    return works ? sm * active_ + own : kNone;
}

inline __device__ unsigned Agents::left_over_stripe(unsigned sm, unsigned& looked_at) const {
    const unsigned long long seen = atomicAdd(at_progress(), 0ull);
    __threadfence();
    if (seen >> 32 == launched() && static_cast<unsigned>(seen) < stripes_) {
        for (; looked_at < clusters_; ++looked_at) {
            // A separate loop without atomics: Mergelane treats a loop whose atomics change nothing as a waiting thread.
            while (looked_at < clusters_ && !may_have_any((sm % clusters_ + looked_at) % clusters_)) ++looked_at;
            if (looked_at == clusters_) break;
            const unsigned cluster = (sm % clusters_ + looked_at) % clusters_;
            const unsigned stripe = take_any(words_ + taken + cluster, stripes_of(cluster));
            if (stripe == kNone) continue;
            atomicAdd(at_progress(), 1ull);
            return cluster * active_ + stripe;
        }
    }
    leave();
    return kNone;
}

/// A plain load may return an old value, but stripes are only claimed during a launch, so it never hides an unclaimed one.
inline __device__ bool Agents::may_have_any(unsigned cluster) const {
    const unsigned seen = words_[taken + cluster], stripes = stripes_of(cluster);
    if (id_ == AgentId::counter) return seen < stripes;
    return stripes != 0 && ~seen << (32 - stripes) != 0;
}

inline __device__ unsigned Agents::take_any(unsigned* cluster, unsigned stripes) const {
    if (id_ == AgentId::counter) {
        const unsigned stripe = atomicAdd(cluster, 1u);
        return stripe < stripes ? stripe : kNone;
    }
    const unsigned seen = atomicOr(cluster, 0u);
    for (unsigned stripe = 0; stripe < stripes; ++stripe)
        if ((seen >> stripe & 1) == 0 && (atomicOr(cluster, 1u << stripe) >> stripe & 1) == 0) return stripe;
    return kNone;
}

inline __device__ void Agents::leave() const {
    __threadfence();  // all accesses of this CTA to the words come before
    if (atomicAdd(words_ + left, 1u) + 1 != launched()) return;
    __threadfence();
    for (unsigned word = 0; word < taken + clusters_; ++word) words_[word] = 0;
}

/// The words in device memory that agents share. One state serves any kernels, grids and orders, as long as their launches do not overlap.
class AgentState {
public:
    AgentState() = default;
    AgentState(const AgentState&) = delete;
    AgentState& operator=(const AgentState&) = delete;
    ~AgentState() { destroy(); }

    /// For this many clusters; 0: one per SM of the current device.
    cudaError_t create(unsigned clusters = 0) {
        destroy();
        int device = 0, sms = 0;
        cudaError_t error = cudaGetDevice(&device);
        if (error == cudaSuccess) error = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
        if (error != cudaSuccess) return error;
        if (clusters == 0) clusters = static_cast<unsigned>(sms);
        if (clusters > kMostClusters) return cudaErrorInvalidValue;
        const std::size_t bytes = (Agents::taken + clusters) * sizeof(unsigned);
        error = cudaMalloc(&words_, bytes);
        if (error == cudaSuccess) error = cudaMemset(words_, 0, bytes);
        if (error == cudaSuccess) error = cudaDeviceSynchronize();  // the next launch may be in a stream that does not wait for others
        if (error != cudaSuccess)
            destroy();
        else
            clusters_ = clusters;
        return error;
    }
    void destroy() {
        if (words_ != nullptr) static_cast<void>(cudaFree(words_));
        words_ = nullptr;
        clusters_ = 0;
    }
    unsigned clusters() const { return clusters_; }

    /// Prepares a launch of `kernel`, whose parameters include an Agents, for the tasks of `grid`. On error `agents` has no CTAs, so that a
    /// launch with it fails too.
    template <class... Parameters>
    cudaError_t plan(Agents& agents, void (*kernel)(Parameters...), const dim3& block, std::size_t dynamic_shared, const dim3& grid,
                     const Order& order, const AgentOptions& options = AgentOptions()) const {
        agents = Agents();
        const unsigned long long row_tasks = 1ull * grid.x * grid.y;
        if (clusters_ == 0 || row_tasks == 0 || grid.z == 0 || row_tasks > kMostTasks / grid.z) return cudaErrorInvalidValue;
        int fit = static_cast<int>(options.per_sm);
        if (fit == 0) {
            const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                &fit, reinterpret_cast<const void*>(kernel), static_cast<int>(block.x * block.y * block.z), dynamic_shared);
            if (error != cudaSuccess) return error;
        }
        if (fit <= 0 || fit > kMostPerSm) return cudaErrorInvalidConfiguration;
        agents.words_ = words_;
        agents.grid_ = grid;
        agents.order_ = order;
        agents.tasks_ = Clusters(static_cast<unsigned>(row_tasks) * grid.z, clusters_);
        agents.clusters_ = clusters_;
        agents.active_ = static_cast<unsigned>(fit) < kMostActive ? static_cast<unsigned>(fit) : kMostActive;
        if (options.active != 0 && options.active < agents.active_) agents.active_ = options.active;
        for (unsigned cluster = 0; cluster < clusters_; ++cluster) agents.stripes_ += agents.stripes_of(cluster);
        agents.ctas_ = clusters_ * static_cast<unsigned>(fit);
        agents.id_ = options.id;
        return cudaSuccess;
    }

private:
    static constexpr unsigned kMostActive = 32;  ///< bits of a word; no GPU holds more CTAs per SM
    static constexpr int kMostPerSm = 1024;      ///< with this many clusters, CTAs and stripes can be counted in 32 bits
    static constexpr unsigned kMostClusters = 1 << 20;
    static constexpr unsigned long long kMostTasks = 0x7FFFFFFF;

    unsigned* words_ = nullptr;
    unsigned clusters_ = 0;
};

}  // namespace mergelane
