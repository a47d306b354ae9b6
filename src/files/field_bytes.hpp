// SPDX-License-Identifier: MIT
// Structures as bytes, from one list of fields for both directions: a function `transfer(stream, value)` names each field once. FieldWriter
// appends them to a string; FieldReader takes them from one, which may be damaged.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mergelane {

class FieldWriter {
public:
    template <class T>
    void operator()(const T& value) {
        static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void operator()(const std::string& text) {
        (*this)(std::uint64_t{text.size()});
        bytes += text;
    }
    template <class T>
    void size(const std::vector<T>& list, std::size_t /*least*/) {
        (*this)(std::uint64_t{list.size()});
    }
    bool more(bool wanted) const { return wanted; }
    std::string bytes;
};

class FieldReader {
public:
    explicit FieldReader(std::string_view bytes) : left_(bytes) {}
    template <class T>
    void operator()(T& value) {
        static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
        if (take(sizeof value)) std::memcpy(&value, taken_.data(), sizeof value);
    }
    void operator()(bool& value) {
        std::uint8_t byte = 0;
        (*this)(byte);
        good_ = good_ && byte <= 1;
        value = byte == 1;
    }
    void operator()(std::string& text) {
        std::uint64_t bytes = 0;
        (*this)(bytes);
        if (take(bytes)) text = taken_;
    }
    /// `least`: bytes of an element, so that damage cannot ask for more memory than the file takes.
    template <class T>
    void size(std::vector<T>& list, std::size_t least) {
        std::uint64_t count = 0;
        (*this)(count);
        good_ = good_ && count <= left_.size() / least;
        list.resize(good_ ? count : 0);
    }
    /// Whether an optional part follows; a writer is asked whether it is wanted.
    bool more(bool) const { return good_ && !left_.empty(); }
    bool good() const { return good_ && left_.empty(); }

private:
    bool take(std::uint64_t bytes) {
        good_ = good_ && bytes <= left_.size();
        if (!good_) return false;
        taken_ = left_.substr(0, bytes);
        left_.remove_prefix(bytes);
        return true;
    }
    std::string_view left_, taken_;
    bool good_ = true;
};

}  // namespace mergelane
