// SPDX-License-Identifier: MIT
// User-defined policies and mechanisms in a registry are configured, validated and used like the built-in ones.
#include <gtest/gtest.h>

#include <algorithm>

#include "config/config.hpp"
#include "core/error.hpp"
#include "dispatch/kernel_transform.hpp"
#include "machines.hpp"
#include "parts/replacement.hpp"
#include "run.hpp"

namespace mergelane::testing {
namespace {

struct ExampleSpec : SectionOf<ExampleSpec> {
    bool on = false;
    std::uint32_t entries = 4;
    std::string statistic = "sm.warp_instructions";  ///< whose law it writes

    void fields(SpecFields& f) override {
        f.section("cluster.example");
        f.boolean("enabled", on, "an example");
        f.integer("entries", entries, 1, 64, "entries", "of the example");
        f.text("statistic", statistic, "name", "that the example's law speaks of");
    }
    bool enabled() const override { return on; }
    void check(const MachineFacts& machine, const Sections&, Problems& problems) const override {
        problems.require(!on || entries >= machine.sms_per_cluster, {"cluster.example.entries", "gpu.sms_per_cluster"},
                         "too few entries for the SMs of a cluster; raise cluster.example.entries");
    }
    void laws(LawBook& book) const override { book.balance("an example", book(statistic), book(statistic)); }
};

/// Gives up the line that was used last.
class MostRecent final : public Replacement {
public:
    void touched(std::uint32_t line) override { last_ = line; }
    void filled(std::uint32_t line) override { last_ = line; }
    std::uint32_t victim(std::uint32_t first, std::uint32_t ways, const std::uint8_t* locked) override {
        if (last_ >= first && last_ < first + ways && locked[last_] == 0) return last_;
        for (std::uint32_t line = first; line < first + ways; ++line) {
            if (locked[line] == 0) return line;
        }
        return kNoSlot;
    }

private:
    std::uint32_t last_ = 0;
};

const Registry& extended() {
    static const Registry registry = [] {
        Registry mine = built_in_registry();
        mine.add_section<ExampleSpec>();
        mine.add<Replacement>("mru", "the line that was used last",
                              [](std::uint32_t, const Sections&) { return std::make_unique<MostRecent>(); });
        return mine;
    }();
    return registry;
}

LoadedConfig parse(const std::string& text, const std::vector<std::string>& overrides = {}) {
    return parse_config(text, "mine.toml", overrides, {std::string(MERGELANE_SOURCE_DIR) + "/gpus"}, extended());
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
    try {
        parse(text, overrides);
    } catch (const InputError& error) {
        return error.what();
    }
    return {};
}

TEST(Registry, ASectionFollowsThePartItBelongsTo) {
    MachineSpec s(extended());
    const SpecFields all = s.fields();
    std::vector<std::string> keys;
    for (const SpecField& field : all.list()) keys.push_back(field.key);
    const auto at = std::find(keys.begin(), keys.end(), "cluster.example.enabled");
    ASSERT_NE(at, keys.end());
    EXPECT_TRUE((at - 1)->starts_with("cluster."));
    EXPECT_TRUE((at + 3)->starts_with("noc."));
}

TEST(Registry, ASectionIsReadAndCopiedWithItsMachine) {
    const LoadedConfig config = parse("base = \"icc60\"\n[cluster.example]\nenabled = true\n", {"cluster.example.entries=7"});
    EXPECT_TRUE(config.spec.section<ExampleSpec>().on);
    MachineSpec copy = config.spec;
    copy.section<ExampleSpec>().entries = 9;
    EXPECT_EQ(config.spec.section<ExampleSpec>().entries, 7u);
    EXPECT_NE(config_hash(copy), config_hash(config.spec));
    EXPECT_THROW(MachineSpec().section<ExampleSpec>(), std::logic_error) << "ours do not know it";
}

TEST(Registry, ASectionThatContradictsTheMachineSaysWhere) {
    const std::string message = refusal("base = \"icc60\"\n[cluster.example]\nenabled = true\nentries = 2\n[gpu]\nclusters = 3\n");
    EXPECT_EQ(message, "mine.toml:4: too few entries for the SMs of a cluster; raise cluster.example.entries");
}

TEST(Registry, APolicyIsKnownToTheReaderAndDecides) {
    const std::string message = refusal("base = \"icc60\"\n", {"l1.replacement=mmru"});
    EXPECT_NE(message.find("did you mean 'mru'? known: lru, fifo, mru"), std::string::npos) << message;
    MachineSpec s = icc60_like(1);
    s.registry = &extended();
    s.l1.size_kib = 1;
    s.l1.ways = 2;
    s.l1.set_hash = "plain";
    // A set of two ways: lines 0 1 2 0. The last used one makes room, so 0 stays.
    WarpScript script;
    std::uint16_t reg = 0;
    for (const std::uint32_t line : {0u, 1u, 2u, 0u}) {
        Access access;
        access.lanes = affine(line * 4 * 128);
        script.load(static_cast<std::uint16_t>(reg + 1), access, {reg});
        ++reg;
    }
    script.use(reg);
    EXPECT_EQ(run_on(s, script).stat("l1.sector_hits"), 0u);
    s.l1.replacement = "mru";
    EXPECT_EQ(run_on(s, script).stat("l1.sector_hits"), 4u);
    EXPECT_THROW(policies_of<add_replacements>().make<Replacement>("mru", 8u), InputError) << "ours stay as they are";
}

// Who adds a kind of network or a front has to state its properties: these do not compile without.
template <class T>
concept AddedWithoutTraits = requires(Registry& r, typename T::Maker make) {
    r.add<T>("name", "meaning", make);
};
static_assert(AddedWithoutTraits<Replacement>, "has no properties");
static_assert(!AddedWithoutTraits<NetworkKind> && !AddedWithoutTraits<MemoryFront> && !AddedWithoutTraits<KernelTransform>);
static_assert(!std::is_default_constructible_v<NetworkTraits> && !std::is_default_constructible_v<FrontTraits>, "there is no default");

/// The crossbar under another name, which is quicker at the edge.
const Registry& with_express() {
    static const Registry registry = [] {
        Registry mine = built_in_registry();
        NetworkTraits traits = mine.traits<NetworkKind>("crossbar");
        traits.edge_cycles = [](const NocSpec&, const Sections&) { return 3u; };
        traits.one_clock = true;
        mine.add<NetworkKind>("express", "a crossbar with short wires", traits, mine.find<NetworkKind>("crossbar"));
        return mine;
    }();
    return registry;
}

TEST(Registry, PropertiesOfAKindAreObeyed) {
    MachineSpec s = icc60_like(1);
    s.registry = &with_express();
    const MachineTiming usual(s);
    s.noc.kind = "express";
    ASSERT_TRUE(check(s).empty());
    const MachineTiming express(s);
    const auto sum = [](const MachineTiming& t) { return t.request_in + t.request_out + t.reply_in + t.reply_out; };
    EXPECT_EQ(sum(usual) - sum(express), 2 * usual.noc.time_of(8 - 3)) << "both ways";
    s.gpu.noc_mhz *= 2;
    ASSERT_FALSE(check(s).empty());
    EXPECT_EQ(check(s).front().text.substr(0, 43), "noc.kind = \"express\" requires one clock dom");
}

struct StraySpec : SectionOf<StraySpec> {
    std::uint32_t entries = 4;
    void fields(SpecFields& f) override {
        f.section("stray");
        f.belongs_to("lsu.front", {"in_ordr"});
        f.integer("entries", entries, 1, 64, "entries", "of nothing");
    }
};

TEST(Registry, ASectionOfAChoiceThatDoesNotExistIsRefused) {
    Registry mine = built_in_registry();
    mine.add_section<StraySpec>();
    try {
        parse_config("", "mine.toml", {}, {}, mine);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("'stray.entries' depends on a choice that does not exist"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("did you mean 'in_order'"), std::string::npos) << error.what();
    }
}

TEST(Registry, TwoOfOneNameAreRefused) {
    Registry mine = built_in_registry();
    EXPECT_THROW(mine.add<Replacement>("lru", "", [](std::uint32_t, const Sections&) { return std::make_unique<MostRecent>(); }),
                 std::logic_error);
}

TEST(Registry, ALawAboutNothingFailsTheRun) {
    MachineSpec s = icc60_like(1);
    s.registry = &extended();
    s.sections = extended().sections();
    ExampleSpec& example = s.section<ExampleSpec>();
    example.entries = 5;
    example.statistic = "example.nobody_counts";
    EXPECT_NO_THROW(run_on(s, WarpScript().use(0))) << "off: not asked";
    example.on = true;
    try {
        run_on(s, WarpScript().use(0));
        FAIL() << "a law about nothing held";
    } catch (const SimulationError& error) {
        EXPECT_NE(std::string(error.what()).find("an invariant uses 'example.nobody_counts', which no component counts"), std::string::npos)
            << error.what();
    }
    example.statistic = "sm.warp_instructions";
    EXPECT_NO_THROW(run_on(s, WarpScript().use(0)));
    example.statistic = "l2.held";
    EXPECT_NO_THROW(run_on(s, WarpScript().use(0))) << "gauges are known too";
}

}  // namespace
}  // namespace mergelane::testing
