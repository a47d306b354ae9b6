// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

/// One column of the atmosphere, lowest level first, in double precision.
struct AirColumn {
    struct Level {
        double theta = 0, vapour = 0, cloud = 0, ice = 0, rain = 0, snow = 0;
        double density = 0, exner = 0, pressure = 0, thickness = 0;
        double temperature = 0, capacity = 0, heat = 0, passing = 0;
    };
    std::vector<Level> levels;
    double rain_fallen = 0, snow_fallen = 0;

    void step(double dt) {
        for (Level& l : levels) {
            l.temperature = l.theta * l.exner;
            l.capacity = 1004.5 + 858 * l.vapour;
            l.heat = 2.5e6 - 2369 * (l.temperature - 273.16);
            exchange(l, dt);
        }
        fall(dt);
        for (Level& l : levels) {
            const double temperature = l.temperature - 0.001 * l.passing;
            const double condensed = std::max((l.vapour - saturation(temperature, l.pressure)) / 2, -l.cloud);
            l.vapour -= condensed;
            l.cloud += condensed;
            l.theta = (temperature + l.heat * condensed / l.capacity) / l.exner;
        }
    }

private:
    static double saturation(double temperature, double pressure) {
        const double vapour = 611 * std::exp(17.27 * (temperature - 273.16) / (temperature - 35.86));
        return 0.622 * vapour / std::max(pressure - vapour, vapour);
    }

    static void exchange(Level& l, double dt) {
        const double cold = std::clamp((273.16 - l.temperature) * 0.025, 0.0, 1.0);
        const double freezing = std::min(l.cloud, l.cloud * cold * 0.1 * dt);
        const double melting = std::min(l.snow, l.snow * (1 - cold) * 0.02 * dt);
        const double cloud = l.cloud - freezing, ice = l.ice + freezing;
        const double to_rain = std::min(cloud, (std::max(cloud - 0.0005, 0.0) * 0.001 + 2.2 * l.density * cloud * l.rain) * dt);
        const double to_snow = std::min(ice, (std::max(ice - 0.0002, 0.0) * 0.001 + 1.1 * l.density * ice * l.snow) * dt);
        const double lacking = std::max(saturation(l.temperature, l.pressure) - l.vapour, 0.0);
        const double dried = std::min(l.rain, l.rain * lacking * 0.5 * dt);
        l.cloud = cloud - to_rain;
        l.ice = ice - to_snow;
        l.rain += to_rain + melting - dried;
        l.snow += to_snow - melting;
        l.vapour += dried;
        l.temperature += (3.5e5 * (freezing - melting) - l.heat * dried) / l.capacity;
    }

    void fall(double dt) {
        double rain_above = 0, snow_above = 0;
        for (std::size_t k = levels.size(); k-- > 0;) {
            Level& l = levels[k];
            const double mass = l.density * l.thickness;
            l.rain += rain_above / mass;
            l.snow += snow_above / mass;
            const double share = std::min(8 * std::sqrt(l.density) * dt / l.thickness, 0.9);
            rain_above = l.rain * share * mass;
            snow_above = l.snow * 0.2 * share * mass;
            l.rain -= l.rain * share;
            l.snow -= l.snow * 0.2 * share;
            l.passing = rain_above + snow_above;
        }
        rain_fallen += rain_above;
        snow_fallen += snow_above;
    }
};

class Weather final : public Problem {
public:
    Weather(Size size, std::uint64_t seed)
        : ni_(by_size(size, 11, 71, 142)), nj_(by_size(size, 9, 58, 116)), levels_(by_size(size, 4, 27, 27)) {
        Rng rng(seed);
        for (std::size_t field = 0; field < kFields; ++field) {
            std::vector<float>& values = fields_[field];
            for (int k = 0; k < levels_; ++k) {
                const auto [lowest, highest, by_level] = kRanges[field];
                const float shift = by_level * static_cast<float>(k) / static_cast<float>(levels_);
                const auto level = random_floats(rng, columns(), lowest + shift, highest + shift);
                values.insert(values.end(), level.begin(), level.end());
            }
        }
    }
    void run(Device& device) override {
        const Dim3 block{8, 8, 1};
        const Dim3 grid{ceil_div(static_cast<std::uint32_t>(ni_), block.x), ceil_div(static_cast<std::uint32_t>(nj_), block.y), 1};
        std::vector<DeviceArray<float>> f;
        for (const std::vector<float>& values : fields_) f.push_back(device.upload(values));
        const std::size_t words = grid.count() * block.count() * static_cast<std::size_t>(levels_);
        for (int own = 0; own < 5; ++own) f.push_back(device.alloc<float>(words));
        const auto rain = device.zeros<float>(columns());
        const auto snow = device.zeros<float>(columns());
        for (int step = 0; step < kSteps; ++step)
            device.launch("gpgpusim/wp", "wp_columns", grid, block, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10],
                          f[11], f[12], f[13], f[14], rain, snow, ni_, nj_, levels_, kTimeStep);
        results_.clear();
        for (std::size_t field = 0; field < kWritten; ++field) results_.push_back(device.download(f[field]));
        results_.push_back(device.download(rain));
        results_.push_back(device.download(snow));
    }
    Verdict verify() const override {
        std::vector<std::vector<double>> want(kWritten, std::vector<double>(fields_[0].size()));
        std::vector<double> rain, snow;
        for (std::size_t at = 0; at < columns(); ++at) {
            AirColumn column = column_at(at);
            for (int step = 0; step < kSteps; ++step) column.step(kTimeStep);
            for (std::size_t k = 0; k < column.levels.size(); ++k) {
                const AirColumn::Level& l = column.levels[k];
                const std::array<double, kWritten> values{l.theta, l.vapour, l.cloud, l.ice, l.rain, l.snow};
                for (std::size_t field = 0; field < kWritten; ++field) want[field][k * columns() + at] = values[field];
            }
            rain.push_back(column.rain_fallen);
            snow.push_back(column.snow_fallen);
        }
        Verdict verdict = compare("temperature", results_[0], want[0], 1e-4, 1e-2);
        for (std::size_t field = 1; field < kWritten; ++field) verdict &= compare(kNames[field], results_[field], want[field], 1e-3, 2e-6);
        verdict &= compare("rain fallen", results_[kWritten], rain, 1e-3, 1e-4);
        verdict &= compare("snow fallen", results_[kWritten + 1], snow, 1e-3, 1e-4);
        return verdict;
    }

private:
    static constexpr std::size_t kFields = 10, kWritten = 6;
    static constexpr int kSteps = 2;
    static constexpr float kTimeStep = 20.0f;
    /// Lowest and highest at the ground, and how much is added up to the top.
    struct Range {
        float lowest, highest, by_level;
    };
    static constexpr std::array<Range, kFields> kRanges{{{290, 300, 40},
                                                         {0.004f, 0.012f, -0.004f},
                                                         {0, 0.001f, 0},
                                                         {0, 0.0004f, 0},
                                                         {0, 0.001f, 0},
                                                         {0, 0.0005f, 0},
                                                         {1.1f, 1.2f, -0.8f},
                                                         {0.95f, 0.99f, -0.3f},
                                                         {9.0e4f, 1.0e5f, -7.0e4f},
                                                         {300, 500, 300}}};
    static constexpr std::array<std::string_view, kWritten> kNames{"temperature", "vapour", "cloud", "ice", "rain", "snow"};

    std::size_t columns() const { return static_cast<std::size_t>(ni_ * nj_); }
    AirColumn column_at(std::size_t at) const {
        AirColumn column;
        for (std::size_t k = 0; k < static_cast<std::size_t>(levels_); ++k) {
            AirColumn::Level l;
            const std::array<double*, kFields> to{&l.theta, &l.vapour,  &l.cloud, &l.ice,      &l.rain,
                                                  &l.snow,  &l.density, &l.exner, &l.pressure, &l.thickness};
            for (std::size_t field = 0; field < kFields; ++field) *to[field] = fields_[field][k * columns() + at];
            column.levels.push_back(l);
        }
        return column;
    }

    int ni_, nj_, levels_;
    std::array<std::vector<float>, kFields> fields_;
    std::vector<std::vector<float>> results_;
};

}  // namespace

std::unique_ptr<Problem> make_wp(Size size, std::uint64_t seed) {
    return std::make_unique<Weather>(size, seed);
}

}  // namespace mergelane::suite
