// SPDX-License-Identifier: MIT
// Appends the keys and values of new tokens, in 16 bits, to a cache of pages. A page has 16 rows of 128 values per group of heads. One CTA per
// token; its slot is page * 16 + row, or -1 for a token that pads the batch.

constexpr int kHead = 128, kPage = 16;

extern "C" __global__ void kv_append(const uint4* keys, const uint4* values, uint4* key_pages, uint4* value_pages, const int* slots, int groups) {
    constexpr int kVectors = kHead / 8;
    const int token = blockIdx.x, slot = slots[token];
    if (slot < 0) return;
    const int page = slot / kPage, row = slot % kPage;
    for (int i = threadIdx.x; i < groups * kVectors; i += blockDim.x) {
        const long long from = (long long)token * groups * kVectors + i;
        const long long to = (((long long)page * groups + i / kVectors) * kPage + row) * kVectors + i % kVectors;
        key_pages[to] = keys[from];
        value_pages[to] = values[from];
    }
}
