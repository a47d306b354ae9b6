// SPDX-License-Identifier: MIT
// MD5 of pieces of data, one of 64 bytes per thread: words of neighbouring threads are 64 bytes apart, so a warp touches 16 lines with every
// word it reads. Then it computes for long, and stores four words of digest.

__constant__ unsigned sine[64] = {
    0xD76AA478u, 0xE8C7B756u, 0x242070DBu, 0xC1BDCEEEu, 0xF57C0FAFu, 0x4787C62Au, 0xA8304613u, 0xFD469501u,
    0x698098D8u, 0x8B44F7AFu, 0xFFFF5BB1u, 0x895CD7BEu, 0x6B901122u, 0xFD987193u, 0xA679438Eu, 0x49B40821u,
    0xF61E2562u, 0xC040B340u, 0x265E5A51u, 0xE9B6C7AAu, 0xD62F105Du, 0x02441453u, 0xD8A1E681u, 0xE7D3FBC8u,
    0x21E1CDE6u, 0xC33707D6u, 0xF4D50D87u, 0x455A14EDu, 0xA9E3E905u, 0xFCEFA3F8u, 0x676F02D9u, 0x8D2A4C8Au,
    0xFFFA3942u, 0x8771F681u, 0x6D9D6122u, 0xFDE5380Cu, 0xA4BEEA44u, 0x4BDECFA9u, 0xF6BB4B60u, 0xBEBFBC70u,
    0x289B7EC6u, 0xEAA127FAu, 0xD4EF3085u, 0x04881D05u, 0xD9D4D039u, 0xE6DB99E5u, 0x1FA27CF8u, 0xC4AC5665u,
    0xF4292244u, 0x432AFF97u, 0xAB9423A7u, 0xFC93A039u, 0x655B59C3u, 0x8F0CCC92u, 0xFFEFF47Du, 0x85845DD1u,
    0x6FA87E4Fu, 0xFE2CE6E0u, 0xA3014314u, 0x4E0811A1u, 0xF7537E82u, 0xBD3AF235u, 0x2AD7D2BBu, 0xEB86D391u,
};

static __device__ __forceinline__ unsigned turn(unsigned value, int by) { return value << by | value >> (32 - by); }

extern "C" __global__ void sto_digest(const unsigned* data, uint4* digest, int pieces) {
    const int piece = blockIdx.x * blockDim.x + threadIdx.x;
    if (piece >= pieces) return;
    unsigned word[16];
#pragma unroll
    for (int k = 0; k < 16; ++k) word[k] = data[piece * 16 + k];
    const int turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    unsigned a = 0x67452301u, b = 0xEFCDAB89u, c = 0x98BADCFEu, d = 0x10325476u;
#pragma unroll
    for (int i = 0; i < 64; ++i) {
        const unsigned mixed = i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
        const int k = i < 16 ? i : i < 32 ? 5 * i + 1 : i < 48 ? 3 * i + 5 : 7 * i;
        const unsigned next = b + turn(a + mixed + sine[i] + word[k % 16], turns[i / 16][i % 4]);
        a = d;
        d = c;
        c = b;
        b = next;
    }
    digest[piece] = make_uint4(a + 0x67452301u, b + 0xEFCDAB89u, c + 0x98BADCFEu, d + 0x10325476u);
}
