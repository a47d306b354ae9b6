// SPDX-License-Identifier: MIT
// Columns of a frame while its rows are read: eight bytes for a number, four for a text, which is kept once.
#pragma once

#include <malloc.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "module.hpp"
#include "runs/line_cursor.hpp"

namespace mergelane::python {

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

/// Which row of the columns is row i of the frame.
using Order = std::vector<std::uint32_t>;

/// From outside: what is not UTF-8 becomes U+FFFD.
inline pybind11::str python_text(std::string_view text) {
    return pybind11::reinterpret_steal<pybind11::str>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

class TextColumn {
public:
    using Meaning = std::string (*)(std::string_view written);
    explicit TextColumn(Meaning meaning = study::plain_text) : meaning_(meaning) {}

    void add(std::size_t row, std::string_view written) {
        codes_.resize(row, -1);
        if (last_ == nullptr || *last_ != written) {
            auto at = codes_of_.find(written);
            if (at == codes_of_.end()) at = codes_of_.emplace(std::string(written), static_cast<std::int32_t>(codes_of_.size())).first;
            last_ = &at->first;
            code_ = at->second;
        }
        codes_.push_back(code_);
    }

    /// (codes of the rows, texts); the column is empty then. Code -1, the last of the texts, is None.
    pybind11::tuple take(const Order& order) {
        codes_.resize(order.size(), -1);
        pybind11::array_t<std::int32_t> codes(static_cast<pybind11::ssize_t>(order.size()));
        std::int32_t* const to = codes.mutable_data();
        for (std::size_t i = 0; i < order.size(); ++i) to[i] = codes_[order[i]];
        pybind11::list texts(codes_of_.size() + 1);
        for (const auto& [written, code] : codes_of_) texts[static_cast<std::size_t>(code)] = python_text(meaning_(written));
        texts[codes_of_.size()] = pybind11::none();
        *this = TextColumn(meaning_);
        return pybind11::make_tuple(codes, texts);
    }

private:
    Meaning meaning_;
    std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>> codes_of_;
    const std::string* last_ = nullptr;
    std::int32_t code_ = -1;
    std::vector<std::int32_t> codes_;
};

/// Texts that are another one in every row.
class DistinctTexts {
public:
    void add(std::string_view written) {
        texts_ += written;
        ends_.push_back(texts_.size());
    }
    /// As TextColumn does.
    pybind11::tuple take(const Order& order) {
        const std::string texts = std::exchange(texts_, {});
        const std::vector<std::size_t> ends = std::exchange(ends_, {});
        pybind11::array_t<std::int32_t> codes(static_cast<pybind11::ssize_t>(order.size()));
        pybind11::list list(order.size() + 1);
        for (std::size_t i = 0; i < order.size(); ++i) {
            const std::size_t row = order[i], begin = row == 0 ? 0 : ends[row - 1];
            const std::string_view written = std::string_view(texts).substr(begin, ends[row] - begin);
            codes.mutable_data()[i] = static_cast<std::int32_t>(i);
            list[i] = written.find('\\') == std::string_view::npos ? python_text(written) : python_text(study::plain_text(written));
        }
        list[order.size()] = pybind11::none();
        return pybind11::make_tuple(codes, list);
    }

private:
    std::string texts_;
    std::vector<std::size_t> ends_;  ///< of each row's
};

/// Numbers of a type; rows may have none.
template <typename Number>
class NumberColumn {
public:
    void add(std::size_t row, Number value) {
        if (values_.size() > row) return;  // a name that occurs twice
        if (values_.size() < row) {
            gaps_.emplace_back(values_.size(), row);
            values_.resize(row);
        }
        values_.push_back(value);
    }

    /// Whether all rows have a number, and the type holds it.
    template <typename To>
    bool is_of(std::size_t rows) const {
        if (values_.size() < rows || !gaps_.empty()) return false;
        if constexpr (std::is_integral_v<Number> && std::is_integral_v<To>)
            return std::all_of(values_.begin(), values_.end(), [](Number value) { return std::in_range<To>(value); });
        return std::is_same_v<Number, To>;
    }
    /// The column is empty then. Rows without a number become NaN.
    template <typename To>
    void take(const Order& order, To* to) {
        if (values_.size() < order.size()) add(order.size(), {});  // the last gap
        const std::vector<Number> values = std::exchange(values_, {});
        std::vector<bool> none(gaps_.empty() ? 0 : order.size());
        for (const auto& [from, end] : std::exchange(gaps_, {}))
            std::fill(none.begin() + static_cast<std::ptrdiff_t>(from), none.begin() + static_cast<std::ptrdiff_t>(end), true);
        for (std::size_t i = 0; i < order.size(); ++i) {
            to[i] = static_cast<To>(values[order[i]]);
            if (!none.empty() && none[order[i]]) to[i] = std::numeric_limits<To>::quiet_NaN();
        }
    }

private:
    std::vector<Number> values_;
    std::vector<std::pair<std::size_t, std::size_t>> gaps_;  ///< rows without a number
};

/// All columns of a frame, which are taken at once: numbers of a type into one array.
class Columns {
public:
    explicit Columns(Order order) : order_(std::move(order)) {}

    template <typename Texts>
    void add(const std::string& name, Texts& texts) {
        const pybind11::str text = python_text(name);
        names_.append(text);
        singles_[text] = texts.take(order_);
    }
    template <typename Number>
    void add(const std::string& name, NumberColumn<Number>& column) {
        const pybind11::str text = python_text(name);
        names_.append(text);
        if (column.template is_of<std::int64_t>(order_.size())) {
            integers_.append(text);
            fill_integers_.emplace_back([this, &column](std::int64_t* to) { column.take(order_, to); });
        } else if (column.template is_of<std::uint64_t>(order_.size())) {
            pybind11::array_t<std::uint64_t> array(static_cast<pybind11::ssize_t>(order_.size()));
            column.take(order_, array.mutable_data());
            singles_[text] = array;
        } else {
            reals_.append(text);
            fill_reals_.emplace_back([this, &column](double* to) { column.take(order_, to); });
        }
    }

    pybind11::dict take() {
        using pybind11::ssize_t;
        const auto rows = static_cast<ssize_t>(order_.size());
        pybind11::array_t<std::int64_t> integers({static_cast<ssize_t>(integers_.size()), rows});
        pybind11::array_t<double> reals({static_cast<ssize_t>(reals_.size()), rows});
        fill(integers.mutable_data(), fill_integers_);
        fill(reals.mutable_data(), fill_reals_);
        pybind11::dict answer;
        answer["rows"] = rows;
        answer["order"] = names_;
        answer["singles"] = singles_;
        answer["blocks"] = pybind11::make_tuple(pybind11::make_tuple(integers_, integers), pybind11::make_tuple(reals_, reals));
        return answer;
    }

private:
    template <typename Number>
    void fill(Number* to, const std::vector<std::function<void(Number*)>>& columns) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            columns[i](to + i * order_.size());
            if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
            if (i % 16 == 0) malloc_trim(0);  // what it held goes back to the system, or there would be two of all
        }
    }

    Order order_;
    std::vector<std::function<void(std::int64_t*)>> fill_integers_;
    std::vector<std::function<void(double*)>> fill_reals_;
    pybind11::list names_, integers_, reals_;
    pybind11::dict singles_;
};

/// Lets Ctrl-C end a long reading, which does not hold the interpreter's lock. Throws what the signal's handler raised.
class Interruption {
public:
    void poll() {
        if (++calls_ % 1024 != 0) return;
        const pybind11::gil_scoped_acquire lock;
        if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    }

private:
    std::uint32_t calls_ = 0;
};

}  // namespace mergelane::python
