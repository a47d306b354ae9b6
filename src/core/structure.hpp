// SPDX-License-Identifier: MIT
// Hardware structures of a component, as far as they cost area, power and storage. Declared once, next to the component; used by the
// energy model, the cost tables and `config show`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/bits.hpp"

namespace mergelane {

struct Structure {
    enum class Kind : std::uint8_t {
        ram,                ///< read and written by index
        cam,                ///< searched by content
        fully_associative,  ///< associative tags with data
    };
    enum Access : std::uint8_t { search, read, write };
    /// How often it is accessed: the sum of these statistics, each a name as in "l1.fills".
    struct Use {
        std::string name;  ///< suffix of the structure's name: "merge table" + "searches"
        Access access = Access::read;
        std::vector<std::string> statistics;
    };

    std::string component;  ///< component its energy is attributed to: "cluster", "sm", ...
    std::string name;       ///< of one of them, for example "merge table"
    std::string plural;     ///< of all of them
    Kind kind = Kind::ram;
    std::uint32_t instances = 1;  ///< of the whole machine
    std::uint64_t entries = 0;
    std::uint32_t tag_bits = 0;   ///< of an entry
    std::uint32_t data_bits = 0;  ///< of an entry
    std::string per = "cluster";  ///< its owner
    std::uint32_t per_owner = 1;  ///< that one owner has
    double published_mw = 0;      ///< of those of one owner, dynamic and static, as the paper prints it; 0: not printed
    std::vector<Use> uses;

    std::uint32_t entry_bits() const { return tag_bits + data_bits; }
    std::uint64_t bits() const { return entries * entry_bits(); }
    std::uint64_t bytes() const { return (bits() + 7) / 8; }
    /// All that one owner has of it.
    Structure of_owner() const {
        Structure all = *this;
        all.entries *= per_owner;
        all.instances /= per_owner;
        all.per_owner = 1;
        if (per_owner > 1) all.name = plural;
        return all;
    }
};

/// How a mechanism was published: the machine on which its paper counts its hardware, and what it prints besides.
struct Publication {
    struct Variant {
        std::string name;
        std::vector<std::string> overrides;
    };

    std::string mechanism;               ///< for example "intra-cluster coalescing"
    std::string machine;                 ///< the preset; empty: it has no hardware
    std::vector<std::string> overrides;  ///< that switch the mechanism on
    std::string per;                     ///< unit that has one instance: "cluster", "SM", or "program" for software
    std::string remark;
    double published_mm2 = 0;       ///< of one of them, as the paper prints it; 0: not printed
    std::vector<Variant> networks;  ///< whose networks differ from those of the machine without the mechanism
};

/// Identical crossbars: one direction of a network, or a stage of it. Or the ends of a network, described as one crossbar.
struct CrossbarSet {
    std::string name;             ///< "request" of "request network buffers"
    std::string statistics;       ///< statistics of their flits, for example "noc.request"
    std::uint32_t instances = 1;  ///< of the whole machine
    std::uint32_t inputs = 1;
    std::uint32_t outputs = 1;
    std::uint32_t flit_bytes = 32;
    std::uint32_t buffer_flits = 16;
    std::uint32_t mhz = 1000;
    double link_mm = 0;       ///< length of an output wire; 0: from the energy table
    bool is_network = false;  ///< describes the ends; the network kind determines the crossbars between them
};

class Structures {
public:
    void add(Structure structure) { list_.push_back(std::move(structure)); }
    /// A section that adds one declares all networks of the machine.
    void add(CrossbarSet crossbars) { crossbars_.push_back(std::move(crossbars)); }
    const std::vector<CrossbarSet>& crossbars() const { return crossbars_; }
    const std::vector<Structure>& list() const& { return list_; }
    std::vector<Structure> list() && { return std::move(list_); }

private:
    std::vector<Structure> list_;
    std::vector<CrossbarSet> crossbars_;
};

/// Physical addresses, as the papers count storage.
inline constexpr std::uint32_t kAddressBits = 48;
/// Tag bits for blocks of this size; valid bits are not counted, as in the papers.
inline constexpr std::uint32_t block_tag_bits(std::uint32_t block_bytes) {
    return kAddressBits - index_bits(block_bytes);
}

}  // namespace mergelane
