// SPDX-License-Identifier: MIT
// Longest match of the beginning of each query in a reference, by its suffix tree: a thread follows its query from node to node and along the
// reference's text between them. Everybody starts at the root; further down the nodes of a warp's lanes lie anywhere.

struct alignas(16) Node {
    int child[4];    // by the next base; -1: none
    int begin, end;  // text of the edge to it
    int unused[2];   // what a node knows of those above it
};

constexpr int kLength = 25, kWords = 7;  // bases of a query, words it takes

extern "C" __global__ void mum_match(const Node* nodes, const unsigned* reference, const unsigned* queries, int2* match, int count) {
    const int query = blockIdx.x * blockDim.x + threadIdx.x;
    if (query >= count) return;
    int node = 0, matched = 0, place = 0;
    unsigned bases = queries[query * kWords];
    bool going = true;
    while (going && matched < kLength) {
        const int next = nodes[node].child[bases & 3];
        if (next < 0) break;
        node = next;
        int at = nodes[node].begin;
        const int end = nodes[node].end;
        place = at - matched;
        unsigned text = reference[at / 4] >> 8 * (at % 4);
        while (at < end && matched < kLength) {
            if (((text ^ bases) & 255) != 0) {
                going = false;
                break;
            }
            ++at;
            ++matched;
            text = at % 4 == 0 && at < end ? reference[at / 4] : text >> 8;
            bases = matched % 4 == 0 && matched < kLength ? queries[query * kWords + matched / 4] : bases >> 8;
        }
    }
    match[query] = make_int2(matched, place);
}
