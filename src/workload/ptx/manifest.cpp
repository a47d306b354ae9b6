// SPDX-License-Identifier: MIT
#include "workload/ptx/manifest.hpp"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "core/text.hpp"
#include "files/input_file.hpp"
#include "files/toml_file.hpp"
#include "workload/ptx/lexer.hpp"
#include "workload/ptx/program.hpp"

namespace mergelane::ptx {

namespace {

constexpr std::uint32_t kMostRepeats = 1'000'000;
constexpr std::size_t kMostEntries = 100'000;  ///< launches or buffers; programs write manifests, too

struct PlannedLaunch {
    std::string kernel;
    LaunchConfig config;
    std::vector<std::byte> params;
    std::uint64_t left = 1;  ///< times that it is still launched
};

Dim3 dimensions(TomlTable& table, std::string_view key) {
    const toml::node& node = table.need(key);
    std::uint32_t values[3] = {1, 1, 1};
    constexpr std::uint64_t kMost = 0x7FFFFFFF;
    if (const toml::array* array = node.as_array()) {
        if (array->empty() || array->size() > 3)
            table.fail(node, fmt::format("'{0}' must be one to three numbers; write {0} = [64, 64]", key));
        for (std::size_t i = 0; i < array->size(); ++i)
            values[i] = static_cast<std::uint32_t>(table.whole_of(*array->get(i), key, 1, kMost));
    } else {
        values[0] = static_cast<std::uint32_t>(table.whole_of(node, key, 1, kMost));
    }
    return {values[0], values[1], values[2]};
}

/// A file that the manifest names, as seen from its folder; if it has more than `most` bytes, only its beginning.
std::string content_of(TomlTable& table, std::string_view key, const std::filesystem::path& folder, std::uint64_t most) {
    const std::string name = table.text(key);
    std::string problem;
    std::optional<std::string> content = read_input(folder / name, most, problem);
    if (!content) table.fail(key, fmt::format("cannot read {}: {}; names are relative to the manifest", in_quotes(name), problem));
    return std::move(*content);
}

/// A number, a std::int64_t or a double, as the bytes of a type.
std::vector<std::byte> bytes_of(Type type, auto number) {
    std::vector<std::byte> bytes(type_bytes(type));
    const auto put = [&](auto value) { std::memcpy(bytes.data(), &value, bytes.size()); };
    if (type == Type::f32)
        put(static_cast<float>(number));
    else if (type == Type::f64)
        put(static_cast<double>(number));
    else
        put(static_cast<std::int64_t>(number));
    return bytes;
}
std::vector<std::byte> bytes_of(Type type, const toml::node& number) {
    return number.is_integer() ? bytes_of(type, *number.value<std::int64_t>()) : bytes_of(type, *number.value<double>());
}

Type element_type(const TomlTable& table, const std::string& name, const toml::node& at) {
    const Type type = type_of(name);
    if (type == Type::none || type == Type::pred || (is_float(type) && type != Type::f32 && type != Type::f64)) {
        const std::vector<std::string_view> known = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"};
        table.fail(at, unknown_word("type", name.substr(0, 40), known));
    }
    return type;
}

void fill_buffer(TomlTable& table, const std::filesystem::path& folder, DeviceMemory& memory, Addr at, Type type, std::uint64_t count) {
    const std::uint32_t size = type_bytes(type);
    const toml::node* init = table.node("init", false);
    const double low = table.number("low").value_or(0);
    const double high = table.number("high").value_or(is_float(type) ? 1 : 100);
    Rng rng(table.whole("seed", 0, 0x7FFFFFFF, 1));
    if (table.has("file")) {
        const std::string content = content_of(table, "file", folder, count * size);
        if (content.size() > count * size)
            table.fail("file", fmt::format("the file has more bytes than the buffer ({}); raise count", count * size));
        memory.write(at, content.data(), content.size());
        return;
    }
    if (init == nullptr) return;
    const std::string how = init->is_number() ? "" : table.text_of(*init, "init");
    const auto element = [&](std::uint64_t i) {
        if (how.empty()) return bytes_of(type, *init);
        return how == "iota" ? bytes_of(type, static_cast<std::int64_t>(i))
                             : bytes_of(type, low + (high - low) * (static_cast<double>(rng.next() >> 11) / 9007199254740992.0));
    };
    if (how == "zero") return;  // memory is zero already
    const std::vector<std::string_view> known = {"zero", "iota", "random"};
    if (!how.empty() && how != known[1] && how != known[2]) table.fail(*init, unknown_word("initialisation", how.substr(0, 40), known));
    std::vector<std::byte> piece;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::vector<std::byte> bytes = element(i);
        piece.insert(piece.end(), bytes.begin(), bytes.end());
        if (piece.size() < 1 << 20 && i + 1 != count) continue;
        memory.write(at + (i + 1) * size - piece.size(), piece.data(), piece.size());
        piece.clear();
    }
}

class ManifestWorkload final : public Workload {
public:
    ManifestWorkload(const std::string& path, std::function<void(const std::string&)> warn, const ExecOptions& options);
    const std::string& name() const override { return name_; }
    const KernelSource* next_kernel() override;

private:
    void pass_warnings_on();
    void read_buffer(const std::string& name, TomlTable& buffer, const std::filesystem::path& folder);
    void read_launch(TomlTable& table);
    std::vector<std::byte> argument(const TomlTable& launch, const toml::node& node, const Variable& param) const;

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

ManifestWorkload::ManifestWorkload(const std::string& path, std::function<void(const std::string&)> warn, const ExecOptions& options)
    : name_(std::filesystem::path(path).stem().string()), warn_(std::move(warn)), options_(options) {
    const TomlFile file{std::filesystem::path(path)};
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    TomlTable table = file.table("the manifest");
    table.text("description", false);
    const std::string ptx = content_of(table, "ptx", folder, kMostTextBytes);
    module_ = parse_module(ptx, (folder / table.text("ptx")).string());
    options_.quantum = static_cast<std::uint32_t>(table.whole("quantum", 0, 1'000'000, options_.quantum));
    const std::uint64_t budget = table.whole("budget", 0, std::uint64_t{1} << 60, 0);
    if (budget != 0 && (options_.budget == 0 || budget < options_.budget)) options_.budget = budget;
    // In the order of the text, so that addresses do not depend on the names.
    table.entries(
        "buffers", false,
        [&](const std::string& name, const toml::node& node) {
            TomlTable buffer = table.inner(node, fmt::format("[buffers.{}]", name));
            read_buffer(name, buffer, folder);
            buffer.done();
        },
        kMostEntries);
    if (table.has("launch"))
        table.each(
            "launch", [&](TomlTable& launch) { read_launch(launch); }, kMostEntries);
    else
        read_launch(table);
    table.done();
}

void ManifestWorkload::read_buffer(const std::string& name, TomlTable& buffer, const std::filesystem::path& folder) {
    const Type type = element_type(buffer, buffer.text("type"), buffer.need("type"));
    const std::uint64_t count = buffer.whole("count", 1, std::uint64_t{1} << 34);
    const Addr at = memory_.allocate(count * type_bytes(type));
    fill_buffer(buffer, folder, memory_, at, type, count);
    buffers_.emplace(name, at);
}

std::vector<std::byte> ManifestWorkload::argument(const TomlTable& launch, const toml::node& node, const Variable& param) const {
    const auto address = [&](const toml::node& where, std::uint64_t offset) {
        const std::string name = launch.text_of(where, "buffer");
        const auto found = buffers_.find(name);
        if (found == buffers_.end()) {
            std::vector<std::string_view> known;
            for (const auto& [buffer, at] : buffers_) known.push_back(buffer);
            launch.fail(where, unknown_word("buffer", name.substr(0, 60), known));
        }
        return bytes_of(Type::u64, static_cast<std::int64_t>(found->second + offset));
    };
    if (node.is_string()) return address(node, 0);
    if (node.is_number()) {
        Type type = param.type;
        if (param.bytes != type_bytes(type))
            launch.fail(node, fmt::format("parameter {} has {} bytes; write {{ hex = \"...\" }}", in_quotes(param.name), param.bytes));
        if (node.is_floating_point() && !is_float(type)) type = type_bytes(type) == 8 ? Type::f64 : Type::f32;  // compilers also write .b32
        if (type_bytes(type) != param.bytes)
            launch.fail(node, fmt::format("parameter {} is a whole number; write one", in_quotes(param.name)));
        return bytes_of(type, node);
    }
    const toml::table* table = node.as_table();
    if (table == nullptr) launch.fail(node, "an argument is a buffer's name, a number, or a table such as { f32 = 1 }");
    if (const toml::node* buffer = table->get("buffer")) {
        TomlTable typed = launch.inner(node, "the argument");
        const std::uint64_t offset = typed.whole("offset", 0, std::uint64_t{1} << 40, 0);
        typed.has("buffer");
        typed.done();
        return address(*buffer, offset);
    }
    if (const toml::node* hex = table->get("hex")) {
        const std::string digits = launch.text_of(*hex, "hex");
        std::vector<std::byte> bytes;
        const auto value = [&](char c) -> std::uint32_t {
            const std::size_t at = std::string_view("0123456789abcdef").find(static_cast<char>(c | 0x20));
            if (at == std::string_view::npos) launch.fail(*hex, "hex has digits 0-9 and a-f only; correct it");
            return static_cast<std::uint32_t>(at);
        };
        if (digits.size() % 2 != 0) launch.fail(*hex, "hex needs two digits per byte; add one");
        for (std::size_t i = 0; i < digits.size(); i += 2)
            bytes.push_back(static_cast<std::byte>(value(digits[i]) << 4 | value(digits[i + 1])));
        return bytes;
    }
    if (table->size() != 1 || !table->begin()->second.is_number())
        launch.fail(node, "a typed argument is one type and one number; write { f32 = 1 }");
    const toml::node& number = table->begin()->second;
    return bytes_of(element_type(launch, std::string(table->begin()->first.str()), number), number);
}

void ManifestWorkload::read_launch(TomlTable& table) {
    PlannedLaunch launch;
    launch.kernel = table.text("kernel");
    const Function& kernel = module_->kernel(launch.kernel);
    launch.config.grid = dimensions(table, "grid");
    launch.config.block = dimensions(table, "block");
    launch.config.dynamic_shared = static_cast<std::uint32_t>(table.whole("shared_bytes", 0, 1 << 20, 0));
    std::vector<std::vector<std::byte>> values;
    if (const toml::node* node = table.node("arguments", false)) {
        const toml::array* array = node->as_array();
        if (array == nullptr) table.fail(*node, "arguments are a list; write arguments = [\"x\", 1]");
        if (array->size() != kernel.params.size())
            table.fail(*node, fmt::format("kernel {} has {} parameters but {} arguments are given; give one for each",
                                          in_quotes(launch.kernel), kernel.params.size(), array->size()));
        for (std::size_t i = 0; i < array->size(); ++i) values.push_back(argument(table, *array->get(i), kernel.params[i]));
    }
    std::vector<Argument> arguments;
    for (const std::vector<std::byte>& value : values) arguments.push_back({value.data(), value.size()});
    launch.params = module_->pack(launch.kernel, arguments);
    // Unsupported instructions are reported before anything runs.
    if (module_->placement_dependent(launch.kernel) && warn_ && !options_.at_placement) {
        warn_(fmt::format("kernel {} reads its SM ID, its warp slot or a clock; without a GPU it executes as if on SM 0 at time 0",
                          in_quotes(launch.kernel)));
    }
    if (module_->program(launch.kernel).prints && warn_)
        warn_(fmt::format("kernel {} calls printf; that has no effect here", in_quotes(launch.kernel)));
    launch.left = table.whole("repeat", 1, kMostRepeats, 1);
    launches_.push_back(std::move(launch));
}

const KernelSource* ManifestWorkload::next_kernel() {
    current_.reset();
    pass_warnings_on();  // of a kernel that executed during simulation
    if (next_ == launches_.size()) return nullptr;
    PlannedLaunch& launch = launches_[next_];
    if (--launch.left == 0) ++next_;
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

std::unique_ptr<Workload> load_manifest(const std::string& path, std::function<void(const std::string&)> warn, const ExecOptions& options) {
    return std::make_unique<ManifestWorkload>(path, std::move(warn), options);
}

std::vector<std::string> manifest_files(const std::string& path) {
    const TomlFile file{std::filesystem::path(path)};
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    TomlTable table = file.table("the manifest");
    std::vector<std::string> files = {path, (folder / table.text("ptx")).string()};
    table.entries(
        "buffers", false,
        [&](const std::string& name, const toml::node& node) {
            TomlTable buffer = table.inner(node, fmt::format("[buffers.{}]", name));
            if (buffer.has("file")) files.push_back((folder / buffer.text("file")).string());
        },
        kMostEntries);
    return files;
}

}  // namespace mergelane::ptx
