// SPDX-License-Identifier: MIT
// Configurations: layering, overrides, origins and notes, and the presets themselves.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "config/config.hpp"
#include "core/error.hpp"
#include "runs/schema2_keys.hpp"
#include "sim/machine.hpp"

namespace mergelane {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = MERGELANE_SOURCE_DIR;
const std::vector<fs::path> kPresets = {kSource / "gpus"};
const std::vector<std::string> kNames = {
    "a100",  "dcl1-80", "gtx1080",        "gtx480", "gtx480-hotclock", "gtx570", "gtx570-16k",   "gtx980",     "h100", "h100-pcie",
    "h2h64", "icc60",   "icc60-gpgpusim", "k40",    "k40-16k",         "pkt28",  "pkt28-ispass", "pkt28-open", "v100"};

LoadedConfig parse(std::string_view text, const std::vector<std::string>& overrides = {}) {
    return parse_config(text, "test.toml", overrides, kPresets);
}

std::string derived_value(const std::string& gpu, std::string_view name) {
    const LoadedConfig config = load_config(gpu, {}, kPresets);
    for (const Derived& total : derived(config.spec)) {
        if (total.name == name) return total.value;
    }
    return {};
}

class TemporaryDir {
public:
    TemporaryDir() : path_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
        fs::remove_all(path_);
        fs::create_directories(path_);
    }
    ~TemporaryDir() { fs::remove_all(path_); }
    fs::path write(const std::string& name, const std::string& text) const {
        fs::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << text;
        return path_ / name;
    }
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

TEST(Config, EmptyTextIsTheDefaultMachine) {
    LoadedConfig config = parse("");
    MachineSpec defaults;
    const SpecFields expected = defaults.fields();
    const SpecFields actual = config.spec.fields();
    ASSERT_EQ(actual.list().size(), expected.list().size());
    for (std::size_t i = 0; i < expected.list().size(); ++i)
        EXPECT_EQ(actual.list()[i].value(), expected.list()[i].value()) << expected.list()[i].key;
    EXPECT_TRUE(config.origins.empty());
    EXPECT_EQ(config.spec.name, "test");
}

TEST(Config, ValuesOfEveryKindArriveInTheirField) {
    const LoadedConfig config = parse(
        "description = \"a machine\"\nsource = \"a paper\"\n"
        "[l1]\nsize_kib = 0x30\nset_hash = 'plain'\n[lsu]\natomic_rounds = false\n"
        "[exec]\nint_add = { latency = 7, interval = 3, unit = \"fpu\" }\n"
        "[dram]\naddress_map = \"RRR.BBBB CCCCSSSSSSS\"\ntiming.tRCD = 13\n");
    EXPECT_EQ(config.description, "a machine");
    EXPECT_EQ(config.source, "a paper");
    EXPECT_EQ(config.spec.l1.size_kib, 48u);
    EXPECT_EQ(config.spec.l1.set_hash, "plain");
    EXPECT_FALSE(config.spec.lsu.atomic_rounds);
    EXPECT_EQ(config.spec.sm.exec[0].latency, 7u);
    EXPECT_EQ(config.spec.sm.exec[0].interval, 3u);
    EXPECT_EQ(config.spec.sm.exec[0].unit, "fpu");
    EXPECT_EQ(config.spec.dram.timing.tRCD, 13u);
}

TEST(Config, OriginsNameTheLineAndKeepItsComment) {
    const LoadedConfig config = parse(
        "# heading\n"
        "[l1]\n"
        "size_kib = 32  # P Table 1 # really\n"
        "set_hash = \"plain\" # R has a \"quote\"\n"
        "ways = 4\r\n"
        "[dram]\n"
        "address_map = \"RBBBBCCCCSSSSSSS\"# R no space\r\n"
        "[exec]\n"
        "int_add = { latency = 5, interval = 1 }  # R both\n");
    EXPECT_EQ(config.origins.at("l1.size_kib").where, "test.toml:3");
    EXPECT_EQ(config.origins.at("l1.size_kib").note, "P Table 1 # really");
    EXPECT_EQ(config.origins.at("l1.set_hash").note, "R has a \"quote\"");
    EXPECT_EQ(config.origins.at("l1.ways").note, "");
    EXPECT_EQ(config.origins.at("dram.address_map").where, "test.toml:7");
    EXPECT_EQ(config.origins.at("dram.address_map").note, "R no space");
    EXPECT_EQ(config.origins.at("exec.int_add.latency").note, "R both");
    EXPECT_EQ(config.origins.at("exec.int_add.interval").note, "R both");
    EXPECT_FALSE(config.origins.contains("l1.mshrs"));
}

TEST(Config, SharpsInsideStringsAreNoComments) {
    const LoadedConfig config = parse(
        "description = \"# not \\\" # this\" # but this\n"
        "source = '''\n# nor this\n''' # P x\n"
        "l1.size_kib = 32 # R here\n");
    EXPECT_EQ(config.description, "# not \" # this");
    EXPECT_EQ(config.origins.at("l1.size_kib").note, "R here");
    EXPECT_EQ(config.origins.at("l1.size_kib").where, "test.toml:5");
}

TEST(Config, OverridesComeLastAndInOrder) {
    const LoadedConfig config =
        parse("[l1]\nsize_kib = 32 # R file\n", {"l1.size_kib=64", "l1.size_kib = 16", "sm.scheduler=lrr", "sm.sub_cores=false",
                                                 "noc.queueing=\"voq\"", "l1.carveouts_kib=0,8,16", "noc.flit_bytes=0x40"});
    EXPECT_EQ(config.spec.l1.size_kib, 16u);
    EXPECT_EQ(config.spec.sm.scheduler, "lrr");
    EXPECT_EQ(config.spec.noc.queueing, NetworkShape::Queueing::voq);
    EXPECT_EQ(config.spec.l1.carveouts_kib, (std::vector<std::uint32_t>{0, 8, 16}));
    EXPECT_EQ(config.spec.noc.flit_bytes, 64u);
    EXPECT_EQ(config.origins.at("l1.size_kib").where, "--set");
    EXPECT_EQ(config.origins.at("l1.size_kib").note, "");
}

TEST(Config, AnOverrideOfWhatTheMachineDoesNotHaveIsRefused) {
    const auto refusal = [](const std::string& text, const std::vector<std::string>& overrides) {
        try {
            parse(text, overrides);
        } catch (const InputError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const std::string icc60 = "base = \"icc60\"\n";
    EXPECT_EQ(
        refusal(icc60, {"lsu.warp_pool.merges=8"}),
        "--set lsu.warp_pool.merges=8: lsu.warp_pool.merges is only used with lsu.front = \"warp_pool\"; set that, or remove the key");
    EXPECT_EQ(refusal(icc60, {"clustering.order=tiles"}),
              "--set clustering.order=tiles: clustering.order is only used with dispatch.transform = \"redirect\" or \"agents\"; "
              "set that, or remove the key");
    EXPECT_EQ(refusal(icc60, {"clustering.order=tiles", "dispatch.transform=redirect"}), "") << "in any order";
    EXPECT_NE(refusal(icc60, {"clustering.agents=2", "dispatch.transform=redirect"}), "");
    EXPECT_EQ(refusal(icc60 + "[lsu.warp_pool]\nmerges = 8\n", {}), "") << "a file may have values that wait for the choice";
    EXPECT_EQ(refusal(icc60, {"cluster.icc.entries=8"}), "") << "nor does a switch ask for its values to be removed";
    // Unless its keys stand among others that are always used.
    EXPECT_EQ(refusal(icc60, {"dram.timing.tFAW=30"}),
              "--set dram.timing.tFAW=30: dram.timing.tFAW is only used with dram.controller.enabled = true; set that, or remove the key");
    EXPECT_EQ(refusal(icc60, {"dram.controller.refresh=all_bank"}), "");
    EXPECT_EQ(refusal(icc60, {"dram.timing.tFAW=30", "dram.controller.enabled=true"}), "");
}

TEST(Config, BasesAreOverlaidInOrder) {
    const TemporaryDir dir;
    dir.write("parts/one.toml", "description = \"one\"\n[l1]\nsize_kib = 8 # R one\nmshrs = 11 # R one\n[l2]\nmshrs = 21 # R one\n");
    dir.write("parts/two.toml", "base = \"one.toml\"\n[l1]\nmshrs = 12 # R two\n");
    dir.write("three.toml", "[l2]\nmshrs = 23 # R three\n");
    const fs::path top =
        dir.write("top.toml", "base = [\"parts/two.toml\", \"three.toml\", \"parts/one.toml\"]\n[l1]\nsize_kib = 64 # R top\n");
    const LoadedConfig config = load_config(top.string(), {}, {});
    EXPECT_EQ(config.spec.l1.size_kib, 64u);
    EXPECT_EQ(config.spec.l1.mshrs, 11u);
    EXPECT_EQ(config.spec.l2.mshrs, 21u);
    EXPECT_EQ(config.origins.at("l1.mshrs").note, "R one");
    EXPECT_EQ(config.origins.at("l1.size_kib").where, top.string() + ":3");
    EXPECT_EQ(config.spec.name, "top");
    EXPECT_EQ(config.description, "") << "a base's description is not the machine's";
}

TEST(Config, BaseMayBeAPreset) {
    const LoadedConfig config = parse("base = \"icc60\"\n[l1]\nsize_kib = 32\n");
    EXPECT_EQ(config.spec.sms(), 60u);
    EXPECT_EQ(config.spec.l1.size_kib, 32u);
    EXPECT_EQ(config.origins.at("gpu.clusters").where.substr(0, 16), "gpus/icc60.toml:");
    EXPECT_EQ(config.origins.at("dram.timing.tRCD").where.substr(0, 23), "gpus/memory/gddr5.toml:");
}

TEST(Config, NearestKeyIsSuggested) {
    const std::pair<const char*, const char*> cases[] = {
        {"l1.size_kb=1", "l1.size_kib"},       {"dram.timing.trcd=1", "dram.timing.tRCD"},
        {"noc.flitbytes=1", "noc.flit_bytes"}, {"exec.int_add.latncy=1", "exec.int_add.latency"},
        {"gpu.core_hz=1", "gpu.core_mhz"},     {"l1.flit_bytes=1", "noc.flit_bytes"}};
    for (const auto& [argument, nearest_key] : cases) {
        try {
            parse("", {argument});
            ADD_FAILURE() << argument;
        } catch (const InputError& error) {
            EXPECT_NE(std::string(error.what()).find("did you mean '" + std::string(nearest_key) + "'?"), std::string::npos)
                << error.what();
        }
    }
}

TEST(Config, ContradictionPointsToTheValueGivenLast) {
    try {
        parse("base = \"icc60\"\n\n[l2]\nmshr_merges = 100\n");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(std::string(error.what()).find("test.toml:4: l2.output_queue"), 0u) << error.what();
    }
}

TEST(Presets, AreListedWithDescriptions) {
    std::vector<std::string> names;
    for (const PresetInfo& preset : list_presets(kPresets)) {
        names.push_back(preset.name);
        EXPECT_FALSE(preset.description.empty()) << preset.name;
        EXPECT_NE(preset.description.front(), '(') << preset.name << ": " << preset.description;
    }
    EXPECT_EQ(names, kNames);
}

TEST(Presets, StateEveryFieldWithItsProvenance) {
    for (const std::string& name : kNames) {
        LoadedConfig config = load_config(name, {}, kPresets);
        EXPECT_EQ(config.spec.name, name);
        EXPECT_FALSE(config.source.empty()) << name;
        const SpecFields fields = config.spec.fields();
        for (const SpecField& field : fields.list()) {
            // Inactive, or as it was before there was the key: a new mechanism edits no preset.
            const auto is_default = [&](const runs_schema2::OldDefault& old) { return field.key == old.key && field.value() == old.value; };
            if (!field.active || std::any_of(std::begin(runs_schema2::kNeutral), std::end(runs_schema2::kNeutral), is_default)) continue;
            const auto origin = config.origins.find(field.key);
            ASSERT_NE(origin, config.origins.end()) << name << " leaves " << field.key << " to its default";
            const std::string& note = origin->second.note;
            EXPECT_TRUE(note.size() > 4 && (note.starts_with("P ") || note.starts_with("R ")))
                << origin->second.where << " " << field.key << ": '" << note << "'";
        }
    }
}

/// `config show` says how long the window is without building the machine.
TEST(Presets, HaveTheWindowOfTheirWiring) {
    for (const std::string& name : kNames) {
        for (const char* icc : {"cluster.icc.enabled=false", "cluster.icc.enabled=true"}) {
            const LoadedConfig config = load_config(name, std::vector<std::string>{icc}, kPresets);
            EXPECT_EQ(MachineTiming(config.spec).window, Machine(config.spec).window()) << name << " " << icc;
        }
    }
}

/// Every configuration the ICC experiments name.
TEST(Presets, ExpressTheIccExperiments) {
    const auto build = [](const std::vector<std::string>& overrides) {
        const LoadedConfig config = load_config("icc60", overrides, kPresets);
        EXPECT_TRUE(check(config.spec).empty());
        return config.spec;
    };
    EXPECT_EQ(build({}).dispatch.scheduler, "distributed") << "the paper's baseline";
    const std::vector<std::string> icc = {"cluster.icc.enabled=true"};
    const std::vector<std::string> both = {"cluster.icc.enabled=true", "cluster.cc.enabled=true"};
    for (const char* scheduler : {"two_level_rr", "global_rr", "greedy", "distributed", "distributed_block"}) {
        for (std::vector<std::string> overrides : {std::vector<std::string>{"cluster.locality.enabled=true"}, icc, both}) {
            overrides.push_back(std::string("dispatch.scheduler=") + scheduler);
            build(overrides);
        }
    }
    for (const char* mhz : {"350", "700", "1050", "1400", "1750", "2100", "2450", "2800"})
        build({std::string("gpu.noc_mhz=") + mhz, std::string("gpu.l2_mhz=") + mhz});
    for (const char* entries : {"8", "16", "32", "48", "64", "96", "160"})
        build({"cluster.icc.enabled=true", std::string("cluster.icc.entries=") + entries});
    for (const char* lines : {"8", "16", "24", "48", "96"}) {
        std::vector<std::string> overrides = both;
        overrides.push_back(std::string("cluster.cc.entries=") + lines);
        build(overrides);
    }
    for (const auto& [clusters, sms, entries, mhz] :
         {std::tuple{"6", "10", "96", "1900"}, {"10", "6", "60", "1400"}, {"15", "4", "40", "1400"}}) {
        std::vector<std::string> overrides = both;
        for (const std::string& text : {std::string("gpu.clusters=") + clusters, std::string("gpu.sms_per_cluster=") + sms,
                                        std::string("cluster.icc.entries=") + entries, std::string("gpu.noc_mhz=") + mhz})
            overrides.push_back(text);
        EXPECT_EQ(build(overrides).sms(), 60u);
    }
    // The cost table: 2208 bits of merge table, 3195 bytes of cache.
    std::map<std::string, std::string> cost;
    for (const Derived& d : derived(build(both))) cost[d.name] = d.value;
    EXPECT_EQ(cost["merge table"], "276");
    EXPECT_EQ(cost["coalesced cache"], "3195");
}

TEST(Presets, MemoryTablesStandAlone) {
    for (const char* name : {"gddr3", "gddr5", "hbm2"}) {
        const LoadedConfig config = load_config((kSource / "gpus/memory" / (std::string(name) + ".toml")).string(), {}, kPresets);
        EXPECT_TRUE(config.origins.contains("dram.timing.tRCD")) << name;
    }
}

TEST(Presets, DerivedTotalsAreThePublishedOnes) {
    EXPECT_EQ(derived_value("icc60", "L2 size"), "4096");
    EXPECT_EQ(derived_value("icc60", "network peak, each way"), "716.8");
    EXPECT_EQ(derived_value("icc60", "DRAM peak"), "716.8");
    EXPECT_EQ(derived_value("icc60", "network : DRAM bandwidth"), "1.00");
    EXPECT_EQ(derived_value("v100", "network : DRAM bandwidth"), "3.33");
    EXPECT_EQ(derived_value("gtx480", "L2 size"), "768");
    EXPECT_EQ(derived_value("gtx480", "DRAM peak"), "177.4");
    EXPECT_EQ(derived_value("dcl1-80", "L2 size"), "4096");
    EXPECT_EQ(derived_value("dcl1-80", "DRAM peak"), "473.1");
    EXPECT_EQ(derived_value("v100", "L2 size"), "6144");
    EXPECT_EQ(derived_value("v100", "DRAM peak"), "870.4");
}

TEST(Presets, DirectoriesComeFromTheEnvironment) {
    const TemporaryDir dir;
    dir.write("a/mine.toml", "description = \"mine\"\n");
    dir.write("b/mine.toml", "description = \"hidden by a\"\n");
    dir.write("b/broken.toml", "=\n");
    const char* before = std::getenv("MERGELANE_GPUS");
    const std::string saved = before != nullptr ? before : "";
    const std::string value = (dir.path() / "a").string() + ":" + (dir.path() / "missing").string() + "::" + (dir.path() / "b").string();
    setenv("MERGELANE_GPUS", value.c_str(), 1);
    const std::vector<fs::path> dirs = default_preset_dirs();
    before != nullptr ? setenv("MERGELANE_GPUS", saved.c_str(), 1) : unsetenv("MERGELANE_GPUS");
    ASSERT_GE(dirs.size(), 2u);
    EXPECT_EQ(dirs[0], dir.path() / "a");
    EXPECT_EQ(dirs[1], dir.path() / "b");
    const std::vector<PresetInfo> presets = list_presets({dirs[0], dirs[1]});
    ASSERT_EQ(presets.size(), 2u);
    EXPECT_EQ(presets[0].name, "broken");
    EXPECT_EQ(presets[0].description.front(), '(');
    EXPECT_EQ(presets[1].description, "mine");
}

TEST(Config, AListOfIntegersIsAStringOrAnArray) {
    const std::vector<std::uint32_t> shares = {0, 8, 96};
    EXPECT_EQ(parse("[l1]\ncarveouts_kib = [0, 8, 96]\n").spec.l1.carveouts_kib, shares);
    EXPECT_EQ(parse("[l1]\ncarveouts_kib = \"0, 8,96\"\n").spec.l1.carveouts_kib, shares);
    EXPECT_EQ(parse("", {"l1.carveouts_kib=0,8,96"}).spec.l1.carveouts_kib, shares);
    EXPECT_EQ(parse("", {"l1.carveouts_kib=[0,8,96]"}).spec.l1.carveouts_kib, shares);
    for (const char* wrong : {"[]", "\"\"", "\"0,\"", "[0, 0.5]", "[0, [8]]", "[-1]", "\"0,2000\"", "[8, 0]", "8", "true"})
        EXPECT_THROW(parse(std::string("[l1]\ncarveouts_kib = ") + wrong + "\n"), InputError) << wrong;
}

TEST(Config, AnEnumerationIsWrittenAndShownByName) {
    LoadedConfig config = parse("[l1]\nwrite_policy = \"byte_mask\"\n", {"l1.allocate=on_fill"});
    EXPECT_EQ(config.spec.l1.write_policy, L1Spec::WritePolicy::byte_mask);
    EXPECT_EQ(config.spec.l1.allocate, L1Spec::Allocate::on_fill);
    for (const SpecField& field : config.spec.fields().list()) {
        if (field.key == "l1.write_policy") {
            EXPECT_EQ(field.value(), "byte_mask");
        }
    }
    EXPECT_THROW(parse("[l1]\nallocate = \"on_hit\"\n"), InputError);
}

}  // namespace
}  // namespace mergelane
