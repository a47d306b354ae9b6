// SPDX-License-Identifier: MIT
#include "runs/schema2.hpp"

#include <fmt/format.h>
#include <lzma.h>

#include <algorithm>
#include <map>
#include <new>
#include <unordered_map>

#include "config/config.hpp"
#include "core/error.hpp"
#include "runs/record.hpp"
#include "runs/schema2_keys.hpp"
#include "runs/store.hpp"

namespace mergelane::study {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::uint64_t kMostDecoderMemory = std::uint64_t{128} << 20;  // xz -9 takes 65 MiB

class Converter {
public:
    Converter(PackedWriter& to, const Registry& registry) : to_(to), plan_(registry) {}

    void take(std::string_view text, const std::string& where) {
        const std::optional<RecordLine> line = RecordLine::parse(text, 2);
        std::optional<RunRecord> record = line ? line->record() : std::nullopt;
        if (!record) {
            result_.refused.add(fmt::format("{} is not a record of schema 2", where));
            return;
        }
        if (const auto at = written_.find(key_of(record->key)); at != written_.end() && (!record->done || at->second == line->outcome())) {
            ++result_.duplicates;
            return;
        }
        try {
            rename(*record);
        } catch (const InputError& error) {
            result_.refused.add(fmt::format("{} ({} on {}): {}", where, record->spec.workload, record->spec.gpu, error.what()));
            return;
        }
        if (record->done) written_.emplace(key_of(line->key()), line->outcome());
        const std::string converted = to_line(*record);
        to_.add(std::string_view(converted).substr(0, converted.size() - 1));
        ++result_.converted;
    }
    Conversion& result() { return result_; }

private:
    struct OldMachine {
        std::uint32_t number = 0;            ///< in the plan
        std::vector<std::string> overrides;  ///< without those of choices that were not made: they did nothing, and are errors today
        std::string hash = "profile";        ///< under the old rules
    };

    LoadedConfig load(const std::string& gpu, const std::vector<std::string>& overrides) const {
        return load_config(gpu, overrides, default_preset_dirs(), plan_.registry());
    }
    static void override_all(std::map<std::string, std::string>& values, const std::vector<std::string>& words) {
        for (const std::string& word : words) values[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }

    const OldMachine& machine(const RunSpec& spec) {
        const auto name = std::pair(spec.gpu, spec.overrides);
        if (const auto at = machines_.find(name); at != machines_.end()) return at->second;
        OldMachine machine{0, spec.overrides};
        if (spec.gpu != kNoMachine) {
            LoadedConfig base = load(spec.gpu, {});
            const std::vector<SpecField> fields = base.spec.fields().list();
            std::map<std::string, std::string> values;
            for (const SpecField& field : fields) values[field.key] = field.value();
            override_all(values, spec.overrides);
            const auto unused = std::stable_partition(machine.overrides.begin(), machine.overrides.end(), [&](const std::string& word) {
                const auto field =
                    std::find_if(fields.begin(), fields.end(), [&](const SpecField& f) { return word.starts_with(f.key + "="); });
                if (field == fields.end() || field->belongs == nullptr) return true;
                const std::vector<std::string_view>& choices = field->belongs->choices;
                return std::find(choices.begin(), choices.end(), values[field->belongs->key]) != choices.end();
            });
            const std::vector<std::string> dropped(unused, machine.overrides.end());
            machine.overrides.erase(unused, machine.overrides.end());
            LoadedConfig config = load(spec.gpu, machine.overrides);
            for (const SpecField& field : config.spec.fields().list()) values[field.key] = field.value();
            override_all(values, dropped);
            machine.hash = runs_schema2::old_config_hash(std::vector<std::pair<std::string, std::string>>(values.begin(), values.end()));
        }
        machine.number = plan_.machine(spec.gpu, machine.overrides);
        return machines_.emplace(name, std::move(machine)).first->second;
    }

    /// Whether its old key is that of a machine with these overrides; then it gets its new names.
    bool renamed(RunRecord& record, const std::vector<std::string>& overrides) {
        RunSpec spec = record.spec;
        spec.overrides = overrides;
        const OldMachine& old = machine(spec);
        const std::string& recording = plan_.workloads()[plan_.workload(spec.workload, spec.size, spec.seed, spec.kernels)].recording;
        const std::uint32_t model = record.done ? record.model : kModelVersion;
        const std::string_view edition = plan_.registry().edition();
        if (run_key(old.hash, spec, recording, model, edition, 2) != record.key) return false;
        const std::string& hash = plan_.machines()[old.number].config_hash;
        record.spec.overrides = old.overrides;
        record.key = run_key(hash, spec, recording, model, edition);
        if (!record.config_hash.empty()) record.config_hash = hash;
        return true;
    }

    void rename(RunRecord& record) {
        if (renamed(record, record.spec.overrides)) return;
        const bool other_machine = !record.config_hash.empty() && record.config_hash != machine(record.spec).hash;
        // It may be older than a key whose default is not what machines had before.
        for (const runs_schema2::OldDefault& later : runs_schema2::kNeutral) {
            std::vector<std::string> overrides = record.spec.overrides;
            overrides.push_back(fmt::format("{}={}", later.key, later.value));
            try {
                if (other_machine && renamed(record, overrides)) return;
            } catch (const InputError&) {  // no such machine
            }
        }
        throw InputError(fmt::format("its key {} is not that of the {} this program knows under these names", record.key,
                                     other_machine ? "machine" : "workload"));
    }

    PackedWriter& to_;
    Plan plan_;
    std::map<std::pair<std::string, std::vector<std::string>>, OldMachine> machines_;
    std::unordered_map<RunKey, std::uint64_t, RunKeyHash> written_;  ///< outcomes of finished runs, by old key
    Conversion result_;
};

/// Unpacks an .xz file piece by piece.
class XzFile {
public:
    explicit XzFile(const fs::path& path) : path_(path), file_(path) {
        if (lzma_stream_decoder(&stream_, kMostDecoderMemory, 0) != LZMA_OK) throw std::bad_alloc();
    }
    ~XzFile() { lzma_end(&stream_); }
    XzFile(const XzFile&) = delete;
    XzFile& operator=(const XzFile&) = delete;

    /// Appends the next piece to the text; false: that was all.
    bool read(std::string& text) {
        const std::size_t before = text.size();
        text.resize(before + kPiece);
        stream_.next_out = reinterpret_cast<std::uint8_t*>(text.data()) + before;
        stream_.avail_out = kPiece;
        lzma_ret result = LZMA_OK;
        while (result == LZMA_OK && stream_.avail_out != 0) {
            if (stream_.avail_in == 0 && !ended_) {
                packed_.clear();
                stream_.avail_in = file_.read_at(stream_.total_in, kPiece, packed_);
                stream_.next_in = reinterpret_cast<const std::uint8_t*>(packed_.data());
                ended_ = stream_.avail_in < kPiece;
            }
            result = lzma_code(&stream_, ended_ ? LZMA_FINISH : LZMA_RUN);
        }
        text.resize(text.size() - stream_.avail_out);
        check_ratio(stream_.total_in, stream_.total_out, path_);
        if (result != LZMA_OK && result != LZMA_STREAM_END) fail(result);
        return result == LZMA_OK;
    }

private:
    [[noreturn]] void fail(lzma_ret result) const {
        if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
        const std::string why = result == LZMA_FORMAT_ERROR     ? "is not an .xz file"
                                : result == LZMA_MEMLIMIT_ERROR ? fmt::format("needs more than {} MiB to unpack", kMostDecoderMemory >> 20)
                                                                : "is damaged or cut off";
        throw InputError(fmt::format("{}: {}", path_.string(), why));
    }

    fs::path path_;
    RecordFile file_;
    bool ended_ = false;
    std::string packed_;
    lzma_stream stream_ = LZMA_STREAM_INIT;
};

void convert_xz(const fs::path& path, Converter& converter) {
    const std::string name = path.filename().string();
    XzFile file(path);
    std::string text;
    std::uint64_t number = 0;
    for (bool more = true; more;) {
        more = file.read(text);
        std::size_t at = 0;
        for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
            converter.take(std::string_view(text).substr(at, end - at), fmt::format("{}:{}", name, ++number));
        text.erase(0, at);
        check_length(text.size(), path);
    }
}

void convert_file(const fs::path& file, Converter& converter) {
    if (file.extension() == ".xz") return convert_xz(file, converter);
    RecordFile(file).scan(0, [&](const FileLine& line) {
        if (line.whole && !is_cover_line(line.text)) converter.take(line.text, fmt::format("{}:{}", file.filename().string(), line.number));
    });
}

}  // namespace

Conversion convert_schema2(const fs::path& from, PackedWriter& to, const Registry& registry) {
    std::vector<fs::path> files;
    if (fs::is_directory(from)) {
        for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
            if (is_record_file(entry.path()) || is_xz_file(entry.path())) files.push_back(entry.path());
        }
        std::sort(files.begin(), files.end());
    } else {
        files.push_back(from);
    }
    Converter converter(to, registry);
    for (const fs::path& file : files) convert_file(file, converter);
    return std::move(converter.result());
}

}  // namespace mergelane::study
