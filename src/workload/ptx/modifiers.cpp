// SPDX-License-Identifier: MIT
#include "workload/ptx/modifiers.hpp"

#include <algorithm>
#include <initializer_list>

#include "workload/ptx/types.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::string_view kRounding = "rn rz rm rp";
constexpr std::string_view kSpaces = "global shared shared::cta shared::cluster";
constexpr std::string_view kScopes = "cta cluster gpu sys";
constexpr std::string_view kCompares =
    "eq ne lt le gt ge equ neu ltu leu gtu geu num nan lo ls hi hs and or xor ftz";  // also how a predicate is combined with the result
constexpr std::string_view kCaches =
    "ca cg cs lu cv wb wt nc unified L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
    "L2::evict_normal L2::evict_first L2::evict_last L2::cache_hint L2::64B L2::128B L2::256B v2 v4 v8";

/// Opcodes that share a list of modifiers, and up to four parts of that list.
struct ModifierRow {
    std::string_view opcodes;
    std::string_view words[4] = {};
};

constexpr ModifierRow kTable[] = {
    {"add sub", {kRounding, "ftz sat cc"}},
    {"addc subc", {"cc"}},
    {"mul", {kRounding, "lo hi wide ftz sat"}},
    {"mad", {kRounding, "lo hi wide ftz sat cc"}},
    {"madc", {"lo hi cc"}},
    {"mul24 mad24", {"lo hi sat"}},
    {"fma", {kRounding, "ftz sat relu"}},
    {"div", {kRounding, "approx full ftz"}},
    {"rem sad dp4a and or xor not cnot shl shr bfe bfi brev popc clz copysign selp mov activemask exit trap brkpt fns"},
    {"neg abs slct", {"ftz"}},
    {"lop3", {"and or"}},
    {"pmevent", {"mask"}},
    {"min max", {"ftz NaN xorsign abs relu"}},
    {"dp2a", {"lo hi"}},
    {"shf", {"l r clamp wrap"}},
    {"prmt", {"f4e b4e rc8 ecl ecr rc16"}},
    {"bfind", {"shiftamt"}},
    {"bmsk szext", {"clamp wrap"}},
    {"rcp sqrt", {kRounding, "approx ftz"}},
    {"rsqrt ex2 lg2 sin cos tanh", {"approx ftz"}},
    {"setp set", {kCompares}},
    {"testp", {"finite infinite number notanumber normal subnormal"}},
    {"cvt", {kRounding, "rni rzi rmi rpi rna ftz sat relu satfinite pack"}},
    {"cvta", {kSpaces, "to local const param"}},
    {"isspacep", {kSpaces, "local const param param::entry"}},
    {"ld", {kSpaces, kScopes, kCaches, "local const param param::entry param::func weak volatile relaxed acquire mmio"}},
    {"ldu", {"global v2 v4"}},
    {"st",
     {kSpaces, kScopes, kCaches, "local const param param::func weak volatile relaxed release mmio async mbarrier::complete_tx::bytes"}},
    {"atom red",
     {kSpaces, kScopes, "add min max and or xor exch cas inc dec relaxed acquire release acq_rel noftz L2::cache_hint v2 v4 v8",
      "async mbarrier::complete_tx::bytes"}},
    {"membar", {"cta gl sys proxy alias"}},
    {"fence",
     {kScopes,
      "sc acq_rel acquire release proxy alias async async::generic tensormap::generic mbarrier_init global "
      "shared::cta shared::cluster sync_restrict::shared::cta sync_restrict::shared::cluster"}},
    {"prefetch", {"global local L1 L2 L2::evict_last L2::evict_normal tensormap param const"}},
    {"prefetchu", {"L1"}},
    {"discard applypriority", {"global L2 L2::evict_normal"}},
    {"createpolicy", {"fractional range cvt L2 global L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged"}},
    {"setmaxnreg", {"inc dec sync aligned"}},
    {"vadd2 vadd4 vsub2 vsub4 vabsdiff2 vabsdiff4 vmin2 vmin4 vmax2 vmax4", {"sat add"}},
    {"vset2 vset4", {"eq ne lt le gt ge add"}},
    {"griddepcontrol", {"wait launch_dependents"}},
    {"bar", {"cta sync arrive red popc and or aligned warp"}},
    {"barrier", {"cta sync arrive red popc and or aligned cluster wait release acquire relaxed"}},
    {"shfl", {"sync up down bfly idx"}},
    {"vote", {"sync all any uni ballot"}},
    {"match", {"sync any all"}},
    {"redux", {"sync add min max and or xor"}},
    {"bra call ret", {"uni"}},
    {"brx", {"idx uni"}},
};

bool contains(std::string_view list, std::string_view word) {
    bool found = false;
    each_word(list, [&](std::string_view one) { found = found || one == word; });
    return found;
}

}  // namespace

bool understands(std::string_view opcode, std::string_view modifier) {
    if (type_of(modifier) != Type::none) return true;
    for (const ModifierRow& row : kTable) {
        if (!contains(row.opcodes, opcode)) continue;
        return std::any_of(std::begin(row.words), std::end(row.words), [&](std::string_view list) { return contains(list, modifier); });
    }
    return true;
}

}  // namespace mergelane::ptx
