// SPDX-License-Identifier: MIT
#include "workload/accelsim/sass_opcodes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "workload/tensor_rates.hpp"

namespace mergelane::accelsim {

namespace {

using enum OpClass;
using enum SassSpace;
using SassFeature::async_copy, SassFeature::copy_group, SassFeature::copy_wait, SassFeature::matrix_rows, SassFeature::group_matrix,
    SassFeature::bulk_copy, SassFeature::cta_cluster, SassFeature::replay;

// The names are those of the instruction set reference in NVIDIA's "CUDA Binary Utilities", over all its generations, and those that
// only traces show. One name means the same in every generation, so one table serves all. The classes follow Accel-Sim's model of
// Volta except where a comment says otherwise. Opcodes of graphics shaders alone (IPA, AL2P, OUT, ...) are left out.
struct Opcodes {
    std::string_view names;  ///< separated by single spaces
    OpClass op;
    SassSpace space = SassSpace::none;
    SassFeature feature = SassFeature::none;
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

    // Tensor cores. QMMA multiplies fp8 on Ada; it is not in NVIDIA's lists, but what cuobjdump shows for mma.m16n8k32 of e4m3. The G
    // forms are Hopper's, one instruction for a group of four warps.
    {"BMMA DMMA HMMA IMMA QMMA", tensor},
    {"BGMMA HGMMA IGMMA QGMMA", tensor, none, group_matrix},

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
    {"LDG LDGMC LDU", load, global},
    {"LDGSTS", load, global, async_copy},
    {"LDGDEPBAR", int_add, none, copy_group},
    {"DEPBAR", int_add, none, copy_wait},
    {"STG", store, global},

    {"LDL", load, local},
    {"STL", store, local},

    // Shared memory. LDS_LDU combines a shared and a uniform load and counts as the former. STAS, and REDAS below, access the shared memory
    // of another CTA of a thread-block cluster.
    {"LDS LDSLK LDS_LDU", load, shared},
    {"LDSM", load, shared, matrix_rows},
    {"STAS", store, shared, cta_cluster},
    {"STS STSCUL", store, shared},
    {"STSM", store, shared, matrix_rows},

    // Any space. Kepler has no other global store than ST.
    {"LD LD_LDU", load, generic},
    {"ST", store, generic},

    // Atomics on global memory execute at the L2. ATOM and RED may name any space, but Accel-Sim sends them all there.
    {"ATOM ATOMG RED REDG", atomic, global},

    {"ATOMS", atomic, shared},
    {"REDAS", atomic, shared, cta_cluster},

    // Order of memory accesses.
    {"FENCE MEMBAR", fence},

    // Cache hints, error checks and waits for the warp's own earlier instructions: they only take an issue slot, since the scoreboard
    // already prevents a register from being read too early.
    {"ARRIVES CCTL CCTLL CCTLT CGAERRBAR ERRBAR TEXDEPBAR WARPGROUP WARPGROUPSET", int_add},

    // Hopper's bulk copies, their barriers in shared memory and the cluster barrier.
    {"UBLKCP UBLKPF UBLKRED UTMALDG UTMAPF UTMAREDG UTMASTG", int_add, none, bulk_copy},
    {"SYNCS UTMACCTL UTMACMDFLUSH", int_add},
    {"UCGABAR_ARV UCGABAR_GET UCGABAR_SET UCGABAR_WAIT", int_add, none, cta_cluster},

    // Marks of Accel-Sim's tracer, not of the GPU.
    {"REPLAY_END REPLAY_START", int_add, none, replay},

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

/// Shapes of matrix products as SASS writes them, m n k, and their multiply-adds.
struct Shape {
    std::string_view name;
    std::uint32_t multiply_adds;
};
constexpr Shape kShapes[] = {
    {"884", 8 * 8 * 4},   {"8x8x4", 8 * 8 * 4}, {"16x8x4", 16 * 8 * 4}, {"16x8x8", 16 * 8 * 8},   {"16x8x16", 16 * 8 * 16},
    {"1684", 16 * 8 * 4}, {"1688", 16 * 8 * 8}, {"16816", 16 * 8 * 16}, {"16832", 16 * 8 * 32},   {"16864", 16 * 8 * 64},
    {"8816", 8 * 8 * 16}, {"8832", 8 * 8 * 32}, {"88128", 8 * 8 * 128}, {"168128", 16 * 8 * 128}, {"168256", 16 * 8 * 256},
};

constexpr std::size_t kCount = [] {
    std::size_t count = 0;
    for (const Opcodes& row : kByFunction) count += 1 + static_cast<std::size_t>(std::count(row.names.begin(), row.names.end(), ' '));
    return count;
}();

constexpr auto kByName = [] {
    std::array<SassOpcode, kCount> table{};
    std::size_t at = 0;
    for (const auto& [names, op, space, feature] : kByFunction) {
        for (std::size_t from = 0; from < names.size();) {
            const std::size_t end = std::min(names.find(' ', from), names.size());
            table[at++] = {names.substr(from, end - from), op, space, feature};
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
    const std::string_view name = take_token(whole_opcode);
    if (name == "LDGSTS") return has_modifier(whole_opcode, "BYPASS");
    return name == "LDG" && has_modifier(whole_opcode, "STRONG") && has_modifier(whole_opcode, "GPU");
}

std::uint32_t sass_tensor_slots(std::string_view whole_opcode) {
    const std::string_view name = take_token(whole_opcode);
    const bool bytes = has_modifier(whole_opcode, "S8") || has_modifier(whole_opcode, "U8");
    const std::string_view element = name == "DMMA"                       ? "f64"
                                     : name == "QMMA"                     ? "e4m3"
                                     : name == "BMMA"                     ? "b1"
                                     : name == "IMMA"                     ? bytes ? "s8" : "s4"
                                     : has_modifier(whole_opcode, "TF32") ? "tf32"
                                                                          : "f16";
    // A sparse product multiplies half of what its shape says.
    const std::uint32_t sparsity = has_modifier(whole_opcode, "SP") ? 2 : 1;
    while (!whole_opcode.empty()) {
        const std::string_view token = take_token(whole_opcode);
        for (const auto& [shape, multiply_adds] : kShapes) {
            if (shape == token) return tensor_slots(multiply_adds / sparsity, element);
        }
    }
    return 1;
}

std::uint32_t sass_matrices(std::string_view whole_opcode) {
    take_token(whole_opcode);
    std::string_view last;
    while (!whole_opcode.empty()) last = take_token(whole_opcode);
    return last == "4" ? 4 : last == "2" ? 2 : 1;
}

std::string_view sass_untimed(SassFeature feature) {
    switch (feature) {
        case SassFeature::group_matrix: return "a matrix product of a group of four warps";
        case SassFeature::bulk_copy: return "a bulk copy of the tensor memory accelerator";
        case SassFeature::cta_cluster: return "an instruction of thread-block clusters";
        default: return {};
    }
}

}  // namespace mergelane::accelsim
