// SPDX-License-Identifier: MIT
// Recursive-descent parser for PTX. Recursion depth is bounded, and allocation is bounded by the size of the text.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "workload/ptx/lexer.hpp"
#include "workload/ptx/module.hpp"

namespace mergelane::ptx {

class Parser {
public:
    explicit Parser(Module& module);
    void run();

private:
    struct RegisterRange {
        Type type = Type::none;
        std::uint64_t count = 0;  ///< 0: a single register of that name
        std::map<std::uint64_t, std::uint32_t> made;
    };
    struct Scope {
        std::uint32_t parent = 0;
        std::map<std::string_view, RegisterRange> registers;
        std::map<std::string_view, std::uint64_t> labels;
    };

    const Token& peek(std::size_t ahead = 0) const;
    const Token& take();
    bool accept(std::string_view text);
    const Token& expect(std::string_view text);
    std::string_view expect_name(std::string_view what);
    std::uint64_t expect_integer(std::string_view what);
    template <class... Values>
    [[noreturn]] void fail(fmt::format_string<const Values&...> text, const Values&... values) const {
        fail(peek().line, text, values...);
    }
    template <class... Values>
    [[noreturn]] void fail(std::uint32_t line, fmt::format_string<const Values&...> text, const Values&... values) const {
        fail_at(module_.file_name(), line, text, values...);
    }
    StateSpace space_directive() const;
    void skip_line();
    void source_file();
    void location();
    bool read_location(Location& found);
    void skip_statement();
    void skip_item();
    bool skip_block();
    void skip_braces();

    // module level
    void module_item();
    Variable variable(StateSpace space, bool parameter);
    bool array_sizes(Variable& made);
    void initializer(Variable& variable, std::uint64_t& at, std::uint32_t depth);
    void element(Variable& variable, std::uint64_t& at);
    void add_variable(Variable variable);
    void function(bool entry);
    Dim3 cluster_dimensions();
    void directives(Function& made);
    void header(Function& made);
    std::vector<Variable> parameter_list();

    // function body
    void guarded_body();
    void body();
    void statement();
    void prototype(std::string_view name);
    void directive();
    void add_local(Variable made);
    void registers();
    void instruction();
    Operand operand(std::uint32_t depth = 0);
    Operand simple_operand();
    Operand address(std::uint32_t depth);
    std::int64_t offset();
    Operand name_operand();
    std::uint32_t find_register(std::string_view name);
    void resolve_labels();
    std::uint64_t label(std::uint32_t scope, std::string_view name, std::uint32_t line) const;

    Module& module_;
    TokenList list_;
    std::size_t at_ = 0;
    Function* function_ = nullptr;
    std::map<std::pair<StateSpace, std::string_view>, std::size_t> locals_;  ///< their places in function_->variables
    std::vector<Scope> scopes_;
    std::uint32_t scope_ = 0;
    struct PendingTable {
        std::string_view name;
        std::vector<std::string_view> targets;
        std::uint32_t scope;
        std::uint32_t line;
    };
    std::vector<PendingTable> tables_;
    // Of the instructions that follow, and the calls of lines that were inlined.
    Location source_, inlined_at_;
    std::map<Location, Location> calls_;
};

}  // namespace mergelane::ptx
