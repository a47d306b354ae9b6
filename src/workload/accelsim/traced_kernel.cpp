// SPDX-License-Identifier: MIT
#include "workload/accelsim/traced_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/bits.hpp"
#include "workload/accelsim/line_fields.hpp"
#include "workload/accelsim/text_scan.hpp"

namespace mergelane::accelsim {

namespace {

#ifdef MERGELANE_SMALL_BUFFERS  // so that a fuzzer's short inputs reach every boundary
constexpr std::size_t kWholeCta = 300;
constexpr std::size_t kWindow = 700;
constexpr std::size_t kMostLine = 500;
constexpr std::size_t kMostPassage = 150;
#else
constexpr std::size_t kWholeCta = 128 << 10;  ///< a CTA with at most this many bytes of text is read at once
constexpr std::size_t kWindow = 16 << 10;     ///< otherwise every warp buffers this much of it at a time
constexpr std::size_t kMostLine = 4 << 10;    ///< the longest sensible line has 32 addresses and the values of five registers
constexpr std::size_t kMostPassage = 500;     ///< bytes of lines that are recognised together; at most kTextPadding
#endif
constexpr std::size_t kMostBulkLine = 128 << 10;    ///< of a bulk copy, whose addresses may be thousands
constexpr std::uint64_t kAddressWindow = 16 << 20;  ///< of shared and local memory within generic addresses

class TraceStream final : public CtaStream {
public:
    TraceStream(const TraceFile& file, Program& program)
        : file_(file), program_(program), header_(file.header()), cursors_(header_.warps()) {
        if (file.container() != nullptr) chunks_.emplace(*file.container());
    }

    void open(std::uint64_t cta) override {
        if (chunks_) return open_chunks(cta);
        end_ = file_.cta_end(cta);
        std::uint64_t begin = end_;
        for (std::uint32_t w = 0; w < cursors_.size(); ++w) begin = std::min(begin, file_.warp_begin(cta, w));
        const bool whole = end_ - begin <= kWholeCta;
        if (whole) load(begin, static_cast<std::size_t>(end_ - begin), text_);
        for (std::uint32_t w = 0; w < cursors_.size(); ++w) {
            Cursor& c = cursors_[w];
            const std::uint64_t at = file_.warp_begin(cta, w);
            if (whole) {
                c.begin = text_.text.get() + (at - begin);
                c.size = static_cast<std::size_t>(end_ - at);
            } else {
                c.size = static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, end_ - at));
                load(at, c.size, c.window);
                c.begin = c.window.text.get();
            }
            c.offset = at;
            c.end = end_;
            begin_text(c);
            c.line = &program_.start();
            open_warp(c);
        }
    }

    bool next_run(std::uint32_t warp, Run& run) override {
        Cursor& c = cursors_[warp];
        do {
            if (c.left == 0 && !(chunks_ && next_chunk(c))) {
                check_end(c);
                return false;
            }
            if (header_.version >= 6 && *c.at != '\n') check_line_end(c);
            const char* at = c.at;
            while (*at != '\n' && *at != '\0') ++at;
            const Passage* passage = nullptr;
            if (at < c.passages_end && static_cast<std::size_t>(at - c.line_begin) < kMostLine) {
                passage = known_passage(c, at);
                if (passage == nullptr) passage = new_passage(c, at);
            }
            if (passage != nullptr) {
                read_passage(c, at, *passage, run);
                return true;
            }
            read_line(c, run);
        } while (c.line->kind == LineKind::replay_mark);
        return true;
    }

    void addresses(std::uint32_t warp, const StaticInst&, std::uint32_t active, LaneAddresses& out) override {
        Cursor& c = cursors_[warp];
        if (c.line->matrices && active == ~0u)
            matrix_addresses(c, out);
        else
            line_addresses(c, active, out);
    }

private:
    struct Cursor {
        const char* at = nullptr;            ///< read position of this warp
        const char* line_begin = nullptr;    ///< start of the current line
        const char* addresses = nullptr;     ///< of the most recently read instruction
        ProgramLine* line = nullptr;         ///< that instruction
        const char* begin = nullptr;         ///< of the text in memory
        std::size_t size = 0;                ///< of that text
        std::uint64_t offset = 0;            ///< of its first byte in the file
        std::uint64_t end = 0;               ///< where the text ends in the file; for a sub-chunk, its size
        std::uint64_t left = 0;              ///< instructions not read yet, in the sub-chunk if there is one
        const char* passages_end = nullptr;  ///< from here on the text may end within a passage or the line after it
        bool ended = false;                  ///< its end has been checked
        std::uint32_t part = 0;              ///< matrices of the most recently read instruction that have been accessed
        TextBuffer window;                   ///< its own buffer, if the CTA is too large to be held, or the sub-chunk
        WarpRecord record;
        ChunkPlace place;              ///< the next sub-chunk
        std::uint64_t next_chunk = 0;  ///< where it begins
    };

    /// Begins to fetch text from `at` on. A warp comes back to its text after hundreds of cycles, when other warps' has replaced it in the
    /// host's caches.
    static void fetch_text(const char* at) {
        constexpr std::size_t kHostLine = 64;
        for (std::size_t k = 0; k < 4; ++k) prefetch(at + k * kHostLine);
    }

    /// The addresses in the line that `c` has read.
    void line_addresses(Cursor& c, std::uint32_t active, LaneAddresses& out) const {
        out.run_count = 0;
        const AddressPattern* const known = c.line->pattern.load(std::memory_order_acquire);
        fetch_text(c.addresses + 128);  // the next lines, which are read when the instruction has been issued
        if (known != nullptr && known->active == active && std::memcmp(c.addresses, known->head.data(), AddressPattern::kHead) == 0) {
            Addr base = 0;
            const char* const at = scan_hex_digits(c.addresses + AddressPattern::kHead, base);
            if (at != nullptr && std::memcmp(at, known->text.data(), known->text.size()) == 0) {
                c.at = at + known->text.size() - 1;
                apply(*known, base, active, out);
                return;
            }
        }
        read_addresses(c, active, out, known == nullptr);
    }

    [[noreturn]] void fail(const Cursor& c, const char* at, std::string_view problem) const {
        if (chunks_) {
            ChunkPlace place = c.place;
            --place.chunk;  // that which is in memory
            file_.container()->fail(place, static_cast<std::uint64_t>(std::count(c.begin, at, '\n')), problem);
        }
        file_.fail(c.offset + static_cast<std::uint64_t>(at - c.begin), problem);
    }

    /// For a line that does not begin as expected.
    [[noreturn]] void fail_at_line(const Cursor& c, const char* at, std::string_view problem) const {
        if (*at == '\0') fail(c, at, "a zero byte; traces are plain text, is the file damaged?");
        if (*at == 'w') fail(c, at, "the next warp begins before all instructions of this one; 'insts' of the warp before is too large");
        fail(c, at, fmt::format("{}, found {}", problem, token_at(at)));
    }

    void begin_text(Cursor& c) const {
        c.at = c.line_begin = c.begin;
        find_passages_end(c);
        c.ended = false;
    }

    void open_chunks(std::uint64_t cta) {
        const TracezFile& container = *file_.container();
        std::size_t word = container.record(cta) + TracezFile::kCtaWords;
        for (std::uint32_t w = 0; w < cursors_.size(); ++w) {
            Cursor& c = cursors_[w];
            c.record = container.warp(word);
            c.place = {cta, w, 0};
            c.next_chunk = chunks_->open(c.place, c.record);
            c.left = 0;
            c.line = &program_.start();
            c.ended = true;  // of no text
            next_chunk(c);
        }
    }

    /// Replaces the sub-chunk in memory, which has been read, by the next one with instructions; false if there is none.
    [[gnu::noinline]] bool next_chunk(Cursor& c) {
        while (c.place.chunk < c.record.counts.size()) {
            check_end(c);
            c.left = c.record.counts[c.place.chunk];
            std::size_t bytes = 0;
            c.next_chunk = chunks_->unpack(c.place, c.next_chunk, static_cast<std::uint32_t>(c.left), c.window, bytes);
            ++c.place.chunk;
            c.begin = c.window.text.get();
            c.size = bytes + 1;
            c.offset = 0;
            c.end = c.size;
            begin_text(c);
            if (c.left != 0) return true;
        }
        return false;
    }

    /// Text followed by a line break and zeros, at which all scanning ends. `have` bytes are already present.
    void load(std::uint64_t offset, std::size_t bytes, TextBuffer& to, std::size_t have = 0) const {
        if (to.size < bytes + kTextPadding) {
            to.size = bytes + kTextPadding;
            to.text.reset(new char[to.size]);  // not cleared: it is about to be overwritten
        }
        const std::size_t got = have + file_.read(offset + have, to.text.get() + have, bytes - have);
        std::memset(to.text.get() + got, 0, bytes + kTextPadding - got);
        to.text[bytes] = '\n';
        if (got != bytes) file_.fail(offset + got, "the file became shorter while it was read; run again when it is complete");
    }

    /// A window advances when less than the longest line is left in it.
    void refill(Cursor& c) const {
        const std::size_t used = static_cast<std::size_t>(c.at - c.begin);
        const std::size_t rest = c.size - used;
        if (rest >= kMostLine || c.offset + c.size == c.end) return;
        move_window(c, used, kWindow);
    }

    /// Drops `used` bytes of the window and appends more, up to `most`.
    void move_window(Cursor& c, std::size_t used, std::size_t most) const {
        const std::size_t rest = c.size - used;
        c.offset += used;
        c.size = static_cast<std::size_t>(std::min<std::uint64_t>(most, c.end - c.offset));
        if (c.window.size < c.size + kTextPadding) {
            TextBuffer larger{std::make_unique_for_overwrite<char[]>(c.size + kTextPadding), c.size + kTextPadding};
            std::memcpy(larger.text.get(), c.begin + used, rest);
            c.window = std::move(larger);
        } else {
            std::memmove(c.window.text.get(), c.begin + used, rest);
        }
        load(c.offset, c.size, c.window, rest);
        c.at = c.begin = c.window.text.get();
        find_passages_end(c);
    }

    void find_passages_end(Cursor& c) const {
        constexpr std::size_t kAhead = kMostPassage + kMostLine;
        if (c.offset + c.size == c.end)
            c.passages_end = c.begin + c.size + 1;  // the padding is not text, so no passage extends into it
        else
            c.passages_end = c.begin + (c.size > kAhead ? c.size - kAhead : 0);
    }

    /// Advances to the next non-empty line; false if the text of the CTA ends first.
    bool next_line(Cursor& c) const {
        const char* at = c.at;
        if (header_.version >= 6) check_line_end(c);
        do {
            while (*at != '\n') {
                if (*at == '\0') fail(c, at, "a zero byte; traces are plain text, is the file damaged?");
                ++at;
            }
            // A longer line might be incomplete in a window; it is rejected everywhere.
            if (static_cast<std::size_t>(at - c.line_begin) >= kMostLine)
                fail(c, c.line_begin, "this line is longer than 4 KiB; is the file damaged?");
            c.at = at;
            if (static_cast<std::size_t>(at - c.begin) >= c.size) return false;
            ++c.at;
            refill(c);
            c.line_begin = c.at;
            at = c.at = skip_blanks(c.at);
        } while (*at == '\n');
        return true;
    }

    /// After a warp's last instruction comes another warp or the end of the CTA.
    [[gnu::noinline]] void check_end(Cursor& c) const {
        if (c.ended) return;
        c.ended = true;
        if (next_line(c) && (chunks_ || (*c.at != 'w' && *c.at != '#')))
            fail(c, c.at, "expected the next warp or the end of the thread block; 'insts' of the warp before is too small");
    }

    void open_warp(Cursor& c) const {
        if (!next_line(c)) fail(c, c.at, "the thread block ends where 'insts = N' of its last warp should be");
        const char* at = c.at;
        const bool named = std::strncmp(at, "insts", 5) == 0;
        const char* end = nullptr;
        if (named) {
            at = skip_blanks(at + 5);
            if (*at == '=') end = scan_decimal(skip_blanks(at + 1), c.left);
        }
        if (end == nullptr || !ends_token(*end)) fail(c, c.at, "expected 'insts = N' after 'warp = N', found " + line_from(c.at));
        c.at = end;
    }

    const char* skip_numbers(const Cursor& c, const char* at, std::uint32_t count) const {
        for (std::uint32_t i = 0; i < count; ++i) {
            std::uint64_t ignored = 0;
            const char* const end = scan_decimal(at, ignored);
            if (end == nullptr || !is_blank(*end))
                fail_at_line(c, at,
                             header_.warp_prefix
                                 ? "expected thread block and warp (x y z warp) at the start of the line, as before tracer version 3"
                                 : "expected a source line number, as '-enable lineinfo = 1' of the header says");
            at = skip_blanks(end);
        }
        return at;
    }

    /// One valid line, from its program counter on.
    struct Line {
        std::uint64_t pc = 0;
        std::uint64_t mask = 0;
        const char* text = nullptr;  ///< behind the mask
    };

    /// Returns false if the line is invalid; read_line then reports the error.
    bool scan_line(const char* at, Line& line) const {
        if (header_.line_numbers) {
            std::uint64_t ignored = 0;
            at = scan_decimal(at, ignored);
            if (at == nullptr || !is_blank(*at)) return false;
            at = skip_blanks(at);
        }
        at = scan_hex(at, line.pc);
        if (at == nullptr || !ends_token(*at)) return false;
        at = scan_hex(skip_blanks(at), line.mask);
        if (at == nullptr || !ends_token(*at) || line.mask > 0xffffffff) return false;
        line.text = skip_blanks(at);
        return true;
    }

    /// The passage after the line break at `at`, if it has followed the previous line before.
    static const Passage* known_passage(const Cursor& c, const char* at) {
        for (const std::atomic<const Passage*>& follower : c.line->followers) {
            const Passage* const passage = follower.load(std::memory_order_acquire);
            if (passage == nullptr) return nullptr;
            if (std::memcmp(at, passage->text.data(), passage->text.size()) == 0 && passage->lines <= c.left) return passage;
        }
        return nullptr;
    }

    /// Lines that are known together, from the line break at `at` on.
    void read_passage(Cursor& c, const char* at, const Passage& passage, Run& run) {
        c.line_begin = at + passage.last_line;
        c.addresses = c.at = at + passage.text.size() - 1;
        fetch_text(c.addresses);
        c.line = passage.last;
        prefetch(&c.line->pattern);
        c.left -= passage.lines;
        c.part = 0;
        run.active = passage.active;
        run.count = static_cast<std::uint32_t>(passage.insts.size());
        run.first = passage.insts.data();
        if (c.line->generic) run.first = by_window(c, *c.line, run.active);
    }

    /// Creates a passage from the valid lines after the line break at `at`; nullptr if there are none.
    [[gnu::noinline]] const Passage* new_passage(const Cursor& c, const char* const at) {
        if (header_.warp_prefix || !program_.remembers_behind(*c.line)) return nullptr;
        Passage passage;
        const char* end = at;  // of the line before
        while (passage.lines < c.left) {
            Line line;
            std::string problem;
            if (*end != '\n' || !scan_line(end + 1, line)) break;
            ProgramLine* const program_line = program_.find_or_add(line.pc, line.text, problem);
            if (program_line == nullptr) break;
            if (program_line->kind != LineKind::plain) break;
            if (!passage.insts.empty() && (line.mask != passage.active || program_line->generic)) break;
            const char* next_end = line.text + program_line->text.size();
            if (!program_line->addresses) {
                const char* wrong = next_end;
                if (header_.version >= 6 && scan_line_end(wrong, program_line->registers, problem) == nullptr) break;
                while (*next_end != '\n' && *next_end != '\0') ++next_end;
            }
            if (*next_end == '\0' || static_cast<std::size_t>(next_end + 1 - at) > kMostPassage) break;
            passage.active = static_cast<std::uint32_t>(line.mask);
            const auto instructions = program_line->instructions(passage.active);
            passage.insts.insert(passage.insts.end(), instructions.begin(), instructions.end());
            ++passage.lines;
            passage.last = program_line;
            passage.last_line = static_cast<std::uint32_t>(end + 1 - at);
            end = next_end;
            if (program_line->addresses) break;
        }
        if (passage.insts.empty()) return nullptr;
        passage.text.assign(at, static_cast<std::size_t>(end + 1 - at));
        return program_.remember(*c.line, std::move(passage));
    }

    /// One line, valid or not.
    [[gnu::noinline]] void read_line(Cursor& c, Run& run) {
        if (!next_line(c))
            fail(c, c.at,
                 chunks_ ? "the sub-chunk ends before all its instructions; an empty line is one of them"
                         : "the thread block ends before all instructions of a warp; 'insts' of that warp is too large");
        --c.left;
        const char* at = c.at;
        if (header_.warp_prefix) at = skip_numbers(c, at, 4);
        if (header_.line_numbers) at = skip_numbers(c, at, 1);
        std::uint64_t pc = 0;
        std::uint64_t mask = 0;
        const char* end = scan_hex(at, pc);
        if (end == nullptr || !ends_token(*end)) fail_at_line(c, at, "expected the program counter, a hexadecimal number");
        at = skip_blanks(end);
        end = scan_hex(at, mask);
        if (end == nullptr || !ends_token(*end) || mask > 0xffffffff)
            fail(c, at, "expected the active mask, a hexadecimal number of 32 bits, found " + token_at(at));
        at = skip_blanks(end);
        std::string problem;
        ProgramLine* const line = program_.find_or_add(pc, at, problem);
        if (line == nullptr) {
            if (header_.line_numbers) problem += "; lines begin with a source line, as '-enable lineinfo = 1' says, do these?";
            fail(c, at, problem);
        }
        c.line = line;
        c.addresses = c.at = at + line->text.size();
        c.part = 0;
        run.active = static_cast<std::uint32_t>(mask);
        const std::span<const StaticInst> instructions = line->instructions(run.active);
        run.count = static_cast<std::uint32_t>(instructions.size());
        run.first = line->generic ? by_window(c, *line, run.active) : instructions.data();
        if (line->kind == LineKind::bulk_copy) read_bulk_copy(c);
    }

    /// Its line may be longer than all others.
    void read_bulk_copy(Cursor& c) const {
        const std::size_t used = static_cast<std::size_t>(c.line_begin - c.begin);
        const char* const behind = c.begin + c.size;
        if (!chunks_ && c.offset + c.size != c.end && std::memchr(c.at, '\n', static_cast<std::size_t>(behind - c.at)) == nullptr) {
            const std::size_t at = static_cast<std::size_t>(c.at - c.line_begin);
            move_window(c, used, kMostBulkLine);
            c.line_begin = c.begin;
            c.addresses = c.at = c.begin + at;
        }
        BulkCopy copy;
        std::string problem;
        const char* at = c.at;
        const char* const end = scan_bulk_copy(at, copy, problem);
        if (end == nullptr) fail(c, at, problem);
        c.at = c.line_begin = end;  // the rest of the line is not long
    }

    /// What follows the addresses of a line, since version 6. `c.at` is where it was read up to.
    void check_line_end(const Cursor& c) const {
        const bool unread = c.line->addresses && c.at == c.addresses;  // without addresses, or nobody asked for them
        if (c.line->text.empty() || unread) return;
        std::string problem;
        const char* at = c.at;
        if (scan_line_end(at, c.line->registers, problem) == nullptr) fail(c, at, problem);
    }

    static void apply(const AddressPattern& pattern, Addr base, std::uint32_t active, LaneAddresses& out) {
        out.affine = pattern.run_count == 0;
        out.run_count = pattern.run_count;
        if (out.affine) {
            out.stride = pattern.stride;
            out.base = base - static_cast<Addr>(pattern.stride) * lowest_bit(active);
            return;
        }
        for (std::uint32_t r = 0; r < pattern.run_count; ++r) {
            out.runs[r] = pattern.runs[r];
            out.runs[r].base += base;
        }
    }

    /// One matrix: its eight rows of 16 bytes have the addresses of eight lanes, and four lanes access each of them.
    [[gnu::noinline]] void matrix_addresses(Cursor& c, LaneAddresses& out) const {
        LaneAddresses rows;
        line_addresses(c, ~0u, rows);
        rows.expand(~0u);
        out.affine = false;
        out.run_count = 0;
        for (std::uint32_t lane = 0; lane < kWarpLanes; ++lane)
            out.lane[lane] = rows.of((8 * c.part + lane / 4) % kWarpLanes) + Addr{4} * (lane % 4);
        ++c.part;
    }

    /// Addresses that are not recognised by their text.
    [[gnu::noinline]] void read_addresses(Cursor& c, std::uint32_t active, LaneAddresses& out, bool learn) const {
        const char* at = skip_blanks(c.addresses);
        const char mode = *at;
        if (mode < '0' || mode > '2' || !ends_token(at[1]))
            fail(c, at, "expected an address mode (0 list, 1 base and stride, 2 base and deltas), found " + token_at(at));
        at = skip_blanks(at + 1);
        Addr base = 0;
        switch (mode) {
            case '0': at = read_list(c, at, active, out); break;
            case '1': at = read_stride(c, at, active, base, out); break;
            default: at = read_runs(c, at, active, base, out); break;
        }
        c.at = at;
        if (learn && (out.affine || out.run_count != 0)) remember(c, active, base, out);
    }

    /// Most warps have the same address pattern as the first one.
    void remember(const Cursor& c, std::uint32_t active, Addr base, const LaneAddresses& out) const {
        constexpr std::size_t kMostText = 300;
        AddressPattern pattern;
        std::memcpy(pattern.head.data(), c.addresses, pattern.head.size());
        const char mode = pattern.head[1];
        if (std::memcmp(pattern.head.data(), std::array{' ', mode, ' ', '0', 'x'}.data(), pattern.head.size()) != 0) return;
        Addr again = 0;
        const char* const text = scan_hex_digits(c.addresses + pattern.head.size(), again);
        const char* const end = static_cast<const char*>(std::memchr(text, '\n', kMostText));
        if (end == nullptr || end < c.at || std::memchr(text, '\0', static_cast<std::size_t>(end - text)) != nullptr) return;
        pattern.text.assign(text, end + 1);
        pattern.active = active;
        pattern.stride = out.stride;
        pattern.run_count = out.run_count;
        pattern.runs = out.runs;
        for (LaneAddresses::Run& run : pattern.runs) run.base -= base;
        program_.remember(*c.line, std::move(pattern));
    }

    /// The instruction with the memory space of its addresses.
    [[gnu::noinline]] const StaticInst* by_window(Cursor& c, const ProgramLine& line, std::uint32_t active) const {
        if (active == 0) return &line.inst;
        std::uint64_t first = 0;
        const char* at = skip_blanks(skip_token(skip_blanks(c.addresses)));
        if (scan_hex(at, first) == nullptr) fail_at_lane(c, at, kAddress);
        if (header_.shared_base != 0 && first - header_.shared_base < kAddressWindow) return &line.shared_inst;
        if (header_.local_base != 0 && first - header_.local_base < kAddressWindow) return &line.local_inst;
        return &line.inst;
    }

    static constexpr std::string_view kAddress = "a hexadecimal address of at most 16 digits";
    [[noreturn]] void fail_at_lane(const Cursor& c, const char* at, std::string_view expected) const {
        if (*at == '\n') fail(c, at, "the line ends before all its addresses; every active lane has one, is the line cut off?");
        fail(c, at, fmt::format("expected {}, found {}", expected, token_at(at)));
    }
    const char* read_address(const Cursor& c, const char* at, Addr& address) const {
        const char* const end = scan_hex(at, address);
        if (end == nullptr || !ends_token(*end)) fail_at_lane(c, at, kAddress);
        return skip_blanks(end);
    }
    const char* read_offset(const Cursor& c, const char* at, std::uint64_t& offset) const {
        // Most distances have one digit followed by one blank.
        if (at[1] == ' ' && static_cast<unsigned char>(at[0] - '0') <= 9) {
            offset = static_cast<std::uint64_t>(at[0] - '0');
            return skip_blanks(at + 2);
        }
        const char* const end = scan_signed(at, offset);
        if (end != nullptr && end[0] == ' ' && end[1] > ' ') return end + 1;
        if (end == nullptr || !ends_token(*end))
            fail_at_lane(c, at, "the distance to the lane before, a whole number of at most 18 digits");
        return skip_blanks(end);
    }

    const char* read_list(const Cursor& c, const char* at, std::uint32_t active, LaneAddresses& out) const {
        out.affine = false;
        for (; active != 0; active &= active - 1) at = read_address(c, at, out.lane[lowest_bit(active)]);
        return at;
    }

    const char* read_stride(const Cursor& c, const char* at, std::uint32_t active, Addr& base, LaneAddresses& out) const {
        std::uint64_t stride = 0;
        at = read_offset(c, read_address(c, at, base), stride);
        out.affine = true;
        out.stride = static_cast<std::int64_t>(stride);
        out.base = base - stride * lowest_bit(active);  // of lane 0, active or not
        return at;
    }

    /// Neighbouring lanes mostly share one stride: such lanes become runs, and a list only if there are many.
    const char* read_runs(const Cursor& c, const char* at, const std::uint32_t active, Addr& base, LaneAddresses& out) const {
        at = read_address(c, at, base);
        out.affine = false;
        Addr address = base;
        LaneAddresses::Run* run = &out.runs[0];
        *run = {address, 0, 1};
        std::uint32_t left = static_cast<std::uint32_t>(std::popcount(active)) - 1;
        while (left != 0) {
            std::uint64_t digits = 0;
            if (left >= 4 && run->count > 1 && scan_four_digits(at, digits) &&
                digits == static_cast<std::uint64_t>(run->stride) * 0x0001000100010001) {
                run->count += 4;
                address += 4 * static_cast<Addr>(run->stride);
                left -= 4;
                at = skip_blanks(at + 8);
                continue;
            }
            std::uint64_t delta = 0;
            at = read_offset(c, at, delta);
            address += delta;
            --left;
            if (run->count == 1) {
                run->stride = static_cast<std::int64_t>(delta);
                run->count = 2;
            } else if (delta == static_cast<std::uint64_t>(run->stride)) {
                ++run->count;
            } else if (run + 1 != out.runs.data() + out.runs.size()) {
                *++run = {address, 0, 1};
            } else {
                return read_many_deltas(c, at, active, left, address, out);
            }
        }
        out.run_count = static_cast<std::uint32_t>(run - out.runs.data()) + 1;
        return at;
    }

    /// The remaining lanes as a list; `address` belongs to the previous lane.
    const char* read_many_deltas(const Cursor& c, const char* at, std::uint32_t active, std::uint32_t left, Addr address,
                                 LaneAddresses& out) const {
        out.run_count = LaneAddresses::kMostRuns;
        out.expand(active);
        while (static_cast<std::uint32_t>(std::popcount(active)) > left + 1) active &= active - 1;
        out.lane[lowest_bit(active)] = address;
        for (active &= active - 1; active != 0; active &= active - 1) {
            std::uint64_t delta = 0;
            at = read_offset(c, at, delta);
            out.lane[lowest_bit(active)] = address += delta;
        }
        return at;
    }

    const TraceFile& file_;
    Program& program_;
    const TraceHeader& header_;
    std::optional<ChunkReader> chunks_;  ///< of a container
    std::uint64_t end_ = 0;              ///< of the CTA's text in the file
    TextBuffer text_;                    ///< of a whole CTA
    std::vector<Cursor> cursors_;
};

}  // namespace

TracedKernel::TracedKernel(std::unique_ptr<TraceFile> file, bool timed) : file_(std::move(file)) {
    const TraceHeader& header = file_->header();
    if (timed && header.cluster_ctas > 1)
        file_->fail_at_start(
            fmt::format("kernel '{}' has thread-block clusters of {}, which have no timing yet; 'mergelane profile' reads this trace",
                        shown(header.kernel_name, 100), header.cluster_ctas));
    program_ = std::make_unique<Program>(Grammar{header.version, header.sm_version, timed});
    constexpr std::uint32_t kSlots = 256;  // lines may name registers beyond nregs
    info_ = {header.kernel_name, header.grid, header.block, std::max(header.registers, 1u), kSlots, header.shared_bytes};
}

std::unique_ptr<CtaStream> TracedKernel::make_stream() const {
    return std::make_unique<TraceStream>(*file_, *program_);
}

}  // namespace mergelane::accelsim
