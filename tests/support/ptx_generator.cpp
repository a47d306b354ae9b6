// SPDX-License-Identifier: MIT
#include "ptx_generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "workload/ptx/decode.hpp"

namespace mergelane::ptx::reference {

namespace {

constexpr std::uint32_t kHalves = 8, kWords = 16, kLongs = 8, kPredicates = 6, kLoops = 2;

std::string head(std::uint32_t threads) {
    return fmt::format(
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 input, .param .u64 output)\n{{\n"
        ".shared .align 16 .b8 scratch[{}];\n"
        ".reg .b16 %h<{}>, %th;\n.reg .b32 %r<{}>, %tr, %own, %other, %mask, %c<{}>, %thread;\n"
        ".reg .b64 %x<{}>, %tx, %in, %out, %total, %wide, %sum;\n.reg .pred %p<{}>, %q<{}>;\n"
        "ld.param.u64 %in, [input];\nld.param.u64 %total, [output];\nmov.b32 %thread, %tid.x;\n"
        "mul.wide.u32 %wide, %thread, {};\nadd.u64 %in, %in, %wide;\n"
        "mul.wide.u32 %wide, %thread, {};\nadd.u64 %out, %total, %wide;\nadd.u64 %out, %out, 16;\n"
        "mul.lo.u32 %own, %thread, {};\n",
        (threads + 31) / 32 * 32 * kSharedBytes, kHalves, kWords, kLoops, kLongs, kPredicates, kLoops, kInputBytes, kOutputBytes,
        kSharedBytes);
}

std::string_view file_of(Type type) {
    return type == Type::pred ? "%p" : type_bytes(type) <= 2 ? "%h" : type_bytes(type) == 4 ? "%r" : "%x";
}
std::string_view bits_of(Type type) {
    return type_bytes(type) <= 2 ? "b16" : type_bytes(type) == 4 ? "b32" : "b64";
}

/// "add.u32 RESULTS, SOURCES[, MASK];"
std::string statement(const Rule& rule, const std::vector<std::string>& results, const std::vector<std::string>& sources,
                      const std::string& mask) {
    const auto joined = [](const std::vector<std::string>& words, std::string_view with) {
        std::string text;
        for (const std::string& word : words) text += (text.empty() ? "" : std::string(with)) + word;
        return text;
    };
    std::string text = rule.opcode + " ";
    text += rule.form == Rule::Form::vector_result ? "{" + joined(results, ", ") + "}" : joined(results, "|");
    if (rule.form == Rule::Form::vector_source)
        text += ", {" + joined(sources, ", ") + "}";
    else if (!sources.empty())
        text += ", " + joined(sources, ", ");
    if (rule.member_mask) text += ", " + mask;
    return text + ";\n";
}

class Writer {
public:
    Writer(std::uint64_t seed, std::uint32_t instructions, std::uint32_t threads, const std::vector<const Rule*>& rules)
        : rng_(seed), left_(instructions), full_(threads % 32 == 0), text_(head(threads)) {
        for (const Rule* rule : rules) {
            if (rule->needs_all_lanes && !full_) continue;
            all_.push_back(rule);
            groups_[rule->opcode.substr(0, rule->opcode.find('.'))].push_back(rule);
        }
    }
    std::string run() {
        text_ += fmt::format("xor.b32 %other, %thread, {};\nmul.lo.u32 %other, %other, {};\n", 1 + rng_.below(31), kSharedBytes);
        for (std::uint32_t k = 0; k < kHalves; ++k) load("b16", fmt::format("%h{}", k));
        for (std::uint32_t k = 0; k < kWords; ++k) load("b32", fmt::format("%r{}", k));
        for (std::uint32_t k = 0; k < kLongs; ++k) load("b64", fmt::format("%x{}", k));
        for (std::uint32_t k = 0; k < kPredicates; ++k) text_ += fmt::format("setp.lt.s32 %p{}, %r{}, %r{};\n", k, k, k + 6);
        text_ += "mov.b64 %sum, 0;\n";
        block(0, 0);
        store_registers();
        return text_ + "ret;\n}\n";
    }

private:
    std::string any(Type type) {
        const std::uint32_t count = type == Type::pred      ? kPredicates
                                    : type_bytes(type) <= 2 ? kHalves
                                    : type_bytes(type) == 4 ? kWords
                                                            : kLongs;
        return fmt::format("{}{}", file_of(type), rng_.below(count));
    }
    std::string literal(Type type) {
        const std::uint64_t bits = interesting(rng_);
        if (type == Type::f32) return fmt::format("0f{:08X}", bits & 0xFFFFFFFF);
        if (type == Type::f64) return fmt::format("0d{:016X}", bits);
        return fmt::format("0x{:x}", type_bytes(type) <= 2 ? bits & 0xFFFF : type_bytes(type) == 4 ? bits & 0xFFFFFFFF : bits);
    }
    bool one_of(std::uint32_t n) { return rng_.below(n) == 0; }
    std::uint32_t offset(std::uint32_t bytes, std::uint32_t limit) { return rng_.below(limit / bytes) * bytes; }
    void load(std::string_view type, const std::string& to) {
        text_ += fmt::format("ld.global.{} {}, [%in+{}];\n", type, to, offset(8, kInputBytes));
    }

    /// Half of them by their first word, so that conversions and comparisons do not crowd out the others.
    const Rule& pick() {
        const auto any_of = [&](const std::vector<const Rule*>& list) { return list[rng_.below(static_cast<std::uint32_t>(list.size()))]; };
        if (one_of(2)) return *any_of(all_);
        auto group = groups_.begin();
        std::advance(group, rng_.below(static_cast<std::uint32_t>(groups_.size())));
        return *any_of(group->second);
    }
    void instruction(bool converged) {
        const Rule& rule = pick();
        if (rule.needs_all_lanes && !converged) return;
        const bool conversion = rule.opcode.starts_with("cvt.");
        std::vector<std::string> results, sources;
        for (const Type type : rule.results) {
            // Conversions may write wider registers than their type.
            const bool wider = conversion && !is_float(type) && type_bytes(type) < 4 && one_of(2);
            std::string name = any(wider ? Type::b32 : type);
            while (std::find(results.begin(), results.end(), name) != results.end()) name = any(type);
            results.push_back(name);
        }
        for (const Type type : rule.sources) {
            const bool number = type != Type::pred && type_bytes(type) > 1 && rule.form == Rule::Form::plain && !rule.lanes &&
                                !(is_float(type) && type != Type::f32 && type != Type::f64) && !conversion && one_of(8);
            if (rule.byte_source == static_cast<int>(sources.size()))
                sources.push_back(fmt::format("{}", rng_.below(256)));
            else
                sources.push_back(number ? literal(type) : any(type));
        }
        if (rule.divides) {
            const Type type = rule.sources[1];
            const std::string divisor = type_bytes(type) == 2 ? "%th" : type_bytes(type) == 4 ? "%tr" : "%tx";
            text_ += fmt::format("or.{} {}, {}, 1;\n", bits_of(type), divisor, sources[1]);
            sources[1] = divisor;
        }
        const bool apart = rule.member_mask && !rule.needs_all_lanes && one_of(2);  // four groups, each with a mask of its own
        const bool by_register = apart || !(converged && full_);
        if (rule.member_mask && by_register) text_ += "activemask.b32 %mask;\n";
        if (apart) {
            text_ += "mov.b32 %tr, %laneid;\nand.b32 %tr, %tr, 3;\nshl.b32 %tr, 0x11111111, %tr;\nand.b32 %mask, %mask, %tr;\n";
        }
        if (!rule.member_mask && one_of(5)) text_ += fmt::format("@{}%p{} ", one_of(2) ? "!" : "", rng_.below(kPredicates));
        text_ += statement(rule, results, sources, by_register ? "%mask" : "0xffffffff");
        if (one_of(2)) remember(results[rng_.below(static_cast<std::uint32_t>(results.size()))]);
    }

    /// Later instructions overwrite registers, so the results are also added up.
    void remember(const std::string& result) {
        if (result[1] == 'p')
            text_ += fmt::format("selp.b64 %tx, 1, 0, {};\n", result);
        else if (result[1] != 'x')
            text_ += fmt::format("cvt.u64.{} %tx, {};\n", result[1] == 'h' ? "u16" : "u32", result);
        text_ += fmt::format("mad.lo.u64 %sum, %sum, 1000003, {};\n", result[1] == 'x' ? result : "%tx");
    }

    /// Each thread has its own part of global and shared memory; sums to one place commute; what others stored is read only where the
    /// warp is converged.
    void memory(bool converged) {
        static constexpr std::string_view kTypes[] = {"u8", "s8", "u16", "s16", "b32", "f32", "b64", "f64"};
        const std::string_view type = kTypes[rng_.below(8)];
        const std::uint32_t bytes = type_bytes(type_of(type));
        const Type data = bytes < 4 && one_of(2) ? Type::b32 : type_of(type);
        const std::uint32_t global = kOutputBytes / 2 + offset(16, kOutputBytes / 2 - 16), shared = offset(16, kSharedBytes);
        switch (rng_.below(converged ? 8 : 7)) {
            case 0: text_ += fmt::format("st.global.{} [%out+{}], {};\n", type, global, any(data)); break;
            case 1: text_ += fmt::format("ld.global.{} {}, [%out+{}];\n", type, any(data), global); break;
            case 2: text_ += fmt::format("st.shared.{} [%own+{}], {};\n", type, shared, any(data)); break;
            case 3: text_ += fmt::format("ld.shared.{} {}, [%own+{}];\n", type, any(data), shared); break;
            case 4: text_ += fmt::format("red.global.add.u32 [%total], {};\n", any(Type::b32)); break;
            case 5: text_ += fmt::format("st.global.v4.b32 [%out+{}], {{%r1, %r2, %r3, %r{}}};\n", global, rng_.below(kWords)); break;
            case 6: text_ += fmt::format("ld.global.v2.b64 {{%x0, %x{}}}, [%out+{}];\n", 1 + rng_.below(kLongs - 1), global); break;
            default: text_ += fmt::format("ld.shared.{} {}, [%other+{}];\n", type, any(data), shared); break;
        }
    }
    void refresh() {
        const Type type = one_of(3) ? Type::b16 : one_of(2) ? Type::b32 : Type::b64;
        load(bits_of(type), any(type));
    }

    void branch(std::uint32_t depth, std::uint32_t loops) {
        const std::uint32_t n = labels_++;
        text_ += fmt::format("@{}%p{} bra ELSE{};\n", one_of(2) ? "!" : "", rng_.below(kPredicates), n);
        block(depth + 1, loops);
        if (one_of(2)) {
            text_ += fmt::format("bra END{};\nELSE{}:\n", n, n);
            block(depth + 1, loops);
            text_ += fmt::format("END{}:\n", n);
        } else {
            text_ += fmt::format("ELSE{}:\n", n);
        }
    }
    /// One to four iterations, a different number for each lane; some lanes may leave early.
    void loop(std::uint32_t depth, std::uint32_t loops) {
        const std::uint32_t n = labels_++;
        text_ += fmt::format("and.b32 %c{}, {}, 3;\nLOOP{}:\n", loops, any(Type::b32), n);
        block(depth + 1, loops + 1);
        if (one_of(2)) {
            text_ += fmt::format("@%p{} bra LEAVE{};\n", rng_.below(kPredicates), n);
            block(depth + 1, loops + 1);
        }
        text_ += fmt::format("sub.u32 %c{0}, %c{0}, 1;\nsetp.ge.s32 %q{0}, %c{0}, 0;\n@%q{0} bra LOOP{1};\nLEAVE{1}:\n", loops, n);
    }
    void block(std::uint32_t depth, std::uint32_t loops) {
        const std::uint32_t most = depth == 0 ? ~0u : 5 + rng_.below(30);
        for (std::uint32_t k = 0; k < most && left_ > 0; ++k) {
            const std::size_t before = text_.size();
            const std::uint32_t what = rng_.below(100);
            if (what < 4 && depth < 4)
                branch(depth, loops);
            else if (what < 6 && depth < 4 && loops < kLoops)
                loop(depth, loops);
            else if (what < 16)
                memory(depth == 0);
            else if (what < 30)
                refresh();
            else
                instruction(depth == 0);
            if (what < 6) continue;  // the blocks have counted themselves
            const auto lines =
                static_cast<std::uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(before), text_.end(), '\n'));
            left_ -= std::min(left_, lines);
        }
    }
    void store_registers() {
        std::uint32_t at = 8;
        text_ += "st.global.b64 [%out], %sum;\n";
        for (std::uint32_t k = 0; k < kLongs; ++k, at += 8) text_ += fmt::format("st.global.b64 [%out+{}], %x{};\n", at, k);
        for (std::uint32_t k = 0; k < kWords; ++k, at += 4) text_ += fmt::format("st.global.b32 [%out+{}], %r{};\n", at, k);
        for (std::uint32_t k = 0; k < kHalves; ++k, at += 2) text_ += fmt::format("st.global.b16 [%out+{}], %h{};\n", at, k);
        for (std::uint32_t k = 0; k < kPredicates; ++k, at += 4)
            text_ += fmt::format("selp.b32 %tr, 1, 0, %p{};\nst.global.b32 [%out+{}], %tr;\n", k, at);
    }

    Rng rng_;
    std::uint32_t left_;
    bool full_;
    std::string text_;
    std::vector<const Rule*> all_;
    std::map<std::string, std::vector<const Rule*>> groups_;  ///< by first word
    std::uint32_t labels_ = 0;
};

}  // namespace

std::uint64_t interesting(Rng& rng) {
    const std::uint64_t random = rng.next();
    const auto pick = [&](std::uint64_t from, std::uint32_t count) { return from + rng.below(count); };
    const std::uint64_t sign = rng.next();
    switch (rng.below(10)) {
        case 0: return rng.below(2) * ~std::uint64_t{0} ^ rng.below(40);                                     // small, of either sign
        case 1: return (std::uint64_t{1} << rng.below(64)) + rng.below(3) - 1;                               // powers of two
        case 2: return (sign & 0x8000000080008000) | pick(0x3F7FFFFF, 3) | std::uint64_t{0x3FF00000} << 32;  // about 1
        case 3: return (sign & 0x8000000080008000) | pick(0x7F7FFFFE, 4) | pick(0x7FEFFFFF, 3) << 32;        // about infinity
        case 4: return (sign & 0x8000000080008000) | pick(0x007FFFFE, 4) | pick(0x000FFFFF, 3) << 32;  // about the least normal numbers
        case 5: return (sign & 0x8000000080008000) | (random & 0x0FFF0FFF) | pick(0x3F000000, 0x2000000) | pick(0x3C00, 0x400) << 48;
        case 6:
            return (sign & 0x8000800080008000) | pick(0x7BFE, 4) | pick(0x03FE, 4) << 16 | pick(0x3BFF, 3) << 32 | pick(0x7F7E, 4) << 48;
        case 7: return (sign & 0x8000000080000000) | pick(0x4F000000, 0x100000) | pick(0x43D00000, 0x200000) << 32;  // about 2^31 and 2^63
        case 8: return (sign & 0x8000000080000000) | pick(0x3E000000, 0x4000000) | pick(0x3F000000, 0x2000000) << 32;
        default: return random;
    }
}

std::string kernel_for(const Rule& rule) {
    std::string text = head(32);
    std::uint32_t at = 0, out = 0;
    for (std::uint32_t repeat = 0; repeat < 8; ++repeat) {
        std::vector<std::string> results, sources;
        std::map<std::string_view, std::uint32_t> used;
        for (const Type type : rule.sources) {
            std::string name = fmt::format("{}{}", file_of(type), used[file_of(type)]++);
            if (rule.byte_source == static_cast<int>(sources.size())) {
                name = fmt::format("{}", (repeat * 37 + 0x96) & 255);
            } else if (type == Type::pred) {
                text += fmt::format("ld.global.b32 %tr, [%in+{}];\nsetp.lt.s32 {}, %tr, 0;\n", at % kInputBytes, name);
            } else {
                text += fmt::format("ld.global.{} {}, [%in+{}];\n", bits_of(type), name, at % kInputBytes);
                if (rule.divides && sources.size() == 1) text += fmt::format("or.{0} {1}, {1}, 1;\n", bits_of(type), name);
            }
            at += 8;
            sources.push_back(name);
        }
        for (const Type type : rule.results) results.push_back(fmt::format("{}{}", file_of(type), used[file_of(type)]++));
        text += statement(rule, results, sources, "0xffffffff");
        for (std::size_t k = 0; k < results.size(); ++k, out += 8) {
            const Type type = rule.results[k];
            if (type == Type::pred) text += fmt::format("selp.b32 %tr, 1, 0, {};\n", results[k]);
            text += fmt::format("st.global.{} [%out+{}], {};\n", type == Type::pred ? "b32" : bits_of(type), out,
                                type == Type::pred ? "%tr" : results[k]);
        }
    }
    return text + "ret;\n}\n";
}

std::vector<const Rule*> accepted_rules(std::vector<std::string>& refused) {
    std::vector<const Rule*> list;
    for (const Rule& rule : rules()) {
        try {
            Decoder(*parse_module(kernel_for(rule), "rule.ptx"), select_for_host()).run("k");
            list.push_back(&rule);
        } catch (const InputError& error) {
            refused.push_back(rule.opcode + ": " + error.what());
        }
    }
    return list;
}

std::string random_kernel(std::uint64_t seed, std::uint32_t instructions, std::uint32_t threads, const std::vector<const Rule*>& rules) {
    return Writer(seed, instructions, threads, rules).run();
}

}  // namespace mergelane::ptx::reference
