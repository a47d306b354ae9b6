// SPDX-License-Identifier: MIT
#include "workload/ptx/manifest.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "core/text.hpp"
#include "files/toml_file.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/program.hpp"
#include "workload/ptx/ptx.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::uint32_t kMostRepeats = 1'000'000;

struct PlannedLaunch {
    std::string kernel;
    LaunchConfig config;
    std::vector<std::byte> params;
};

/// Reads values of one manifest and reports errors with their location.
class Reader {
public:
    explicit Reader(std::filesystem::path path) : path_(std::move(path)), manifest_(path_) {}

    const toml::table& root() const { return manifest_.root(); }
    [[noreturn]] void fail(const toml::node& node, const std::string& message) const { manifest_.fail(node, message); }
    void only(const toml::table& table, std::initializer_list<std::string_view> known) const { manifest_.allow(table, known); }
    const toml::node& need(const toml::table& table, std::string_view key, const char* example) const {
        const toml::node* node = table.get(key);
        if (node == nullptr) fail(table, fmt::format("'{}' is missing; write {}", key, example));
        return *node;
    }
    std::string text(const toml::node& node, const char* example) const {
        const auto value = node.value_exact<std::string>();
        if (!value) fail(node, fmt::format("this must be a text; write {}", example));
        return *value;
    }
    std::uint64_t number(const toml::node& node, std::uint64_t least, std::uint64_t most) const {
        const auto value = node.value_exact<std::int64_t>();
        if (!value || *value < 0 || static_cast<std::uint64_t>(*value) < least || static_cast<std::uint64_t>(*value) > most)
            fail(node, fmt::format("this must be a whole number from {} to {}; correct it", least, most));
        return static_cast<std::uint64_t>(*value);
    }
    std::uint64_t number_or(const toml::table& table, std::string_view key, std::uint64_t otherwise, std::uint64_t least,
                            std::uint64_t most) const {
        const toml::node* node = table.get(key);
        return node == nullptr ? otherwise : number(*node, least, most);
    }
    double real_or(const toml::table& table, std::string_view key, double otherwise) const {
        const toml::node* node = table.get(key);
        if (node == nullptr) return otherwise;
        if (!node->is_number()) fail(*node, "this must be a number; correct it");
        return *node->value<double>();
    }
    Dim3 dimensions(const toml::node& node) const {
        std::uint32_t values[3] = {1, 1, 1};
        constexpr std::uint64_t kMost = 0x7FFFFFFF;
        if (const toml::array* array = node.as_array()) {
            if (array->empty() || array->size() > 3) fail(node, "this must be one to three numbers; write [64, 64]");
            for (std::size_t i = 0; i < array->size(); ++i) values[i] = static_cast<std::uint32_t>(number(*array->get(i), 1, kMost));
        } else {
            values[0] = static_cast<std::uint32_t>(number(node, 1, kMost));
        }
        return {values[0], values[1], values[2]};
    }
    std::string file(const toml::node& node) const {
        const std::string name = text(node, "the name of a file");
        const std::filesystem::path path = path_.parent_path() / name;
        std::ifstream stream(path, std::ios::binary);
        std::error_code ignored;
        if (!stream || !std::filesystem::is_regular_file(path, ignored))
            fail(node, fmt::format("cannot read {}; names are relative to the manifest", in_quotes(name)));
        std::ostringstream all;
        all << stream.rdbuf();
        return std::move(all).str();
    }

private:
    std::filesystem::path path_;
    TomlFile manifest_;
};

/// A number as the bytes of a type.
std::vector<std::byte> bytes_of(Type type, double real, std::int64_t whole, bool is_whole) {
    std::vector<std::byte> bytes(type_bytes(type));
    const auto put = [&](auto value) { std::memcpy(bytes.data(), &value, bytes.size()); };
    if (type == Type::f32)
        put(is_whole ? static_cast<float>(whole) : static_cast<float>(real));
    else if (type == Type::f64)
        put(is_whole ? static_cast<double>(whole) : real);
    else
        put(is_whole ? whole : static_cast<std::int64_t>(real));
    return bytes;
}

Type element_type(const Reader& reader, const toml::node& node) {
    const std::string name = reader.text(node, "type = \"f32\"");
    const Type type = type_of(name);
    if (type == Type::none || type == Type::pred || (is_float(type) && type != Type::f32 && type != Type::f64)) {
        const std::vector<std::string_view> known = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"};
        reader.fail(node, unknown_word("type", name.substr(0, 40), known));
    }
    return type;
}

void fill_buffer(const Reader& reader, const toml::table& table, DeviceMemory& memory, Addr at, Type type, std::uint64_t count) {
    const std::uint32_t size = type_bytes(type);
    if (const toml::node* node = table.get("file")) {
        const std::string content = reader.file(*node);
        if (content.size() > count * size)
            reader.fail(*node, fmt::format("the file has {} bytes but the buffer {}; raise count", content.size(), count * size));
        memory.write(at, content.data(), content.size());
        return;
    }
    const toml::node* init = table.get("init");
    if (init == nullptr) return;
    std::vector<std::byte> all(count * size);
    const auto put = [&](std::uint64_t i, double real, std::int64_t whole, bool is_whole) {
        const std::vector<std::byte> bytes = bytes_of(type, real, whole, is_whole);
        std::memcpy(all.data() + i * size, bytes.data(), size);
    };
    if (init->is_number()) {
        const bool whole = init->is_integer();
        for (std::uint64_t i = 0; i < count; ++i) put(i, *init->value<double>(), whole ? *init->value<std::int64_t>() : 0, whole);
    } else {
        const std::string how = reader.text(*init, "init = \"random\"");
        const double low = reader.real_or(table, "low", 0);
        const double high = reader.real_or(table, "high", is_float(type) ? 1 : 100);
        Rng rng(reader.number_or(table, "seed", 1, 0, 0x7FFFFFFF));
        if (how == "iota") {
            for (std::uint64_t i = 0; i < count; ++i) put(i, 0, static_cast<std::int64_t>(i), true);
        } else if (how == "random") {
            for (std::uint64_t i = 0; i < count; ++i) {
                const double value = low + (high - low) * (static_cast<double>(rng.next() >> 11) / 9007199254740992.0);
                put(i, value, 0, false);
            }
        } else if (how != "zero") {
            const std::vector<std::string_view> known = {"zero", "iota", "random"};
            reader.fail(*init, unknown_word("initialisation", how.substr(0, 40), known));
        }
    }
    memory.write(at, all.data(), all.size());
}

class ManifestWorkload final : public Workload {
public:
    ManifestWorkload(const std::string& path, std::function<void(const std::string&)> warn, bool timed);
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override;

private:
    void pass_warnings_on();
    void read_buffers(const Reader& reader, const toml::table& table);
    void read_launch(const Reader& reader, const toml::table& table);
    std::vector<std::byte> argument(const Reader& reader, const toml::node& node, const Variable& param) const;

    std::string name_;
    std::function<void(const std::string&)> warn_;
    std::shared_ptr<const Module> module_;
    DeviceMemory memory_;
    std::map<std::string, Addr, std::less<>> buffers_;
    ExecOptions options_;
    std::vector<PlannedLaunch> launches_;
    std::size_t next_ = 0;
    std::size_t warned_ = 0;
    std::unique_ptr<KernelSource> current_;
};

ManifestWorkload::ManifestWorkload(const std::string& path, std::function<void(const std::string&)> warn, bool timed)
    : name_(std::filesystem::path(path).stem().string()), warn_(std::move(warn)) {
    options_.at_placement = timed;
    const Reader reader(path);
    const toml::table& table = reader.root();
    const bool single = table.get("launch") == nullptr;
    reader.only(table, {"ptx", "description", "quantum", "budget", "buffers", "launch", "kernel", "grid", "block", "shared_bytes", "repeat",
                        "arguments"});
    const toml::node& ptx = reader.need(table, "ptx", "ptx = \"kernel.ptx\"");
    module_ = parse_module(reader.file(ptx), (std::filesystem::path(path).parent_path() / reader.text(ptx, "a file")).string());
    options_.quantum = static_cast<std::uint32_t>(reader.number_or(table, "quantum", options_.quantum, 0, 1'000'000));
    options_.budget = reader.number_or(table, "budget", 0, 0, std::uint64_t{1} << 60);
    read_buffers(reader, table);
    if (single) {
        read_launch(reader, table);
        return;
    }
    const toml::array* launches = table.get("launch")->as_array();
    if (launches == nullptr) reader.fail(*table.get("launch"), "launches are a list; write [[launch]]");
    for (const toml::node& node : *launches) {
        if (!node.is_table()) reader.fail(node, "a launch is a table; write [[launch]]");
        reader.only(*node.as_table(), {"kernel", "grid", "block", "shared_bytes", "repeat", "arguments"});
        read_launch(reader, *node.as_table());
    }
}

void ManifestWorkload::read_buffers(const Reader& reader, const toml::table& table) {
    const toml::node* node = table.get("buffers");
    if (node == nullptr) return;
    if (!node->is_table()) reader.fail(*node, "buffers are tables; write [buffers.x]");
    // In text order, so that addresses do not depend on the names.
    std::vector<std::pair<std::string, const toml::table*>> list;
    for (const auto& [key, value] : *node->as_table()) {
        if (!value.is_table()) reader.fail(value, "a buffer is a table; write [buffers.x]");
        list.emplace_back(std::string(key.str()), value.as_table());
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return TomlFile::line(*a.second) < TomlFile::line(*b.second); });
    for (const auto& [name, buffer] : list) {
        reader.only(*buffer, {"type", "count", "init", "file", "low", "high", "seed"});
        const Type type = element_type(reader, reader.need(*buffer, "type", "type = \"f32\""));
        const std::uint64_t count = reader.number(reader.need(*buffer, "count", "count = 1024"), 1, std::uint64_t{1} << 34);
        const Addr at = memory_.allocate(count * type_bytes(type));
        fill_buffer(reader, *buffer, memory_, at, type, count);
        buffers_.emplace(name, at);
    }
}

std::vector<std::byte> ManifestWorkload::argument(const Reader& reader, const toml::node& node, const Variable& param) const {
    const auto address = [&](const toml::node& where, std::uint64_t offset) {
        const std::string name = reader.text(where, "the name of a buffer");
        const auto found = buffers_.find(name);
        if (found == buffers_.end()) {
            std::vector<std::string_view> known;
            for (const auto& [buffer, at] : buffers_) known.push_back(buffer);
            reader.fail(where, unknown_word("buffer", name.substr(0, 60), known));
        }
        return bytes_of(Type::u64, 0, static_cast<std::int64_t>(found->second + offset), true);
    };
    if (node.is_string()) return address(node, 0);
    if (node.is_number()) {
        Type type = param.type;
        if (param.bytes != type_bytes(type))
            reader.fail(node, fmt::format("parameter {} has {} bytes; write {{ hex = \"...\" }}", in_quotes(param.name), param.bytes));
        if (node.is_floating_point() && !is_float(type)) type = type_bytes(type) == 8 ? Type::f64 : Type::f32;  // compilers also write .b32
        if (type_bytes(type) != param.bytes)
            reader.fail(node, fmt::format("parameter {} is a whole number; write one", in_quotes(param.name)));
        return bytes_of(type, *node.value<double>(), node.is_integer() ? *node.value<std::int64_t>() : 0, node.is_integer());
    }
    const toml::table* table = node.as_table();
    if (table == nullptr) reader.fail(node, "an argument is a buffer's name, a number, or a table such as { f32 = 1 }");
    if (const toml::node* buffer = table->get("buffer")) {
        reader.only(*table, {"buffer", "offset"});
        return address(*buffer, reader.number_or(*table, "offset", 0, 0, std::uint64_t{1} << 40));
    }
    if (const toml::node* hex = table->get("hex")) {
        const std::string digits = reader.text(*hex, "hex = \"00ff\"");
        std::vector<std::byte> bytes;
        const auto value = [&](char c) -> std::uint32_t {
            const std::size_t at = std::string_view("0123456789abcdef").find(static_cast<char>(c | 0x20));
            if (at == std::string_view::npos) reader.fail(*hex, "hex has digits 0-9 and a-f only; correct it");
            return static_cast<std::uint32_t>(at);
        };
        if (digits.size() % 2 != 0) reader.fail(*hex, "hex needs two digits per byte; add one");
        for (std::size_t i = 0; i < digits.size(); i += 2)
            bytes.push_back(static_cast<std::byte>(value(digits[i]) << 4 | value(digits[i + 1])));
        return bytes;
    }
    if (table->size() != 1 || !table->begin()->second.is_number())
        reader.fail(node, "a typed argument is one type and one number; write { f32 = 1 }");
    const std::string_view name = table->begin()->first.str();
    const toml::node& number = table->begin()->second;
    const Type type = element_type(reader, toml::value<std::string>(std::string(name)));
    return bytes_of(type, *number.value<double>(), number.is_integer() ? *number.value<std::int64_t>() : 0, number.is_integer());
}

void ManifestWorkload::read_launch(const Reader& reader, const toml::table& table) {
    PlannedLaunch launch;
    const toml::node& kernel_node = reader.need(table, "kernel", "kernel = \"saxpy\"");
    launch.kernel = reader.text(kernel_node, "kernel = \"saxpy\"");
    const Function& kernel = module_->kernel(launch.kernel);
    launch.config.grid = reader.dimensions(reader.need(table, "grid", "grid = [64]"));
    launch.config.block = reader.dimensions(reader.need(table, "block", "block = [256]"));
    launch.config.dynamic_shared = static_cast<std::uint32_t>(reader.number_or(table, "shared_bytes", 0, 0, 1 << 20));
    std::vector<std::vector<std::byte>> values;
    if (const toml::node* node = table.get("arguments")) {
        const toml::array* array = node->as_array();
        if (array == nullptr) reader.fail(*node, "arguments are a list; write arguments = [\"x\", 1]");
        if (array->size() != kernel.params.size())
            reader.fail(*node, fmt::format("kernel {} has {} parameters but {} arguments are given; give one for each",
                                           in_quotes(launch.kernel), kernel.params.size(), array->size()));
        for (std::size_t i = 0; i < array->size(); ++i) values.push_back(argument(reader, *array->get(i), kernel.params[i]));
    }
    std::vector<Argument> arguments;
    for (const std::vector<std::byte>& value : values) arguments.push_back({value.data(), value.size()});
    launch.params = module_->pack(launch.kernel, arguments);
    // Unsupported instructions are reported before anything runs.
    if (module_->placement_dependent(launch.kernel) && warn_ && !options_.at_placement) {
        warn_(fmt::format("kernel {} reads its SM, its warp slot or a clock; without a machine it is executed as on SM 0 at time 0",
                          in_quotes(launch.kernel)));
    }
    if (const std::string& calls = module_->program(launch.kernel).without_effect; !calls.empty() && warn_)
        warn_(fmt::format("kernel {} calls {}; that has no effect here", in_quotes(launch.kernel), calls));
    for (std::uint64_t k = reader.number_or(table, "repeat", 1, 1, kMostRepeats); k > 0; --k) launches_.push_back(launch);
}

const KernelSource* ManifestWorkload::next_kernel() {
    current_.reset();
    pass_warnings_on();  // of a kernel that executed during simulation
    if (next_ == launches_.size()) return nullptr;
    const PlannedLaunch& launch = launches_[next_++];
    current_ = execute(*module_, launch.kernel, launch.config, launch.params, memory_, options_, true);
    pass_warnings_on();
    return current_.get();
}

void ManifestWorkload::pass_warnings_on() {
    for (; warned_ < memory_.warnings().size(); ++warned_) {
        if (warn_) warn_(memory_.warnings()[warned_]);
    }
}

}  // namespace

std::unique_ptr<Workload> load_manifest(const std::string& path, std::function<void(const std::string&)> warn, bool timed) {
    return std::make_unique<ManifestWorkload>(path, std::move(warn), timed);
}

}  // namespace mergelane::ptx
