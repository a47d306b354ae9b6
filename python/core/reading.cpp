// SPDX-License-Identifier: MIT
// Results as columns, for frames. Lines are decoded one after the other; what no column was asked for is skipped.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "campaign/table_reader.hpp"
#include "columns.hpp"
#include "core/error.hpp"
#include "core/json_text.hpp"
#include "files/input_file.hpp"
#include "files/toml_text.hpp"
#include "report/run_diff.hpp"
#include "runs/line_cursor.hpp"
#include "runs/store.hpp"
#include "statistics.hpp"
#include "study/published.hpp"
#include "study/study_spec.hpp"

namespace py = pybind11;
namespace fs = std::filesystem;

namespace mergelane::python {

namespace {

using study::FileLine;
using study::RecordLine;
using study::StoreIndex;

/// Names of wanted columns; none: all.
using Wanted = std::optional<std::set<std::string, std::less<>>>;

constexpr std::size_t kMostNames = 100'000;  ///< of statistics; machines have hundreds
/// A frame has a cell for each row and column: more than this many for each number that was read are no table of results.
constexpr std::size_t kMostEmpty = 64, kFewCells = std::size_t{1} << 24;

/// These two are called some hundred times for each line; they take half the time of the library's.
bool begins_with(std::string_view text, std::string_view name) {
    std::size_t at = 0;
    std::uint64_t a = 0, b = 0;
    if (text.size() < name.size()) return false;
    for (; at + sizeof a <= name.size(); at += sizeof a) {
        std::memcpy(&a, text.data() + at, sizeof a);
        std::memcpy(&b, name.data() + at, sizeof b);
        if (a != b) return false;
    }
    for (; at < name.size(); ++at) {
        if (text[at] != name[at]) return false;
    }
    return true;
}
/// How many digits it has; 0: there is no number, or a larger one.
std::size_t number_at(std::string_view text, std::uint64_t& value) {
    constexpr std::size_t kFits = std::numeric_limits<std::uint64_t>::digits10;
    std::size_t digits = 0;
    for (; digits < std::min(text.size(), kFits) && text[digits] >= '0' && text[digits] <= '9'; ++digits)
        value = value * 10 + static_cast<std::uint64_t>(text[digits] - '0');
    if (digits < kFits) return digits;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} ? static_cast<std::size_t>(end - text.data()) : 0;
}

std::size_t number_at(std::string_view text, double& value) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && value >= 0 && std::isfinite(value) ? static_cast<std::size_t>(end - text.data()) : 0;
}

/// Numbers of an object of records, by name. They follow each other as in the line before, so names are guessed before they are looked up.
template <typename Number>
class Numbers {
public:
    struct Name {
        std::string text;  ///< "NAME":
        bool wanted = false;
        NumberColumn<Number> column;
        Name* next = nullptr;  ///< that followed it last time
    };
    using Row = std::vector<std::pair<Name*, Number>>;

    /// `prefix` and `suffix`: of names of columns.
    Numbers(std::string prefix, const Wanted& wanted, std::string suffix = "")
        : prefix_(std::move(prefix)), suffix_(std::move(suffix)), wanted_(wanted) {}

    /// Appends those that are wanted to the row; false when the text is none of an object of numbers.
    bool read(std::string_view object, Row& row) {
        if (object.size() < 2 || object.front() != '{' || object.back() != '}') return false;
        std::string_view left = object.substr(1, object.size() - 2);
        for (Name* before = &first_; !left.empty();) {
            if (before != &first_) {
                if (left.front() != ',') return false;
                left.remove_prefix(1);
            }
            if (before->next == nullptr || !begins_with(left, before->next->text)) before->next = look_up(left);
            before = before->next;
            if (before == nullptr) return false;
            left.remove_prefix(before->text.size());
            Number value = 0;
            const std::size_t digits = number_at(left, value);
            if (digits == 0) return false;
            left.remove_prefix(digits);
            if (before->wanted) row.emplace_back(before, value);
        }
        return true;
    }

    std::size_t columns() const { return columns_; }
    std::vector<std::string> names() const {
        std::vector<std::string> list;
        for (const auto& [name, entry] : names_) list.push_back(column_of(name));
        return list;
    }
    void take(Columns& to) {
        for (auto& [name, entry] : names_) {
            if (entry.wanted) to.add(column_of(name), entry.column);
        }
    }

private:
    std::string column_of(std::string_view name) const { return fmt::format("{}{}{}", prefix_, name, suffix_); }

    Name* look_up(std::string_view left) {
        const std::size_t quote = left.size() < 2 || left.front() != '"' ? std::string_view::npos : left.find('"', 1);
        if (quote == std::string_view::npos || !left.substr(quote + 1).starts_with(':')) return nullptr;
        const std::string_view name = left.substr(1, quote - 1);
        auto at = names_.find(name);
        if (at == names_.end()) {
            if (names_.size() == kMostNames)
                throw InputError(fmt::format("the records count more than {} different statistics, which no machine does", kMostNames));
            at = names_.emplace(name, Name{}).first;
            at->second.text = left.substr(0, quote + 2);
            at->second.wanted = !wanted_ || wanted_->contains(column_of(name));
            columns_ += at->second.wanted ? 1 : 0;
        }
        return &at->second;
    }

    std::string prefix_, suffix_;
    const Wanted& wanted_;
    std::map<std::string, Name, std::less<>> names_;
    std::size_t columns_ = 0;
    Name first_;
};

std::string joined_overrides(std::string_view written) {
    std::string text;
    study::LineCursor at(written);
    at.array("", [&] {
        if (!text.empty()) text += ' ';
        text += study::plain_text(at.text(""));
    });
    return text;
}

/// The runs of stores, each of them once.
class Runs {
public:
    explicit Runs(const Wanted& wanted)
        : wanted_(wanted),
          stats_("", wanted_),
          highest_("highest ", wanted_),
          facts_("sample.", wanted_),
          half_widths_("", wanted_, std::string(study::kHalfWidth)) {}

    void read(const fs::path& store) {
        for (const study::StoreFile& file : study::store_files(store)) {
            const auto number = static_cast<std::uint32_t>(index_.files.size());
            index_.files.push_back(file.path);
            study::RecordFile lines(file.path);
            // A file that is shorter than it was when it was merged is another one.
            lines.scan(file.from > lines.bytes() ? 0 : file.from, [&](const FileLine& line) {
                interruption_.poll();
                if (!line.whole || study::is_cover_line(line.text)) return;
                if (study::is_schema2(line.text)) study::refuse_schema2(store);
                if (add(line, number)) return;
                index_.damaged.add(fmt::format("{}:{} is damaged or of another version and was left out", file.path.string(), line.number));
            });
        }
    }

    /// Rows in the order of keys; columns so that those of a type follow each other if no number is missing.
    py::dict take() {
        Columns columns(by_key());
        columns.add("key", key_);
        const auto add = [&](const char* name, auto& column) {
            if (wants(name)) columns.add(name, column);
        };
        add("gpu", gpu_);
        add("overrides", overrides_);
        add("workload", workload_);
        add("size", size_);
        add("kernels", kernels_);
        add("version", version_);
        add("config_hash", config_hash_);
        add("digest", digest_);
        add("seed", seed_);
        add("model", model_);
        add("cycles", cycles_);
        add("warp_instructions", warp_instructions_);
        stats_.take(columns);
        highest_.take(columns);
        if (samples_ != 0 || (wanted_ && wants("sample"))) add("sample", sample_);
        facts_.take(columns);
        half_widths_.take(columns);
        add("seconds", seconds_);
        return columns.take();
    }

    const StoreIndex& index() const { return index_; }
    const std::string& failure() const { return failure_; }
    std::vector<std::string> statistics() const {
        std::vector<std::string> names = stats_.names();
        for (std::string& name : highest_.names()) names.push_back(std::move(name));
        for (std::string& name : facts_.names()) names.push_back(std::move(name));
        for (std::string& name : half_widths_.names()) names.push_back(std::move(name));
        return names;
    }

private:
    /// False: the line is none of a record.
    bool add(const FileLine& written, std::uint32_t file) {
        const std::optional<RecordLine> line = RecordLine::parse(written.text);
        if (!line) return false;
        if (!line->done()) {
            const std::optional<study::RunRecord> record = line->record();
            if (!record) return false;
            if (failure_.empty()) failure_ = fmt::format("{} on {}: {}", record->spec.workload, record->spec.gpu, record->message);
            return index_.add(*line, written, file) != StoreIndex::Line::damaged;
        }
        const std::optional<RecordLine::Result> result = line->unchecked_result();
        row_.clear();
        half_width_row_.clear();
        if (!result || !stats_.read(result->stats, row_) || !highest_.read(result->highest, row_)) return false;
        const bool sampled = !line->sample().empty();
        if (sampled && !(facts_.read(result->sampled, row_) && half_widths_.read(result->half_widths, half_width_row_))) return false;
        const StoreIndex::Line kind = index_.add(*line, written, file);
        if (kind == StoreIndex::Line::added) add_row(*line, *result);
        return kind != StoreIndex::Line::damaged;
    }

    void add_row(const RecordLine& line, const RecordLine::Result& result) {
        const std::size_t row = keys_.size();
        keys_.push_back(study::key_of(line.key()));
        key_.add(line.key());
        gpu_.add(row, line.gpu());
        overrides_.add(row, line.overrides());
        workload_.add(row, line.workload());
        size_.add(row, line.size());
        kernels_.add(row, line.kernels());
        sample_.add(row, line.sample());
        samples_ += line.sample().empty() ? 0 : 1;
        version_.add(row, result.version);
        config_hash_.add(row, result.config_hash);
        if (wants_digest_) digest_.add(result.digest);
        seed_.add(row, line.seed());
        model_.add(row, result.model);
        cycles_.add(row, result.cycles);
        warp_instructions_.add(row, result.warp_instructions);
        seconds_.add(row, line.seconds());
        for (const auto& [name, value] : row_) name->column.add(row, value);
        for (const auto& [name, value] : half_width_row_) name->column.add(row, value);
        numbers_ += row_.size() + half_width_row_.size();
        const std::size_t columns = stats_.columns() + highest_.columns() + facts_.columns() + half_widths_.columns();
        if ((row + 1) * columns > kFewCells + kMostEmpty * numbers_)
            throw InputError("the records have too few statistics in common for one table; name those that you want: columns=[...]");
    }

    bool wants(const char* name) const { return !wanted_ || wanted_->contains(name); }

    Order by_key() const {
        Order order(keys_.size());
        std::iota(order.begin(), order.end(), 0u);
        std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return keys_[a] < keys_[b]; });
        return order;
    }

    Wanted wanted_;
    const bool wants_digest_ = wants("digest");
    StoreIndex index_;
    Interruption interruption_;
    std::vector<study::RunKey> keys_;
    DistinctTexts key_, digest_;
    TextColumn gpu_, overrides_{joined_overrides}, workload_, size_, kernels_, sample_, version_, config_hash_;
    NumberColumn<std::uint64_t> seed_, model_, cycles_, warp_instructions_;
    NumberColumn<double> seconds_;
    Numbers<std::uint64_t> stats_, highest_, facts_;
    Numbers<double> half_widths_;
    Numbers<std::uint64_t>::Row row_;
    Numbers<double>::Row half_width_row_;
    std::size_t numbers_ = 0, samples_ = 0;  ///< samples_: sampled runs
    std::string failure_;                    ///< of the first run that failed
};

Wanted wanted_of(const std::optional<std::vector<std::string>>& columns) {
    return columns ? Wanted(std::in_place, columns->begin(), columns->end()) : Wanted();
}

/// Again when someone merged meanwhile: what a file held is in another one then.
std::unique_ptr<Runs> runs_of(const std::vector<std::string>& stores, const Wanted& wanted) {
    for (int tries = 5;; --tries) {
        auto runs = std::make_unique<Runs>(wanted);
        try {
            for (const std::string& store : stores) runs->read(store);
            return runs;
        } catch (const study::FileIsGone&) {
            if (tries == 1) throw;
        }
    }
}

/// What reads a database as columns.
class Table {
public:
    explicit Table(const Wanted& wanted) : wanted_(wanted) {}

    std::vector<std::size_t> choose(const std::vector<study::TableColumn>& all) {
        std::vector<std::size_t> chosen;
        for (std::size_t i = 0; i < all.size(); ++i) {
            known_.push_back(all[i].name);
            if (wanted_ && all[i].name != "key" && !wanted_->contains(all[i].name)) continue;
            chosen.push_back(i);
            columns_.push_back({all[i], {}, {}, TextColumn(as_written)});
        }
        return chosen;
    }
    void add(std::span<const study::TableCell> cells) {
        for (std::size_t i = 0; i < cells.size(); ++i) {
            Column& column = columns_[i];
            const bool good = std::visit([&](const auto& value) { return column.add(rows_, value); }, cells[i]);
            if (!good)
                throw InputError(
                    fmt::format("column '{}' has a value of another type in row {}; export the runs again", column.head.name, rows_ + 1));
        }
        ++rows_;
    }
    py::dict take() {
        Order order(rows_);
        std::iota(order.begin(), order.end(), 0u);
        Columns columns(order);
        py::dict units, meanings;
        for (Column& column : columns_) {
            const py::str name = python_text(column.head.name);
            column.take(columns);
            if (!column.head.unit.empty()) units[name] = python_text(column.head.unit);
            if (!column.head.meaning.empty()) meanings[name] = python_text(column.head.meaning);
        }
        py::dict answer;
        answer["columns"] = columns.take();
        answer["units"] = units;
        answer["meanings"] = meanings;
        answer["known"] = known_;
        return answer;
    }

private:
    static std::string as_written(std::string_view text) { return std::string(text); }

    struct Column {
        study::TableColumn head;
        NumberColumn<std::uint64_t> integers;
        NumberColumn<double> reals;
        TextColumn texts;
        using Type = study::TableColumn::Type;

        bool add(std::size_t, std::monostate) { return true; }
        bool add(std::size_t row, std::uint64_t value) {
            if (head.type == Type::real) return add(row, static_cast<double>(value));
            if (head.type == Type::integer) integers.add(row, value);
            return head.type == Type::integer;
        }
        bool add(std::size_t row, double value) {
            // A counter above 2^63 is kept as a real one.
            if (head.type == Type::integer && value >= 0 && value < 0x1p64 && std::trunc(value) == value)
                return add(row, static_cast<std::uint64_t>(value));
            if (head.type == Type::real) reals.add(row, value);
            return head.type == Type::real;
        }
        bool add(std::size_t row, std::string_view value) {
            if (head.type == Type::text) texts.add(row, value);
            return head.type == Type::text;
        }
        void take(Columns& to) {
            if (head.type == Type::text) return to.add(head.name, texts);
            head.type == Type::real ? to.add(head.name, reals) : to.add(head.name, integers);
        }
    };

    const Wanted& wanted_;
    std::vector<Column> columns_;
    std::vector<std::string> known_;
    std::size_t rows_ = 0;
};

py::dict read_table(const std::string& file, const std::optional<std::vector<std::string>>& columns) {
    const Wanted wanted = wanted_of(columns);
    Table table(wanted);
    std::optional<py::error_already_set> interrupted;  // not thrown through the database's own code
    const auto proceed = [&] {
        const py::gil_scoped_acquire lock;
        if (!interrupted && PyErr_CheckSignals() != 0) interrupted.emplace();
        return !interrupted;
    };
    {
        const py::gil_scoped_release release;
        study::read_sqlite(
            file, [&](const auto& all) { return table.choose(all); }, [&](const auto& cells) { table.add(cells); }, proceed);
    }
    if (interrupted) throw py::error_already_set(*interrupted);
    return table.take();
}

/// A result of 'run --json' without what belongs to single kernels, as JSON.
std::string read_run_file(const std::string& file) {
    const py::gil_scoped_release release;
    return json_text(read_run(read_input(file, kMostResultBytes), file));
}

/// (name, unit, meaning) of what every record has, and of what those of sampled runs have.
std::vector<std::array<std::string, 3>> first_columns() {
    std::vector<std::array<std::string, 3>> list;
    for (const study::TableColumn& column : study::first_columns()) list.push_back({column.name, column.unit, column.meaning});
    for (const study::TableColumn& column : study::sample_columns()) list.push_back({column.name, column.unit, column.meaning});
    return list;
}

/// The experiments of a study by the words in their files: identifiers of published numbers are among them.
std::map<std::string, std::vector<const study::ExperimentSpec*>, std::less<>> by_word(const study::StudySpec& study,
                                                                                      const fs::path& folder) {
    std::map<std::string, std::vector<const study::ExperimentSpec*>, std::less<>> map;
    const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_'; };
    for (const study::ExperimentSpec& experiment : study.experiments) {
        const std::string text = read_input(folder / fs::path(experiment.file).filename(), kMaxConfigBytes);
        for (auto at = text.begin(); at != text.end();) {
            const auto begin = std::find_if(at, text.end(), in_word);
            at = std::find_if_not(begin, text.end(), in_word);
            auto& users = map[std::string(begin, at)];
            if (users.empty() || users.back() != &experiment) users.push_back(&experiment);
        }
    }
    return map;
}

/// A dict for each number.
py::list published(const std::string& paper) {
    const study::Published all = study::Published::read(study::default_published_file());
    std::set<std::string> papers;
    for (const study::PublishedNumber& number : all.all()) papers.insert(number.paper);
    const auto studies = study::list_studies(study::default_study_dirs());
    const auto study = std::find_if(studies.begin(), studies.end(), [&](const study::StudyInfo& info) { return info.paper == paper; });
    if (!papers.contains(paper) && study != studies.end())
        throw InputError(fmt::format("'{}' has no published numbers; those have: {}", paper, fmt::join(papers, ", ")));
    if (!papers.contains(paper)) throw InputError(unknown_name("paper", paper, {papers.begin(), papers.end()}));
    const study::StudySpec spec = study == studies.end() ? study::StudySpec{} : study::read_study(study->folder);
    const auto users = by_word(spec, study == studies.end() ? fs::path() : study->folder);
    py::list list;
    for (const study::PublishedNumber& number : all.all()) {
        if (number.paper != paper) continue;
        const auto at = users.find(number.id);
        const auto joined = [&](std::string study::ExperimentSpec::*member) {
            std::string text;
            for (const study::ExperimentSpec* user : at == users.end() ? std::vector<const study::ExperimentSpec*>{} : at->second)
                text += (text.empty() ? "" : "; ") + user->*member;
            return text;
        };
        using namespace py::literals;
        list.append(py::dict("id"_a = number.id, "experiment"_a = joined(&study::ExperimentSpec::id),
                             "title"_a = joined(&study::ExperimentSpec::title), "where"_a = number.where, "metric"_a = number.metric,
                             "technique"_a = number.technique, "baseline"_a = number.baseline, "workload"_a = number.workload,
                             "value"_a = number.value, "unit"_a = number.unit, "note"_a = number.note));
    }
    return list;
}

py::dict read_records(const std::vector<std::string>& stores, const std::optional<std::vector<std::string>>& columns) {
    std::unique_ptr<Runs> runs;
    {
        const py::gil_scoped_release release;
        runs = runs_of(stores, wanted_of(columns));
    }
    const StoreIndex& index = runs->index();
    if (!index.conflicts.empty())
        throw SimulationError(fmt::format("{} runs have conflicting results, which indicates a bug or a modified store: {}",
                                          index.conflicts.size(), index.conflicts.front()));
    py::dict answer;
    answer["known"] = runs->statistics();
    answer["damaged"] = index.damaged.size();
    answer["sentences"] = index.damaged.kept();
    answer["failure"] = python_text(runs->failure());
    answer["columns"] = runs->take();
    return answer;
}

}  // namespace

void add_reading(py::module_& module) {
    module.def("read_records", read_records);
    module.def("read_table", read_table);
    module.def("read_run", read_run_file);
    module.def("first_columns", first_columns);
    module.attr("statistics") = kStatistics;
    module.def("published", published);
    module.def("unknown_statistic", [](std::string_view name, const std::vector<std::string>& known) {
        return unknown_statistic(name, std::vector<std::string_view>(known.begin(), known.end()));
    });
}

}  // namespace mergelane::python
