// SPDX-License-Identifier: MIT
#include "workload/accelsim/sass_opcodes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace mergelane::accelsim {

namespace {

using enum OpClass;
using enum SassSpace;

// The names are those of the instruction set reference in NVIDIA's "CUDA Binary Utilities", over all its generations, and those that
// only traces show. One name means the same in every generation, so one table serves all. The classes follow Accel-Sim's model of
// Volta except where a comment says otherwise. Opcodes of graphics shaders alone (IPA, AL2P, OUT, ...) are left out.
constexpr SassOpcode kByFunction[] = {
    // Single precision. Compares, selects and checks use the adder.
    {"FADD", fp_add},
    {"FADD32I", fp_add},
    {"FCHK", fp_add},
    {"FCMP", fp_add},
    {"FFMA", fp_mad},
    {"FFMA32I", fp_mad},
    {"FMNMX", fp_minmax},
    {"FMUL", fp_mul},
    {"FMUL32I", fp_mul},
    {"FSEL", fp_add},
    {"FSET", fp_add},
    {"FSETP", fp_add},
    {"FSWZ", fp_add},
    {"FSWZADD", fp_add},
    {"RRO", fp_add},  // range reduction before a MUFU; Accel-Sim runs it on the FP unit

    // Two half-precision values per lane on the FP unit. Accel-Sim starts these twice as often as single precision; here both cost the
    // same.
    {"HADD2", fp_add},
    {"HADD2_32I", fp_add},
    {"HFMA2", fp_mad},
    {"HFMA2_32I", fp_mad},
    {"HMNMX2", fp_minmax},
    {"HMUL2", fp_mul},
    {"HMUL2_32I", fp_mul},
    {"HSET2", fp_add},
    {"HSETP2", fp_add},
    {"VHMNMX", fp_minmax},

    // Double precision: one class covers add, multiply and multiply-add.
    {"DADD", dp_add},
    {"DFMA", dp_add},
    {"DMNMX", dp_minmax},
    {"DMUL", dp_add},
    {"DSET", dp_add},
    {"DSETP", dp_add},

    // Special functions, and the conversions to and from floating point: NVIDIA's throughput tables give both the same quarter rate, 16
    // lanes per clock and SM on Volta. Accel-Sim runs these conversions on its integer unit at full rate.
    {"F2F", sfu},
    {"F2I", sfu},
    {"FRND", sfu},
    {"I2F", sfu},
    {"MUFU", sfu},

    // Conversions that only widen, narrow or pack registers: the integer unit.
    {"F2FP", int_add},
    {"F2IP", int_add},
    {"I2FP", int_add},
    {"I2I", int_add},
    {"I2IP", int_add},

    // Tensor cores. The G forms are Hopper's, one instruction for a group of four warps.
    {"BGMMA", tensor},
    {"BMMA", tensor},
    {"DMMA", tensor},
    {"HGMMA", tensor},
    {"HMMA", tensor},
    {"IGMMA", tensor},
    {"IMMA", tensor},
    {"QGMMA", tensor},

    // Integer sums, logic, shifts, bit fields and compares. Counting bits (POPC, FLO, BREV) is slower in hardware but stays here, as in
    // Accel-Sim.
    {"BFE", int_add},
    {"BFI", int_add},
    {"BMSK", int_add},
    {"BREV", int_add},
    {"FLO", int_add},
    {"IABS", int_add},
    {"IADD", int_add},
    {"IADD3", int_add},
    {"IADD32I", int_add},
    {"ICMP", int_add},
    {"ISAD", int_add},
    {"ISCADD", int_add},
    {"ISCADD32I", int_add},
    {"ISET", int_add},
    {"ISETP", int_add},
    {"ISUB", int_add},
    {"LEA", int_add},
    {"LOP", int_add},
    {"LOP3", int_add},
    {"LOP32I", int_add},
    {"POPC", int_add},
    {"SGXT", int_add},
    {"SHF", int_add},
    {"SHL", int_add},
    {"SHR", int_add},

    // Integer products; dot products are products with a sum.
    {"IDP", int_mad},
    {"IDP4A", int_mad},
    {"IMAD", int_mad},
    {"IMAD32I", int_mad},
    {"IMADSP", int_mad},
    {"IMUL", int_mul},
    {"IMUL32I", int_mul},
    {"XMAD", int_mad},

    {"IMNMX", int_minmax},

    // Video instructions of Kepler to Pascal and the dynamic-programming ones of Hopper.
    {"VABSDIFF", int_add},
    {"VABSDIFF4", int_add},
    {"VADD", int_add},
    {"VIADD", int_add},
    {"VIADDMNMX", int_minmax},
    {"VIMNMX", int_minmax},
    {"VIMNMX3", int_minmax},
    {"VMAD", int_mad},
    {"VMNMX", int_minmax},
    {"VSET", int_add},
    {"VSETP", int_add},
    {"VSHL", int_add},
    {"VSHR", int_add},

    // Metadata of sparse matrices, since Ampere.
    {"BITEXTRACT", int_add},
    {"GATHER", int_add},
    {"GENMETADATA", int_add},
    {"SCATTER", int_add},
    {"SPMETADATA", int_add},

    // Moves, and exchange between lanes: the integer unit, no memory.
    {"MATCH", int_add},
    {"MOV", int_add},
    {"MOV32I", int_add},
    {"MOVM", int_add},
    {"PRMT", int_add},
    {"SEL", int_add},
    {"SHFL", int_add},
    {"VOTE", int_add},
    {"VOTE_VTG", int_add},

    // Predicates and condition codes.
    {"CSET", int_add},
    {"CSETP", int_add},
    {"P2R", int_add},
    {"PLOP3", int_add},
    {"PSET", int_add},
    {"PSETP", int_add},
    {"R2P", int_add},

    // Special registers, and instructions that touch neither lane values nor memory.
    {"B2R", int_add},
    {"CS2R", int_add},
    {"CSMTEST", int_add},
    {"GETCRSPTR", int_add},
    {"GETLMEMBASE", int_add},
    {"IDE", int_add},
    {"LEPC", int_add},
    {"NOP", int_add},
    {"PMTRIG", int_add},
    {"QSPC", int_add},
    {"R2B", int_add},
    {"S2R", int_add},
    {"SETCRSPTR", int_add},
    {"SETCTAID", int_add},
    {"SETLMEMBASE", int_add},

    // The uniform datapath of Turing and later computes once per warp. Accel-Sim gives it its own unit; here it shares the integer one.
    {"R2UR", int_add},
    {"REDUX", int_add},
    {"S2UR", int_add},
    {"UBMSK", int_add},
    {"UBREV", int_add},
    {"UCLEA", int_add},
    {"UF2FP", int_add},
    {"UFLO", int_add},
    {"UIADD3", int_add},
    {"UIMAD", int_mad},
    {"UISETP", int_add},
    {"ULEA", int_add},
    {"ULEPC", int_add},
    {"ULOP", int_add},
    {"ULOP3", int_add},
    {"ULOP32I", int_add},
    {"UMOV", int_add},
    {"UP2UR", int_add},
    {"UPLOP3", int_add},
    {"UPOPC", int_add},
    {"UPRMT", int_add},
    {"UPSETP", int_add},
    {"UR2UP", int_add},
    {"USEL", int_add},
    {"USETMAXREG", int_add},
    {"USETSHMSZ", int_add},
    {"USGXT", int_add},
    {"USHF", int_add},
    {"USHL", int_add},
    {"USHR", int_add},
    {"VOTEU", int_add},

    // Constant memory has its own cache and no lane addresses in a trace.
    {"LDC", constant},
    {"ULDC", constant},

    // Global memory. LDGSTS copies to shared memory; it counts as the global load that causes the traffic.
    {"LDG", load, global},
    {"LDGMC", load, global},
    {"LDGSTS", load, global},
    {"LDU", load, global},
    {"STG", store, global},

    {"LDL", load, local},
    {"STL", store, local},

    // Shared memory. LDS_LDU combines a shared and a uniform load and counts as the former. STAS, and REDAS below, access the shared memory
    // of another CTA of a thread-block cluster; these are not modelled, so the accesses stay local.
    {"LDS", load, shared},
    {"LDSLK", load, shared},
    {"LDSM", load, shared},
    {"LDS_LDU", load, shared},
    {"STAS", store, shared},
    {"STS", store, shared},
    {"STSCUL", store, shared},
    {"STSM", store, shared},

    // Any space. Kepler has no other global store than ST.
    {"LD", load, generic},
    {"LD_LDU", load, generic},
    {"ST", store, generic},

    // Atomics on global memory execute at the L2. ATOM and RED may name any space, but Accel-Sim sends them all there.
    {"ATOM", atomic, global},
    {"ATOMG", atomic, global},
    {"RED", atomic, global},
    {"REDG", atomic, global},

    {"ATOMS", atomic, shared},
    {"REDAS", atomic, shared},

    // Order of memory accesses.
    {"FENCE", fence},
    {"MEMBAR", fence},

    // Cache hints, error checks and waits for the warp's own earlier instructions: they only take an issue slot, since the scoreboard
    // already prevents a register from being read too early.
    {"ARRIVES", int_add},
    {"CCTL", int_add},
    {"CCTLL", int_add},
    {"CCTLT", int_add},
    {"CGAERRBAR", int_add},
    {"DEPBAR", int_add},
    {"ERRBAR", int_add},
    {"LDGDEPBAR", int_add},
    {"TEXDEPBAR", int_add},
    {"WARPGROUP", int_add},
    {"WARPGROUPSET", int_add},

    // Hopper's bulk copies, their barriers in shared memory and the cluster barrier. The copy engine reads its source from a descriptor
    // that is not in the trace, so they only take an issue slot.
    {"SYNCS", int_add},
    {"UBLKCP", int_add},
    {"UBLKPF", int_add},
    {"UBLKRED", int_add},
    {"UCGABAR_ARV", int_add},
    {"UCGABAR_GET", int_add},
    {"UCGABAR_SET", int_add},
    {"UCGABAR_WAIT", int_add},
    {"UTMACCTL", int_add},
    {"UTMACMDFLUSH", int_add},
    {"UTMALDG", int_add},
    {"UTMAPF", int_add},
    {"UTMAREDG", int_add},
    {"UTMASTG", int_add},

    // Textures and surfaces are addressed by coordinates, which the trace does not translate to addresses: they cost as much as a special
    // function and cause no memory traffic.
    {"FOOTPRINT", sfu},
    {"SUATOM", sfu},
    {"SULD", sfu},
    {"SULDGA", sfu},
    {"SUQUERY", sfu},
    {"SURED", sfu},
    {"SUST", sfu},
    {"SUSTGA", sfu},
    {"TEX", sfu},
    {"TEXS", sfu},
    {"TLD", sfu},
    {"TLD4", sfu},
    {"TLD4S", sfu},
    {"TLDS", sfu},
    {"TMML", sfu},
    {"TXA", sfu},
    {"TXD", sfu},
    {"TXQ", sfu},

    // Kepler computes a surface address in the integer unit first.
    {"SUBFM", int_add},
    {"SUCLAMP", int_add},
    {"SUEAU", int_add},

    // Jumps, calls and returns.
    {"BRA", branch},
    {"BRX", branch},
    {"BRXU", branch},
    {"CAL", branch},
    {"CALL", branch},
    {"JCAL", branch},
    {"JMP", branch},
    {"JMX", branch},
    {"JMXU", branch},
    {"LONGJMP", branch},
    {"RET", branch},
    {"RTT", branch},

    // Divergence and reconvergence, up to Pascal (SSY, SYNC, PBK, BRK, ...) and since Volta (BSSY, BSYNC, ...). The trace contains the
    // resulting masks, so only the issue slot counts.
    {"BMOV", branch},
    {"BREAK", branch},
    {"BRK", branch},
    {"BSSY", branch},
    {"BSYNC", branch},
    {"CONT", branch},
    {"ELECT", branch},
    {"ENDCOLLECTIVE", branch},
    {"PBK", branch},
    {"PCNT", branch},
    {"PEXIT", branch},
    {"PLONGJMP", branch},
    {"PRET", branch},
    {"RAM", branch},
    {"RPCMOV", branch},
    {"SAM", branch},
    {"SSY", branch},
    {"SYNC", branch},
    {"WARPSYNC", branch},
    {"YIELD", branch},

    // The rest of the branch unit: traps, sleeps and the launch of dependent grids.
    {"ACQBULK", branch},
    {"BPT", branch},
    {"KIL", branch},
    {"KILL", branch},
    {"NANOSLEEP", branch},
    {"NANOTRAP", branch},
    {"PREEXIT", branch},

    {"BAR", barrier},
    {"EXIT", exit},
};

constexpr auto kByName = [] {
    auto table = std::to_array(kByFunction);
    std::sort(table.begin(), table.end(), [](const SassOpcode& a, const SassOpcode& b) { return a.name < b.name; });
    return table;
}();
static_assert(std::adjacent_find(kByName.begin(), kByName.end(),
                                 [](const SassOpcode& a, const SassOpcode& b) { return a.name >= b.name; }) == kByName.end(),
              "an opcode has two rows");

/// The part of `rest` up to the next dot, which is removed together with that dot.
std::string_view take_token(std::string_view& rest) {
    const std::string_view token = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), token.size() + 1));
    return token;
}

bool has_modifier(std::string_view modifiers, std::string_view wanted) {
    while (!modifiers.empty()) {
        if (take_token(modifiers) == wanted) return true;
    }
    return false;
}

}  // namespace

const SassOpcode* find_sass_opcode(std::string_view name) {
    const auto row = std::lower_bound(kByName.begin(), kByName.end(), name,
                                      [](const SassOpcode& opcode, std::string_view wanted) { return opcode.name < wanted; });
    return row != kByName.end() && row->name == name ? &*row : nullptr;
}

std::span<const SassOpcode> sass_opcodes() {
    return kByName;
}

std::uint32_t sass_access_bytes(std::string_view whole_opcode) {
    constexpr std::uint32_t kWord = 4;
    constexpr std::uint32_t kMost = 16;
    take_token(whole_opcode);
    while (!whole_opcode.empty()) {
        std::string_view digits = take_token(whole_opcode);
        if (digits.starts_with('U')) digits.remove_prefix(1);
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) continue;
        std::uint32_t bits = 0;
        const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
        const std::uint32_t bytes = parsed.ec == std::errc{} ? bits / 8 : 0;
        return bytes >= 1 && bytes <= kMost ? bytes : kWord;
    }
    return kWord;
}

bool sass_bypasses_l1(std::string_view whole_opcode) {
    return take_token(whole_opcode) == "LDG" && has_modifier(whole_opcode, "STRONG") && has_modifier(whole_opcode, "GPU");
}

}  // namespace mergelane::accelsim
