// SPDX-License-Identifier: MIT
// Ways to place the other queens on a board, a thread per beginning. The rows of a thread's search are in shared memory; a thread reads
// what its beginning occupies, and writes how many ways it found.

constexpr int kThreads = 96, kDepth = 10;

struct alignas(16) Beginning {
    unsigned columns, left, right;  // occupied, by row's columns: straight down and along both diagonals
    int rows;                       // still to fill
};

extern "C" __global__ void nqu_solve(const Beginning* beginnings, unsigned* ways, int count, unsigned board) {
    __shared__ unsigned columns[kDepth][kThreads], left[kDepth][kThreads], right[kDepth][kThreads], open[kDepth][kThreads];
    const int t = threadIdx.x;
    const int mine = blockIdx.x * kThreads + t;
    if (mine >= count) return;
    const Beginning start = beginnings[mine];
    columns[0][t] = start.columns;
    left[0][t] = start.left;
    right[0][t] = start.right;
    open[0][t] = board & ~(start.columns | start.left | start.right);
    unsigned found = 0;
    int row = 0;
    while (row >= 0) {
        const unsigned places = open[row][t];
        if (places == 0) {
            --row;
            continue;
        }
        const unsigned queen = places & (0u - places);
        open[row][t] = places ^ queen;
        if (row + 1 == start.rows) {
            ++found;
            continue;
        }
        const unsigned c = columns[row][t] | queen, l = (left[row][t] | queen) << 1, r = (right[row][t] | queen) >> 1;
        ++row;
        columns[row][t] = c;
        left[row][t] = l;
        right[row][t] = r;
        open[row][t] = board & ~(c | l | r);
    }
    ways[mine] = found;
}
