// SPDX-License-Identifier: MIT
// A ray tracer, one thread per pixel. A ray meets the nearest of a few spheres, or the floor, and goes on as a mirrored and a transmitted
// one; those still to be followed wait on a stack of the thread's own, in local memory. Everybody reads the same few lines of spheres.
// Sums of products are written as fmaf, so that every compiler rounds them alike.

constexpr int kBounces = 4;
constexpr int kStack = kBounces + 1;  // two more for each one taken, down to the last bounce
constexpr float kNear = 0.0009765625f, kFar = 1e9f, kDim = 0.015625f;

struct Vector {
    float x, y, z;
};
struct Sphere {
    Vector centre;
    float radius, red, green, blue;
    float mirror;  // of the half of the light that is not its colour
};
struct Ray {
    Vector from, along;
    float weight;
    int bounces;
};

static __device__ __forceinline__ float dot(Vector a, Vector b) { return fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z)); }
static __device__ __forceinline__ Vector from_to(Vector a, Vector b) { return {b.x - a.x, b.y - a.y, b.z - a.z}; }
static __device__ __forceinline__ Vector add(Vector a, float times, Vector b) {
    return {fmaf(times, b.x, a.x), fmaf(times, b.y, a.y), fmaf(times, b.z, a.z)};
}

// Along the ray to the sphere, kFar if it misses.
static __device__ __forceinline__ float distance_to(const Sphere& sphere, Vector from, Vector along) {
    const float radius = sphere.radius;
    const Vector off = from_to(sphere.centre, from);
    const float half = dot(off, along);
    const float square = fmaf(half, half, -fmaf(-radius, radius, dot(off, off)));
    if (square < 0.0f) return kFar;
    const float root = sqrtf(square);
    if (-half - root > kNear) return -half - root;
    return root - half > kNear ? root - half : kFar;
}

// What of the light reaches this place.
static __device__ __forceinline__ float brightness(const Sphere* spheres, int count, Vector place, Vector normal) {
    const Vector light = {0.36f, 0.8f, -0.48f};
    const float slope = dot(normal, light);
    if (slope <= 0.0f) return 0.2f;
    for (int k = 0; k < count; ++k)
        if (distance_to(spheres[k], place, light) < kFar) return 0.2f;
    return fmaf(0.8f, slope, 0.2f);
}

static __device__ __forceinline__ unsigned byte_of(float colour) {
    return static_cast<unsigned>(fmaf(colour < 1.0f ? colour : 1.0f, 255.0f, 0.5f));
}

extern "C" __global__ void ray_trace(const Sphere* spheres, unsigned* pixels, int width, int height, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= width || j >= height) return;
    const Vector aim = {static_cast<float>(2 * i + 1 - width) / static_cast<float>(height),
                        static_cast<float>(height - 1 - 2 * j) / static_cast<float>(height), 1.5f};
    const float length = sqrtf(dot(aim, aim));
    Ray stack[kStack];
    stack[0] = {{0.0f, 1.5f, -6.0f}, {aim.x / length, aim.y / length, aim.z / length}, 1.0f, 0};
    int waiting = 1;
    float red = 0.0f, green = 0.0f, blue = 0.0f;
    while (waiting > 0) {
        const Ray ray = stack[--waiting];
        int met = -1;
        float distance = ray.along.y < 0.0f ? -ray.from.y / ray.along.y : kFar;  // the floor is y = 0
        if (distance <= kNear) distance = kFar;
        for (int k = 0; k < count; ++k) {
            const float to_sphere = distance_to(spheres[k], ray.from, ray.along);
            if (to_sphere < distance) {
                distance = to_sphere;
                met = k;
            }
        }
        if (distance >= kFar) {  // the sky
            const float grey = fmaf(0.5f, fabsf(ray.along.y), 0.25f);
            red = fmaf(0.5f * ray.weight, grey, red);
            green = fmaf(0.75f * ray.weight, grey, green);
            blue = fmaf(ray.weight, grey, blue);
            continue;
        }
        const Vector place = add(ray.from, distance, ray.along);
        Vector normal = {0.0f, 1.0f, 0.0f};
        float mirrored = 0.25f * ray.weight, transmitted = 0.0f;
        Vector colour;
        if (met < 0) {
            const int field = static_cast<int>(floorf(place.x)) + static_cast<int>(floorf(place.z));
            const float shade = (field & 1) != 0 ? 0.75f : 0.25f;
            colour = {shade, shade, shade};
        } else {
            const Sphere& sphere = spheres[met];
            const float inverse = 1.0f / sphere.radius;
            normal = from_to(sphere.centre, place);
            normal = {normal.x * inverse, normal.y * inverse, normal.z * inverse};
            mirrored = ray.weight * sphere.mirror;
            transmitted = fmaf(0.5f, ray.weight, -mirrored);
            colour = {sphere.red, sphere.green, sphere.blue};
        }
        const float slope = dot(ray.along, normal);
        if (slope > 0.0f) normal = {-normal.x, -normal.y, -normal.z};  // from inside
        const float light = 0.5f * ray.weight * brightness(spheres, count, place, normal);
        red = fmaf(light, colour.x, red);
        green = fmaf(light, colour.y, green);
        blue = fmaf(light, colour.z, blue);
        if (ray.bounces == kBounces) continue;
        if (transmitted > kDim) stack[waiting++] = {place, ray.along, transmitted, ray.bounces + 1};
        if (mirrored > kDim) stack[waiting++] = {place, add(ray.along, 2.0f * fabsf(slope), normal), mirrored, ray.bounces + 1};
    }
    pixels[j * width + i] = byte_of(red) << 16 | byte_of(green) << 8 | byte_of(blue);
}
