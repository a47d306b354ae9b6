// SPDX-License-Identifier: MIT
// Graphs of work, and the capture of what a program enqueues on a stream into one.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <unordered_set>
#include <vector>

#include "abi.hpp"
#include "array.hpp"

namespace mergelane::cudart {

struct Kernel;
struct Graph;

/// What a launch says beside its grid and its CTAs.
struct LaunchKind {
    bool cooperative = false;
    Dim cluster{};  ///< CTAs of a cluster; 0: the kernel decides
};

/// A launch; the arguments are copied when the node is made.
struct KernelWork {
    Kernel* kernel = nullptr;
    const void* function = nullptr;
    Dim grid{}, block{};
    std::size_t shared = 0;
    LaunchKind kind;
    std::vector<std::vector<std::byte>> arguments;
    std::vector<void*> pointers;  ///< to the arguments

    void point() {
        pointers.clear();
        for (std::vector<std::byte>& argument : arguments) pointers.push_back(argument.data());
    }
};

/// Programs know nodes and graphs by their addresses.
template <class T>
struct Known {
    Known() { all().insert(this); }
    ~Known() { all().erase(this); }
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;
    static bool exists(const void* handle) { return all().contains(handle); }

private:
    static std::unordered_set<const void*>& all() {
        static auto* const set = new std::unordered_set<const void*>;  // programs call the runtime until the very end
        return *set;
    }
};

struct Node : Known<Node> {
    NodeType type = kEmptyNode;
    KernelWork kernel;
    Copy3D copy{};
    Fill fill{};
    HostNode host{};
    std::unique_ptr<Graph> child;
    void* event = nullptr;
    AllocationNode allocation{};  ///< also what a release frees
    std::vector<Node*> before;    ///< must have finished
    Graph* graph = nullptr;
    const Node* made_from = nullptr;  ///< in a clone
    bool enabled = true;
};

struct Graph : Known<Graph> {
    std::vector<std::unique_ptr<Node>> nodes;

    Node* add(std::unique_ptr<Node> node, std::vector<Node*> before);
    /// The nodes in an order in which each comes after those it depends on: the first that can go, goes. Throws CudaError for a cycle.
    std::vector<Node*> order() const;
    std::unique_ptr<Graph> clone() const;
    Node* find_clone_of(const Node* original) const;
};

/// A graph that can be launched: a copy, which later changes of the original do not concern.
struct GraphExecutable {
    std::unique_ptr<Graph> graph;
    std::vector<Node*> order;
};

/// One for all streams that take part.
struct Capture {
    Graph* graph = nullptr;
    bool into_existing = false;
    void* origin = nullptr;  ///< the stream on which it began
    unsigned long long id = 0;
};

}  // namespace mergelane::cudart
