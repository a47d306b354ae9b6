// SPDX-License-Identifier: MIT
// K-means clustering, one thread per point. Features and centres are read by global loads.

// Point-major to feature-major, so that the next kernel's loads are coalesced; the loads here have a stride of a whole point.
extern "C" __global__ void kmeans_transpose(const float* points, float* by_feature, int point_count, int features) {
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= point_count) return;
    for (int f = 0; f < features; ++f) by_feature[point + point_count * f] = points[point * features + f];
}

// The nearest centre of every point.
extern "C" __global__ void kmeans_assign(const float* by_feature, const float* centres, int* member, int point_count, int features,
                                         int clusters) {
    const int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= point_count) return;
    int nearest = 0;
    float smallest = 3.0e38f;
    for (int c = 0; c < clusters; ++c) {
        float distance = 0.0f;
        for (int f = 0; f < features; ++f) {
            const float difference = by_feature[point + point_count * f] - centres[c * features + f];
            distance += difference * difference;
        }
        if (distance < smallest) {
            smallest = distance;
            nearest = c;
        }
    }
    member[point] = nearest;
}
