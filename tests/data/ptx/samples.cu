// SPDX-License-Identifier: MIT
// Small kernels that together use most of what nvcc emits. samples.ptx is made from this file with
//   nvcc -ptx -arch=compute_75 -o samples.ptx samples.cu
// and samples_fast.ptx with -use_fast_math. Neither building nor testing needs nvcc.
extern "C" {

__global__ void saxpy(float* y, const float* x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void matmul(float* c, const float* a, const float* b, int n) {
    __shared__ float ta[16][16], tb[16][16];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[y][x] = a[row * n + k + x];
        tb[y][x] = b[(k + y) * n + col];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += ta[y][j] * tb[j][x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

__global__ void reduce(int* out, const int* in, int n) {
    extern __shared__ int part[];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

__global__ void histogram(unsigned* bins, const unsigned char* data, int n) {
    __shared__ unsigned mine[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], mine[i]);
}

__global__ void stencil(float* out, const float* in, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float c = in[y * w + x];
    float l = x > 0 ? in[y * w + x - 1] : c, r = x < w - 1 ? in[y * w + x + 1] : c;
    float t = y > 0 ? in[(y - 1) * w + x] : c, b = y < h - 1 ? in[(y + 1) * w + x] : c;
    out[y * w + x] = c + 0.2f * (l + r + t + b - 4.0f * c);
}

__global__ void bfs_step(int* level, const int* row, const int* col, int n, int now, int* changed) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n || level[v] != now) return;
    for (int e = row[v]; e < row[v + 1]; ++e) {
        int u = col[e];
        if (level[u] < 0) {
            level[u] = now + 1;
            *changed = 1;
        }
    }
}

__global__ void spmv(float* y, const float* val, const int* col, const int* row, const float* x, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float sum = 0;
    for (int e = row[r]; e < row[r + 1]; ++e) sum += val[e] * x[col[e]];
    y[r] = sum;
}

__device__ float normal(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float p = 0.39894228f * expf(-0.5f * d * d) * (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1.0f - p : p;
}
__global__ void black_scholes(float* call, float* put, const float* s, const float* x, const float* t, float r, float v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float root = sqrtf(t[i]);
    float d1 = (logf(s[i] / x[i]) + (r + 0.5f * v * v) * t[i]) / (v * root), d2 = d1 - v * root;
    float e = expf(-r * t[i]);
    call[i] = s[i] * normal(d1) - x[i] * e * normal(d2);
    put[i] = x[i] * e * (1.0f - normal(d2)) - s[i] * (1.0f - normal(d1));
}

__global__ void transpose(float* out, const float* in, int w, int h) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void bodies(float4* acc, const float4* pos, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 p = pos[i], a = make_float4(0, 0, 0, 0);
    for (int j = 0; j < n; ++j) {
        float4 q = pos[j];
        float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
        float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
        float f = q.w * inv * inv * inv;
        a.x += dx * f, a.y += dy * f, a.z += dz * f;
    }
    acc[i] = a;
}

__global__ void double_math(double* out, const double* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = in[i];
    out[i * 6 + 0] = exp(x);
    out[i * 6 + 1] = log(fabs(x) + 0.5);
    out[i * 6 + 2] = sin(x * 100);
    out[i * 6 + 3] = pow(fabs(x) + 0.1, 1.7);
    out[i * 6 + 4] = sqrt(fabs(x)) / (x * x + 3);
    out[i * 6 + 5] = tanh(x) + atan(x);
}
__global__ void float_math(float* out, const float* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i];
    out[i * 8 + 0] = expf(x);
    out[i * 8 + 1] = logf(fabsf(x) + 0.5f);
    out[i * 8 + 2] = sinf(x * 1000);
    out[i * 8 + 3] = powf(fabsf(x) + 0.1f, 1.7f);
    out[i * 8 + 4] = cosf(x) / (x * x + 3);
    out[i * 8 + 5] = tanhf(x) + atanf(x);
    out[i * 8 + 6] = rintf(x * 10) + floorf(x) + ceilf(x) + truncf(x);
    out[i * 8 + 7] = fmodf(x * 50, 3.0f);
}

struct Parcel {
    short tag;
    float weight[3];
    const int* where;
    long long big;
};
__device__ __noinline__ int collatz(int v, int* steps) {
    *steps = 0;
    while (v != 1 && *steps < 200) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        ++*steps;
    }
    return v;
}
__constant__ int table[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int counter = 40;
__global__ void parcels(long long* out, Parcel p) {
    int i = threadIdx.x, steps;
    int stack[8];
    for (int k = 0; k < 8; ++k) stack[(k * 3 + i) % 8] = p.where[k] + table[k];
    int end = collatz(i + 1, &steps);
    out[i] = p.tag + (long long)(p.weight[i % 3] * 4) + stack[i % 8] * p.big + steps + end;
    if (i == 0) atomicAdd(&counter, 2);
}

__global__ void spin_lock(int* lock, int* sum, int times) {
    for (int k = 0; k < times; ++k) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        *(volatile int*)sum = *(volatile int*)sum + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
__global__ void backwards(volatile int* flag, int n) {
    // Every CTA waits for the one after it, so none can run to its end alone.
    if (threadIdx.x == 0) {
        if (blockIdx.x + 1 < n)
            while (flag[blockIdx.x + 1] == 0) {
            }
        flag[blockIdx.x] = blockIdx.x + 1;
    }
}

__global__ void choices(int* out, const int* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = in[i], r = 0;
    switch (v & 15) {
        case 0: r = v * 3; break;
        case 1: r = v - 7; break;
        case 2: r = v ^ 0x55; break;
        case 3: r = v / 5; break;
        case 4: r = v % 9; break;
        case 5: for (int k = 0; k < (v & 63); ++k) r += k; break;
        case 6: r = __popc(v); break;
        case 7: r = __clz(v); break;
        case 8: r = __brev(v); break;
        case 9: r = __ffs(v); break;
        case 10: r = v << (v & 7); break;
        case 11: r = v >> (v & 7); break;
        case 12: r = min(v, 100); break;
        case 13: r = __mulhi(v, 12345); break;
        case 14: if (v & 256) r = 1; else return; break;
        default: r = -v;
    }
    out[i] = r;
}

__global__ void compact(int* out, int* count, const int* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned votes = __ballot_sync(~0u, keep);
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(~0u, base, 0);
    if (keep) out[base + __popc(votes & ((1u << lane) - 1))] = in[i];
    if (__all_sync(~0u, i >= n) || __any_sync(~0u, i == 5)) atomicAdd(count + 1, 1);
}
__global__ void counts(int* out) {
    int odd = __syncthreads_count(threadIdx.x & 1), any = __syncthreads_or(threadIdx.x == 77), all = __syncthreads_and(threadIdx.x < 50);
    out[blockIdx.x * blockDim.x + threadIdx.x] = odd * 100 + any * 10 + all;
}

__global__ void mixed(long long* out, const signed char* a, const unsigned short* b, const unsigned long long* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    signed char x = a[i];
    unsigned short y = b[i];
    unsigned long long z = c[i];
    x = x * 3 + y;
    y = (unsigned short)(y - x) >> 3;
    out[i] = x + y + (long long)(z / (y + 1)) + (long long)(z % 1000003) + __umul64hi(z, z) + (x > y ? 5 : z > 77 ? -3 : 9);
}
}
