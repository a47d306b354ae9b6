// SPDX-License-Identifier: MIT
// Matrices in the registers of a warp: element types, and the order of the registers.
//
// A fragment consists of blocks. A block has 8 lines: rows of A and of the accumulators C and D, columns of B. Lane l holds the piece l % 4
// of line l / 4: one register of A or B, two neighbouring elements of an accumulator (one register of halves, otherwise two registers). All
// layouts of mma that PTX defines are of this kind, except m8n8k4 with f16. PTX leaves those of wmma open; they are the layouts of the mma
// instructions with 16 rows and 8 columns (or 8 rows, where the matrix has 8) into which the product decomposes. So a fragment does not
// depend on whether its matrix lies in memory by rows or by columns.
#pragma once

#include <cstdint>

namespace mergelane::ptx {

enum class Element : std::uint8_t { none, b1, s4, u4, s8, u8, e4m3, e5m2, f16, bf16, tf32, f32, s32, f64 };
enum class Fragment : std::uint8_t { a, b, accumulator };

inline constexpr std::uint32_t element_bits(Element element) {
    switch (element) {
        case Element::none: return 0;
        case Element::b1: return 1;
        case Element::s4:
        case Element::u4: return 4;
        case Element::s8:
        case Element::u8:
        case Element::e4m3:
        case Element::e5m2: return 8;
        case Element::f16:
        case Element::bf16: return 16;
        case Element::f64: return 64;
        default: return 32;
    }
}
/// What a register of a fragment holds.
inline constexpr std::uint32_t element_register_bytes(Element element) {
    return element == Element::f64 ? 8 : 4;
}
/// What a lane holds of one block.
inline constexpr std::uint32_t piece_bytes(Fragment fragment, Element element) {
    return fragment == Fragment::accumulator ? element_bits(element) / 4 : element_register_bytes(element);
}

struct MatrixShape {
    std::uint16_t m = 0, n = 0, k = 0;

    /// Lines of a fragment, and elements of a line.
    std::uint32_t lines(Fragment fragment) const { return fragment == Fragment::b ? n : m; }
    std::uint32_t line_elements(Fragment fragment) const { return fragment == Fragment::accumulator ? n : k; }
    std::uint32_t line_bytes(Fragment fragment, Element element) const { return line_elements(fragment) * element_bits(element) / 8; }
    std::uint32_t blocks_per_line(Fragment fragment, Element element) const {
        return line_bytes(fragment, element) / (4 * piece_bytes(fragment, element));
    }
    std::uint32_t blocks(Fragment fragment, Element element) const { return lines(fragment) / 8 * blocks_per_line(fragment, element); }
    /// Registers that hold each element once.
    std::uint32_t registers(Fragment fragment, Element element) const {
        return blocks(fragment, element) * piece_bytes(fragment, element) / element_register_bytes(element);
    }
    /// The position of a block among those of the fragment: by `line`, in units of 8 lines, and by `along`, in blocks of a line. `per_line`
    /// is blocks_per_line(). In 16 rows of A, the upper and the lower block of the same columns are neighbours, as are those of
    /// accumulators.
    std::uint32_t block(Fragment fragment, std::uint32_t line, std::uint32_t along, std::uint32_t per_line) const {
        if (fragment == Fragment::b || m == 8) return line * per_line + along;
        return (line / 2 * per_line + along) * 2 + line % 2;
    }
};

}  // namespace mergelane::ptx
