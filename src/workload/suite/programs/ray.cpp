// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

/// The reference rounds as the kernel does: each fma once, everything else as written.
class RayTracer {
public:
    struct Vector {
        float x = 0, y = 0, z = 0;
    };
    struct Sphere {
        Vector centre;
        float radius = 0, red = 0, green = 0, blue = 0, mirror = 0;
    };

    RayTracer(const std::vector<Sphere>& spheres, int width, int height) : spheres_(spheres), width_(width), height_(height) {}

    std::uint32_t pixel(int i, int j) {
        const Vector aim{static_cast<float>(2 * i + 1 - width_) / static_cast<float>(height_),
                         static_cast<float>(height_ - 1 - 2 * j) / static_cast<float>(height_), 1.5f};
        const float length = std::sqrt(dot(aim, aim));
        colour_ = {};
        follow({0.0f, 1.5f, -6.0f}, {aim.x / length, aim.y / length, aim.z / length}, 1.0f, 0);
        return byte_of(colour_.x) << 16 | byte_of(colour_.y) << 8 | byte_of(colour_.z);
    }

private:
    static constexpr float kNear = 0.0009765625f, kFar = 1e9f;

    static float dot(Vector a, Vector b) { return std::fma(a.x, b.x, std::fma(a.y, b.y, a.z * b.z)); }
    static Vector from_to(Vector a, Vector b) { return {b.x - a.x, b.y - a.y, b.z - a.z}; }
    static Vector add(Vector a, float times, Vector b) {
        return {std::fma(times, b.x, a.x), std::fma(times, b.y, a.y), std::fma(times, b.z, a.z)};
    }
    static std::uint32_t byte_of(float colour) { return static_cast<std::uint32_t>(std::fma(colour < 1.0f ? colour : 1.0f, 255.0f, 0.5f)); }

    static float distance_to(const Sphere& sphere, Vector from, Vector along) {
        const Vector off = from_to(sphere.centre, from);
        const float half = dot(off, along);
        const float square = std::fma(half, half, -std::fma(-sphere.radius, sphere.radius, dot(off, off)));
        if (square < 0.0f) return kFar;
        const float root = std::sqrt(square);
        if (-half - root > kNear) return -half - root;
        return root - half > kNear ? root - half : kFar;
    }

    float brightness(Vector place, Vector normal) const {
        const Vector light{0.36f, 0.8f, -0.48f};
        const float slope = dot(normal, light);
        if (slope <= 0.0f) return 0.2f;
        for (const Sphere& sphere : spheres_)
            if (distance_to(sphere, place, light) < kFar) return 0.2f;
        return std::fma(0.8f, slope, 0.2f);
    }

    void sky(float weight, Vector along) {
        const float grey = std::fma(0.5f, std::fabs(along.y), 0.25f);
        colour_ = add(colour_, grey, {0.5f * weight, 0.75f * weight, weight});
    }

    /// The mirrored ray with all that comes of it, then the transmitted one: the order in which the kernel's stack is taken.
    void follow(Vector from, Vector along, float weight, int bounces) {
        const Sphere* met = nullptr;
        float distance = along.y < 0.0f ? -from.y / along.y : kFar;
        if (distance <= kNear) distance = kFar;
        for (const Sphere& sphere : spheres_) {
            const float to_sphere = distance_to(sphere, from, along);
            if (to_sphere >= distance) continue;
            distance = to_sphere;
            met = &sphere;
        }
        if (distance >= kFar) return sky(weight, along);
        const Vector place = add(from, distance, along);
        Vector normal{0.0f, 1.0f, 0.0f}, colour;
        float mirrored = 0.25f * weight, transmitted = 0.0f;
        if (met == nullptr) {
            const int field = static_cast<int>(std::floor(place.x)) + static_cast<int>(std::floor(place.z));
            const float shade = (field & 1) != 0 ? 0.75f : 0.25f;
            colour = {shade, shade, shade};
        } else {
            const float inverse = 1.0f / met->radius;
            normal = from_to(met->centre, place);
            normal = {normal.x * inverse, normal.y * inverse, normal.z * inverse};
            mirrored = weight * met->mirror;
            transmitted = std::fma(0.5f, weight, -mirrored);
            colour = {met->red, met->green, met->blue};
        }
        const float slope = dot(along, normal);
        if (slope > 0.0f) normal = {-normal.x, -normal.y, -normal.z};
        colour_ = add(colour_, 0.5f * weight * brightness(place, normal), colour);
        if (bounces == 4) return;
        if (mirrored > 0.015625f) follow(place, add(along, 2.0f * std::fabs(slope), normal), mirrored, bounces + 1);
        if (transmitted > 0.015625f) follow(place, along, transmitted, bounces + 1);
    }

    const std::vector<Sphere>& spheres_;
    int width_, height_;
    Vector colour_;
};

class RayTracing final : public Problem {
public:
    RayTracing(Size size, std::uint64_t seed) : width_(by_size(size, 40, 512, 1024)), height_(by_size(size, 28, 256, 1024)) {
        Rng rng(seed);
        for (int k = 0; k < 16; ++k) {
            const std::vector<float> random = random_floats(rng, 8);
            RayTracer::Sphere sphere;
            sphere.radius = 0.5f + 0.75f * random[0];
            sphere.centre = {10.0f * random[1] - 5.0f, sphere.radius + 2.0f * random[2], 8.0f * random[3] - 2.0f};
            sphere.red = random[4];
            sphere.green = random[5];
            sphere.blue = random[6];
            sphere.mirror = 0.125f + 0.25f * random[7];
            spheres_.push_back(sphere);
        }
    }

    void run(Device& device) override {
        const Dim3 block{16, 8, 1};
        const Dim3 grid{ceil_div(static_cast<std::uint32_t>(width_), block.x), ceil_div(static_cast<std::uint32_t>(height_), block.y), 1};
        const auto spheres = device.upload(spheres_);
        const auto pixels = device.alloc<std::uint32_t>(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_));
        device.launch("gpgpusim/ray", "ray_trace", grid, block, spheres, pixels, width_, height_, static_cast<int>(spheres_.size()));
        pixels_ = device.download(pixels);
    }

    Verdict verify() const override {
        RayTracer tracer(spheres_, width_, height_);
        std::vector<std::uint32_t> want;
        for (int j = 0; j < height_; ++j)
            for (int i = 0; i < width_; ++i) want.push_back(tracer.pixel(i, j));
        return compare_exact("pixel", pixels_, want);
    }

private:
    int width_, height_;
    std::vector<RayTracer::Sphere> spheres_;
    std::vector<std::uint32_t> pixels_;
};

}  // namespace

std::unique_ptr<Problem> make_ray(Size size, std::uint64_t seed) {
    return std::make_unique<RayTracing>(size, seed);
}

}  // namespace mergelane::suite
