// SPDX-License-Identifier: MIT
// `mergelane trace`: records any workload, converts Accel-Sim's text format, inspects a file.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>

#include "commands.hpp"
#include "core/error.hpp"
#include "core/text.hpp"
#include "exit_codes.hpp"
#include "interrupt.hpp"
#include "output.hpp"
#include "profile/profile.hpp"
#include "sim/simulation.hpp"
#include "trace_text.hpp"
#include "workload/accelsim/trace_file.hpp"
#include "workload_source.hpp"

namespace mergelane {

namespace {

struct RecordArguments {
    WorkloadArguments workload;
    std::string output;
    bool quiet = false;
};

struct LookArguments {
    std::string file;
    bool check = false;
    std::optional<std::uint64_t> kernel;
    std::optional<std::uint64_t> cta;
    std::optional<std::uint64_t> warp;
};

int record(const RecordArguments& arguments) {
    if (!arguments.output.ends_with(".mlt"))
        throw InputError(fmt::format("'{}' does not end in .mlt, which marks trace files; add the suffix", arguments.output));
    keep_apart({arguments.output}, {arguments.workload.file});
    ProgressLine progress(arguments.quiet);
    const std::unique_ptr<Workload> workload = open_workload(arguments.workload, progress);
    tracefile::WriteOptions options;
    options.writer = fmt::format("mergelane {}", version());
    options.progress = [&](const tracefile::WriteProgress& p) {
        if (interrupted()) throw Interrupted{};
        progress.update_ctas("recording", p.kernel, p.ctas_done, p.ctas_total);
    };
    catch_interrupts();
    const auto start = std::chrono::steady_clock::now();
    const tracefile::WriteTotals totals = tracefile::write_trace(*workload, arguments.output, options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    progress.clear();
    if (!arguments.quiet) fmt::print("{}", record_summary(arguments.output, totals, seconds));
    return 0;
}

/// Reads the whole file, which detects all damage.
void check_all(const tracefile::TraceFile& file, ProgressLine& progress) {
    LaneAddresses lanes;
    for (std::size_t k = 0; k < file.index().kernels.size(); ++k) {
        const std::unique_ptr<KernelSource> kernel = file.kernel(k);
        const std::unique_ptr<CtaStream> stream = kernel->make_stream();
        for (std::uint64_t cta = 0; cta < kernel->info().ctas(); ++cta) {
            stream->open(cta);
            for (std::uint32_t warp = 0; warp < kernel->info().warps_per_cta(); ++warp) {
                Run run;
                while (stream->next_run(warp, run)) {
                    for (std::uint32_t i = 0; i < run.count && run.active != 0; ++i) {
                        if (is_memory(run.first[i])) stream->addresses(warp, run.first[i], run.active, lanes);
                    }
                }
            }
            if (interrupted()) throw Interrupted{};
            progress.update_ctas("checking", k + 1, cta + 1, kernel->info().ctas());
        }
    }
}

int info(const LookArguments& arguments) {
    const tracefile::TraceFile file(arguments.file);
    fmt::print("{}", trace_summary(file));
    if (!arguments.check) return 0;
    catch_interrupts();
    ProgressLine progress(false);
    check_all(file, progress);
    progress.clear();
    fmt::print("all CTAs are readable\n");
    return 0;
}

/// The selected one of `count`, or all of them.
struct Span {
    std::uint64_t begin;
    std::uint64_t end;
};
Span selected(const tracefile::TraceFile& file, const std::optional<std::uint64_t>& one, std::uint64_t count, std::uint64_t base,
              std::string_view what) {
    if (!one) return {0, count};
    if (*one < base || *one - base >= count) file.fail(fmt::format("no {} {}; use {} to {}", what, *one, base, base + count - 1));
    return {*one - base, *one - base + 1};
}

int cat(const LookArguments& arguments) {
    const tracefile::TraceFile file(arguments.file);
    catch_interrupts();
    const Span kernels = selected(file, arguments.kernel, file.index().kernels.size(), 1, "kernel");
    for (std::uint64_t k = kernels.begin; k < kernels.end; ++k) {
        const std::unique_ptr<KernelSource> kernel = file.kernel(k);
        const KernelInfo& shape = kernel->info();
        const Span ctas = selected(file, arguments.cta, shape.ctas(), 0, "CTA");
        const Span warps = selected(file, arguments.warp, shape.warps_per_cta(), 0, "warp");
        fmt::print("kernel {} {} grid {} block {}\n", k + 1, printable(shape.name), dimensions(shape.grid), dimensions(shape.block));
        const std::unique_ptr<CtaStream> stream = kernel->make_stream();
        LaneAddresses lanes;
        for (std::uint64_t cta = ctas.begin; cta < ctas.end; ++cta) {
            stream->open(cta);
            for (auto warp = static_cast<std::uint32_t>(warps.begin); warp < warps.end; ++warp) {
                fmt::print("cta {} warp {}\n", cta, warp);
                std::string text;
                Run run;
                while (stream->next_run(warp, run)) {
                    for (std::uint32_t i = 0; i < run.count; ++i) {
                        const StaticInst& inst = run.first[i];
                        const bool memory = is_memory(inst) && run.active != 0;
                        if (memory) stream->addresses(warp, inst, run.active, lanes);
                        text += instruction_text(inst, run.active, memory ? &lanes : nullptr);
                    }
                    if (text.size() > 65536) {
                        if (interrupted() || std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) return kInterrupted;
                        text.clear();
                    }
                }
                std::fwrite(text.data(), 1, text.size(), stdout);
            }
        }
    }
    return 0;
}

int text(const LookArguments& arguments) {
    if (!arguments.file.ends_with(".tracez"))
        throw InputError(
            fmt::format("'{}' is not a .tracez file; 'xz -dc' unpacks a .traceg.xz, 'trace cat' prints an .mlt", arguments.file));
    const accelsim::TraceFile file(arguments.file);
    catch_interrupts();
    accelsim::write_text(*file.container(), [](std::string_view piece) {
        if (interrupted()) throw Interrupted{};
        if (std::fwrite(piece.data(), 1, piece.size(), stdout) != piece.size()) throw Interrupted{};
    });
    return 0;
}

void add_record(CLI::App& trace, int& exit_code, const Registry& registry, const std::string& name, const std::string& meaning,
                const std::string& footer) {
    auto arguments = std::make_shared<RecordArguments>();
    CLI::App* command = trace.add_subcommand(name, meaning);
    add_workload_options(*command, arguments->workload, registry);
    command->add_option("-o,--output", arguments->output, "trace file to write, NAME.mlt")->required();
    command->add_flag("-q,--quiet", arguments->quiet, "suppress the summary and the progress line");
    command->footer(footer);
    command->callback([arguments, &exit_code] { exit_code = record(*arguments); });
}

}  // namespace

void add_trace_command(CLI::App& app, int& exit_code, const Registry& registry) {
    CLI::App* trace = app.add_subcommand("trace", "Record workloads to compact trace files (.mlt), and inspect them");
    trace->require_subcommand(1);
    trace->footer("Example:\n  mergelane trace record --synthetic tiled -o tiled.mlt\n  mergelane run --gpu icc60 tiled.mlt");
    add_record(*trace, exit_code, registry, "record", "Record all instructions and addresses of a workload to a file, without simulating",
               "Examples:\n"
               "  mergelane trace record my_kernel.toml -o my_kernel.mlt\n"
               "  mergelane trace record --synthetic tiled --param ctas=480 -o tiled.mlt\n"
               "Replaying the trace (mergelane run --gpu icc60 tiled.mlt) gives the same digest as the workload itself.");
    add_record(*trace, exit_code, registry, "convert", "Convert an Accel-Sim trace to a Mergelane trace (.mlt); same as record",
               "Example:\n  mergelane trace convert traces/vecadd/kernelslist.g -o vecadd.mlt");

    auto arguments = std::make_shared<LookArguments>();
    CLI::App* info_command =
        trace->add_subcommand("info", "Show the kernels of a trace file, with launch dimensions, instruction counts and sizes");
    info_command->add_option("file", arguments->file, "trace file (.mlt)")->required();
    info_command->add_flag("--check", arguments->check, "also read every CTA to detect corruption");
    info_command->footer("Example:\n  mergelane trace info tiled.mlt");
    info_command->callback([arguments, &exit_code] { exit_code = info(*arguments); });

    CLI::App* cat_command = trace->add_subcommand("cat", "Print the instructions and addresses of a trace file");
    cat_command->add_option("file", arguments->file, "trace file (.mlt)")->required();
    cat_command->add_option("--kernel", arguments->kernel, "print only this kernel, counted from 1");
    cat_command->add_option("--cta", arguments->cta, "print only this CTA, counted from 0");
    cat_command->add_option("--warp", arguments->warp, "print only this warp of each CTA, counted from 0");
    cat_command->footer(
        "Example:\n"
        "  mergelane trace cat tiled.mlt --kernel 1 --cta 7 --warp 0\n"
        "Each line shows the program counter, active mask, instruction class and registers (written <- read) of an instruction. Memory\n"
        "instructions also have the address of the first active lane and the stride, or the addresses of all active lanes.");
    cat_command->callback([arguments, &exit_code] { exit_code = cat(*arguments); });

    CLI::App* text_command = trace->add_subcommand("text", "Print a .tracez of Accel-Sim as the text of a .traceg");
    text_command->add_option("file", arguments->file, "trace of a kernel (.tracez)")->required();
    text_command->footer("Example:\n  mergelane trace text kernel-1.tracez > kernel-1.traceg");
    text_command->callback([arguments, &exit_code] { exit_code = text(*arguments); });
}

}  // namespace mergelane
