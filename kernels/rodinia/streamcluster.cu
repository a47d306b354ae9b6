// SPDX-License-Identifier: MIT
// Streaming clustering: what would be gained by opening a centre at point `candidate`? One thread per point; every warp reads the
// candidate's coordinates.

struct Point {  // 32 bytes
    float weight;
    float cost;  // of its present assignment
    int assign;  // index of its present centre
    int unused[5];
};

extern "C" __global__ void streamcluster_gain(int point_count, int dimensions, int candidate, const Point* points, int centres,
                                              float* lower, const float* coordinates, const int* centre_table, char* switches) {
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= point_count) return;
    float distance = 0.0f;
    for (int i = 0; i < dimensions; ++i) {
        const float difference = coordinates[i * point_count + point] - coordinates[i * point_count + candidate];
        distance += difference * difference;
    }
    const float cost = distance * points[point].weight;
    const float present = points[point].cost;
    float* mine = &lower[point * (centres + 1)];
    if (cost < present) {
        switches[point] = 1;
        mine[centres] += cost - present;
    } else {
        mine[centre_table[points[point].assign]] += present - cost;
    }
}
