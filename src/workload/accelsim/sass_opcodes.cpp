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
struct Opcodes {
    std::string_view names;  ///< separated by single spaces
    OpClass op;
    SassSpace space = SassSpace::none;
};
constexpr Opcodes kByFunction[] = {
    // Single precision. Compares, selects and checks use the adder.
    {"FADD FADD32I FCHK FCMP FSEL FSET FSETP FSWZ FSWZADD", fp_add},
    {"FFMA FFMA32I", fp_mad},
    {"FMNMX", fp_minmax},
    {"FMUL FMUL32I", fp_mul},
    {"RRO", fp_add},  // range reduction before a MUFU; Accel-Sim runs it on the FP unit

    // Two half-precision values per lane on the FP unit. Accel-Sim starts these twice as often as single precision; here both cost the
    // same.
    {"HADD2 HADD2_32I HSET2 HSETP2", fp_add},
    {"HFMA2 HFMA2_32I", fp_mad},
    {"HMNMX2 VHMNMX", fp_minmax},
    {"HMUL2 HMUL2_32I", fp_mul},

    // Double precision: one class covers add, multiply and multiply-add.
    {"DADD DFMA DMUL DSET DSETP", dp_add},
    {"DMNMX", dp_minmax},

    // Special functions, and the conversions to and from floating point: NVIDIA's throughput tables give both the same quarter rate, 16
    // lanes per clock and SM on Volta. Accel-Sim runs these conversions on its integer unit at full rate.
    {"F2F F2I FRND I2F MUFU", sfu},

    // Conversions that only widen, narrow or pack registers: the integer unit.
    {"F2FP F2IP I2FP I2I I2IP", int_add},

    // Tensor cores. The G forms are Hopper's, one instruction for a group of four warps.
    {"BGMMA BMMA DMMA HGMMA HMMA IGMMA IMMA QGMMA", tensor},

    // Integer sums, logic, shifts, bit fields and compares. Counting bits (POPC, FLO, BREV) is slower in hardware but stays here, as in
    // Accel-Sim.
    {"BFE BFI BMSK BREV FLO IABS IADD IADD3 IADD32I ICMP ISAD ISCADD ISCADD32I ISET ISETP ISUB LEA LOP LOP3 LOP32I POPC SGXT", int_add},
    {"SHF SHL SHR", int_add},

    // Integer products; dot products are products with a sum.
    {"IDP IDP4A IMAD IMAD32I IMADSP XMAD", int_mad},
    {"IMUL IMUL32I", int_mul},

    {"IMNMX", int_minmax},

    // Video instructions of Kepler to Pascal and the dynamic-programming ones of Hopper.
    {"VABSDIFF VABSDIFF4 VADD VIADD VSET VSETP VSHL VSHR", int_add},
    {"VIADDMNMX VIMNMX VIMNMX3 VMNMX", int_minmax},
    {"VMAD", int_mad},

    // Metadata of sparse matrices, since Ampere.
    {"BITEXTRACT GATHER GENMETADATA SCATTER SPMETADATA", int_add},

    // Moves, and exchange between lanes: the integer unit, no memory.
    {"MATCH MOV MOV32I MOVM PRMT SEL SHFL VOTE VOTE_VTG", int_add},

    // Predicates and condition codes.
    {"CSET CSETP P2R PLOP3 PSET PSETP R2P", int_add},

    // Special registers, and instructions that touch neither lane values nor memory.
    {"B2R CS2R CSMTEST GETCRSPTR GETLMEMBASE IDE LEPC NOP PMTRIG QSPC R2B S2R SETCRSPTR SETCTAID SETLMEMBASE", int_add},

    // The uniform datapath of Turing and later computes once per warp. Accel-Sim gives it its own unit; here it shares the integer one.
    {"R2UR REDUX S2UR UBMSK UBREV UCLEA UF2FP UFLO UIADD3 UISETP ULEA ULEPC ULOP ULOP3 ULOP32I UMOV UP2UR UPLOP3 UPOPC UPRMT", int_add},
    {"UPSETP UR2UP USEL USETMAXREG USETSHMSZ USGXT USHF USHL USHR VOTEU", int_add},
    {"UIMAD", int_mad},

    // Constant memory has its own cache and no lane addresses in a trace.
    {"LDC ULDC", constant},

    // Global memory. LDGSTS copies to shared memory; it counts as the global load that causes the traffic.
    {"LDG LDGMC LDGSTS LDU", load, global},
    {"STG", store, global},

    {"LDL", load, local},
    {"STL", store, local},

    // Shared memory. LDS_LDU combines a shared and a uniform load and counts as the former. STAS, and REDAS below, access the shared memory
    // of another CTA of a thread-block cluster; these are not modelled, so the accesses stay local.
    {"LDS LDSLK LDSM LDS_LDU", load, shared},
    {"STAS STS STSCUL STSM", store, shared},

    // Any space. Kepler has no other global store than ST.
    {"LD LD_LDU", load, generic},
    {"ST", store, generic},

    // Atomics on global memory execute at the L2. ATOM and RED may name any space, but Accel-Sim sends them all there.
    {"ATOM ATOMG RED REDG", atomic, global},

    {"ATOMS REDAS", atomic, shared},

    // Order of memory accesses.
    {"FENCE MEMBAR", fence},

    // Cache hints, error checks and waits for the warp's own earlier instructions: they only take an issue slot, since the scoreboard
    // already prevents a register from being read too early.
    {"ARRIVES CCTL CCTLL CCTLT CGAERRBAR DEPBAR ERRBAR LDGDEPBAR TEXDEPBAR WARPGROUP WARPGROUPSET", int_add},

    // Hopper's bulk copies, their barriers in shared memory and the cluster barrier. The copy engine reads its source from a descriptor
    // that is not in the trace, so they only take an issue slot.
    {"SYNCS UBLKCP UBLKPF UBLKRED UCGABAR_ARV UCGABAR_GET UCGABAR_SET UCGABAR_WAIT UTMACCTL UTMACMDFLUSH UTMALDG UTMAPF", int_add},
    {"UTMAREDG UTMASTG", int_add},

    // Textures and surfaces are addressed by coordinates, which the trace does not translate to addresses: they cost as much as a special
    // function and cause no memory traffic.
    {"FOOTPRINT SUATOM SULD SULDGA SUQUERY SURED SUST SUSTGA TEX TEXS TLD TLD4 TLD4S TLDS TMML TXA TXD TXQ", sfu},

    // Kepler computes a surface address in the integer unit first.
    {"SUBFM SUCLAMP SUEAU", int_add},

    // Jumps, calls and returns.
    {"BRA BRX BRXU CAL CALL JCAL JMP JMX JMXU LONGJMP RET RTT", branch},

    // Divergence and reconvergence, up to Pascal (SSY, SYNC, PBK, BRK, ...) and since Volta (BSSY, BSYNC, ...). The trace contains the
    // resulting masks, so only the issue slot counts.
    {"BMOV BREAK BRK BSSY BSYNC CONT ELECT ENDCOLLECTIVE PBK PCNT PEXIT PLONGJMP PRET RAM RPCMOV SAM SSY SYNC WARPSYNC YIELD", branch},

    // The rest of the branch unit: traps, sleeps and the launch of dependent grids.
    {"ACQBULK BPT KIL KILL NANOSLEEP NANOTRAP PREEXIT", branch},

    {"BAR", barrier},
    {"EXIT", exit},
};

constexpr std::size_t kCount = [] {
    std::size_t count = 0;
    for (const Opcodes& row : kByFunction) count += 1 + static_cast<std::size_t>(std::count(row.names.begin(), row.names.end(), ' '));
    return count;
}();

constexpr auto kByName = [] {
    std::array<SassOpcode, kCount> table{};
    std::size_t at = 0;
    for (const auto& [names, op, space] : kByFunction) {
        for (std::size_t from = 0; from < names.size();) {
            const std::size_t end = std::min(names.find(' ', from), names.size());
            table[at++] = {names.substr(from, end - from), op, space};
            from = end + 1;
        }
    }
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
