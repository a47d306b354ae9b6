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
                c.begin = text_.text.get() + (at - begin);
                c.size = static_cast<std::size_t>(end_ - at);
            } else {
                c.size = static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, end_ - at));
                load(at, c.size, c.window);
                c.begin = c.window.text.get();
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
        if (is_full_mask(at)) {
            mask = 0xffffffff;
            end = at + 8;
        } else {
            end = scan_hex(at, mask);
        }
        if (end == nullptr || !is_blank(*end) || mask > 0xffffffff)
            fail(c, at, "expected the active mask, a hexadecimal number of 32 bits");
        at = skip_blanks(end);
        ProgramLine* line = program_.find(pc, at);
        if (line == nullptr) {
            std::string problem;
            line = program_.add(pc, at, problem);
            if (line == nullptr) fail(c, at, problem);
        }
        c.line = line;
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
    struct Buffer {
        std::unique_ptr<char[]> text;
        std::size_t size = 0;
    };
    struct Cursor {
        const char* at = nullptr;         ///< how far this warp has read
        const char* addresses = nullptr;  ///< of the instruction read last
        ProgramLine* line = nullptr;      ///< that instruction
        const char* begin = nullptr;      ///< of the text in memory
        std::size_t size = 0;             ///< of that text
        std::uint64_t offset = 0;         ///< of its first byte in the file
        std::uint64_t left = 0;           ///< instructions not read yet
        Buffer window;                    ///< its own piece of a CTA that is too long to be held
    };

    [[noreturn]] void fail(const Cursor& c, const char* at, std::string_view problem) const {
        file_.fail(c.offset + static_cast<std::uint64_t>(at - c.begin), problem);
    }

    /// Text followed by a line break and zeros, at which all scanning ends.
    void load(std::uint64_t offset, std::size_t bytes, Buffer& to) const {
        if (to.size < bytes + kPadding) {
            to.size = bytes + kPadding;
            to.text.reset(new char[to.size]);  // not cleared: it is about to be written
        }
        const std::size_t got = file_.read(offset, to.text.get(), bytes);
        std::memset(to.text.get() + got, 0, bytes + kPadding - got);
        to.text[bytes] = '\n';
        if (got != bytes) file_.fail(offset + got, "the file became shorter while it was read");
    }

    /// A window moves on when less than the longest line is left in it.
    void refill(Cursor& c) const {
        const std::size_t used = static_cast<std::size_t>(c.at - c.begin);
        if (c.size - std::min(used, c.size) >= kMostLine || c.offset + c.size == end_) return;
        c.offset += used;
        c.size = static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, end_ - c.offset));
        load(c.offset, c.size, c.window);
        c.at = c.begin = c.window.text.get();
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

    const char* read_deltas(const Cursor& c, const char* at, const std::uint32_t active, LaneAddresses& out) const {
        constexpr std::size_t kMostText = 256;
        Addr base = 0;
        at = read_address(c, at, base);
        out.affine = false;
        const AddressPattern* const known = c.line->pattern.load(std::memory_order_acquire);
        if (known != nullptr && known->active == active && std::memcmp(known->text.data(), at, known->text.size()) == 0) {
            for (std::uint32_t r = 0; r < known->run_count; ++r) {
                out.runs[r] = known->runs[r];
                out.runs[r].base += base;
            }
            out.run_count = known->run_count;
            return at + known->text.size();
        }
        const char* const end = read_runs(c, at, active, base, out);
        const auto length = static_cast<std::size_t>(end - at);
        if (known == nullptr && out.run_count != 0 && length != 0 && length <= kMostText && is_blank(end[-1])) {
            AddressPattern pattern{std::string(at, length), active, out.run_count, out.runs};
            for (LaneAddresses::Run& run : pattern.runs) run.base -= base;
            program_.remember(*c.line, std::move(pattern));
        }
        return end;
    }

    /// Neighbouring lanes mostly go on with one stride: such lanes become runs, a list only if there are many.
    const char* read_runs(const Cursor& c, const char* at, const std::uint32_t active, Addr address, LaneAddresses& out) const {
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

    /// The rest of the lanes as a list; `address` belongs to the lane before them.
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
    std::uint64_t end_ = 0;  ///< of the CTA's text in the file
    Buffer text_;            ///< of a whole CTA
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
