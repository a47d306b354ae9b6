// SPDX-License-Identifier: MIT
// Batches of queries on a B+ tree of order 256: one CTA per query, one thread per entry of a node. Entry i of a node covers the
// keys in [keys[i], keys[i+1]); unused entries hold the largest integer twice.

constexpr int kOrder = 256;

struct Node {
    int location;
    int indices[kOrder + 1];  // children, or records in a leaf
    int keys[kOrder + 1];
    int is_leaf;
    int key_count;
};

// Point queries: the record of a key, or -1.
extern "C" __global__ void find_k(const Node* nodes, const int* records, int height, const int* queries, int* current, int* next,
                                  int* answers) {
    const int thread = threadIdx.x;
    const int query = blockIdx.x;
    for (int level = 0; level < height; ++level) {
        const Node* node = &nodes[current[query]];
        if (node->keys[thread] <= queries[query] && node->keys[thread + 1] > queries[query]) next[query] = node->indices[thread];
        __syncthreads();
        if (thread == 0) current[query] = next[query];
        __syncthreads();
    }
    const Node* leaf = &nodes[current[query]];
    if (leaf->keys[thread] == queries[query]) answers[query] = records[leaf->indices[thread]];
}

// Range queries: index of the first record and how many records there are; both ends descend together.
extern "C" __global__ void find_range_k(const Node* nodes, int height, const int* first_keys, const int* last_keys, int* current_first,
                                        int* current_last, int* next_first, int* next_last, int* starts, int* lengths) {
    const int thread = threadIdx.x;
    const int query = blockIdx.x;
    for (int level = 0; level < height; ++level) {
        const Node* node = &nodes[current_first[query]];
        if (node->keys[thread] <= first_keys[query] && node->keys[thread + 1] > first_keys[query])
            next_first[query] = node->indices[thread];
        node = &nodes[current_last[query]];
        if (node->keys[thread] <= last_keys[query] && node->keys[thread + 1] > last_keys[query]) next_last[query] = node->indices[thread];
        __syncthreads();
        if (thread == 0) {
            current_first[query] = next_first[query];
            current_last[query] = next_last[query];
        }
        __syncthreads();
    }
    const Node* leaf = &nodes[current_first[query]];
    if (leaf->keys[thread] == first_keys[query]) starts[query] = leaf->indices[thread];
    __syncthreads();
    leaf = &nodes[current_last[query]];
    if (leaf->keys[thread] == last_keys[query]) lengths[query] = leaf->indices[thread] - starts[query] + 1;
}
