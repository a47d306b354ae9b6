// SPDX-License-Identifier: MIT
// The parsed form of an expression.
#pragma once

#include <string>
#include <vector>

namespace mergelane::study {

struct ExpressionNode {
    enum class Kind {
        number,
        wording,   ///< children: literal texts and placeholders
        literal,   ///< of a wording
        name,      ///< variable, measure or function without arguments
        call,      ///< children: arguments, which may be loops
        negative,  ///< of one child
        binary,    ///< text: the operator
        loop,      ///< names: lists, outermost first; children: value and, if conditional, condition
        sweep,     ///< children: a value or loop; then the wordings of label and part, if given
    };
    Kind kind = Kind::number;
    double number = 0;
    std::string text;
    std::string format;  ///< of a placeholder: digits, or "+" for a number with its sign
    std::vector<std::string> names;
    std::vector<ExpressionNode> children;
    bool conditional = false;
};

}  // namespace mergelane::study
