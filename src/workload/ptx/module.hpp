// SPDX-License-Identifier: MIT
// A parsed PTX module: variables, functions, instructions with resolved registers and labels.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "workload/ptx/types.hpp"

namespace mergelane::ptx {

struct Program;

/// A thread of a launch, and where its CTA executes.
struct ThreadPosition {
    Dim3 grid, block;
    Dim3 cluster;  ///< CTAs of a cluster
    bool explicit_cluster = false;
    CtaPlace place;
    std::uint64_t cta = 0;
    std::uint32_t warps = 1;  ///< of a CTA
    std::uint32_t warp = 0;
    std::uint32_t lane = 0;
    std::uint32_t dynamic_shared = 0;
    std::uint32_t shared_bytes = 0;  ///< all of it
    std::uint64_t workspace = 0;     ///< of a cooperative launch: a barrier of all CTAs

    /// Of the CTA in the grid.
    Dim3 ctaid() const {
        return {static_cast<std::uint32_t>(cta % grid.x), static_cast<std::uint32_t>(cta / grid.x % grid.y),
                static_cast<std::uint32_t>(cta / grid.x / grid.y)};
    }
    std::uint32_t thread() const { return warp * kWarpLanes + lane; }
};

/// The area at the start of shared memory that %reserved_smem_offset_<..> are about; only kernels that read them have it.
inline constexpr std::uint32_t kReservedShared = 1024;

/// A special register such as %tid.x.
struct Special {
    std::string_view name;
    std::uint64_t (*value)(const ThreadPosition& at);
    bool by_placement = false;  ///< depends on where and when the CTA executes
    std::uint32_t bytes = 4;
    bool advances = false;  ///< a clock: read anew by every mov
    bool by_lane = false;   ///< differs between lanes, but not between CTAs; the others are the same for all lanes of a warp
};

/// A special register is known by its number in this table.
std::span<const Special> special_registers();

struct Operand {
    enum class Kind : std::uint8_t { none, reg, special, integer, f32, f64, symbol, address, vector, pair, list, sink };
    Kind kind = Kind::none;
    bool negated = false;        ///< "!p"
    std::uint32_t reg = kNoReg;  ///< register of Function::registers, or of special_registers(); for address: base register
    std::uint64_t bits = 0;      ///< a number; for a label: instruction index
    std::int64_t offset = 0;     ///< of an address or symbol
    std::string_view name;       ///< symbol
    std::vector<Operand> parts;  ///< vector {a, b}, pair a|b, list (a, b)

    static constexpr std::uint32_t kNoReg = ~0u;
};

/// What ".loc" says: a place in a file that ".file" names by number.
struct Location {
    std::uint32_t file = 0;
    std::uint32_t line = 0;  ///< 0: unknown
    bool operator<(const Location& other) const { return std::pair(file, line) < std::pair(other.file, other.line); }
};

struct Instruction {
    std::string_view opcode;              ///< whole word, "ld.global.f32"
    std::vector<std::string_view> words;  ///< the same, split: "ld", "global", "f32"
    std::vector<Operand> operands;
    std::uint32_t guard = Operand::kNoReg;  ///< predicate register
    bool guard_negated = false;
    std::uint32_t line = 0;
    std::uint32_t scope = 0;
    Location source;
    Location inlined_at;  ///< the outermost call, if the source line was inlined

    bool has(std::string_view word) const { return std::find(words.begin() + 1, words.end(), word) != words.end(); }
    /// Finds the enumerator that a modifier names, as find_word does.
    template <class E>
    bool find(std::span<const std::string_view> names, E& found) const {
        return std::any_of(words.begin() + 1, words.end(), [&](std::string_view word) { return find_word(names, word, found); });
    }
};

struct Relocation {
    std::uint64_t at = 0;
    std::string_view symbol;
    std::int64_t addend = 0;
    std::uint32_t bytes = 8;
};

struct Variable {
    std::string_view name;
    StateSpace space = StateSpace::global;
    Type type = Type::b8;
    std::uint64_t bytes = 0;
    std::uint32_t align = 1;
    bool external = false;              ///< ".extern .shared x[]": sized by the launch
    std::vector<std::uint8_t> initial;  ///< may be shorter than bytes: the rest is 0
    std::vector<Relocation> relocations;
    std::uint32_t line = 0;
};

/// ".callprototype": bytes of each result and parameter.
struct Prototype {
    std::vector<std::uint64_t> returns;
    std::vector<std::uint64_t> params;
};

struct Function {
    std::string_view name;
    bool entry = false;
    bool defined = false;
    std::uint32_t line = 0;
    std::vector<Variable> returns;
    std::vector<Variable> params;
    std::vector<Variable> variables;  ///< declared within: local, shared, call parameters
    std::vector<Type> registers;
    std::vector<Instruction> code;
    std::map<std::string_view, std::vector<std::uint64_t>> branch_tables;  ///< ".branchtargets"
    std::map<std::string_view, Prototype> prototypes;
    bool placement_dependent = false;        ///< reads %smid, %warpid or a clock: its behaviour depends on where it runs
    Dim3 cluster{0, 0, 0};                   ///< CTAs of the clusters it must be launched with; 0: the launch decides
    bool explicit_cluster = false;           ///< it must be launched with clusters
    std::uint32_t largest_cluster = 0;       ///< most CTAs of a cluster (.maxclusterrank); 0: not said
    std::uint32_t registers_per_thread = 0;  ///< from the PTX's metadata; 0: unknown
    std::string fault;                       ///< what the parser refused in it, "file:line: cause; remedy"; then it has no code

    /// Offsets of the parameters in the launch's parameter block.
    std::vector<std::uint32_t> param_offsets() const;
    std::uint32_t param_bytes() const;
};

/// One argument of a launch; its size must match the parameter.
struct Argument {
    const void* data = nullptr;
    std::uint64_t bytes = 0;
};

class Module {
public:
    Module(std::string text, std::string file_name);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    const std::string& file_name() const { return file_; }
    std::string_view text() const { return text_; }
    std::uint64_t id() const { return id_; }
    const std::vector<Variable>& variables() const { return variables_; }
    /// What the parser refused outside of functions, "file:line: cause; remedy"; empty except for parse_to_check.
    const std::string& fault() const { return fault_; }
    /// Names of the kernels, in text order.
    std::vector<std::string_view> kernels() const;
    /// nullptr if there is none.
    const Function* find_function(std::string_view name) const;
    const Variable* find_variable(std::string_view name) const;
    /// What a pointer to a function holds. No allocation has such an address.
    Addr code_address(std::string_view function) const { return kCodeBase + function_index_.at(function) * kCodeStep; }
    /// The function or kernel with this address; nullptr if there is none.
    const Function* function_at(Addr address) const {
        const Addr index = (address - kCodeBase) / kCodeStep;
        return address >= kCodeBase && address % kCodeStep == 0 && index < functions_.size() ? functions_[index].get() : nullptr;
    }
    /// The functions, not kernels, whose addresses variables or instructions name, in text order.
    std::vector<const Function*> addressed_functions() const;
    /// The source file with this number; empty if there is none.
    std::string_view source_file(std::uint32_t number) const {
        const auto found = source_files_.find(number);
        return found == source_files_.end() ? std::string_view{} : found->second;
    }
    /// Throws InputError that lists the available kernels, or says what the parser refused in this one.
    const Function& kernel(std::string_view name) const;
    /// The decoded form of a kernel and its callees; created once. Throws InputError for unsupported instructions.
    const Program& program(std::string_view kernel) const;
    /// Whether the kernel, or a function it calls, depends on its placement.
    bool placement_dependent(std::string_view kernel) const;
    /// Arguments laid out as the kernel's parameter list. Throws InputError if their number or sizes do not match.
    std::vector<std::byte> pack(std::string_view kernel, const std::vector<Argument>& arguments) const;

private:
    friend class Parser;
    static constexpr Addr kCodeBase = 0x10000;
    static constexpr Addr kCodeStep = 16;
    std::string text_;
    std::string file_;
    std::uint64_t id_;
    std::string fault_;
    std::vector<Variable> variables_;
    std::map<std::string_view, std::size_t> variable_index_;
    std::vector<std::unique_ptr<Function>> functions_;
    std::map<std::string_view, std::size_t> function_index_;
    std::map<std::uint32_t, std::string_view> source_files_;
    mutable std::mutex programs_mutex_;
    mutable std::map<std::string, std::unique_ptr<Program>, std::less<>> programs_;
};

inline constexpr std::size_t kMostTextBytes = std::size_t{256} << 20;
/// Throws InputError "file:line: cause; remedy". What is wrong within a function is reported when a kernel that needs it is decoded.
std::shared_ptr<const Module> parse_module(std::string_view text, const std::string& file_name);
/// The same, but finds the kernels also of a text that has a fault outside of functions. Only invalid characters and size still throw.
std::shared_ptr<const Module> parse_to_check(std::string_view text, const std::string& file_name);

}  // namespace mergelane::ptx
