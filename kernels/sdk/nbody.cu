// SPDX-License-Identifier: MIT
// One step of bodies that attract each other, one thread per body. Positions pass through shared memory in tiles of 256, which every
// CTA reads in the same order; a record of 16 bytes per body makes four lines per warp.

constexpr int kTile = 256;

struct alignas(16) Record {
    float x, y, z, w;
};

// `stride` bodies apart within a tile, one attracts and the others only follow.
extern "C" __global__ void nbody_step(const Record* position, Record* next, Record* velocity, int bodies, int sources, int stride,
                                      float step, float softening) {
    __shared__ Record tile[kTile];
    const int body = kTile * blockIdx.x + threadIdx.x;
    const Record here = position[min(body, bodies - 1)];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int first = 0; first < sources; first += kTile) {
        tile[threadIdx.x] = position[first + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < kTile; k += stride) {
            const Record other = tile[k];
            const float dx = other.x - here.x, dy = other.y - here.y, dz = other.z - here.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            const float pull = other.w * inverse * inverse * inverse;  // w is the mass
            ax += dx * pull;
            ay += dy * pull;
            az += dz * pull;
        }
        __syncthreads();
    }
    if (body >= bodies) return;
    Record speed = velocity[body];
    speed.x += ax * step;
    speed.y += ay * step;
    speed.z += az * step;
    velocity[body] = speed;
    next[body] = {here.x + speed.x * step, here.y + speed.y * step, here.z + speed.z * step, here.w};
}
