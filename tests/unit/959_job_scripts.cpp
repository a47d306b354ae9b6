// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "campaign/job_scripts.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace mergelane::study {
namespace {

JobOptions options_for(const std::string& store) {
    JobOptions o;
    o.title = "Sweep";
    o.program = "/usr/bin/mergelane";
    o.store = store;
    o.cache = o.store / "recordings";
    o.image = "mergelane:latest";
    o.claim = "mergelane";
    return o;
}

std::string log_of(const std::vector<std::string>& words) {
    return *std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("--output="); });
}

TEST(JobScripts, SlurmPutsNothingIntoTheNameOfAStore) {
    const JobOptions o = options_for("/shared/100%A/%j");
    EXPECT_EQ(log_of(sbatch_array(o, {0, 4}, "shard.sh")), "--output=/shared/100%%A/%%j/logs/%A_%a.log");
    EXPECT_EQ(log_of(sbatch_merge(o, {"7"}, "merge.sh")), "--output=/shared/100%%A/%%j/logs/merge.log");
    EXPECT_NE(slurm_shard_script(o).find("campaign run /shared/100%A/%j --shard"), std::string::npos);
    EXPECT_THROW(sbatch_array(options_for("/a\\b"), {0, 4}, "shard.sh"), InputError) << "Slurm drops it, and what it stands for";
}

/// Keys at the beginning of lines, and values that are JSON texts.
std::string value_of(const std::string& yaml, const std::string& key) {
    std::istringstream lines(yaml);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find(key + ": ");
        if (at != std::string::npos && line.find_first_not_of(" -") == at) return line.substr(at + key.size() + 2);
    }
    return "";
}

TEST(JobScripts, NoTextEndsWhereItStandsInYaml) {
    const std::string plain = kubernetes_job(options_for("/shared/sweep"));
    const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
    for (const std::string hostile : {"a # b", "a: b", "\"x\"", "'x'", "a\nhostPID: true", "\xc2\x85hostPID: true", "\xe2\x80\xa8x",
                                      "a\tb\\", "- x", "{x}", "*x", "$(HOME)$$", "%"}) {
        JobOptions o = options_for("/shared/" + hostile + "/sweep");
        o.image = o.claim = hostile;
        const std::string yaml = kubernetes_job(o);
        EXPECT_EQ(lines(yaml), lines(plain)) << yaml;
        EXPECT_EQ(nlohmann::json::parse(value_of(yaml, "image")), hostile);
        EXPECT_EQ(nlohmann::json::parse(value_of(yaml, "claimName")), hostile);
        EXPECT_EQ(nlohmann::json::parse(value_of(yaml, "mountPath")), "/shared/" + hostile);
        const std::string command = nlohmann::json::parse(value_of(yaml, "args"))[0];
        EXPECT_TRUE(command.starts_with(doubled("/usr/bin/mergelane campaign run " + shell_word(o.store.string()), '$'))) << command;
        EXPECT_NE(command.find("--shard $$JOB_COMPLETION_INDEX/1 "), std::string::npos) << "Kubernetes makes one dollar of two";
    }
    JobOptions broken = options_for("/shared/sweep");
    broken.image = "\xff";
    EXPECT_THROW(kubernetes_job(broken), InputError);
    broken = options_for("/shared/sweep");
    broken.title = "-- 12";
    EXPECT_EQ(value_of(kubernetes_job(broken), "name"), "\"12\"") << "a name, not a number";
}

TEST(TableFields, FormulasAreTexts) {
    for (const char* text : {"=1+1", "+cmd", "-x", "@SUM(A1)", "\t=1", "--5", "-"}) EXPECT_EQ(csv_field(text)[0], '\'') << text;
    EXPECT_EQ(csv_field("=a,\"b\""), "\"'=a,\"\"b\"\"\"");
    for (const char* text : {"-5", "-0.5e3", "+7", "l1.ways=2", "", "a-b"}) EXPECT_EQ(csv_field(text), text);
}

}  // namespace
}  // namespace mergelane::study
