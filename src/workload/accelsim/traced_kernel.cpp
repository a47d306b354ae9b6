// SPDX-License-Identifier: MIT
#include "workload/accelsim/traced_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/bits.hpp"
#include "workload/accelsim/text_scan.hpp"

namespace mergelane::accelsim {

namespace {

constexpr std::size_t kWholeCta = 128 << 10;        ///< a CTA of at most so many bytes of text is read at once
constexpr std::size_t kWindow = 16 << 10;           ///< else every warp sees so much of it at a time
constexpr std::size_t kMostLine = 4 << 10;          ///< the longest sensible line has 32 addresses
constexpr std::size_t kPadding = 512;               ///< zeros behind the text
constexpr std::uint64_t kAddressWindow = 16 << 20;  ///< of shared and local memory within generic addresses

class TraceStream final : public CtaStream {
public:
    TraceStream(const TraceFile& file, Program& program)
        : file_(file), program_(program), header_(file.header()), cursors_(header_.warps()) {}

    void open(std::uint64_t cta) override {
        end_ = file_.cta_end(cta);
        std::uint64_t begin = end_;
        for (std::uint32_t w = 0; w < cursors_.size(); ++w) begin = std::min(begin, file_.warp_begin(cta, w));
        const bool whole = end_ - begin <= kWholeCta;
        if (whole) load(begin, static_cast<std::size_t>(end_ - begin), text_);
        for (std::uint32_t w = 0; w < cursors_.size(); ++w) {
            Cursor& c = cursors_[w];
            const std::uint64_t at = file_.warp_begin(cta, w);
            if (whole) {
                c.begin = text_.data() + (at - begin);
                c.size = static_cast<std::size_t>(end_ - at);
            } else {
                c.size = static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, end_ - at));
                load(at, c.size, c.window);
                c.begin = c.window.data();
            }
            c.offset = at;
            c.at = c.begin;
            c.addresses = nullptr;
            open_warp(c);
        }
    }

    bool next_run(std::uint32_t warp, Run& run) override {
        Cursor& c = cursors_[warp];
        if (c.left == 0) {
            check_end(c);
            return false;
        }
        --c.left;
        next_line(c);
        const char* at = c.at;
        if (header_.warp_prefix) at = skip_numbers(c, at, 4);
        if (header_.line_numbers) at = skip_numbers(c, at, 1);
        std::uint64_t pc = 0;
        std::uint64_t mask = 0;
        const char* end = scan_hex(at, pc);
        if (end == nullptr || !is_blank(*end)) fail(c, at, "expected the program counter, a hexadecimal number");
        at = skip_blanks(end);
        end = scan_hex(at, mask);
        if (end == nullptr || !is_blank(*end) || mask > 0xffffffff)
            fail(c, at, "expected the active mask, a hexadecimal number of 32 bits");
        at = skip_blanks(end);
        const ProgramLine* line = program_.find(pc, at);
        if (line == nullptr) {
            std::string problem;
            line = program_.add(pc, at, problem);
            if (line == nullptr) fail(c, at, problem);
        }
        c.addresses = c.at = at + line->text.size();
        run.active = static_cast<std::uint32_t>(mask);
        run.count = 1;
        run.first = line->generic ? by_window(c, *line, run.active) : &line->inst;
        return true;
    }

    void addresses(std::uint32_t warp, const StaticInst&, std::uint32_t active, LaneAddresses& out) override {
        Cursor& c = cursors_[warp];
        const char* at = skip_blanks(c.addresses);
        const char mode = *at;
        if (mode < '0' || mode > '2' || !is_blank(at[1]))
            fail(c, at, "expected an address mode: 0 list, 1 base and stride, 2 base and deltas");
        at = skip_blanks(at + 1);
        switch (mode) {
            case '0': at = read_list(c, at, active, out); break;
            case '1': at = read_stride(c, at, active, out); break;
            default: at = read_deltas(c, at, active, out); break;
        }
        c.at = at;
    }

private:
    struct Cursor {
        const char* at = nullptr;         ///< how far this warp has read
        const char* addresses = nullptr;  ///< of the instruction read last
        const char* begin = nullptr;      ///< of the text in memory
        std::size_t size = 0;             ///< of that text
        std::uint64_t offset = 0;         ///< of its first byte in the file
        std::uint64_t left = 0;           ///< instructions not read yet
        std::vector<char> window;         ///< its own piece of a CTA that is too long to be held
    };

    [[noreturn]] void fail(const Cursor& c, const char* at, std::string_view problem) const {
        file_.fail(c.offset + static_cast<std::uint64_t>(at - c.begin), problem);
    }

    /// Text followed by a line break and zeros, at which all scanning ends.
    void load(std::uint64_t offset, std::size_t bytes, std::vector<char>& to) const {
        if (to.size() < bytes + kPadding) to.resize(bytes + kPadding);
        const std::size_t got = file_.read(offset, to.data(), bytes);
        std::memset(to.data() + got, 0, bytes + kPadding - got);
        to[bytes] = '\n';
        if (got != bytes) file_.fail(offset + got, "the file became shorter while it was read");
    }

    /// A window moves on when less than the longest line is left in it.
    void refill(Cursor& c) const {
        const std::size_t used = static_cast<std::size_t>(c.at - c.begin);
        if (c.size - std::min(used, c.size) >= kMostLine || c.offset + c.size == end_) return;
        c.offset += used;
        c.size = static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, end_ - c.offset));
        load(c.offset, c.size, c.window);
        c.at = c.begin = c.window.data();
    }

    /// To the next line that is not empty; one follows, or the warp has fewer instructions than it said.
    void next_line(Cursor& c) const {
        const char* at = c.at;
        while (*at != '\n') {
            if (*at == '\0') fail(c, at, "a zero byte in a text file");
            ++at;
        }
        c.at = at;
        do {
            if (static_cast<std::size_t>(c.at - c.begin) >= c.size)
                fail(c, c.at - 1, "the thread block ends before all instructions of a warp; 'insts' is too large");
            ++c.at;
            refill(c);
            c.at = skip_blanks(c.at);
        } while (*c.at == '\n');
    }

    /// Behind its last instruction a warp's text is followed by another warp or the end of the CTA.
    void check_end(Cursor& c) const {
        const char* at = c.at;
        while (*at != '\n' && *at != '\0') ++at;
        while (is_blank(*at) || *at == '\n') ++at;
        if (*at != 'w' && *at != '#' && *at != '\0') fail(c, at, "more instructions than 'insts' of this warp said");
    }

    void open_warp(Cursor& c) const {
        next_line(c);
        const char* at = c.at;
        const bool named = std::strncmp(at, "insts", 5) == 0;
        const char* end = nullptr;
        if (named) {
            at = skip_blanks(at + 5);
            if (*at == '=') end = scan_decimal(skip_blanks(at + 1), c.left);
        }
        if (end == nullptr || !ends_token(*end)) fail(c, c.at, "expected 'insts = N' after 'warp = N'");
        c.at = end;
    }

    const char* skip_numbers(const Cursor& c, const char* at, std::uint32_t count) const {
        for (std::uint32_t i = 0; i < count; ++i) {
            std::uint64_t ignored = 0;
            const char* const end = scan_decimal(at, ignored);
            if (end == nullptr || !is_blank(*end))
                fail(c, at,
                     header_.warp_prefix
                         ? "expected thread block and warp (x y z warp) at the start of the line, as before tracer version 3"
                         : "expected a source line number, as '-enable lineinfo = 1' says");
            at = skip_blanks(end);
        }
        return at;
    }

    /// The instruction with the space its addresses lie in.
    const StaticInst* by_window(Cursor& c, const ProgramLine& line, std::uint32_t active) const {
        if (active == 0) return &line.inst;
        std::uint64_t first = 0;
        const char* at = skip_blanks(skip_token(skip_blanks(c.addresses)));
        if (scan_hex(at, first) == nullptr) fail(c, at, "expected a hexadecimal address");
        if (header_.shared_base != 0 && first - header_.shared_base < kAddressWindow) return &line.shared_inst;
        if (header_.local_base != 0 && first - header_.local_base < kAddressWindow) return &line.local_inst;
        return &line.inst;
    }

    const char* read_address(const Cursor& c, const char* at, Addr& address) const {
        const char* const end = scan_hex(at, address);
        if (end == nullptr || !ends_token(*end)) fail(c, at, "expected a hexadecimal address");
        return skip_blanks(end);
    }
    const char* read_offset(const Cursor& c, const char* at, std::uint64_t& offset) const {
        const char* const end = scan_signed(at, offset);
        if (end == nullptr || !ends_token(*end)) fail(c, at, "expected a whole number: the distance to the lane before");
        return skip_blanks(end);
    }

    const char* read_list(const Cursor& c, const char* at, std::uint32_t active, LaneAddresses& out) const {
        out.affine = false;
        for (; active != 0; active &= active - 1) at = read_address(c, at, out.lane[lowest_bit(active)]);
        return at;
    }

    const char* read_stride(const Cursor& c, const char* at, std::uint32_t active, LaneAddresses& out) const {
        Addr base = 0;
        std::uint64_t stride = 0;
        at = read_offset(c, read_address(c, at, base), stride);
        out.affine = true;
        out.stride = static_cast<std::int64_t>(stride);
        out.base = base - stride * lowest_bit(active);  // lane 0's, whether it is active or not
        return at;
    }

    const char* read_deltas(const Cursor& c, const char* at, std::uint32_t active, LaneAddresses& out) const {
        Addr address = 0;
        at = read_address(c, at, address);
        out.affine = false;
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
    std::uint64_t end_ = 0;   ///< of the CTA's text in the file
    std::vector<char> text_;  ///< of a whole CTA
    std::vector<Cursor> cursors_;
};

}  // namespace

TracedKernel::TracedKernel(std::unique_ptr<TraceFile> file) : file_(std::move(file)), program_(std::make_unique<Program>()) {
    const TraceHeader& header = file_->header();
    info_.name = header.kernel_name;
    info_.grid = header.grid;
    info_.block = header.block;
    info_.registers_per_thread = std::max(header.registers, 1u);
    info_.register_slots = 256;  // lines may name registers beyond nregs
    info_.shared_bytes = header.shared_bytes;
}

std::unique_ptr<CtaStream> TracedKernel::make_stream() const {
    return std::make_unique<TraceStream>(*file_, *program_);
}

}  // namespace mergelane::accelsim
