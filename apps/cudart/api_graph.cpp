// SPDX-License-Identifier: MIT
// Graphs: building, capturing, instantiating and launching them. Nodes run one after the other. Conditional nodes, user objects and nodes
// for external semaphores are not supported.
#include <algorithm>
#include <set>

#include "api.hpp"
#include "graph.hpp"

using namespace mergelane;
using namespace mergelane::cudart;

namespace {

Node& node_at(void* handle) {
    if (!Node::exists(handle)) throw CudaError{kInvalidValue, ""};
    return *static_cast<Node*>(handle);
}
Node& node_at(void* handle, NodeType type) {
    Node& node = node_at(handle);
    if (node.type != type) throw CudaError{kInvalidValue, ""};
    return node;
}
Graph& graph_at(void* handle) {
    if (!Graph::exists(handle)) throw CudaError{kInvalidValue, ""};
    return *static_cast<Graph*>(handle);
}

std::vector<Node*> nodes_at(void* const* list, std::size_t count) {
    std::vector<Node*> nodes;
    for (std::size_t k = 0; k < count; ++k) nodes.push_back(&node_at(list[k]));
    return nodes;
}

/// Adds a node; `set` gives it its work.
template <class Set>
int add_node(void** made, void* graph, void* const* before, std::size_t count, NodeType type, const Set& set) {
    return guarded([&](Runtime& runtime) {
        out(made) = nullptr;
        if (count != 0 && before == nullptr) throw CudaError{kInvalidValue, ""};
        auto node = std::make_unique<Node>();
        node->type = type;
        set(runtime, *node);
        std::vector<Node*> list = nodes_at(before, count);
        *made = graph_at(graph).add(std::move(node), std::move(list));
    });
}

void set_kernel(Runtime& runtime, Node& node, const KernelNode& work) {
    const LaunchKind kind = node.kernel.kind;
    node.kernel = runtime.kernel_work(work, kind);
    node.kernel.point();
}
void set_allocation(Runtime& runtime, Node& node, AllocationNode& work) {
    if (work.bytes == 0) throw CudaError{kInvalidValue, ""};
    work.pointer = runtime.graph_allocation(work.bytes);
    node.allocation = work;
}

void set_work(Runtime& runtime, Node& node, NodeParameters& work) {
    switch (node.type) {
        case kKernelNode: return set_kernel(runtime, node, work.kernel);
        case kCopyNode: node.copy = work.copy.copy; return;
        case kFillNode: node.fill = work.fill; return;
        case kHostNode: node.host = work.host; return;
        case kChildNode: node.child = graph_at(work.handle).clone(); return;
        case kWaitNode:
        case kRecordNode:
            runtime.events.at(work.handle);
            node.event = work.handle;
            return;
        case kAllocationNode: return set_allocation(runtime, node, work.allocation);
        case kReleaseNode: node.allocation.pointer = work.released; return;
        case kEmptyNode: return;
    }
    throw CudaError{kNotSupported, "this type of graph node is not supported; conditional nodes and external semaphores are not"};
}

/// Answers "how many, and which": `list` may be null, `count` says how many fit.
void give_list(const std::vector<void*>& found, void** list, std::size_t* count) {
    if (list != nullptr) {
        for (std::size_t k = 0; k < std::min(found.size(), out(count)); ++k) list[k] = found[k];
    }
    out(count) = found.size();
}

std::vector<void*> users_of(const Node& node) {
    std::vector<void*> list;
    for (const std::unique_ptr<Node>& other : node.graph->nodes) {
        if (std::find(other->before.begin(), other->before.end(), &node) != other->before.end()) list.push_back(other.get());
    }
    return list;
}

/// Host functions run without the lock; the first failure ends the launch.
int launch_nodes(const std::vector<Node*>& order) {
    for (Node* const node : order) {
        if (!node->enabled) continue;
        int status = kSuccess;
        if (node->type == kHostNode) {
            node->host.function(node->host.data);
        } else if (node->type == kChildNode) {
            std::vector<Node*> inner;
            status = guarded([&](Runtime&) { inner = node->child->order(); });
            if (status == kSuccess) status = launch_nodes(inner);
        } else if (node->type != kEmptyNode) {
            status = guarded([&](Runtime& runtime) { runtime.run_node(*node); });
            if (status != kSuccess && node->type == kKernelNode) Runtime::get().set_unseen_failure(true);
        }
        if (status != kSuccess) return status;
    }
    return kSuccess;
}

/// The node of an executable graph that stands for a node of the graph it was made from.
template <class Set>
int set_in_executable(void* executable, void* node, NodeType type, const Set& set) {
    return guarded([&](Runtime& runtime) {
        const Node& original = node_at(node, type);
        set(runtime, *runtime.executables.at(executable).graph->find_clone_of(&original));
    });
}
template <class Set>
int set_node(void* node, NodeType type, const Set& set) {
    return guarded([&](Runtime& runtime) { set(runtime, node_at(node, type)); });
}

/// Whether the nodes of two graphs correspond one to one, in order; if not, what differs.
UpdateResult compare(const Graph& ours, const Graph& theirs) {
    constexpr int kTopologyChanged = 2, kTypeChanged = 3;
    if (ours.nodes.size() != theirs.nodes.size()) return {kTopologyChanged, nullptr, nullptr};
    std::map<const Node*, const Node*> same;
    for (std::size_t k = 0; k < ours.nodes.size(); ++k) same[theirs.nodes[k].get()] = ours.nodes[k].get();
    for (std::size_t k = 0; k < ours.nodes.size(); ++k) {
        const Node& a = *ours.nodes[k];
        Node& b = *theirs.nodes[k];
        if (a.type != b.type) return {kTypeChanged, &b, nullptr};
        std::set<const Node*> before(a.before.begin(), a.before.end()), translated;
        for (const Node* earlier : b.before) translated.insert(same[earlier]);
        if (before != translated) return {kTopologyChanged, &b, nullptr};
    }
    return {};
}

void take_over(Graph& ours, const Graph& theirs) {
    for (std::size_t k = 0; k < ours.nodes.size(); ++k) {
        Node& a = *ours.nodes[k];
        const Node& b = *theirs.nodes[k];
        a.kernel = b.kernel;
        a.kernel.point();
        a.copy = b.copy;
        a.fill = b.fill;
        a.host = b.host;
        a.event = b.event;
        if (b.child != nullptr) a.child = b.child->clone();
    }
}

}  // namespace

// ---- graphs and nodes

MERGELANE_API int cudaGraphCreate(void** graph, unsigned) {
    return guarded([&](Runtime& runtime) {
        out(graph) = nullptr;
        *graph = runtime.graphs.adopt(std::make_unique<Graph>());
    });
}
MERGELANE_API int cudaGraphDestroy(void* graph) {
    return guarded([&](Runtime& runtime) { runtime.graphs.remove(graph); });
}
MERGELANE_API int cudaGraphClone(void** clone, void* graph) {
    return guarded([&](Runtime& runtime) {
        out(clone) = nullptr;
        *clone = runtime.graphs.adopt(graph_at(graph).clone());
    });
}
MERGELANE_API int cudaGraphNodeFindInClone(void** node, void* original, void* clone) {
    return guarded([&](Runtime&) { out(node) = graph_at(clone).find_clone_of(&node_at(original)); });
}
MERGELANE_API int cudaGraphAddNode(void** made, void* graph, void* const* before, const void*, std::size_t count, NodeParameters* work) {
    if (work == nullptr) return remember(kInvalidValue);
    return add_node(made, graph, before, count, static_cast<NodeType>(work->type),
                    [&](Runtime& runtime, Node& node) { set_work(runtime, node, *work); });
}
MERGELANE_API int cudaGraphAddKernelNode(void** made, void* graph, void* const* before, std::size_t count, const KernelNode* work) {
    return add_node(made, graph, before, count, kKernelNode, [&](Runtime& runtime, Node& node) { set_kernel(runtime, node, out(work)); });
}
MERGELANE_API int cudaGraphAddMemcpyNode(void** made, void* graph, void* const* before, std::size_t count, const Copy3D* work) {
    return add_node(made, graph, before, count, kCopyNode, [&](Runtime&, Node& node) { node.copy = out(work); });
}
MERGELANE_API int cudaGraphAddMemcpyNode1D(void** made, void* graph, void* const* before, std::size_t count, void* to, const void* from,
                                           std::size_t bytes, int direction) {
    const Copy3D copy = plain_copy(to, from, bytes, direction);
    return cudaGraphAddMemcpyNode(made, graph, before, count, &copy);
}
MERGELANE_API int cudaGraphAddMemsetNode(void** made, void* graph, void* const* before, std::size_t count, const Fill* work) {
    return add_node(made, graph, before, count, kFillNode, [&](Runtime&, Node& node) { node.fill = out(work); });
}
MERGELANE_API int cudaGraphAddHostNode(void** made, void* graph, void* const* before, std::size_t count, const HostNode* work) {
    return add_node(made, graph, before, count, kHostNode, [&](Runtime&, Node& node) { node.host = out(work); });
}
MERGELANE_API int cudaGraphAddChildGraphNode(void** made, void* graph, void* const* before, std::size_t count, void* child) {
    return add_node(made, graph, before, count, kChildNode, [&](Runtime&, Node& node) { node.child = graph_at(child).clone(); });
}
MERGELANE_API int cudaGraphAddEmptyNode(void** made, void* graph, void* const* before, std::size_t count) {
    return add_node(made, graph, before, count, kEmptyNode, [](Runtime&, Node&) {});
}
MERGELANE_API int cudaGraphAddEventRecordNode(void** made, void* graph, void* const* before, std::size_t count, void* event) {
    return add_node(made, graph, before, count, kRecordNode, [&](Runtime& runtime, Node& node) {
        runtime.events.at(event);
        node.event = event;
    });
}
MERGELANE_API int cudaGraphAddEventWaitNode(void** made, void* graph, void* const* before, std::size_t count, void* event) {
    return add_node(made, graph, before, count, kWaitNode, [&](Runtime& runtime, Node& node) {
        runtime.events.at(event);
        node.event = event;
    });
}
MERGELANE_API int cudaGraphAddMemAllocNode(void** made, void* graph, void* const* before, std::size_t count, AllocationNode* work) {
    return add_node(made, graph, before, count, kAllocationNode,
                    [&](Runtime& runtime, Node& node) { set_allocation(runtime, node, out(work)); });
}
MERGELANE_API int cudaGraphAddMemFreeNode(void** made, void* graph, void* const* before, std::size_t count, void* pointer) {
    return add_node(made, graph, before, count, kReleaseNode, [&](Runtime&, Node& node) { node.allocation.pointer = pointer; });
}
MERGELANE_API int cudaGraphDestroyNode(void* handle) {
    return guarded([&](Runtime&) {
        Node& node = node_at(handle);
        Graph& graph = *node.graph;
        for (const std::unique_ptr<Node>& other : graph.nodes) std::erase(other->before, &node);
        std::erase_if(graph.nodes, [&](const std::unique_ptr<Node>& other) { return other.get() == &node; });
    });
}
MERGELANE_API int cudaGraphAddDependencies(void* graph, void* const* from, void* const* to, const void*, std::size_t count) {
    return guarded([&](Runtime&) {
        graph_at(graph);
        const std::vector<Node*> first = nodes_at(from, count), second = nodes_at(to, count);
        for (std::size_t k = 0; k < count; ++k) {
            if (first[k]->graph != graph || second[k]->graph != graph || first[k] == second[k]) throw CudaError{kInvalidValue, ""};
            second[k]->before.push_back(first[k]);
        }
    });
}
MERGELANE_API int cudaGraphRemoveDependencies(void* graph, void* const* from, void* const* to, const void*, std::size_t count) {
    return guarded([&](Runtime&) {
        graph_at(graph);
        const std::vector<Node*> first = nodes_at(from, count), second = nodes_at(to, count);
        for (std::size_t k = 0; k < count; ++k) std::erase(second[k]->before, first[k]);
    });
}

// ---- questions

MERGELANE_API int cudaGraphNodeGetType(void* node, int* type) {
    return guarded([&](Runtime&) { out(type) = node_at(node).type; });
}
MERGELANE_API int cudaGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
    return guarded([&](Runtime&) {
        std::vector<void*> found;
        for (const std::unique_ptr<Node>& node : graph_at(graph).nodes) found.push_back(node.get());
        give_list(found, nodes, count);
    });
}
MERGELANE_API int cudaGraphGetRootNodes(void* graph, void** nodes, std::size_t* count) {
    return guarded([&](Runtime&) {
        std::vector<void*> found;
        for (const std::unique_ptr<Node>& node : graph_at(graph).nodes) {
            if (node->before.empty()) found.push_back(node.get());
        }
        give_list(found, nodes, count);
    });
}
MERGELANE_API int cudaGraphGetEdges(void* graph, void** from, void** to, void*, std::size_t* count) {
    return guarded([&](Runtime&) {
        std::vector<void*> first, second;
        for (const std::unique_ptr<Node>& node : graph_at(graph).nodes) {
            for (Node* earlier : node->before) {
                first.push_back(earlier);
                second.push_back(node.get());
            }
        }
        std::size_t room = out(count);
        give_list(first, from, count);
        give_list(second, to, &room);
    });
}
MERGELANE_API int cudaGraphNodeGetDependencies(void* node, void** list, void*, std::size_t* count) {
    return guarded([&](Runtime&) {
        const Node& known = node_at(node);
        give_list({known.before.begin(), known.before.end()}, list, count);
    });
}
MERGELANE_API int cudaGraphNodeGetDependentNodes(void* node, void** list, void*, std::size_t* count) {
    return guarded([&](Runtime&) { give_list(users_of(node_at(node)), list, count); });
}
MERGELANE_API int cudaGraphChildGraphNodeGetGraph(void* node, void** graph) {
    return guarded([&](Runtime&) { out(graph) = node_at(node, kChildNode).child.get(); });
}
MERGELANE_API int cudaGraphKernelNodeGetParams(void* node, KernelNode* work) {
    return guarded([&](Runtime&) {
        KernelWork& known = node_at(node, kKernelNode).kernel;
        out(work) = {known.function, known.grid, known.block, static_cast<unsigned>(known.shared), known.pointers.data(), nullptr};
    });
}
MERGELANE_API int cudaGraphMemcpyNodeGetParams(void* node, Copy3D* work) {
    return guarded([&](Runtime&) { out(work) = node_at(node, kCopyNode).copy; });
}
MERGELANE_API int cudaGraphMemsetNodeGetParams(void* node, Fill* work) {
    return guarded([&](Runtime&) { out(work) = node_at(node, kFillNode).fill; });
}
MERGELANE_API int cudaGraphHostNodeGetParams(void* node, HostNode* work) {
    return guarded([&](Runtime&) { out(work) = node_at(node, kHostNode).host; });
}
MERGELANE_API int cudaGraphMemAllocNodeGetParams(void* node, AllocationNode* work) {
    return guarded([&](Runtime&) { out(work) = node_at(node, kAllocationNode).allocation; });
}
MERGELANE_API int cudaGraphMemFreeNodeGetParams(void* node, void** pointer) {
    return guarded([&](Runtime&) { out(pointer) = node_at(node, kReleaseNode).allocation.pointer; });
}
MERGELANE_API int cudaGraphEventRecordNodeGetEvent(void* node, void** event) {
    return guarded([&](Runtime&) { out(event) = node_at(node, kRecordNode).event; });
}
MERGELANE_API int cudaGraphEventWaitNodeGetEvent(void* node, void** event) {
    return guarded([&](Runtime&) { out(event) = node_at(node, kWaitNode).event; });
}

// ---- changes

MERGELANE_API int cudaGraphNodeSetParams(void* node, NodeParameters* work) {
    return guarded([&](Runtime& runtime) { set_work(runtime, node_at(node, static_cast<NodeType>(out(work).type)), *work); });
}
MERGELANE_API int cudaGraphKernelNodeSetParams(void* node, const KernelNode* work) {
    return set_node(node, kKernelNode, [&](Runtime& runtime, Node& known) { set_kernel(runtime, known, out(work)); });
}
MERGELANE_API int cudaGraphMemcpyNodeSetParams(void* node, const Copy3D* work) {
    return set_node(node, kCopyNode, [&](Runtime&, Node& known) { known.copy = out(work); });
}
MERGELANE_API int cudaGraphMemcpyNodeSetParams1D(void* node, void* to, const void* from, std::size_t bytes, int direction) {
    return set_node(node, kCopyNode, [&](Runtime&, Node& known) { known.copy = plain_copy(to, from, bytes, direction); });
}
MERGELANE_API int cudaGraphMemsetNodeSetParams(void* node, const Fill* work) {
    return set_node(node, kFillNode, [&](Runtime&, Node& known) { known.fill = out(work); });
}
MERGELANE_API int cudaGraphHostNodeSetParams(void* node, const HostNode* work) {
    return set_node(node, kHostNode, [&](Runtime&, Node& known) { known.host = out(work); });
}
/// Cooperative launches and clusters make a difference here. As with other parameters, a launch checks the dimensions.
MERGELANE_API int cudaGraphKernelNodeSetAttribute(void* node, int attribute, const unsigned* value) {
    return set_node(node, kKernelNode, [&](Runtime&, Node& known) {
        LaunchKind& kind = known.kernel.kind;
        if (attribute == kClusterDimension) kind.cluster = {out(value), value[1], value[2]};
        if (attribute == kCooperative) kind.cooperative = out(value) != 0;
    });
}
MERGELANE_API int cudaGraphKernelNodeGetAttribute(void* node, int attribute, unsigned* value) {
    return set_node(node, kKernelNode, [&](Runtime&, Node& known) {
        const LaunchKind& kind = known.kernel.kind;
        out(value) = attribute == kCooperative && kind.cooperative ? 1 : 0;
        if (attribute != kClusterDimension) return;
        value[0] = kind.cluster.x;
        value[1] = kind.cluster.y;
        value[2] = kind.cluster.z;
    });
}
MERGELANE_API int cudaGraphKernelNodeCopyAttributes(void* from, void* to) {
    return set_node(to, kKernelNode, [&](Runtime&, Node& known) { known.kernel.kind = node_at(from, kKernelNode).kernel.kind; });
}

// ---- executable graphs

MERGELANE_API int cudaGraphInstantiate(void** executable, void* graph, unsigned long long) {
    return guarded([&](Runtime& runtime) {
        out(executable) = nullptr;
        auto made = std::make_unique<GraphExecutable>();
        made->graph = graph_at(graph).clone();
        made->order = made->graph->order();
        *executable = runtime.executables.adopt(std::move(made));
    });
}
MERGELANE_SAME(cudaGraphInstantiate, cudaGraphInstantiateWithFlags);
MERGELANE_API int cudaGraphExecDestroy(void* executable) {
    return guarded([&](Runtime& runtime) { runtime.executables.remove(executable); });
}
MERGELANE_API int cudaGraphExecGetFlags(void* executable, unsigned long long* flags) {
    return guarded([&](Runtime& runtime) {
        runtime.executables.at(executable);
        out(flags) = 0;
    });
}
MERGELANE_API int cudaGraphUpload(void* executable, void* stream) {
    return guarded_on(stream, [&](Runtime& runtime) { runtime.executables.at(executable); });
}
MERGELANE_ALSO(cudaGraphUpload, ptsz);
MERGELANE_API int cudaGraphLaunch(void* executable, void* stream) {
    std::vector<Node*> order;
    const int status = guarded_on(stream, [&](Runtime& runtime) {
        const GraphExecutable& known = runtime.executables.at(executable);
        if (!runtime.capture_graph(stream, *known.graph)) order = known.order;
    });
    return status != kSuccess ? status : launch_nodes(order);
}
MERGELANE_ALSO(cudaGraphLaunch, ptsz);
MERGELANE_API int cudaGraphExecUpdate(void* executable, void* graph, UpdateResult* result) {
    return guarded([&](Runtime& runtime) {
        Graph& ours = *runtime.executables.at(executable).graph;
        const Graph& theirs = graph_at(graph);
        const UpdateResult found = compare(ours, theirs);
        if (result != nullptr) *result = found;
        if (found.result != 0) throw CudaError{kGraphExecUpdateFailure, ""};
        take_over(ours, theirs);
    });
}
MERGELANE_API int cudaGraphExecNodeSetParams(void* executable, void* node, NodeParameters* work) {
    if (work == nullptr) return remember(kInvalidValue);
    return set_in_executable(executable, node, static_cast<NodeType>(work->type),
                             [&](Runtime& runtime, Node& known) { set_work(runtime, known, *work); });
}
MERGELANE_API int cudaGraphExecKernelNodeSetParams(void* executable, void* node, const KernelNode* work) {
    return set_in_executable(executable, node, kKernelNode, [&](Runtime& runtime, Node& known) { set_kernel(runtime, known, out(work)); });
}
MERGELANE_API int cudaGraphExecMemcpyNodeSetParams(void* executable, void* node, const Copy3D* work) {
    return set_in_executable(executable, node, kCopyNode, [&](Runtime&, Node& known) { known.copy = out(work); });
}
MERGELANE_API int cudaGraphExecMemcpyNodeSetParams1D(void* executable, void* node, void* to, const void* from, std::size_t bytes,
                                                     int direction) {
    return set_in_executable(executable, node, kCopyNode,
                             [&](Runtime&, Node& known) { known.copy = plain_copy(to, from, bytes, direction); });
}
MERGELANE_API int cudaGraphExecMemsetNodeSetParams(void* executable, void* node, const Fill* work) {
    return set_in_executable(executable, node, kFillNode, [&](Runtime&, Node& known) { known.fill = out(work); });
}
MERGELANE_API int cudaGraphExecHostNodeSetParams(void* executable, void* node, const HostNode* work) {
    return set_in_executable(executable, node, kHostNode, [&](Runtime&, Node& known) { known.host = out(work); });
}
MERGELANE_API int cudaGraphExecChildGraphNodeSetParams(void* executable, void* node, void* child) {
    return set_in_executable(executable, node, kChildNode, [&](Runtime&, Node& known) { known.child = graph_at(child).clone(); });
}
MERGELANE_API int cudaGraphExecEventRecordNodeSetEvent(void* executable, void* node, void* event) {
    return set_in_executable(executable, node, kRecordNode, [&](Runtime& runtime, Node& known) {
        runtime.events.at(event);
        known.event = event;
    });
}
MERGELANE_API int cudaGraphNodeSetEnabled(void* executable, void* node, unsigned enabled) {
    return guarded(
        [&](Runtime& runtime) { runtime.executables.at(executable).graph->find_clone_of(&node_at(node))->enabled = enabled != 0; });
}
MERGELANE_API int cudaGraphNodeGetEnabled(void* executable, void* node, unsigned* enabled) {
    return guarded(
        [&](Runtime& runtime) { out(enabled) = runtime.executables.at(executable).graph->find_clone_of(&node_at(node))->enabled ? 1 : 0; });
}

// ---- memory of graphs, which stays where it is until the program ends

MERGELANE_API int cudaDeviceGetGraphMemAttribute(int, int attribute, std::uint64_t* value) {
    return guarded([&](Runtime& runtime) {
        if (attribute < 0 || attribute > 3) throw CudaError{kInvalidValue, ""};
        out(value) = runtime.graph_bytes();
    });
}
MERGELANE_API int cudaDeviceSetGraphMemAttribute(int, int attribute, const std::uint64_t* value) {
    return guarded([&](Runtime&) {
        if ((attribute != 1 && attribute != 3) || out(value) != 0) throw CudaError{kInvalidValue, ""};
    });
}
MERGELANE_API int cudaDeviceGraphMemTrim(int device) {
    return guarded([&](Runtime&) {
        if (device != 0) throw CudaError{kInvalidDevice, ""};
    });
}

// ---- capture

MERGELANE_API int cudaStreamBeginCaptureToGraph(void* stream, void* graph, void* const* before, const void*, std::size_t count, int) {
    return guarded([&](Runtime& runtime) {
        Graph& into = graph_at(graph);
        const std::vector<Node*> list = nodes_at(before, count);
        runtime.begin_capture(stream, into, true, list);
    });
}
MERGELANE_ALSO(cudaStreamBeginCaptureToGraph, ptsz);
MERGELANE_API int cudaStreamBeginCapture(void* stream, int mode) {
    return guarded([&](Runtime& runtime) {
        if (mode < 0 || mode > 2) throw CudaError{kInvalidValue, ""};
        auto graph = std::make_unique<Graph>();
        runtime.begin_capture(stream, *graph, false, {});
        runtime.graphs.adopt(std::move(graph));
    });
}
MERGELANE_ALSO(cudaStreamBeginCapture, ptsz);
MERGELANE_API int cudaStreamEndCapture(void* stream, void** graph) {
    return guarded([&](Runtime& runtime) {
        if (graph != nullptr) *graph = nullptr;
        Graph* const made = runtime.end_capture(stream);
        if (graph != nullptr) *graph = made;
    });
}
MERGELANE_ALSO(cudaStreamEndCapture, ptsz);
MERGELANE_API int cudaStreamIsCapturing(void* stream, int* status) {
    return guarded([&](Runtime& runtime) {
        const Stream* const known = runtime.stream(stream);
        out(status) = known != nullptr && known->capture != nullptr ? 1 : 0;
    });
}
MERGELANE_ALSO(cudaStreamIsCapturing, ptsz);
MERGELANE_API int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id, void** graph, void* const** before,
                                           const void** edges, std::size_t* count) {
    return guarded([&](Runtime& runtime) {
        Stream* const known = runtime.stream(stream);
        const bool active = known != nullptr && known->capture != nullptr;
        out(status) = active ? 1 : 0;
        if (id != nullptr) *id = active ? known->capture->id : 0;
        if (!active) return;
        if (graph != nullptr) *graph = known->capture->graph;
        if (edges != nullptr) *edges = nullptr;
        if (before != nullptr) *before = reinterpret_cast<void* const*>(known->last.data());
        if (count != nullptr) *count = known->last.size();
    });
}
MERGELANE_ALSO(cudaStreamGetCaptureInfo, ptsz);
MERGELANE_API int cudaStreamUpdateCaptureDependencies(void* stream, void* const* before, const void*, std::size_t count, unsigned flags) {
    return guarded([&](Runtime& runtime) {
        Stream* const known = runtime.stream(stream);
        if (known == nullptr || known->capture == nullptr) throw CudaError{kIllegalState, ""};
        const std::vector<Node*> list = nodes_at(before, count);
        constexpr unsigned kReplace = 1;
        if (flags == kReplace) known->last.clear();
        known->last.insert(known->last.end(), list.begin(), list.end());
    });
}
MERGELANE_ALSO(cudaStreamUpdateCaptureDependencies, ptsz);
MERGELANE_API int cudaThreadExchangeStreamCaptureMode(int* mode) {
    return guarded([&](Runtime&) { out(mode) = 0; });
}
