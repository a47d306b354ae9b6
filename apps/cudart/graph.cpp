// SPDX-License-Identifier: MIT
#include "graph.hpp"

#include <algorithm>
#include <set>

#include "runtime.hpp"

namespace mergelane::cudart {

Node* Graph::add(std::unique_ptr<Node> node, std::vector<Node*> before) {
    node->graph = this;
    node->before = std::move(before);
    nodes.push_back(std::move(node));
    return nodes.back().get();
}

std::vector<Node*> Graph::order() const {
    std::map<const Node*, std::size_t> missing;  // how many it still waits for
    std::map<const Node*, std::size_t> number;
    std::map<const Node*, std::vector<Node*>> after;
    std::set<std::size_t> ready;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
        Node* const node = nodes[k].get();
        number[node] = k;
        missing[node] = node->before.size();
        for (const Node* earlier : node->before) after[earlier].push_back(node);
        if (node->before.empty()) ready.insert(k);
    }
    std::vector<Node*> list;
    while (!ready.empty()) {
        Node* const node = nodes[*ready.begin()].get();
        ready.erase(ready.begin());
        list.push_back(node);
        for (const Node* later : after[node]) {
            if (--missing[later] == 0) ready.insert(number[later]);
        }
    }
    if (list.size() != nodes.size()) throw CudaError{kInvalidValue, "the dependencies of a graph form a cycle; remove one"};
    return list;
}

std::unique_ptr<Graph> Graph::clone() const {
    auto made = std::make_unique<Graph>();
    std::map<const Node*, Node*> same;
    for (const std::unique_ptr<Node>& node : nodes) {
        auto copy = std::make_unique<Node>();
        copy->type = node->type;
        copy->kernel = node->kernel;
        copy->kernel.point();
        copy->copy = node->copy;
        copy->fill = node->fill;
        copy->host = node->host;
        if (node->child != nullptr) copy->child = node->child->clone();
        copy->event = node->event;
        copy->allocation = node->allocation;
        copy->made_from = node.get();
        copy->enabled = node->enabled;
        same[node.get()] = made->add(std::move(copy), {});
    }
    for (const std::unique_ptr<Node>& node : nodes) {
        for (const Node* earlier : node->before) same.at(node.get())->before.push_back(same.at(earlier));
    }
    return made;
}

Node* Graph::find_clone_of(const Node* original) const {
    for (const std::unique_ptr<Node>& node : nodes) {
        if (node->made_from == original) return node.get();
    }
    throw CudaError{kInvalidValue, ""};
}

// ---- of the runtime

/// Adds a node for work on a stream that is being captured; nullptr if it is not.
Node* Runtime::captured(void* handle, NodeType type) {
    Stream* const known = stream(handle);
    if (known == nullptr || known->capture == nullptr) return nullptr;
    auto node = std::make_unique<Node>();
    node->type = type;
    Node* const made = known->capture->graph->add(std::move(node), known->last);
    known->last = {made};
    return made;
}

bool Runtime::capture(void* handle, const Copy3D& copy) {
    Node* const node = captured(handle, kCopyNode);
    if (node != nullptr) node->copy = copy;
    return node != nullptr;
}
bool Runtime::capture(void* handle, const Fill& what) {
    Node* const node = captured(handle, kFillNode);
    if (node != nullptr) node->fill = what;
    return node != nullptr;
}
bool Runtime::capture(void* handle, const HostNode& host) {
    Node* const node = captured(handle, kHostNode);
    if (node != nullptr) node->host = host;
    return node != nullptr;
}
bool Runtime::capture(void* handle, const KernelNode& what, const LaunchKind& kind) {
    Stream* const known = stream(handle);
    if (known == nullptr || known->capture == nullptr) return false;
    KernelWork work = kernel_work(what, kind);
    Node* const node = captured(handle, kKernelNode);
    node->kernel = std::move(work);
    node->kernel.point();
    return true;
}
void* Runtime::capture_allocation(void* handle, std::size_t bytes) {
    Node* const node = captured(handle, kAllocationNode);
    if (node == nullptr) return nullptr;
    node->allocation.bytes = bytes;
    node->allocation.pointer = graph_allocation(bytes);
    return node->allocation.pointer;
}
bool Runtime::capture_release(void* handle, void* pointer) {
    Node* const node = captured(handle, kReleaseNode);
    if (node != nullptr) node->allocation.pointer = pointer;
    return node != nullptr;
}
/// An event that is recorded on a captured stream stands for the work before it; a stream that waits for it takes part in the capture.
bool Runtime::capture_record(void* handle, void* event) {
    Stream* const known = stream(handle);
    Event& mark = events.at(event);
    mark.capture = known == nullptr ? nullptr : known->capture;
    if (mark.capture == nullptr) return false;
    mark.nodes = known->last;
    return true;
}
bool Runtime::capture_wait(void* handle, void* event) {
    const Event& mark = events.at(event);
    Stream* const known = stream(handle);
    if (mark.capture == nullptr || known == nullptr) return false;
    if (known->capture != nullptr && known->capture != mark.capture) throw CudaError{kStreamCaptureMerge, ""};
    known->capture = mark.capture;
    for (Node* node : mark.nodes) {
        if (std::find(known->last.begin(), known->last.end(), node) == known->last.end()) known->last.push_back(node);
    }
    return true;
}
bool Runtime::capture_graph(void* handle, const Graph& graph) {
    Node* const node = captured(handle, kChildNode);
    if (node != nullptr) node->child = graph.clone();
    return node != nullptr;
}

void Runtime::begin_capture(void* handle, Graph& graph, bool existing, const std::vector<Node*>& before) {
    Stream* const known = stream(handle);
    if (known == nullptr) throw CudaError{kStreamCaptureUnsupported, ""};
    if (known->capture != nullptr) throw CudaError{kIllegalState, ""};
    known->capture = std::make_shared<Capture>(Capture{&graph, existing, handle, ++captures_});
    known->last = before;
}

Graph* Runtime::end_capture(void* handle) {
    Stream* const known = stream(handle);
    if (known == nullptr || known->capture == nullptr) throw CudaError{kIllegalState, ""};
    const std::shared_ptr<Capture> capture = known->capture;
    if (capture->origin != handle) throw CudaError{kStreamCaptureUnmatched, ""};
    // What other streams did must be known to the first one by events that it waited for.
    std::set<const Node*> seen;
    std::vector<Node*> left = known->last;
    while (!left.empty()) {
        Node* const node = left.back();
        left.pop_back();
        if (seen.insert(node).second) left.insert(left.end(), node->before.begin(), node->before.end());
    }
    bool joined = true;
    streams.each([&](Stream& other) {
        if (other.capture != capture) return;
        for (const Node* node : other.last) joined = joined && seen.contains(node);
        other.capture = nullptr;
        other.last.clear();
    });
    events.each([&](Event& event) {
        if (event.capture == capture) event.capture = nullptr;
    });
    if (!joined) {
        if (!capture->into_existing) graphs.remove(capture->graph);
        throw CudaError{kStreamCaptureUnjoined, ""};
    }
    return capture->graph;
}

KernelWork Runtime::kernel_work(const KernelNode& what, const LaunchKind& kind) {
    KernelWork work;
    work.kernel = &kernel(what.function);
    work.function = what.function;
    work.grid = what.grid;
    work.block = what.block;
    work.shared = what.shared;
    work.kind = kind;
    program(*work.kernel);
    const std::vector<ptx::Variable>& parameters = work.kernel->image->module->kernel(work.kernel->name).params;
    if (!parameters.empty() && what.arguments == nullptr)
        throw CudaError{kInvalidValue,
                        what.extra == nullptr ? "" : "arguments of kernel nodes in one buffer are not supported; use an array"};
    for (std::size_t k = 0; k < parameters.size(); ++k) {
        const auto* const bytes = static_cast<const std::byte*>(what.arguments[k]);
        work.arguments.emplace_back(bytes, bytes + parameters[k].bytes);
    }
    work.point();
    return work;
}

/// Memory that a graph allocates keeps its address, and is there as long as the program: the graph may be launched again.
void* Runtime::graph_allocation(std::size_t bytes) {
    const Addr made = allocate(bytes);
    graph_memory_[made] = bytes;
    return reinterpret_cast<void*>(made);
}

std::uint64_t Runtime::graph_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [address, bytes] : graph_memory_) sum += bytes;
    return sum;
}

Pool* Runtime::default_pool() {
    if (default_pool_ == nullptr) default_pool_ = pools.add(Pool{});
    return default_pool_;
}

void Runtime::check_not_captured(void* handle) {
    const Stream* const known = stream(handle);
    if (known != nullptr && known->capture != nullptr) throw CudaError{kStreamCaptureUnsupported, ""};
}

/// Everything but a host function, which is called without the lock.
void Runtime::run_node(Node& node) {
    switch (node.type) {
        case kKernelNode: {
            KernelWork& work = node.kernel;
            launch(*work.kernel, work.grid, work.block, work.pointers.data(), work.shared, nullptr, work.kind);
            break;
        }
        case kCopyNode: copy_3d(*this, node.copy); break;
        case kFillNode: cudart::fill(*this, node.fill); break;
        case kRecordNode: {
            Event& event = events.at(node.event);
            event.recorded = true;
            event.tick = now();
            break;
        }
        default: break;  // order is all that is left of waits, allocations and empty nodes
    }
}

}  // namespace mergelane::cudart
