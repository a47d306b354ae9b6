// SPDX-License-Identifier: MIT
// One training step of the input-to-hidden layer with 16 hidden units. A weight row has 17 words (one for the bias), so rows are
// never aligned to cache lines.

constexpr int kHidden = 16;

// Products of 16 inputs with their weights, summed over the inputs by a tree in shared memory: one partial sum per hidden unit.
extern "C" __global__ void layer_forward(const float* input, float* weights, float* partial) {
    __shared__ float node[kHidden];
    __shared__ float product[kHidden][kHidden];
    const int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    const int row = kHidden + 1;
    const int index = row * kHidden * by + row * ty + tx + 1 + row;
    if (tx == 0) node[ty] = input[kHidden * by + ty + 1];
    __syncthreads();
    product[ty][tx] = weights[index];
    __syncthreads();
    product[ty][tx] = product[ty][tx] * node[ty];
    __syncthreads();
    for (int reach = 1; reach < kHidden; reach *= 2) {
        if (ty % (2 * reach) == 0) product[ty][tx] += product[ty + reach][tx];
        __syncthreads();
    }
    weights[index] = product[ty][tx];
    __syncthreads();
    if (tx == 0) partial[by * kHidden + ty] = product[0][ty];
}

// Moves every weight along its gradient, with momentum.
extern "C" __global__ void adjust_weights(const float* delta, const float* layer, float* weights, float* old_weights) {
    const float rate = 0.3f, momentum = 0.3f;
    const int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    const int row = kHidden + 1;
    const int index = row * kHidden * by + row * ty + tx + 1 + row;
    const int hidden = tx + 1;
    const int input = kHidden * by + ty + 1;
    weights[index] += rate * delta[hidden] * layer[input] + momentum * old_weights[index];
    old_weights[index] = rate * delta[hidden] * layer[input] + momentum * old_weights[index];
    __syncthreads();
    if (ty == 0 && by == 0) {
        weights[hidden] += rate * delta[hidden] + momentum * old_weights[hidden];
        old_weights[hidden] = rate * delta[hidden] + momentum * old_weights[hidden];
    }
}
