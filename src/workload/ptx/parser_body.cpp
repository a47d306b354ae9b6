// SPDX-License-Identifier: MIT
// Function bodies: scopes, register declarations, labels, instructions and their operands.
#include "workload/ptx/parser.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::uint32_t kMostScopes = 64;
constexpr std::uint32_t kMostOperandNesting = 3;

}  // namespace

void Parser::body() {
    scopes_.assign(1, {});
    locals_.clear();
    tables_.clear();
    source_ = inlined_at_ = {};
    calls_.clear();
    scope_ = 0;
    expect("{");
    std::uint32_t depth = 1;
    while (depth > 0) {
        if (peek().kind == TokenKind::end) fail("the body of {} has no end; is the file complete?", in_quotes(function_->name));
        if (accept("{")) {
            if (++depth > kMostScopes) fail("blocks are nested too deeply; flatten them");
            scopes_.push_back({scope_, {}, {}});
            scope_ = static_cast<std::uint32_t>(scopes_.size() - 1);
        } else if (accept("}")) {
            --depth;
            scope_ = scopes_[scope_].parent;
        } else {
            statement();
        }
    }
    resolve_labels();
}

void Parser::statement() {
    const Token& token = peek();
    if (accept(";")) return;
    if (token.kind == TokenKind::word && token.text[0] == '.') return directive();
    if (token.kind == TokenKind::word && peek(1).is(":")) {
        const std::string_view name = token.text;
        take();
        take();
        if (peek().is(".branchtargets")) {
            PendingTable table{name, {}, scope_, take().line};
            do {
                table.targets.push_back(expect_name("a label"));
            } while (accept(","));
            expect(";");
            tables_.push_back(std::move(table));
        } else if (accept(".callprototype")) {
            prototype(name);
        } else if (peek().is(".calltargets")) {
            skip_statement();
        } else if (!scopes_[scope_].labels.emplace(name, function_->code.size()).second) {
            fail(token.line, "label {} is there twice; rename one", in_quotes(name));
        }
        return;
    }
    instruction();
}

/// "(results) _ (parameters);" of a function that is called through a pointer.
void Parser::prototype(std::string_view name) {
    const auto sizes = [&] {
        std::vector<std::uint64_t> bytes;
        for (const Variable& variable : parameter_list()) bytes.push_back(variable.bytes);
        return bytes;
    };
    Prototype made;
    if (peek().is("(")) made.returns = sizes();
    expect_name("_");
    if (peek().is("(")) made.params = sizes();
    skip_statement();  // .noreturn and the like
    function_->prototypes[name] = std::move(made);
}

void Parser::directive() {
    const std::string_view word = peek().text;
    if (word == ".loc") return location();
    if (word == ".file") return source_file();
    if (word == ".pragma") return skip_statement();
    if (word == ".reg") return registers();
    const StateSpace space = space_of(word.substr(1));
    if (space == StateSpace::generic)
        fail("directive {} is not known in a function; known: .reg .local .shared .param .loc .pragma", in_quotes(word));
    take();
    do {
        Variable made = variable(space, false);
        if (space == StateSpace::global || space == StateSpace::constant)
            add_variable(std::move(made));
        else
            add_local(std::move(made));
    } while (accept(","));
    expect(";");
}

/// Call sequences declare "param0" repeatedly, each in its own block: one variable, large enough for all.
void Parser::add_local(Variable made) {
    const auto [at, is_new] = locals_.try_emplace(std::pair(made.space, made.name), function_->variables.size());
    if (is_new) return function_->variables.push_back(std::move(made));
    Variable& known = function_->variables[at->second];
    known.bytes = std::max(known.bytes, made.bytes);
    known.align = std::max(known.align, made.align);
}

void Parser::registers() {
    take();
    if (peek().is(".v2") || peek().is(".v4")) fail("vector registers are not supported; use scalar registers, as nvcc does");
    const std::string_view word = peek().text;
    const Type type = word.size() > 1 && word[0] == '.' ? type_of(word.substr(1)) : Type::none;
    if (type == Type::none) fail("{} is not a type of a register; use .pred or .b16 to .f64", in_quotes(word));
    take();
    do {
        const std::string_view name = expect_name("a register's name");
        RegisterRange range{type, 0, {}};
        if (accept("<")) {
            range.count = expect_integer("the number of registers");
            if (range.count == 0) range.count = 1;
            expect(">");
        }
        scopes_[scope_].registers[name] = std::move(range);
    } while (accept(","));
    expect(";");
}

/// A register by name, innermost scope first; registers of a range come to exist when first used.
std::uint32_t Parser::find_register(std::string_view name) {
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    for (std::uint32_t s = scope_;; s = scopes_[s].parent) {
        Scope& scope = scopes_[s];
        const auto make = [&](RegisterRange& range, std::uint64_t index) {
            const auto [place, fresh] = range.made.emplace(index, static_cast<std::uint32_t>(function_->registers.size()));
            if (fresh) function_->registers.push_back(range.type);
            return place->second;
        };
        const auto exact = scope.registers.find(name);
        if (exact != scope.registers.end() && exact->second.count == 0) return make(exact->second, 0);
        if (digits < name.size() && name.size() - digits < 10) {
            // "%r1" may also be register 1 of a range "%r" or, rarely, 2 of "%r1": try the shortest prefix last.
            for (std::size_t cut = digits; cut < name.size(); ++cut) {
                const auto range = scope.registers.find(name.substr(0, cut));
                if (range == scope.registers.end() || range->second.count == 0) continue;
                std::uint64_t index = 0;
                for (const char c : name.substr(cut)) index = index * 10 + static_cast<std::uint64_t>(c - '0');
                if (index < range->second.count) return make(range->second, index);
            }
        }
        if (s == 0) return Operand::kNoReg;
    }
}

void Parser::instruction() {
    Instruction made;
    made.line = peek().line;
    made.scope = scope_;
    made.source = source_;
    made.inlined_at = inlined_at_;
    if (accept("@")) {
        made.guard_negated = accept("!");
        const std::string_view name = expect_name("a predicate");
        made.guard = find_register(name);
        if (made.guard == Operand::kNoReg || function_->registers[made.guard] != Type::pred)
            fail("{} is not a predicate register; declare it with .reg .pred", in_quotes(name));
    }
    made.opcode = expect_name("an instruction");
    for (std::string_view rest = made.opcode; !rest.empty();) {
        const std::size_t dot = std::min(rest.find('.'), rest.size());
        made.words.push_back(rest.substr(0, dot));
        rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    if (made.words.empty() || made.words[0].empty() || made.words[0][0] == '%')
        fail(made.line, "{} is not an instruction; check this line and the one before", in_quotes(made.opcode));
    while (!peek().is(";")) {
        made.operands.push_back(operand());
        if (!accept(",")) break;
    }
    expect(";");
    function_->code.push_back(std::move(made));
}

Operand Parser::operand(std::uint32_t depth) {
    if (depth > kMostOperandNesting) fail("operands are nested too deeply; check the brackets");
    if (peek().is("{") || peek().is("(")) {
        Operand made;
        const bool vector = take().text == "{";
        made.kind = vector ? Operand::Kind::vector : Operand::Kind::list;
        const std::string_view close = vector ? "}" : ")";
        if (accept(close)) return made;
        do {
            made.parts.push_back(operand(depth + 1));
        } while (accept(","));
        expect(close);
        return made;
    }
    if (accept("[")) return address(depth);
    Operand first = simple_operand();
    if (!accept("|")) return first;
    Operand both;
    both.kind = Operand::Kind::pair;
    both.parts.push_back(std::move(first));
    both.parts.push_back(simple_operand());
    return both;
}

Operand Parser::simple_operand() {
    Operand made;
    if (accept("!")) {
        made = name_operand();
        made.negated = true;
        return made;
    }
    const bool negative = accept("-");
    const Token& token = peek();
    switch (token.kind) {
        case TokenKind::integer:
            made.kind = Operand::Kind::integer;
            made.bits = negative ? std::uint64_t{0} - token.bits : token.bits;
            break;
        case TokenKind::f32:
            made.kind = Operand::Kind::f32;
            made.bits = negative ? token.bits ^ 0x80000000u : token.bits;
            break;
        case TokenKind::f64:
            made.kind = Operand::Kind::f64;
            made.bits = negative ? token.bits ^ (std::uint64_t{1} << 63) : token.bits;
            break;
        default:
            if (negative) fail("expected a number after '-' but found {}; negate registers with neg", in_quotes(token.text));
            return name_operand();
    }
    take();
    return made;
}

Operand Parser::name_operand() {
    Operand made;
    const std::string_view name = expect_name("an operand");
    if (name == "_") {
        made.kind = Operand::Kind::sink;
        return made;
    }
    if (name == "WARP_SZ") {
        made.kind = Operand::Kind::integer;
        made.bits = 32;
        return made;
    }
    made.reg = find_register(name);
    if (made.reg != Operand::kNoReg) {
        made.kind = Operand::Kind::reg;
        return made;
    }
    for (std::uint32_t number = 0; const Special& special : special_registers()) {
        if (special.name == name) {
            made.kind = Operand::Kind::special;
            made.reg = number;
            function_->placement_dependent = function_->placement_dependent || special.by_placement;
            return made;
        }
        ++number;
    }
    // An undeclared name is an error only in a kernel that is executed.
    made.kind = Operand::Kind::symbol;
    made.name = name;
    made.offset = offset();
    return made;
}

/// "+ 8", "- 8" or, as clang writes it, "+ -8"; 0 when there is none.
std::int64_t Parser::offset() {
    if (!peek().is("+") && !peek().is("-")) return 0;
    const bool minus = take().text == "-";
    const bool minus_again = accept("-");
    const std::uint64_t bits = expect_integer("an offset");
    return static_cast<std::int64_t>(minus != minus_again ? std::uint64_t{0} - bits : bits);
}

/// "[base + offset]", the opening bracket being read; "[texture, {x, y}]" becomes a list, which no load or store takes.
Operand Parser::address(std::uint32_t depth) {
    Operand made;
    if (peek().kind == TokenKind::integer || peek().is("-")) {
        made = simple_operand();
        made.offset = static_cast<std::int64_t>(made.bits);
    } else {
        made = name_operand();
        if (made.kind != Operand::Kind::reg && made.kind != Operand::Kind::symbol)
            fail("an address needs a register or a variable; write [%rd1+8]");
        if (made.kind == Operand::Kind::reg) made.offset = offset();
    }
    made.kind = Operand::Kind::address;
    if (peek().is(",")) {
        Operand list;
        list.kind = Operand::Kind::list;
        list.parts.push_back(std::move(made));
        while (accept(",")) list.parts.push_back(operand(depth + 1));
        made = std::move(list);
    }
    expect("]");
    return made;
}

std::uint64_t Parser::label(std::uint32_t scope, std::string_view name, std::uint32_t line) const {
    for (;; scope = scopes_[scope].parent) {
        const auto found = scopes_[scope].labels.find(name);
        if (found != scopes_[scope].labels.end()) return found->second;
        if (scope == 0) fail(line, "label {} does not exist in {}; check the branch", in_quotes(name), in_quotes(function_->name));
    }
}

void Parser::resolve_labels() {
    for (Instruction& made : function_->code) {
        if (made.words[0] != "bra") continue;
        if (made.operands.size() != 1 || made.operands[0].kind != Operand::Kind::symbol)
            fail(made.line, "bra needs one label; write: bra LABEL;");
        made.operands[0].bits = label(made.scope, made.operands[0].name, made.line);
    }
    for (const PendingTable& table : tables_) {
        std::vector<std::uint64_t>& targets = function_->branch_tables[table.name];
        targets.clear();
        for (const std::string_view target : table.targets) targets.push_back(label(table.scope, target, table.line));
    }
}

}  // namespace mergelane::ptx
