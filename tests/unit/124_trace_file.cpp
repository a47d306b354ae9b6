// SPDX-License-Identifier: MIT
// Trace files return what was recorded, in any order of CTAs, and reject everything malformed.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/bits.hpp"
#include "core/error.hpp"
#include "core/rng.hpp"
#include "files/atomic_file.hpp"
#include "scripted.hpp"
#include "trace_forge.hpp"
#include "workload/synthetic.hpp"
#include "workload/tracefile/writer.hpp"

namespace mergelane::testing {
namespace {

using namespace tracefile;

class TraceFileTest : public ::testing::Test {
protected:
    void SetUp() override {
        path_ = (std::filesystem::temp_directory_path() /
                 ("mergelane-" + std::to_string(::getpid()) + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".mlt"))
                    .string();
    }
    void TearDown() override { std::filesystem::remove(path_); }
    std::string contents() const {
        std::ifstream file(path_, std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }
    /// Of this trace, while it is written.
    std::vector<std::filesystem::path> temporaries() const {
        const std::filesystem::path path(path_);
        std::vector<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::directory_iterator(path.parent_path())) {
            const std::string name = entry.path().filename().string();
            if (is_temporary(entry.path()) && name.starts_with("." + path.filename().string())) found.push_back(entry.path());
        }
        return found;
    }
    std::string path_;
};

/// Every instruction, mask and address of a CTA as text; the cut into runs does not matter.
std::string everything(CtaStream& stream, std::uint64_t cta, std::uint32_t warps) {
    std::string text;
    stream.open(cta);
    for (std::uint32_t warp = 0; warp < warps; ++warp) {
        mergelane::Run run;
        LaneAddresses lanes;
        while (stream.next_run(warp, run)) {
            for (std::uint32_t i = 0; i < run.count; ++i) {
                const StaticInst& inst = run.first[i];
                put_instruction(text, inst, 0);
                put_u32(text, run.active);
                if (!is_memory(inst) || run.active == 0) continue;
                lanes.run_count = 0;
                stream.addresses(warp, inst, run.active, lanes);
                if (lanes.run_count != 0) {
                    lanes.affine = false;
                    lanes.expand(run.active);
                }
                for (std::uint32_t left = run.active; left != 0; left &= left - 1) put_u64(text, lanes.of(lowest_bit(left)));
            }
        }
        text += "|";
    }
    return text;
}

WarpScript random_script(Rng& rng, std::uint32_t length) {
    WarpScript script;
    for (std::uint32_t i = 0; i < length; ++i) {
        Access access;
        access.active = rng.below(4) != 0 ? 0xFFFFFFFFu : rng.below(5) == 0 ? 0 : static_cast<std::uint32_t>(rng.next());
        access.space = static_cast<Space>(rng.below(3));
        access.lane_bytes = static_cast<std::uint8_t>(1u << rng.below(5));
        access.bypass_l1 = rng.below(8) == 0;
        if (rng.below(4) == 0) access.l2_hint = L2Hint::from_byte(static_cast<std::uint8_t>(rng.below(L2Hint::kMost + 1)));
        std::vector<Addr> list(32);
        Addr here = rng.next() >> rng.below(40);
        for (Addr& lane : list) lane = here += rng.below(3) == 0 ? rng.below(100000) : 8;
        access.lanes = rng.below(2) == 0 ? affine(rng.next() >> 16, static_cast<std::int64_t>(rng.below(1000)) - 500) : scattered(list);
        switch (rng.below(6)) {
            case 0: script.load(static_cast<std::uint16_t>(rng.below(30)), access, {7}); break;
            case 1: script.store(access, {1, 2}); break;
            case 2: script.atomic(3, access); break;
            case 3: script.barrier(static_cast<std::uint8_t>(rng.below(3))); break;
            default: script.compute(static_cast<OpClass>(rng.below(kComputeClasses)), 5, {6}); break;
        }
    }
    return script;
}

TEST_F(TraceFileTest, GivesBackWhatWasRecordedInAnyOrder) {
    Rng rng(11);
    const auto programs = [&](std::uint32_t count, std::uint32_t warps) {
        std::vector<CtaScript> list(count);
        for (CtaScript& cta : list) {
            for (std::uint32_t w = 0; w < warps; ++w) cta.push_back(random_script(rng, rng.below(200)));
        }
        return list;
    };
    const auto first = programs(4, 3);
    const auto second = programs(2, 1);
    ScriptedWorkload recorded(first, 9);
    recorded.then(second, 5);
    recorded.info(0).shared_bytes = 1234;
    const WriteTotals totals = write_trace(recorded, path_, {"test", {}});
    EXPECT_EQ(totals.kernels, 2u);
    EXPECT_EQ(totals.ctas, 14u);
    EXPECT_EQ(totals.bytes, std::filesystem::file_size(path_));

    const TraceFile file(path_);
    EXPECT_EQ(file.index().source, "scripted");
    EXPECT_EQ(file.index().writer, "test");
    EXPECT_EQ(file.index().kernels[0].info.shared_bytes, 1234u);
    ScriptedWorkload again(first, 9);
    again.then(second, 5);
    for (std::size_t k = 0; k < 2; ++k) {
        const KernelSource& source = *again.next_kernel();
        const auto kernel = file.kernel(k);
        ASSERT_EQ(kernel->info().ctas(), source.info().ctas());
        const auto want = source.make_stream();
        const auto got = kernel->make_stream();
        const std::uint64_t ctas = kernel->info().ctas();
        for (std::uint64_t c = 0; c < 2 * ctas; ++c) {
            const std::uint64_t cta = (c * 5 + 3) % ctas;
            ASSERT_EQ(everything(*got, cta, source.info().warps_per_cta()), everything(*want, cta, source.info().warps_per_cta())) << cta;
        }
    }
}

TEST_F(TraceFileTest, RegularKernelsTakeAFractionOfAByte) {
    SyntheticParams params = synthetic_defaults("tiled");
    params.ctas = 100;
    const auto workload = make_synthetic("tiled", params);
    const WriteTotals totals = write_trace(*workload, path_);
    EXPECT_LT(totals.bytes * 10, totals.memory_instructions);
}

TEST_F(TraceFileTest, NothingIsLeftBehindWhenRecordingFails) {
    const auto workload = make_synthetic("stream", synthetic_defaults("stream"));
    WriteOptions options;
    options.progress = [](const WriteProgress& p) {
        if (p.ctas_done == 3) throw std::runtime_error("enough");
    };
    EXPECT_THROW(write_trace(*workload, path_, options), std::runtime_error);
    EXPECT_FALSE(std::filesystem::exists(path_));
    EXPECT_TRUE(temporaries().empty());
    EXPECT_THROW(write_trace(*workload, "/no/such/folder/x.mlt"), InputError);
}

TEST_F(TraceFileTest, KernelByKernelItIsTheSameFileAndThereWhenFinished) {
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 4;
    params.kernels = 2;
    write_trace(*make_synthetic("stream", params), path_);
    const std::string whole = contents();
    std::filesystem::remove(path_);

    const std::unique_ptr<Workload> workload = make_synthetic("stream", params);
    {
        TraceRecorder recorder(path_, workload->name());
        recorder.add(*workload->next_kernel());
        // A process that is forked off now has nothing in its buffers that it could write a second time.
        ASSERT_EQ(temporaries().size(), 1u);
        EXPECT_GT(std::filesystem::file_size(temporaries().front()), kHeaderBytes);
        EXPECT_FALSE(std::filesystem::exists(path_));
        recorder.add(*workload->next_kernel());
        EXPECT_EQ(recorder.finish().kernels, 2u);
    }
    EXPECT_EQ(contents(), whole);
    std::filesystem::remove(path_);
    {
        TraceRecorder given_up(path_, "x");
        EXPECT_THROW(given_up.finish(), InputError);
    }
    EXPECT_TRUE(!std::filesystem::exists(path_) && temporaries().empty());
}

TEST_F(TraceFileTest, StreamsThatAreNotOpenedTakeLittle) {
    // A machine makes one per CTA slot and launch, thousands, and small launches open few of them.
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 4;
    write_trace(*make_synthetic("stream", params), path_);
    const TraceFile file(path_);
    const auto kernel = file.kernel(0);
    const std::size_t before = mallinfo2().uordblks;
    std::vector<std::unique_ptr<CtaStream>> streams;
    for (int k = 0; k < 1000; ++k) streams.push_back(kernel->make_stream());
    EXPECT_LT(mallinfo2().uordblks - before, 1000u * 512);
    for (int k = 0; k < 4; ++k) streams[static_cast<std::size_t>(k)]->open(static_cast<std::uint64_t>(k));
    EXPECT_LT(mallinfo2().uordblks - before, 1000u * 1024) << "they share what unpacks";
}

TEST_F(TraceFileTest, TwoRecordersAtOnceBothSucceed) {
    SyntheticParams params = synthetic_defaults("stream");
    params.ctas = 4;
    const auto first = make_synthetic("stream", params), second = make_synthetic("stream", params);
    const std::filesystem::path target = path_ + ".target", planted = path_ + ".part";
    std::ofstream(target) << "precious";
    std::filesystem::create_symlink(target, planted);
    {
        TraceRecorder one(path_, "one"), two(path_, "two");
        one.add(*first->next_kernel());
        two.add(*second->next_kernel());
        EXPECT_EQ(temporaries().size(), 2u);
        one.finish();
        EXPECT_EQ(TraceFile(path_).index().source, "one");
        two.finish();
    }
    EXPECT_EQ(TraceFile(path_).index().source, "two");
    EXPECT_TRUE(temporaries().empty());
    std::ifstream kept(target);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "precious");
    std::filesystem::remove(target);
    std::filesystem::remove(planted);
}

TEST_F(TraceFileTest, EveryTruncationAndEveryChangedByteIsNoticed) {
    SyntheticParams params = synthetic_defaults("divergent");
    params.ctas = 2;
    params.warps = 1;
    params.iterations = 1;
    params.kernels = 2;
    const auto workload = make_synthetic("divergent", params);
    write_trace(*workload, path_);
    const std::string good = contents();
    EXPECT_GT(read_everything(*open_bytes(good)), 100u);
    for (std::size_t size = 0; size < good.size(); ++size)
        EXPECT_THROW(read_everything(*open_bytes(std::string_view(good).substr(0, size))), InputError) << size;
    Rng rng(1);
    for (std::size_t at = 0; at < good.size(); ++at) {
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 1u << rng.below(8));
        EXPECT_THROW(read_everything(*open_bytes(bad)), InputError) << at;
    }
    EXPECT_THROW(read_everything(*open_bytes(good + "x")), InputError);
    EXPECT_THROW(read_everything(*open_bytes(good + good)), InputError);
}

struct Broken {
    const char* name;
    std::string message;  ///< part of it
    std::function<void(TraceForge&)> change;
};

std::string cta_bytes(std::initializer_list<int> bytes) {
    std::string text;
    for (const int byte : bytes) text.push_back(static_cast<char>(byte));
    return text;
}

std::vector<Broken> broken_files() {
    const auto entry = [](std::function<void(KernelEntry&)> change) { return [change](TraceForge& f) { f.change_entry = change; }; };
    const auto cta = [](std::initializer_list<int> bytes) { return [text = cta_bytes(bytes)](TraceForge& f) { f.ctas = {text, text}; }; };
    const auto inst = [](std::function<void(StaticInst&)> change) {
        return [change](TraceForge& f) {
            StaticInst one;
            one.op = OpClass::load;
            change(one);
            f.program = encode_program({one}, {{0}}, {0});
        };
    };
    constexpr std::uint64_t kHuge = ~std::uint64_t{0} - 5;
    return {
        {"no kernels", "no kernels", [](TraceForge& f) { f.change_index = [](std::string& i) {
                                                             i = cta_bytes({0, 0, 0});
                                                         }; }},
        {"many kernels", "more kernels", [](TraceForge& f) { f.change_index = [](std::string& i) {
                                                                 i = cta_bytes({0, 0, 100});
                                                             }; }},
        {"countless kernels", "the most",
         [](TraceForge& f) { f.change_index = [](std::string& i) {
                                 i = cta_bytes({0, 0, 255, 255, 255, 127});
                             }; }},
        {"endless number", "number does not end", [](TraceForge& f) { f.change_index = [](std::string& i) { i.assign(20, '\xff'); }; }},
        {"index ends early", "index", [](TraceForge& f) { f.change_index = [](std::string& i) { i.resize(i.size() - 3); }; }},
        {"index goes on", "follows", [](TraceForge& f) { f.change_index = [](std::string& i) { i += "more"; }; }},
        {"empty index", "index", [](TraceForge& f) { f.change_index = [](std::string& i) { i.clear(); }; }},
        {"name without end", "name", [](TraceForge& f) { f.change_index = [](std::string& i) {
                                                             i = cta_bytes({100, 'a'});
                                                         }; }},
        {"grid of nothing", "grid", entry([](KernelEntry& e) { e.info.grid.y = 0; })},
        {"grid too large", "grid", entry([](KernelEntry& e) {
             e.info.grid = {1 << 20, 1 << 20, 1 << 20};
         })},
        {"grid wraps", "grid", entry([](KernelEntry& e) {
             e.info.grid = {1u << 31, 1u << 31, 4};
         })},
        {"more CTAs than bytes", "more CTAs", entry([](KernelEntry& e) {
             e.info.grid = {1 << 27, 1, 1};
         })},
        {"a CTA too many", "CTA", entry([](KernelEntry& e) {
             e.info.grid = {3, 1, 1};
         })},
        {"a CTA too few", "CTA table", entry([](KernelEntry& e) {
             e.info.grid = {1, 1, 1};
         })},
        {"block too large", "block", entry([](KernelEntry& e) {
             e.info.block = {4096, 1, 1};
         })},
        {"empty block", "block", entry([](KernelEntry& e) { e.info.block.x = 0; })},
        {"more warps than recorded", "damaged", entry([](KernelEntry& e) { e.info.block.x = 2048; })},
        {"fewer warps", "damaged", entry([](KernelEntry& e) { e.info.block.x = 32; })},
        {"too many registers", "register", entry([](KernelEntry& e) { e.info.register_slots = 1 << 30; })},
        {"undeclared register", "register 3", entry([](KernelEntry& e) { e.info.register_slots = 3; })},
        {"shared memory", "shared", entry([](KernelEntry& e) { e.info.shared_bytes = ~0u; })},
        {"program outside", "outside", entry([](KernelEntry& e) { e.program.offset = kHuge; })},
        {"program too long", "outside", entry([](KernelEntry& e) { e.program.packed = kHuge; })},
        {"program size wraps", "outside", entry([](KernelEntry& e) { e.program.packed = ~std::uint64_t{0} - e.program.offset; })},
        {"program unpacks to more", "most", entry([](KernelEntry& e) { e.program.raw = kHuge; })},
        {"program bomb", "impossible size", entry([](KernelEntry& e) { e.program.raw = kMostProgramBytes; })},
        {"program smaller", "program", entry([](KernelEntry& e) { e.program.raw -= 1; })},
        {"program larger", "program", entry([](KernelEntry& e) { e.program.raw += 1; })},
        {"table outside", "outside", entry([](KernelEntry& e) { e.table.offset = 1; })},
        {"table too large", "most", entry([](KernelEntry& e) { e.table.raw = 1000; })},
        {"first CTA outside", "outside", entry([](KernelEntry& e) { e.first_cta = kHuge; })},
        {"first CTA in the header", "room", entry([](KernelEntry& e) { e.first_cta = 0; })},
        {"first CTA elsewhere", "CTA table", entry([](KernelEntry& e) { e.first_cta += 1; })},
        {"index bomb", "impossible size", [](TraceForge& f) { f.change_footer = [](Block& b) { b.raw = kMostIndexBytes; }; }},
        {"index too large", "impossible size", [](TraceForge& f) { f.change_footer = [](Block& b) { b.raw = kHuge; }; }},
        {"index outside", "outside", [](TraceForge& f) { f.change_footer = [](Block& b) { b.offset = kHuge; }; }},
        {"index size wraps", "outside", [](TraceForge& f) { f.change_footer = [](Block& b) { b.packed = kHuge; }; }},
        {"CTA of huge size", "most",
         [](TraceForge& f) {
             f.change_table = [](std::string& t) {
                 t.clear();
                 put_varint(t, 20);
                 put_varint(t, kHuge);
             };
         }},
        {"CTA bomb by size", "impossible size",
         [](TraceForge& f) {
             f.change_table = [](std::string& t) {
                 t.clear();
                 put_varint(t, 20);
                 put_varint(t, kMostCtaBytes);
             };
         }},
        {"CTA outside", "outside",
         [](TraceForge& f) {
             f.change_table = [](std::string& t) {
                 t.clear();
                 put_varint(t, 100000);
                 put_varint(t, 12);
             };
         }},
        {"CTA bomb by contents", "damaged", [](TraceForge& f) { f.ctas[1] = std::string(32 << 20, '\0'); }},
        {"CTA frame says less", "unpack",
         [](TraceForge& f) {
             f.change_frame = [](std::size_t c, std::string& frame) {
                 Packer packer;
                 if (c == 0) packer.pack(std::string(1 << 20, 'x'), 0, false, frame);
             };
         }},
        {"CTA is no frame", "unpack",
         [](TraceForge& f) {
             f.change_frame = [](std::size_t c, std::string& frame) {
                 if (c == 1) frame.replace(8, std::string::npos, "not a frame at all");
             };
         }},
        {"CTA frame cut", "unpack",
         [](TraceForge& f) {
             f.change_frame = [](std::size_t c, std::string& frame) {
                 if (c == 1) frame.resize(frame.size() - 4);
             };
         }},
        {"empty CTA", "damaged", cta({})},
        {"unknown form", "damaged", cta({1, 1, 0, 0, 128, 2, 2, 2, 0, 129, 0, 129})},
        {"unknown memory instruction", "damaged", cta({0, 1, 2, 0, 128, 2, 2, 2, 0, 129, 0, 129})},
        {"memory instruction wraps", "damaged", cta({0, 2, 0, 0, 0, 0, 0, 0, 2, 2, 0, 129, 0, 129})},
        {"warps that are not there", "damaged", cta({0, 1, 1, 4, 0, 2, 2, 0, 129, 0, 129})},
        {"no warps", "damaged", cta({0, 1, 1, 0, 2, 2, 0, 129, 0, 129})},
        {"strings too long", "damaged", cta({0, 0, 100, 2, 0, 129, 0, 129})},
        {"strings too short", "damaged", cta({0, 0, 2, 1, 0, 129, 0, 129})},
        {"unknown run", "damaged", cta({0, 0, 2, 2, 8, 129, 0, 129})},
        {"negative run", "damaged", cta({0, 0, 2, 2, 4, 129, 0, 129})},
        {"mask cut off", "damaged", cta({0, 0, 2, 2, 3, 129, 0, 129})},
        {"addresses missing", "damaged", cta({0, 0, 1, 2, 0, 0, 129})},
        {"unknown shape", "damaged", cta({0, 0, 2, 2, 0, 255, 0, 129})},
        {"no pieces", "damaged", cta({0, 0, 2, 2, 0, 136, 0, 129})},
        {"pieces of too many lanes", "damaged", cta({0, 0, 4, 2, 0, 137, 32, 8, 0, 129})},
        {"pieces of too few lanes", "damaged", cta({0, 0, 4, 2, 0, 137, 30, 8, 0, 129})},
        {"moved from nowhere", "damaged", cta({0, 0, 2, 2, 0, 145, 0, 129})},
        {"list cut off", "damaged", cta({0, 0, 3, 2, 0, 135, 1, 0, 129})},
        {"unknown class", "class", inst([](StaticInst& i) { i.op = static_cast<OpClass>(99); })},
        {"unknown space", "space", inst([](StaticInst& i) { i.space = static_cast<Space>(3); })},
        {"lane of no bytes", "bytes", inst([](StaticInst& i) { i.lane_bytes = 0; })},
        {"lane of many bytes", "bytes", inst([](StaticInst& i) { i.lane_bytes = 200; })},
        {"more written than used", "registers", inst([](StaticInst& i) { i.dst_count = 1; })},
        {"nine registers", "registers",
         [](TraceForge& f) {
             f.program = cta_bytes({1, 0, 17, 0, 4, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
         }},
        {"run of unknown instruction", "instruction",
         [](TraceForge& f) {
             f.program = encode_program({StaticInst{}}, {{0, 7}}, {});
         }},
        {"empty run", "run", [](TraceForge& f) { f.program = encode_program({StaticInst{}}, {{}}, {}); }},
        {"countless runs", "most",
         [](TraceForge& f) {
             f.program = cta_bytes({0, 255, 255, 255, 255, 15});
         }},
        {"endless run", "run",
         [](TraceForge& f) {
             f.program = cta_bytes({0, 1, 255, 255, 127});
         }},
        {"countless instructions", "most",
         [](TraceForge& f) {
             f.program = cta_bytes({255, 255, 255, 255, 15});
         }},
        {"instructions cut off", "ends",
         [](TraceForge& f) {
             f.program = cta_bytes({50, 0, 0, 0, 0, 0});
         }},
        {"references missing", "number does not end",
         [](TraceForge& f) {
             StaticInst load;
             load.op = OpClass::load;
             f.program = encode_program({load}, {{0}}, {});
         }},
        {"unknown source of registers", "registers", [](TraceForge& f) { f.program += '\3'; }},
        {"countless words", "most",
         [](TraceForge& f) {
             f.program += cta_bytes({0, 0, 255, 255, 255, 255, 15});
         }},
        {"words without end", "last word",
         [](TraceForge& f) {
             f.program += cta_bytes({0, 0, 9, 1, 'a'});
         }},
        {"lines without end", "last line",
         [](TraceForge& f) {
             f.program += cta_bytes({0, 0, 1, 1, 'a', 2, 1, 1, 0, 0, 0, 0});
         }},
        {"line of unknown file", "file name",
         [](TraceForge& f) {
             f.program += cta_bytes({0, 0, 1, 1, 'a', 1, 1, 1, 2, 7, 0, 0});
         }},
        {"line of unknown opcode", "opcode",
         [](TraceForge& f) {
             f.program += cta_bytes({0, 0, 1, 1, 'a', 1, 2, 1, 0, 0, 0, 0});
         }},
        {"program goes on", "follows",
         [](TraceForge& f) {
             f.program += cta_bytes({0, 0, 1, 1, 'a', 1, 1, 1, 1, 7, 0, 0, 1, 1, 1, 'x'});
         }},
        {"cluster too large", "a side of the clusters of CTAs is 17",
         [](TraceForge& f) {
             f.program += cta_bytes({0, 0, 1, 1, 'a', 1, 1, 1, 1, 7, 0, 0, 17, 1, 1});
         }},
        {"cluster without CTAs", "cluster",
         [](TraceForge& f) {
             f.program += cta_bytes({0, 0, 1, 1, 'a', 1, 1, 1, 1, 7, 0, 0, 0, 1, 1});
         }},
    };
}

TEST(BrokenTraceFile, TheForgeMakesGoodOnes) {
    const TraceForge forge;
    const auto file = open_bytes(forge.bytes());
    EXPECT_EQ(read_everything(*file), 4u);
    const auto kernel = file->kernel(0);
    const auto stream = kernel->make_stream();
    stream->open(1);
    mergelane::Run run;
    LaneAddresses lanes;
    ASSERT_TRUE(stream->next_run(1, run));
    stream->addresses(1, *run.first, run.active, lanes);
    EXPECT_EQ(lanes.of(0), 0x1080u);
    EXPECT_EQ(lanes.of(31), 0x1080u + 124);
}

TEST(BrokenTraceFile, EachIsAnsweredWithOneSentence) {
    const std::vector<Broken> list = broken_files();
    EXPECT_GE(list.size(), 60u);
    for (const Broken& broken : list) {
        TraceForge forge;
        broken.change(forge);
        try {
            read_everything(*open_bytes(forge.bytes()));
            ADD_FAILURE() << broken.name << " was accepted";
        } catch (const InputError& error) {
            const std::string text = error.what();
            EXPECT_NE(text.find(broken.message), std::string::npos) << broken.name << ": " << text;
            EXPECT_TRUE(text.starts_with("forged.mlt: ")) << text;
            EXPECT_EQ(text.find('\n'), std::string::npos) << text;
            EXPECT_LT(text.size(), 250u) << text;
        }
    }
}

TEST(TraceFile, TheFirstVersionIsStillRead) {
    std::string bytes = TraceForge().bytes();
    bytes[8] = 1;
    std::string sum;
    put_u64(sum, hash(std::string_view(bytes).substr(0, 16)));
    bytes.replace(16, 8, sum);
    EXPECT_NO_THROW(open_bytes(bytes));
}

/// Files may have holes: a block of gigabytes takes no space on the disk.
TEST(BrokenTraceFile, BlocksThatGrewByPackingAreImplausible) {
    EXPECT_TRUE(Unpacker::plausible(0, 9));
    EXPECT_TRUE(Unpacker::plausible(1 << 20, (1 << 20) + 4096));
    EXPECT_FALSE(Unpacker::plausible(1 << 20, std::uint64_t{6} << 30));
    EXPECT_FALSE(Unpacker::plausible(1 << 20, 4));
}

TEST(BrokenTraceFile, WhatIsNoTraceFileIsSaidSo) {
    for (const std::string& bytes : {std::string(), std::string("MLT"), std::string(200, 'x'), std::string(kMagic)}) {
        try {
            open_bytes(bytes);
            ADD_FAILURE() << "accepted";
        } catch (const InputError& error) {
            EXPECT_NE(std::string_view(error.what()).find("record"), std::string_view::npos) << error.what();
        }
    }
    std::string newer = TraceForge().bytes();
    newer[8] = 3;
    try {
        open_bytes(newer);
        ADD_FAILURE() << "accepted";
    } catch (const InputError& error) {
        EXPECT_NE(std::string_view(error.what()).find("version 3"), std::string_view::npos) << error.what();
    }
    EXPECT_THROW(TraceFile("/no/such/file.mlt"), InputError);
    EXPECT_THROW(TraceFile("/"), InputError);
}

}  // namespace
}  // namespace mergelane::testing
