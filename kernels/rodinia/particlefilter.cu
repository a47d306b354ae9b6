// SPDX-License-Identifier: MIT
// Resampling step of a particle filter, one thread per particle. Each looks for the first cumulative weight that reaches its own draw,
// from the first weight on like every other thread, then takes over the particle found there.
extern "C" __global__ void find_index(const float* x, const float* y, const float* cumulative, const float* draws, float* new_x,
                                      float* new_y, int particles) {
    const int particle = blockIdx.x * blockDim.x + threadIdx.x;
    if (particle >= particles) return;
    const float draw = draws[particle];
    int found = particles - 1;
    for (int k = 0; k < particles; ++k) {
        if (cumulative[k] >= draw) {
            found = k;
            break;
        }
    }
    new_x[particle] = x[found];
    new_y[particle] = y[found];
}
