// SPDX-License-Identifier: MIT
// AES with a key of 128 bits, a thread per column of a block. A CTA copies four tables and the round keys to shared memory and works there: columns
// of a block exchange their bytes in every round. Of global memory a thread reads one word and writes one.

constexpr int kThreads = 256, kRounds = 10;

extern "C" __global__ void aes_encrypt(const unsigned* tables, const unsigned* keys, const unsigned* in, unsigned* out, int words) {
    __shared__ unsigned table[4][256];
    __shared__ unsigned key[4 * (kRounds + 1)];
    __shared__ unsigned state[2][kThreads];
    const int t = threadIdx.x;
    const int word = blockIdx.x * kThreads + t;
    for (int k = 0; k < 4; ++k) table[k][t] = tables[256 * k + t];
    if (t < 4 * (kRounds + 1)) key[t] = keys[t];
    const unsigned mine = word < words ? in[word] : 0;
    const int column = t & 3, block = t - column;
    const int second = block + ((column + 1) & 3), third = block + ((column + 2) & 3), fourth = block + ((column + 3) & 3);
    __syncthreads();
    state[0][t] = mine ^ key[column];
    for (int round = 1; round < kRounds; ++round) {
        __syncthreads();
        const unsigned* old = state[(round - 1) & 1];
        state[round & 1][t] = table[0][old[t] >> 24] ^ table[1][old[second] >> 16 & 255] ^ table[2][old[third] >> 8 & 255] ^
                              table[3][old[fourth] & 255] ^ key[4 * round + column];
    }
    __syncthreads();
    // The last round mixes nothing: the second byte of the first table is the substitute alone.
    const unsigned* old = state[(kRounds - 1) & 1];
    const unsigned mixed = (table[0][old[t] >> 24] >> 8 & 255) << 24 | (table[0][old[second] >> 16 & 255] >> 8 & 255) << 16 |
                           (table[0][old[third] >> 8 & 255] >> 8 & 255) << 8 | (table[0][old[fourth] & 255] >> 8 & 255);
    if (word < words) out[word] = mixed ^ key[4 * kRounds + column];
}
