// SPDX-License-Identifier: MIT
#include "workload/suite/problem.hpp"

namespace mergelane::suite {

namespace {

class CoulombLattice final : public Problem {
public:
    CoulombLattice(Size size, std::uint64_t seed)
        : grid_{by_size(size, 1u, 8u, 8u), by_size(size, 2u, 32u, 64u), 1}, atoms_(by_size<std::size_t>(size, 128, 1024, 4096)) {
        Rng rng(seed);
        lattice_ = random_floats(rng, width() * height());
        for (std::size_t i = 0; i < atoms_; ++i) {
            const auto atom = random_floats(rng, 4);
            atom_.push_back(kSpacing * static_cast<float>(width()) * atom[0]);
            atom_.push_back(kSpacing * static_cast<float>(height()) * atom[1]);
            atom_.push_back((atom[2] + 0.25f) * (atom[2] + 0.25f));
            atom_.push_back(2.0f * atom[3] - 1.0f);
        }
    }
    void run(Device& device) override {
        const auto lattice = device.upload(lattice_);
        const auto atoms = device.upload(atom_);
        device.launch("parboil/cp", "cp_lattice", grid_, {16, 8, 1}, lattice, atoms, static_cast<int>(atoms_), kSpacing);
        result_ = device.download(lattice);
    }
    Verdict verify() const override {
        std::vector<double> want;
        for (std::size_t y = 0; y < height(); ++y)
            for (std::size_t x = 0; x < width(); ++x) {
                double energy = lattice_[want.size()];
                for (std::size_t i = 0; i < atom_.size(); i += 4) {
                    const double dx = double(kSpacing) * static_cast<double>(x) - atom_[i],
                                 dy = double(kSpacing) * static_cast<double>(y) - atom_[i + 1];
                    energy += atom_[i + 3] / std::sqrt(dx * dx + dy * dy + atom_[i + 2]);
                }
                want.push_back(energy);
            }
        return compare("energy", result_, want, 1e-3, 2e-3);
    }

private:
    static constexpr float kSpacing = 0.125f;
    std::size_t width() const { return grid_.x * std::size_t{128}; }
    std::size_t height() const { return grid_.y * std::size_t{8}; }

    Dim3 grid_;
    std::size_t atoms_;
    std::vector<float> lattice_, atom_, result_;
};

}  // namespace

std::unique_ptr<Problem> make_cp(Size size, std::uint64_t seed) {
    return std::make_unique<CoulombLattice>(size, seed);
}

}  // namespace mergelane::suite
