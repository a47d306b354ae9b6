// SPDX-License-Identifier: MIT
// Alignment of sequences by dynamic programming (Needleman and Wunsch): one diagonal of 16x16 tiles per launch, one CTA of 16 threads
// per tile. Rows are one word longer than the tiles, so what a CTA writes lies in lines that its neighbours read.

constexpr int kTile = 16;

// Grid x is the tile on the diagonal, y the pair of sequences. Tile columns start at `first_column`.
extern "C" __global__ void nw_diagonal(int* scores, const int* similarity, int n, int diagonal, int first_column, int penalty) {
    __shared__ int score[kTile + 1][kTile + 1];
    __shared__ int alike[kTile][kTile];
    const int t = threadIdx.x;
    const int pitch = n + 1;
    const int tile_column = first_column + blockIdx.x;
    const int tile_row = diagonal - tile_column;
    // The last score of the tile above and to the left.
    const int corner = (blockIdx.y * pitch + kTile * tile_row) * pitch + kTile * tile_column;
    if (t == 0) score[0][0] = scores[corner];
    for (int row = 0; row < kTile; ++row) alike[row][t] = similarity[corner + (row + 1) * pitch + t + 1];
    score[t + 1][0] = scores[corner + (t + 1) * pitch];
    score[0][t + 1] = scores[corner + t + 1];
    __syncthreads();
    // Thread t owns column t + 1 and is one row behind its left neighbour.
    for (int step = 0; step < 2 * kTile - 1; ++step) {
        const int row = step - t;
        if (row >= 0 && row < kTile) {
            const int match = score[row][t] + alike[row][t];
            const int gap = max(score[row + 1][t], score[row][t + 1]) - penalty;
            score[row + 1][t + 1] = max(match, gap);
        }
        __syncthreads();
    }
    for (int row = 1; row <= kTile; ++row) scores[corner + row * pitch + t + 1] = score[row][t + 1];
}
