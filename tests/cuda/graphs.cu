// SPDX-License-Identifier: MIT
// Graphs made by hand and by capture: launched twice, updated, cloned; events join a second stream.
#include "check.cuh"

__global__ void add(int* data, int amount) {
    data[threadIdx.x] += amount;
}
__global__ void twice(int* data) {
    data[threadIdx.x] *= 2;
}
void count(void* counter) {
    ++*static_cast<int*>(counter);
}

constexpr int kThreads = 32;
int host[kThreads], counter = 0;

void by_hand(int* data) {
    cudaGraph_t graph, clone;
    OK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t clear, first, second, copy, call, found;
    cudaMemsetParams fill{};
    fill.dst = data;
    fill.elementSize = 4;
    fill.value = 1;
    fill.width = kThreads;
    fill.height = 1;
    OK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &fill));
    int amount = 4;
    void* arguments[] = {&data, &amount};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(add);
    kernel.gridDim = 1;
    kernel.blockDim = kThreads;
    kernel.kernelParams = arguments;
    OK(cudaGraphAddKernelNode(&first, graph, &clear, 1, &kernel));
    kernel.func = reinterpret_cast<void*>(twice);
    OK(cudaGraphAddKernelNode(&second, graph, nullptr, 0, &kernel));
    OK(cudaGraphAddDependencies(graph, &first, &second, nullptr, 1));
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &second, 1, host, data, sizeof host, cudaMemcpyDeviceToHost));
    cudaHostNodeParams function{count, &counter};
    OK(cudaGraphAddHostNode(&call, graph, &copy, 1, &function));
    size_t nodes = 0, edges = 0;
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(nodes == 5 && edges == 4);
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&found, first, clone));
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(found, &type));
    CHECK(type == cudaGraphNodeTypeKernel);

    cudaGraphExec_t executable;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    amount = 1000;  // the arguments were copied
    for (int k = 0; k < 2; ++k) OK(cudaGraphLaunch(executable, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(host[kThreads - 1] == 10 && counter == 2);
    amount = 6;
    kernel.func = reinterpret_cast<void*>(add);
    OK(cudaGraphExecKernelNodeSetParams(executable, first, &kernel));
    OK(cudaGraphLaunch(executable, nullptr));
    CHECK(host[0] == 14 && counter == 3);
    // An update from a graph of the same form, and one that cannot be.
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(executable, clone, &info));
    OK(cudaGraphLaunch(executable, nullptr));
    CHECK(host[0] == 10);
    OK(cudaGraphDestroyNode(call));
    CHECK(cudaGraphExecUpdate(executable, graph, &info) == cudaErrorGraphExecUpdateFailure);
    CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
    cudaGetLastError();
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(clone));
}

void captured(int* data) {
    cudaStream_t stream, other;
    cudaEvent_t forked, joined;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&other));
    OK(cudaEventCreate(&forked));
    OK(cudaEventCreate(&joined));
    const int before = counter;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    OK(cudaMemset(data, 0, sizeof host));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status;
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    add<<<1, kThreads, 0, stream>>>(data, 3);
    OK(cudaEventRecord(forked, stream));
    OK(cudaStreamWaitEvent(other, forked, 0));
    twice<<<1, kThreads, 0, other>>>(data);
    OK(cudaEventRecord(joined, other));
    OK(cudaStreamWaitEvent(stream, joined, 0));
    OK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
    OK(cudaLaunchHostFunc(stream, count, &counter));
    CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
    OK(cudaStreamEndCapture(stream, &graph));
    CHECK(counter == before);
    OK(cudaGraphInstantiate(&executable, graph, 0));
    for (int k = 0; k < 2; ++k) OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(host[5] == 18 && counter == before + 2);  // (3 * 2 + 3) * 2

    // As the child of another graph.
    cudaGraph_t outer;
    cudaGraphNode_t child;
    OK(cudaGraphCreate(&outer, 0));
    OK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph));
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphInstantiate(&executable, outer, 0));
    OK(cudaGraphLaunch(executable, stream));
    CHECK(host[5] == 42);

    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(forked, stream));
    OK(cudaStreamWaitEvent(other, forked, 0));
    twice<<<1, kThreads, 0, other>>>(data);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureUnjoined);
    cudaGetLastError();
}

int main() {
    int* data;
    OK(cudaMalloc(&data, sizeof host));
    by_hand(data);
    captured(data);
    std::printf("graphs: all as expected\n");
}
