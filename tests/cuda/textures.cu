// SPDX-License-Identifier: MIT
// Textures and surfaces: linear memory, pitched memory and arrays; address modes, filters, layers, volumes, gathers; and surfaces.
#include <cmath>

#include "check.cuh"

constexpr int kWidth = 8, kHeight = 4, kDepth = 3;

__global__ void sample(cudaTextureObject_t texture, const float2* at, float* out) {
    out[threadIdx.x] = tex2D<float>(texture, at[threadIdx.x].x, at[threadIdx.x].y);
}
__global__ void fetch(cudaTextureObject_t texture, int* out) {
    out[threadIdx.x] = tex1Dfetch<int>(texture, threadIdx.x);
}
__global__ void bytes(cudaTextureObject_t texture, float4* out) {
    out[threadIdx.x] = tex2D<float4>(texture, threadIdx.x + 0.5f, 0.5f);
}
__global__ void volume(cudaTextureObject_t texture, float* out) {
    out[threadIdx.x] = tex3D<float>(texture, 1.5f, 2.5f, threadIdx.x + 0.5f);
}
__global__ void layers(cudaTextureObject_t texture, float* out) {
    out[threadIdx.x] = tex2DLayered<float>(texture, 1.5f, 2.5f, threadIdx.x);
}
__global__ void gather(cudaTextureObject_t texture, float4* out) {
    *out = tex2Dgather<float4>(texture, 2.0f, 1.0f, 0);
}
__global__ void copy_rows(cudaSurfaceObject_t surface, float* out) {
    const int x = threadIdx.x, y = threadIdx.y;
    float value;
    surf2Dread(&value, surface, x * 4, y);
    surf2Dwrite(value + 100, surface, x * 4, y);
    float outside;
    surf2Dread(&outside, surface, (x + kWidth) * 4, y, cudaBoundaryModeZero);
    float clamped;
    surf2Dread(&clamped, surface, (x + kWidth) * 4, y, cudaBoundaryModeClamp);
    out[y * kWidth + x] = outside + clamped;
}

cudaTextureObject_t make(const cudaResourceDesc& resource, cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized,
                         cudaTextureReadMode read = cudaReadModeElementType) {
    cudaTextureDesc how{};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = mode;
    how.filterMode = filter;
    how.readMode = read;
    how.normalizedCoords = normalized;
    cudaTextureObject_t texture;
    OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}
cudaResourceDesc of(cudaArray_t array) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}
/// What a kernel with one thread per result writes.
template <class T, int Count>
struct Results {
    T* values;
    Results() { OK(cudaMallocManaged(&values, Count * sizeof(T))); }
    ~Results() { cudaFree(values); }
    T operator[](int k) const { return values[k]; }
};

/// The value of a texel says where it is.
float texel(int x, int y, int z = 0) {
    return static_cast<float>(x + 10 * y + 100 * z);
}

void filters_and_modes(cudaArray_t array) {
    struct Case {
        cudaTextureAddressMode mode;
        cudaTextureFilterMode filter;
        bool normalized;
        float2 at;
        float expected;
    };
    const Case cases[] = {
        {cudaAddressModeClamp, cudaFilterModePoint, false, {2.9f, 1.2f}, texel(2, 1)},
        {cudaAddressModeClamp, cudaFilterModePoint, false, {-5.0f, 99.0f}, texel(0, kHeight - 1)},
        {cudaAddressModeBorder, cudaFilterModePoint, false, {-0.5f, 0.5f}, 0},
        {cudaAddressModeClamp, cudaFilterModeLinear, false, {3.0f, 1.5f}, 12.5f},
        {cudaAddressModeClamp, cudaFilterModeLinear, false, {2.5f, 2.0f}, 17.0f},
        {cudaAddressModeClamp, cudaFilterModeLinear, false, {2.5f + 1.0f / 512, 0.5f}, 2.0f + 1.0f / 256},  // weights have 8 bits
        {cudaAddressModeClamp, cudaFilterModeLinear, true, {0.5f, 0.5f}, 18.5f},
        {cudaAddressModeWrap, cudaFilterModePoint, true, {1.0f + 2.5f / kWidth, -0.5f / kHeight}, texel(2, kHeight - 1)},
        {cudaAddressModeWrap, cudaFilterModeLinear, true, {0.0f, 0.5f / kHeight}, 3.5f},
        {cudaAddressModeMirror, cudaFilterModePoint, true, {1.0f + 2.5f / kWidth, 0.5f / kHeight}, texel(kWidth - 3, 0)},
    };
    Results<float, 1> result;
    float2* at;
    OK(cudaMallocManaged(&at, sizeof *at));
    for (const Case& c : cases) {
        const cudaTextureObject_t texture = make(of(array), c.mode, c.filter, c.normalized);
        *at = c.at;
        sample<<<1, 1>>>(texture, at, result.values);
        OK(cudaDeviceSynchronize());
        if (result[0] != c.expected) std::printf("case %d: %g instead of %g\n", static_cast<int>(&c - cases), result[0], c.expected);
        CHECK(result[0] == c.expected);
        OK(cudaDestroyTextureObject(texture));
    }
    Results<float4, 1> four;
    const cudaTextureObject_t texture = make(of(array), cudaAddressModeClamp, cudaFilterModePoint, false);
    gather<<<1, 1>>>(texture, four.values);
    OK(cudaDeviceSynchronize());
    CHECK(four[0].x == texel(1, 1) && four[0].y == texel(2, 1) && four[0].z == texel(2, 0) && four[0].w == texel(1, 0));
}

void linear_and_pitched() {
    int* numbers;
    OK(cudaMallocManaged(&numbers, 16 * sizeof(int)));
    for (int k = 0; k < 16; ++k) numbers[k] = -k;
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear = {numbers, cudaCreateChannelDesc<int>(), 16 * sizeof(int)};
    Results<int, 20> whole;
    fetch<<<1, 20>>>(make(resource, cudaAddressModeClamp, cudaFilterModePoint, false), whole.values);
    OK(cudaDeviceSynchronize());
    for (int k = 0; k < 20; ++k) CHECK(whole[k] == (k < 16 ? -k : 0));

    uchar4* pixels;
    size_t pitch;
    OK(cudaMallocPitch(&pixels, &pitch, 2 * sizeof(uchar4), 2));
    const uchar4 host[2] = {{0, 51, 102, 255}, {255, 0, 0, 0}};
    OK(cudaMemcpy2D(pixels, pitch, host, sizeof host, sizeof host, 1, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D = {pixels, cudaCreateChannelDesc<uchar4>(), 2, 2, pitch};
    Results<float4, 2> colour;
    bytes<<<1, 2>>>(make(resource, cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat), colour.values);
    OK(cudaDeviceSynchronize());
    CHECK(colour[0].x == 0 && colour[0].y == 0.2f && colour[0].w == 1 && colour[1].x == 1);
}

void depth(unsigned flags) {
    static float host[kDepth][kHeight][kWidth];
    for (int z = 0; z < kDepth; ++z)
        for (int y = 0; y < kHeight; ++y)
            for (int x = 0; x < kWidth; ++x) host[z][y][x] = texel(x, y, z);
    cudaArray_t array;
    const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    OK(cudaMalloc3DArray(&array, &channels, make_cudaExtent(kWidth, kHeight, kDepth), flags));
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(host, kWidth * sizeof(float), kWidth, kHeight);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(kWidth, kHeight, kDepth);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    Results<float, kDepth> result;
    const cudaTextureObject_t texture = make(of(array), cudaAddressModeClamp, cudaFilterModePoint, false);
    if (flags == cudaArrayLayered)
        layers<<<1, kDepth>>>(texture, result.values);
    else
        volume<<<1, kDepth>>>(texture, result.values);
    OK(cudaDeviceSynchronize());
    for (int z = 0; z < kDepth; ++z) CHECK(result[z] == texel(1, 2, z));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
}

int main() {
    float host[kHeight][kWidth];
    for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x) host[y][x] = texel(x, y);
    cudaArray_t array;
    const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &channels, kWidth, kHeight, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host[0], sizeof host[0], kHeight, cudaMemcpyHostToDevice));
    filters_and_modes(array);
    linear_and_pitched();
    depth(cudaArrayDefault);
    depth(cudaArrayLayered);

    const cudaResourceDesc resource = of(array);
    cudaSurfaceObject_t surface;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    Results<float, kWidth * kHeight> read;
    copy_rows<<<1, dim3(kWidth, kHeight)>>>(surface, read.values);
    OK(cudaMemcpy2DFromArray(host, sizeof host[0], array, 0, 0, sizeof host[0], kHeight, cudaMemcpyDeviceToHost));
    for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x) CHECK(host[y][x] == texel(x, y) + 100 && read[y * kWidth + x] >= texel(kWidth - 1, y));
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFreeArray(array));
    std::printf("textures: all as expected\n");
}
