// SPDX-License-Identifier: MIT
// Module level: directives, variables with their initial values, function headers.
#include "workload/ptx/parser.hpp"

#include <bit>

namespace mergelane::ptx {

namespace {
constexpr std::uint64_t kMostVariableBytes = std::uint64_t{1} << 36;
constexpr std::uint64_t kMostParameterBytes = 32764;
constexpr std::uint64_t kMostClusterCtas = 1 << 20;
constexpr std::uint32_t kMostNesting = 32;
constexpr std::uint64_t kMostFileNumber = 1 << 30;
constexpr std::uint64_t kMostLine = 1 << 30;
constexpr std::uint32_t kMostFaults = 1000;  ///< outside of functions; a text with more is not PTX
}  // namespace

Parser::Parser(Module& module) : module_(module), list_(tokenize(module.text(), module.file_name())) {}

void Parser::run() {
    for (std::uint32_t faults = 0; peek().kind != TokenKind::end && faults < kMostFaults;) {
        const std::size_t start = at_;
        try {
            module_item();
        } catch (const InputError& error) {
            if (++faults == 1) module_.fault_ = error.what();
            function_ = nullptr;
            at_ = std::max(at_, start + 1);
            skip_item();
        }
    }
    for (const Remark& remark : list_.remarks) {
        const auto found = module_.function_index_.find(remark.kernel);
        if (found != module_.function_index_.end()) module_.functions_[found->second]->registers_per_thread = remark.registers;
    }
}

const Token& Parser::peek(std::size_t ahead) const {
    return list_.tokens[std::min(at_ + ahead, list_.tokens.size() - 1)];
}
const Token& Parser::take() {
    const Token& token = peek();
    if (token.kind != TokenKind::end) ++at_;
    return token;
}
bool Parser::accept(std::string_view text) {
    if (!peek().is(text)) return false;
    ++at_;
    return true;
}
const Token& Parser::expect(std::string_view text) {
    if (!peek().is(text)) {
        const bool end = peek().kind == TokenKind::end;
        fail("expected '{}' but found {}; {}", text, end ? "the end of the file" : in_quotes(peek().text),
             end ? "is the file complete?" : "check this line and the one before");
    }
    return take();
}
std::string_view Parser::expect_name(std::string_view what) {
    if (peek().kind != TokenKind::word) fail("expected {} but found {}; give it a name", what, in_quotes(peek().text));
    return take().text;
}
std::uint64_t Parser::expect_integer(std::string_view what) {
    if (peek().kind != TokenKind::integer) fail("expected {} but found {}; write a whole number", what, in_quotes(peek().text));
    return take().bits;
}
/// The state space that the next token, such as ".shared", is; generic if it is none.
StateSpace Parser::space_directive() const {
    return peek().text.starts_with('.') ? space_of(peek().text.substr(1)) : StateSpace::generic;
}
/// ".file NUMBER NAME". Debug information never makes a program invalid: what is not understood is left out.
void Parser::source_file() {
    if (peek(1).kind == TokenKind::integer && peek(2).kind == TokenKind::string && peek(1).bits <= kMostFileNumber)
        module_.source_files_.emplace(static_cast<std::uint32_t>(peek(1).bits), peek(2).text);
    skip_line();
}

/// "FILE LINE", of this line of the text.
bool Parser::read_location(Location& found) {
    const Token& file = peek();
    const Token& line = peek(1);
    if (file.kind != TokenKind::integer || line.kind != TokenKind::integer || line.line != file.line) return false;
    if (file.bits > kMostFileNumber || line.bits > kMostLine) return false;
    found = {static_cast<std::uint32_t>(file.bits), static_cast<std::uint32_t>(line.bits)};
    return true;
}

/// ".loc FILE LINE COLUMN[, function_name LABEL, inlined_at FILE LINE COLUMN]" of the instructions that follow. The call at which a line
/// was inlined may have been inlined itself, which an earlier .loc says.
void Parser::location() {
    const std::uint32_t line = take().line;
    source_ = inlined_at_ = {};
    if (peek().line == line && read_location(source_)) {
        while (peek().kind != TokenKind::end && peek().line == line && !peek().is("inlined_at")) take();
        Location call;
        if (peek().line == line && accept("inlined_at") && peek().line == line && read_location(call)) {
            calls_[source_] = call;
            std::uint32_t depth = 0;
            for (auto outer = calls_.find(call); outer != calls_.end() && depth < kMostNesting; outer = calls_.find(call), ++depth)
                call = outer->second;
            inlined_at_ = call;
        }
    }
    while (peek().kind != TokenKind::end && peek().line == line) take();
}

/// Directives such as ".version" end with their line, not with a semicolon.
void Parser::skip_line() {
    const std::uint32_t line = peek().line;
    while (peek().kind != TokenKind::end && peek().line == line) take();
}
void Parser::skip_statement() {
    while (peek().kind != TokenKind::end && !accept(";")) take();
}
/// After a fault: to the end of a declaration or behind a body.
void Parser::skip_item() {
    while (peek().kind != TokenKind::end && !peek().is("{")) {
        if (accept(";")) return;
        take();
    }
    skip_block();
}
/// From a brace to behind its match; false if the text ends before.
bool Parser::skip_block() {
    std::uint32_t depth = 0;
    while (peek().kind != TokenKind::end) {
        const Token& token = take();
        if (token.is("{")) ++depth;
        if (token.is("}") && --depth == 0) return true;
    }
    return false;
}
void Parser::skip_braces() {
    if (!skip_block()) fail("'{{' without '}}'; is the file complete?");
}

void Parser::module_item() {
    const Token& token = peek();
    if (accept(";")) return;
    if (token.kind != TokenKind::word || token.text[0] != '.')
        fail("expected a directive but found {}; a PTX file starts with .version", in_quotes(token.text));
    const std::string_view word = token.text;
    if (word == ".version" || word == ".target" || word == ".address_size" || word == ".loc" || word == ".file") {
        if (word == ".file") return source_file();
        if (word == ".address_size" && peek(1).bits != 64) fail(".address_size must be 64; compile for 64-bit addresses");
        skip_line();
        return;
    }
    if (word == ".section") {
        while (peek().kind != TokenKind::end && !peek().is("{")) take();
        if (peek().kind != TokenKind::end) skip_braces();
        return;
    }
    if (word == ".pragma" || word == ".alias" || word == ".global_alias") {
        skip_statement();
        return;
    }
    bool external = false;
    while (peek().is(".extern") || peek().is(".visible") || peek().is(".weak") || peek().is(".common") || peek().is(".hidden")) {
        external = external || peek().is(".extern");
        take();
    }
    if (accept(".entry")) return function(true);
    if (accept(".func")) return function(false);
    const StateSpace space = space_directive();
    if (space == StateSpace::generic || space == StateSpace::param || space == StateSpace::local)
        fail("directive {} is not known here; known: .version .target .entry .func .global .const .shared .extern .visible",
             in_quotes(peek().text));
    take();
    do {
        Variable made = variable(space, false);
        made.external = external;
        add_variable(std::move(made));
    } while (accept(","));
    expect(";");
}

/// "[.align N] [.v2] .type name [dims] [= initial]" after the state space.
Variable Parser::variable(StateSpace space, bool parameter) {
    Variable made;
    made.space = space;
    made.line = peek().line;
    std::uint64_t vector = 1;
    bool aligned = false;
    for (;;) {
        const std::string_view word = peek().text;
        if (word == ".align" || (parameter && word == ".ptr")) {
            take();
            if (word == ".ptr") {  // ".ptr .global .align 4": about what it points to
                if (space_directive() != StateSpace::generic) take();
                if (accept(".align")) expect_integer("an alignment");
                continue;
            }
            const std::uint64_t align = expect_integer("an alignment");
            if (!std::has_single_bit(align) || align > 4096) fail("alignment {} is not a power of two up to 4096; fix it", align);
            made.align = static_cast<std::uint32_t>(align);
            aligned = true;
        } else if (word == ".v2" || word == ".v4") {
            take();
            vector = word == ".v2" ? 2 : 4;
        } else if (word == ".attribute") {
            take();
            expect("(");
            while (peek().kind != TokenKind::end && !accept(")")) take();
        } else if (word.size() > 1 && word[0] == '.' && type_of(word.substr(1)) != Type::none) {
            take();
            made.type = type_of(word.substr(1));
            made.bytes = type_bytes(made.type) * vector;
        } else {
            break;
        }
    }
    if (made.bytes == 0 || made.type == Type::pred) fail("{} is not a type of a variable; use .b8 to .f64", in_quotes(peek().text));
    if (!aligned) made.align = static_cast<std::uint32_t>(made.bytes);
    if (parameter && (peek().is(",") || peek().is(")"))) return made;  // a declaration may leave the name out
    made.name = expect_name("the variable's name");
    const std::uint64_t element_bytes = made.bytes;
    const bool open_array = array_sizes(made);
    if (accept("=")) {
        std::uint64_t at = 0;
        initializer(made, at, 0);
        if (open_array) made.bytes = (at + element_bytes - 1) / element_bytes * element_bytes;
        if (at > made.bytes) fail("{} has more initial values than room; check its size", in_quotes(made.name));
    }
    return made;
}

/// "[4][8]" multiplies the variable's bytes; true if a size is left to the initial values.
bool Parser::array_sizes(Variable& made) {
    bool open_array = false;
    while (accept("[")) {
        if (accept("]")) {
            open_array = true;
            continue;
        }
        const std::uint64_t count = expect_integer("an array size");
        expect("]");
        if (made.bytes != 0 && count > kMostVariableBytes / made.bytes)
            fail("variable {} is larger than {} bytes; make it smaller", in_quotes(made.name), kMostVariableBytes);
        made.bytes *= count;
    }
    if (open_array) made.bytes = 0;
    return open_array;
}

void Parser::initializer(Variable& variable, std::uint64_t& at, std::uint32_t depth) {
    if (!accept("{")) return element(variable, at);
    if (depth > kMostNesting) fail("initial values are nested too deeply; flatten them");
    if (accept("}")) return;
    do {
        initializer(variable, at, depth + 1);
    } while (accept(","));
    expect("}");
}

void Parser::element(Variable& variable, std::uint64_t& at) {
    const std::uint32_t bytes = type_bytes(variable.type);
    std::uint64_t bits = 0;
    const bool negative = accept("-");
    const Token& token = peek();
    if (token.kind == TokenKind::integer || token.kind == TokenKind::f32 || token.kind == TokenKind::f64) {
        take();
        bits = token.bits;
        if (is_float(variable.type) && token.kind != TokenKind::f32) {
            double value = token.kind == TokenKind::f64 ? std::bit_cast<double>(bits) : static_cast<double>(bits);
            if (negative) value = -value;
            bits = bytes == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(value)) : std::bit_cast<std::uint64_t>(value);
        } else if (negative) {
            bits = token.kind == TokenKind::integer ? std::uint64_t{0} - bits : bits ^ 0x80000000u;
        }
    } else if (token.kind == TokenKind::word && !negative) {
        Relocation relocation{at, take().text, 0, bytes};
        if (relocation.symbol == "generic") {
            expect("(");
            relocation.symbol = expect_name("a variable");
            if (accept("+")) relocation.addend = static_cast<std::int64_t>(expect_integer("an offset"));
            expect(")");
        }
        if (accept("+")) relocation.addend += static_cast<std::int64_t>(expect_integer("an offset"));
        variable.relocations.push_back(relocation);
    } else {
        fail("{} is not an initial value; write a number or the name of a variable", in_quotes(token.text));
    }
    for (std::uint32_t i = 0; i < bytes; ++i)
        variable.initial.push_back(i < 8 ? static_cast<std::uint8_t>(bits >> 8 * i) : std::uint8_t{0});
    at += bytes;
}

void Parser::add_variable(Variable made) {
    const auto [place, fresh] = module_.variable_index_.emplace(made.name, module_.variables_.size());
    if (fresh) {
        module_.variables_.push_back(std::move(made));
        return;
    }
    Variable& known = module_.variables_[place->second];
    if (!known.external && !made.external) fail("{} is defined twice; the first time in line {}", in_quotes(made.name), known.line);
    if (known.external) known = std::move(made);
}

std::vector<Variable> Parser::parameter_list() {
    std::vector<Variable> list;
    expect("(");
    if (accept(")")) return list;
    do {
        const bool in_register = accept(".reg");
        if (!in_register) expect(".param");
        list.push_back(variable(in_register ? StateSpace::reg : StateSpace::param, true));
        if (list.back().bytes > kMostParameterBytes)
            fail("parameter {} is larger than {} bytes; pass a pointer", in_quotes(list.back().name), kMostParameterBytes);
        if (in_register) fail(".reg parameters of functions are not supported; use .param, as nvcc does");
    } while (accept(","));
    expect(")");
    return list;
}

/// "2, 2, 1" of ".reqnctapercluster".
Dim3 Parser::cluster_dimensions() {
    Dim3 made;
    std::uint32_t* const sides[] = {&made.x, &made.y, &made.z};
    for (std::uint32_t* side : sides) {
        const std::uint64_t count = expect_integer("a number of CTAs");
        if (count == 0 || count > kMostClusterCtas) fail("a cluster of {} CTAs does not exist; use 1 to {}", count, kMostClusterCtas);
        *side = static_cast<std::uint32_t>(count);
        if (!accept(",")) break;
    }
    if (made.count() > kMostClusterCtas) fail("a cluster of {} CTAs does not exist; use 1 to {}", made.count(), kMostClusterCtas);
    return made;
}

/// Up to the body, or to the semicolon of a declaration.
void Parser::header(Function& made) {
    while (peek().is(".attribute") || peek().is(".noreturn")) {
        if (take().text == ".attribute") {
            while (peek().kind != TokenKind::end && !accept(")")) take();
        }
    }
    if (!made.entry && peek().is("(")) made.returns = parameter_list();
    made.name = expect_name(made.entry ? "the kernel's name" : "the function's name");
    try {
        if (peek().is("(")) made.params = parameter_list();
    } catch (const InputError& error) {
        made.fault = error.what();
    }
    directives(made);
}

/// Tuning directives (.maxntid, .minnctapersm, .noreturn, .pragma ...) stand between header and body.
void Parser::directives(Function& made) {
    while (!peek().is("{") && !peek().is(";")) {
        if (peek().kind == TokenKind::end) fail("{} has no body; is the file complete?", in_quotes(made.name));
        const std::string_view word = take().text;
        if (word == ".explicitcluster" || word == ".reqnctapercluster") made.explicit_cluster = true;
        if (word == ".reqnctapercluster" && peek().kind == TokenKind::integer) made.cluster = cluster_dimensions();
        if (word == ".maxclusterrank" && peek().kind == TokenKind::integer)
            made.largest_cluster = static_cast<std::uint32_t>(std::min(expect_integer("a number of CTAs"), kMostClusterCtas));
        try {
            if (word == ".blocksareclusters")
                fail("grids of clusters ('{}') are not supported; launch the kernel with a grid of CTAs", word);
        } catch (const InputError& error) {
            made.fault = error.what();
        }
    }
}

void Parser::function(bool entry) {
    Function made;
    made.entry = entry;
    made.line = peek().line;
    header(made);
    const auto [place, fresh] = module_.function_index_.emplace(made.name, module_.functions_.size());
    if (fresh) {
        module_.functions_.push_back(std::make_unique<Function>(std::move(made)));
    } else {
        Function& known = *module_.functions_[place->second];
        if (peek().is("{")) {
            if (known.defined) fail("{} is defined twice; the first time in line {}", in_quotes(made.name), known.line);
            known = std::move(made);
        }
    }
    if (accept(";")) return;
    function_ = module_.functions_[place->second].get();
    function_->defined = true;
    guarded_body();
    function_ = nullptr;
}

/// A fault in a body must not lose the other functions: it is kept for those who need this one.
void Parser::guarded_body() {
    const std::size_t start = at_;
    try {
        if (function_->fault.empty()) return body();
    } catch (const InputError& error) {
        function_->fault = error.what();
        function_->code = {};
        function_->branch_tables.clear();
    }
    at_ = start;
    if (!skip_block()) throw InputError(function_->fault);
}

}  // namespace mergelane::ptx
