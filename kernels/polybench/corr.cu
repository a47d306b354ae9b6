// SPDX-License-Identifier: MIT
// Correlation matrix of the columns of a data matrix: means, standard deviations, centring and scaling in place, and the products
// of all pairs of columns.

extern "C" __global__ void corr_mean(const float* data, float* mean, int rows, int columns) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    mean[j] = 0.0f;
    for (int i = 0; i < rows; ++i) mean[j] += data[i * columns + j];
    mean[j] /= static_cast<float>(rows);
}

extern "C" __global__ void corr_deviation(const float* data, const float* mean, float* deviation, int rows, int columns) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    deviation[j] = 0.0f;
    for (int i = 0; i < rows; ++i) {
        const float difference = data[i * columns + j] - mean[j];
        deviation[j] += difference * difference;
    }
    deviation[j] = sqrtf(deviation[j] / static_cast<float>(rows));
    if (deviation[j] <= 0.005f) deviation[j] = 1.0f;
}

extern "C" __global__ void corr_scale(float* data, const float* mean, const float* deviation, int rows, int columns) {
    const int j = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= columns) return;
    data[i * columns + j] -= mean[j];
    data[i * columns + j] /= sqrtf(static_cast<float>(rows)) * deviation[j];
}

extern "C" __global__ void corr_pairs(const float* data, float* correlation, int rows, int columns) {
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    if (first >= columns) return;
    correlation[first * columns + first] = 1.0f;
    for (int second = first + 1; second < columns; ++second) {
        correlation[first * columns + second] = 0.0f;
        for (int i = 0; i < rows; ++i)
            correlation[first * columns + second] += data[i * columns + first] * data[i * columns + second];
        correlation[second * columns + first] = correlation[first * columns + second];
    }
}
