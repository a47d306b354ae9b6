// SPDX-License-Identifier: MIT
// Containers of Accel-Sim 2.0: they mean what their text means, whatever their sub-chunks and dictionary, and no damage passes unnoticed
// or leads outside of the file.
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "traces.hpp"
#include "tracez_writer.hpp"

namespace mergelane::testing {
namespace {

using Lines = std::vector<std::string>;

std::string without_blank_lines(const std::string& text) {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        if (end != at) kept += text.substr(at, end - at) + "\n";
        at = end + 1;
    }
    return kept;
}

std::string text_of(const std::string& path) {
    const accelsim::TraceFile file(path);
    std::string text;
    accelsim::write_text(*file.container(), [&](std::string_view piece) { text += piece; });
    return text;
}

/// A loop with loads and stores, its addresses different in every warp.
Lines loop(std::uint64_t base, int rounds) {
    Lines lines;
    char line[200];
    for (int i = 0; i < rounds; ++i) {
        std::snprintf(line, sizeof line, "0000 ffffffff 1 R4 LDG.E 1 R2 4 1 0x%llx 4 0", static_cast<unsigned long long>(base + 128 * i));
        lines.emplace_back(line);
        lines.emplace_back("0010 ffffffff 1 R5 FFMA 3 R4 R4 R5 0 0");
        std::snprintf(line, sizeof line, "0020 %08x 0 STS 2 R2 R5 4 2 0x40 8%s 0", 0x0fffffff >> (i % 8), [&] {
            static std::string deltas;
            deltas.clear();
            for (int k = 2; k < 28 - i % 8; ++k) deltas += " 4";
            return deltas.c_str();
        }());
        lines.emplace_back(line);
    }
    lines.emplace_back("0030 ffffffff 0 EXIT 0 0 0");
    return lines;
}

TraceText grid(int ctas, int warps, const std::function<Lines(int)>& lines) {
    TraceText trace;
    trace.grid = "(" + std::to_string(ctas) + ",1,1)";
    trace.block = "(" + std::to_string(32 * warps) + ",1,1)";
    for (int c = 0; c < ctas; ++c) {
        std::vector<Lines> list;
        for (int w = 0; w < warps; ++w) list.push_back(lines(c * warps + w));
        trace.cta(std::to_string(c) + ",0,0", list);
    }
    return trace;
}

std::vector<std::pair<std::string, std::string>> texts() {
    std::vector<std::pair<std::string, std::string>> list;
    list.emplace_back("short warps", grid(8, 4, [](int w) { return loop(0x7f0000000000ull + 4096ull * w, 3); }).text());
    list.emplace_back("long warps", grid(2, 2, [](int w) { return loop(0x7f0000000000ull + 65536ull * w, 1500); }).text());
    list.emplace_back("empty warps", grid(3, 3, [](int w) { return w % 2 == 0 ? Lines{} : loop(0x7f0000000000ull, w); }).text());
    list.emplace_back("one line", grid(1, 1, [](int) { return Lines{"0000 ffffffff 0 EXIT 0 0 0"}; }).text());
    list.emplace_back("nothing at all", grid(2, 2, [](int) { return Lines{}; }).text());

    TraceText replays = grid(1, 2, [](int w) {
        Lines lines = loop(0x7f0000000000ull, w);
        for (int i = 0; i < 40; ++i) {
            lines.emplace_back("0100 ffffffff 0 REPLAY_START 0 0 0 NoVal");
            for (int k = 0; k < 9; ++k) lines.emplace_back("0110 ffffffff 1 P0 SYNCS.PHASECHK.TRANS64.TRYWAIT 2 R2 UR4 0 0 NoVal");
            lines.emplace_back("0120 ffffffff 0 REPLAY_END 0 0 0 NoVal");
        }
        return lines;
    });
    replays.version = "6";
    std::string replay_text = replays.text();
    replay_text.replace(replay_text.find("0,0,0\n"), 6, "0,0,0\ncluster id = 0,0,0\ncluster cta = 0,0,0\ncluster rank = 0\n");
    list.emplace_back("replay regions", replay_text);

    TraceText numbered = grid(2, 1, [](int) { return Lines{"17 0000 ffffffff 1 R1 MOV 1 R2 0 0", "18 0010 ffffffff 0 EXIT 0 0 0"}; });
    numbered.line_numbers = true;
    list.emplace_back("line numbers", numbered.text());
    TraceText old = grid(1, 1, [](int) { return Lines{"0 0 0 0 0000 ffffffff 1 R1 MOV 1 R2 0", "0 0 0 0 0010 ffffffff 0 EXIT 0 0"}; });
    old.version = "2";
    list.emplace_back("before version 3", old.text());

    TraceText backwards;
    backwards.grid = "(2,2,1)";
    for (const char* id : {"1,1,0", "0,0,0", "0,1,0", "1,0,0"}) backwards.cta(id, {loop(0x7f0000000000ull + 256 * id[0], 40)});
    list.emplace_back("any order", backwards.text());
    list.emplace_back("windows line ends",
                      grid(2, 2, [](int w) { return Lines{"0000 ffffffff 1 R1 MOV 1 R" + std::to_string(w) + " 0 0\r"}; }).text());
    return list;
}

std::string pack(const std::string& text, const TracezOptions& options, const std::string& name = "kernel-1.tracez") {
    return write_temporary(name, TracezWriter(options).write(text).bytes);
}

TEST(Tracez, TextToContainerToText) {
    std::size_t files = 0;
    for (const auto& [name, text] : texts()) {
        const auto expected = read_kernel(*open_kernel(write_temporary("kernel-1.traceg", text)));
        for (const std::size_t chunk : {2048, 0, 1, 7}) {
            for (const bool dictionary : {true, false}) {
                const std::string path = pack(text, {chunk, dictionary, true});
                EXPECT_EQ(without_blank_lines(text_of(path)), without_blank_lines(text)) << name << ", sub-chunks of " << chunk;
                const auto read = read_kernel(*open_kernel(path));
                EXPECT_EQ(read, expected) << name << ", sub-chunks of " << chunk;
                ++files;
            }
        }
    }
    EXPECT_GE(files, 10u);
}

TEST(Tracez, DictionariesAreUsed) {
    const TracezFileParts file = TracezWriter().write(texts().front().second);
    EXPECT_GT(file.dictionary_size, 0u);
}

TEST(Tracez, WarpsAreReadInAnyOrder) {
    const std::string text = texts()[1].second;
    const auto kernel = open_kernel(pack(text, {100, true, true}));
    const auto expected = read_kernel(*kernel);
    const auto stream = kernel->make_stream();
    for (const std::uint64_t cta : {1u, 0u, 1u}) {
        stream->open(cta);
        for (std::uint32_t w = 2; w-- > 0;) {
            TracedWarp warp;
            while (read_run(*stream, w, warp)) {
            }
            EXPECT_EQ(warp, expected[cta][w]);
        }
    }
}

/// What reading everything was refused with.
std::string refusal(const std::string& bytes) {
    const std::string path = write_temporary("damaged.tracez", bytes);
    try {
        read_kernel(*open_kernel(path));
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_EQ(message.find('\n'), std::string::npos);
        EXPECT_LT(message.size(), 500u);
        EXPECT_EQ(message.find(path), 0u) << message;
        return message.substr(std::min(path.size(), message.size()));
    }
    return {};
}

void put(std::string& bytes, std::size_t at, std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes.at(at + static_cast<std::size_t>(i)) = static_cast<char>(value >> (8 * i) & 0xff);
}

class DamagedTracez : public ::testing::Test {
protected:
    // Two CTAs of two warps, each in sub-chunks of four and three instructions.
    DamagedTracez()
        : file_(TracezWriter({4, true, true}).write(text_)), trained_(TracezWriter().write(texts().front().second)), bytes_(file_.bytes) {}

    std::size_t record(std::size_t cta) const { return file_.index_at + 4 + cta * 4 * (11 + 2 * 6); }
    std::size_t warp(std::size_t cta, std::size_t w) const { return record(cta) + 44 + w * 24; }
    /// `end` of the message, that is, all after the name of the file.
    void expect(const std::string& end) {
        const std::string found = refusal(bytes_);
        EXPECT_NE(found.find(end), std::string::npos) << "found: " << found;
        bytes_ = file_.bytes;
    }

    const std::string text_ = grid(2, 2, [](int w) { return loop(0x7f0000000000ull + 4096ull * w, 2); }).text();
    const TracezFileParts file_;
    const TracezFileParts trained_;  ///< has a dictionary
    std::string bytes_;
};

TEST_F(DamagedTracez, IsFineBefore) {
    EXPECT_EQ(refusal(bytes_), "");
    EXPECT_GT(trained_.dictionary_size, 0u);
    EXPECT_EQ(refusal(trained_.bytes), "");
}

TEST_F(DamagedTracez, Header) {
    bytes_.clear();
    expect(": the file is empty; copy or make it again");
    bytes_ = text_;
    expect(": has no zero byte at the end of its header; is this a .tracez file? rename it to .traceg if it is plain text");
    bytes_ = std::string(100000, '-');
    expect("has no zero byte at the end of its header");
    bytes_.insert(0, "hello\n");
    expect(":1: expected a header line '-key = value' or the '#' line that ends the header, found 'hello'");
    bytes_.replace(bytes_.find("-grid dim"), 9, "-grid cow");
    expect(": the header has no '-grid dim = (x,y,z)' line");
    bytes_.replace(bytes_.find("version = 5"), 11, "version = 7");
    expect(":12: '-accelsim tracer version' is '7', expected at most 6, the newest version this reader knows");
    bytes_.resize(file_.dictionary_size_at + 7);
    expect(": ends behind its header; it is cut off or damaged, copy or make it again");
}

TEST_F(DamagedTracez, Dictionary) {
    put(bytes_, file_.dictionary_size_at, 0xffffffff, 4);
    expect(": its dictionary of 4294967295 bytes does not fit into the file of");
    bytes_ = trained_.bytes.substr(0, trained_.data_at - 1);
    expect("does not fit into the file of");
    bytes_ = trained_.bytes;
    put(bytes_, trained_.dictionary_size_at + 8, 0, 4);
    expect(": its dictionary is not one of zstd; the file is damaged, copy or make it again");
    bytes_ = trained_.bytes;
    put(bytes_, trained_.dictionary_size_at + 12, 12345, 4);  // its identifier
    expect("thread block 0,0,0 warp 0 sub-chunk 1: is damaged: Dictionary mismatch; copy or make the file again");
    bytes_ = trained_.bytes;
    bytes_.insert(trained_.data_at, std::string(2 << 20, 'x'));
    put(bytes_, trained_.dictionary_size_at, trained_.dictionary_size + (2 << 20), 4);
    expect("but at most 1 MiB are accepted; is it damaged?");
}

TEST_F(DamagedTracez, PlaceOfTheIndex) {
    const std::size_t at = bytes_.size() - 8;
    for (const std::uint64_t place : {std::uint64_t{0}, std::uint64_t{file_.data_at - 1}, std::uint64_t{at}, ~std::uint64_t{0}}) {
        put(bytes_, at, place, 8);
        expect("as the offset of the index, which must lie between " + std::to_string(file_.data_at) + " and");
    }
    bytes_.resize(file_.data_at + 3);
    expect(": ends before its index; it is cut off or damaged, copy or make it again");
    bytes_.insert(at, "xx");
    expect("bytes, not a multiple of four");
    bytes_.insert(at, "xxxx");
    expect(": has 4 bytes behind the last thread block of its index");
}

TEST_F(DamagedTracez, Index) {
    put(bytes_, file_.index_at, 1, 4);
    expect(": thread blocks in its index: 1, in its grid: 2; trace all of them, the tracer leaves out what it did not see");
    put(bytes_, record(1), 2, 4);
    expect(": thread block 2,0,0 lies outside the grid (2,1,1) of the header");
    put(bytes_, record(1), 0, 4);
    expect(": thread block 0,0,0 appears twice; this is the second time");
    put(bytes_, record(0) + 40, 3, 4);
    expect(": thread block 0,0,0 has 3 warps in the index, but block dim of the header makes 2 of them");
    put(bytes_, record(0) + 36, 5000, 4);
    expect(": thread block 0,0,0 has cluster rank 5000, but at most 1023 is possible");
    put(bytes_, warp(0, 1) + 4, 0xffffffff, 4);
    expect(": its index ends within warp 1 of thread block 0,0,0");
    put(bytes_, warp(1, 0) + 4, 20, 4);
    expect("its index ends within warp 0 of thread block 1,0,0");
    for (const std::uint64_t offset : {std::uint64_t{file_.data_at - 1}, std::uint64_t{file_.index_at - 7}, ~std::uint64_t{0}}) {
        put(bytes_, warp(0, 1) + 8, offset, 8);
        expect(": thread block 0,0,0 warp 1 begins at offset " + std::to_string(offset) + ", outside the");
    }
    put(bytes_, warp(1, 1) + 16, 5, 4);
    expect(": thread block 1,0,0 warp 1 has 7 instructions, but its sub-chunks have 8 together");
    bytes_ = TracezWriter().write(grid(2, 2, [](int) { return Lines{}; }).text()).bytes;
    bytes_.replace(bytes_.find("(2,1,1)"), 7, "(9,1,1)");
    bytes_.replace(bytes_.size() - 8 - 2 * (44 + 32) - 4, 1, "\x09");
    expect("bytes is too short for 9 thread blocks of 2 warps");
}

TEST_F(DamagedTracez, Warps) {
    put(bytes_, file_.data_at, 8, 4);
    expect("warp 0 sub-chunk 1: the warp has 8 instructions in 2 sub-chunks, in the index 7 in 2; the file is damaged");
    put(bytes_, file_.data_at + 4, 3, 4);
    expect("the warp has 7 instructions in 3 sub-chunks, in the index 7 in 2");
    put(bytes_, file_.data_at + 8, 0xffffffff, 4);
    expect("thread block 0,0,0 warp 0 sub-chunk 1: reaches into the index; it is cut off or damaged");
    put(bytes_, file_.data_at + 12, 0, 4);
    expect("sub-chunk 1: is not a zstd frame");
    put(bytes_, file_.data_at + 8, 3, 4);
    expect("sub-chunk 1: is not a zstd frame");
    put(bytes_, file_.data_at + 8, 20, 4);
    expect("sub-chunk 1: is damaged: ");
    // The counts of the two sub-chunks exchanged.
    put(bytes_, warp(1, 0) + 16, 3, 4);
    put(bytes_, warp(1, 0) + 20, 4, 4);
    expect("thread block 1,0,0 warp 0 sub-chunk 1: has 4 lines, but 3 instructions in the index");
    bytes_ = TracezWriter({4, true, false}).write(text_).bytes;
    expect("sub-chunk 1: its zstd frame does not say how large its content is; pack it with the content size");
}

TEST_F(DamagedTracez, Bombs) {
    const TraceText trace = grid(1, 1, [](int) { return Lines{std::string(70 << 10, ' ') + "0000 ffffffff 0 EXIT 0 0 0"}; });
    bytes_ = TracezWriter().write(trace.text()).bytes;
    expect("unpacks to 71706 bytes; at most 64 MiB and 64 KiB per instruction are accepted, and it has 1");
    const TraceText lines = grid(1, 1, [](int) { return Lines(1100, std::string(62 << 10, ' ') + "0000 ffffffff 0 EXIT 0 0 0"); });
    bytes_ = TracezWriter({0, false, true}).write(lines.text()).bytes;
    EXPECT_LT(bytes_.size(), 50'000u);
    expect("bytes; at most 64 MiB and 64 KiB per instruction are accepted, and it has 1100");
}

TEST_F(DamagedTracez, LinesAreNamed) {
    const auto damaged = [&](const std::string& line) {
        bytes_ = TracezWriter({4, false, true})
                     .write(grid(2, 2,
                                 [&](int w) {
                                     Lines lines = loop(0x7f0000000000ull, 2);
                                     if (w == 3) lines[5] = line;
                                     return lines;
                                 })
                                .text())
                     .bytes;
    };
    damaged("0020 ffffffff 0 STS 2 R2 R5 4 9 0x40 8 0");
    expect(
        ": thread block 1,0,0 warp 1 sub-chunk 2 instruction 2: expected an address mode (0 list, 1 base and stride, 2 base and deltas)");
    damaged(" ");
    expect("warp 1 sub-chunk 2 instruction 3: the sub-chunk ends before all its instructions; an empty line is one of them");
    damaged(std::string("0020 ffff") + '\0' + "fff 0 EXIT 0 0 0");
    expect("sub-chunk 2 instruction 2: ");
    damaged("hello");
    expect("sub-chunk 2 instruction 2: expected the program counter, a hexadecimal number, found 'hello'");
}

TEST_F(DamagedTracez, NoDamageLeadsOutside) {
    for (std::size_t size = 0; size < bytes_.size(); ++size) EXPECT_NE(refusal(bytes_.substr(0, size)), "") << size;
    Rng rng(7);
    for (int i = 0; i < 1500; ++i) {
        std::string bad = bytes_;
        for (int k = 0; k <= i % 4; ++k) bad[rng.next() % bad.size()] = static_cast<char>(rng.next());
        refusal(bad);
    }
}

}  // namespace
}  // namespace mergelane::testing
