// SPDX-License-Identifier: MIT
// A timeline in the trace format of Perfetto. The numbers of its fields are public; tests/timeline/perfetto.proto restates those used.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <protozero/pbf_builder.hpp>
#include <unordered_map>

#include "core/text.hpp"
#include "report/derived.hpp"
#include "report/report.hpp"

namespace mergelane {

namespace {

using Tag = protozero::pbf_tag_type;
enum class TraceField : Tag { packet = 1 };
enum class PacketField : Tag { timestamp = 8, sequence = 10, track_event = 11, track_descriptor = 60 };
enum class TrackField : Tag { uuid = 1, name = 2, parent = 5, counter = 8, child_ordering = 11, rank = 12, description = 14 };
enum class CounterField : Tag { unit_name = 6 };
enum class EventField : Tag { annotations = 4, type = 9, track = 11, name = 23, count = 30, level = 44, flow_ids = 47 };
enum class AnnotationField : Tag { number = 3, text = 6, name = 10 };
enum class EventType : std::int32_t { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };
constexpr std::int32_t kExplicitOrder = 3;
constexpr std::uint32_t kSequence = 1;  ///< all packets are of one

using EventWriter = protozero::pbf_builder<EventField>;

void annotate(EventWriter& event, const char* name, std::uint64_t value) {
    protozero::pbf_builder<AnnotationField> annotation(event, EventField::annotations);
    annotation.add_string(AnnotationField::name, name);
    annotation.add_uint64(AnnotationField::number, value);
}

/// Writes tracks and their events. Events of one track must come in the order of time.
class TraceWriter {
public:
    std::uint64_t track(const std::string& name, std::uint64_t parent = 0, const std::string& description = "") {
        return add_track(name, parent, description, nullptr);
    }
    std::uint64_t counter_track(const std::string& name, const std::string& unit, std::uint64_t parent) {
        return add_track(name, parent, "", &unit);
    }
    /// `details`: writes further fields of the event.
    template <class Details>
    void begin(std::uint64_t track, Cycle at, const std::string& name, Details&& details) {
        event(EventType::slice_begin, track, at, [&](EventWriter& writer) {
            writer.add_string(EventField::name, name);
            details(writer);
        });
    }
    void begin(std::uint64_t track, Cycle at, const std::string& name) {
        begin(track, at, name, [](EventWriter&) {});
    }
    void end(std::uint64_t track, Cycle at) {
        event(EventType::slice_end, track, at, [](EventWriter&) {});
    }
    void instant(std::uint64_t track, Cycle at, const std::string& name) {
        event(EventType::instant, track, at, [&](EventWriter& writer) { writer.add_string(EventField::name, name); });
    }
    void count(std::uint64_t track, Cycle at, std::uint64_t value) {
        event(EventType::counter, track, at,
              [&](EventWriter& writer) { writer.add_int64(EventField::count, static_cast<std::int64_t>(value)); });
    }
    void level(std::uint64_t track, Cycle at, double value) {
        event(EventType::counter, track, at, [&](EventWriter& writer) { writer.add_double(EventField::level, value); });
    }
    std::size_t size() const { return bytes_.size(); }
    std::string take() { return std::move(bytes_); }

private:
    using Packet = protozero::pbf_builder<PacketField>;

    std::uint64_t add_track(const std::string& name, std::uint64_t parent, const std::string& description, const std::string* unit) {
        Packet packet(trace_, TraceField::packet);
        packet.add_uint32(PacketField::sequence, kSequence);
        protozero::pbf_builder<TrackField> track(packet, PacketField::track_descriptor);
        track.add_uint64(TrackField::uuid, ++tracks_);
        track.add_string(TrackField::name, name);
        if (parent != 0) track.add_uint64(TrackField::parent, parent);
        track.add_enum(TrackField::child_ordering, kExplicitOrder);
        track.add_int32(TrackField::rank, static_cast<std::int32_t>(tracks_));  // in the order of their creation
        if (!description.empty()) track.add_string(TrackField::description, description);
        if (unit != nullptr) {
            protozero::pbf_builder<CounterField> counter(track, TrackField::counter);
            counter.add_string(CounterField::unit_name, *unit);
        }
        return tracks_;
    }
    template <class Details>
    void event(EventType type, std::uint64_t track, Cycle at, Details&& details) {
        Packet packet(trace_, TraceField::packet);
        packet.add_uint64(PacketField::timestamp, at);
        packet.add_uint32(PacketField::sequence, kSequence);
        EventWriter writer(packet, PacketField::track_event);
        writer.add_enum(EventField::type, static_cast<std::int32_t>(type));
        writer.add_uint64(EventField::track, track);
        details(writer);
    }

    std::string bytes_;
    protozero::pbf_builder<TraceField> trace_{bytes_};
    std::uint64_t tracks_ = 0;
};

/// So many intervals as one that at most `most` are left; `stride` says how many.
Intervals coarser(const Intervals& fine, std::size_t most, std::size_t& stride) {
    stride = std::max<std::size_t>(1, (fine.size() + most - 1) / most);
    Intervals coarse{fine.cycles * stride, fine.end, {}};
    const std::size_t counters = fine.counts.size() / fine.size();
    coarse.counts.resize(coarse.size() * counters);
    for (std::size_t i = 0; i < fine.size(); ++i) {
        for (std::size_t s = 0; s < counters; ++s) coarse.counts[i / stride * counters + s] += fine.of(i)[s];
    }
    return coarse;
}

class TimelinePage {
public:
    TimelinePage(const RunResult& result, const Timeline& timeline, std::size_t most_bytes)
        : run_(result), timeline_(timeline), most_bytes_(most_bytes), intervals_(coarser(timeline.intervals, kMostIntervals, stride_)) {
        for (std::size_t s = 0; s < run_.stats.size(); ++s) index_.emplace(run_.stats[s].name, s);
    }

    TimelineFile all() {
        root_ = trace_.track(printable(fmt::format("{} on {}", run_.workload, run_.machine.name), kLongestName), 0,
                             fmt::format("One nanosecond is one core cycle. Shows loads that were served by a request: of 1/{} of the "
                                         "lines, and of these of 1/{} of the requests.",
                                         timeline_.followed_one_of, timeline_.sampled_one_of));
        kernels();
        utilisation();
        depths();
        counters();
        for (const Timeline::Sm& sm : timeline_.sms) flows_of(sm);
        for (const Timeline::Sm& sm : timeline_.sms) work_of(sm);
        TimelineFile file;
        file.left_out = left_out();
        if (!file.left_out.empty()) trace_.instant(trace_.track("left out", root_), 0, file.left_out);
        file.bytes = trace_.take();
        return file;
    }

private:
    static constexpr std::size_t kMostIntervals = 2000;
    static constexpr std::size_t kLongestName = 200;
    static constexpr std::size_t kReserve = 16 << 10;  ///< for what completes the file: more than a load with its steps takes

    bool is_full() const { return trace_.size() + kReserve > most_bytes_; }
    Cycle cycle_of(Time time) const { return time / run_.units_per_cycle; }

    void kernels() {
        const std::uint64_t track = trace_.track("kernels", root_);
        for (const KernelResult& kernel : run_.kernels) {
            if (is_full()) {
                ++kernels_left_out_;
                continue;
            }
            trace_.begin(track, kernel.start, readable_name(kernel.name), [&](EventWriter& event) {
                annotate(event, "CTAs", kernel.ctas);
                annotate(event, "CTAs per SM", kernel.ctas_per_sm);
            });
            trace_.end(track, kernel.start + kernel.cycles);
        }
    }

    /// Of an interval, as a percentage. What drains after the end of the last one may be more than fits into it.
    void utilisation() {
        const std::uint64_t group = trace_.track("utilisation", root_);
        std::vector<std::uint64_t> tracks;
        for (std::size_t i = 0; i < intervals_.size(); ++i) {
            const double cycles = static_cast<double>(intervals_.length(i));
            const auto stat = [&](std::string_view name) { return static_cast<double>(intervals_.of(i)[index_.at(name)]); };
            const double slots = cycles * run_.machine.sms * run_.machine.schedulers_per_sm;
            std::vector<std::pair<std::string_view, double>> shares = {{"issue", Metrics::ratio(stat("sm.warp_instructions"), slots)}};
            const double seconds = cycles / (run_.machine.core_mhz * 1e6);
            for (const report::Bandwidth& traffic : report::bandwidths(run_.machine, index_.contains("l1.sector_accesses"), stat))
                shares.emplace_back(traffic.level, Metrics::ratio(traffic.bytes, seconds * traffic.peak));
            if (i == 0) {
                for (const auto& [name, share] : shares) tracks.push_back(trace_.counter_track(std::string(name), "%", group));
            }
            for (std::size_t t = 0; t < tracks.size(); ++t)
                trace_.level(tracks[t], intervals_.start(i), std::min(100.0, 100 * shares[t].second));
        }
        for (const std::uint64_t track : tracks) trace_.level(track, intervals_.end, 0);
    }

    /// At the boundaries of intervals.
    void depths() {
        const std::uint64_t group = trace_.track("requests in components and on links", root_);
        const std::size_t gauges = timeline_.gauges.size();
        const std::size_t samples = gauges == 0 ? 0 : timeline_.depths.size() / gauges;
        for (std::size_t g = 0; g < gauges; ++g) {
            const std::uint64_t track = trace_.counter_track(timeline_.gauges[g].name, timeline_.gauges[g].unit, group);
            trace_.count(track, 0, 0);
            for (std::size_t i = stride_ - 1; i < samples; i += stride_)
                trace_.count(track, timeline_.intervals.start(i + 1), timeline_.depths[i * gauges + g]);
            trace_.count(track, intervals_.end, 0);
        }
    }

    /// Counts per interval, from its start on. A counter that stayed zero has no track, and further zeros say nothing new.
    void counters() {
        const std::uint64_t group =
            trace_.track("counters, per interval", root_,
                         fmt::format("Counts of {} core cycles each; they add up to the statistics of the run.", intervals_.cycles));
        std::map<std::string, std::uint64_t> groups;
        for (std::size_t s = 0; s < run_.stats.size(); ++s) {
            const StatValue& stat = run_.stats[s];
            if (stat.value == 0) continue;
            const std::string name = stat.name.substr(0, stat.name.rfind('.'));
            auto at = groups.find(name);
            if (at == groups.end()) at = groups.emplace(name, trace_.track(name, group)).first;
            const std::uint64_t track = trace_.counter_track(stat.name, std::string(stat.unit), at->second);
            std::uint64_t last = 1;
            for (std::size_t i = 0; i < intervals_.size(); ++i) {
                const std::uint64_t count = intervals_.of(i)[s];
                if (count != 0 || last != 0) trace_.count(track, intervals_.start(i), count);
                last = count;
            }
            trace_.count(track, intervals_.end, 0);
        }
    }

    void flows_of(const Timeline::Sm& sm) {
        for (const Timeline::Request& request : sm.requests) ++loads_of_[request.served_by];
    }

    void work_of(const Timeline::Sm& sm) {
        const std::uint64_t group = trace_.track(sm.name, root_);
        ctas_left_out_ += sm.ctas_left_out;
        std::vector<std::uint64_t> slots;
        for (const Timeline::Cta& cta : sm.ctas) {
            if (is_full()) {
                ++ctas_left_out_;
                continue;
            }
            while (slots.size() <= cta.slot) slots.push_back(trace_.track("CTAs", group));
            trace_.begin(slots[cta.slot], cta.start, fmt::format("CTA {}", cta.number));
            trace_.end(slots[cta.slot], cta.end);
        }
        loads_of(sm, group);
    }

    /// In the order of issue. Loads overlap, slices of a track must not: each goes to the first track that is free again.
    void loads_of(const Timeline::Sm& sm, std::uint64_t group) {
        std::vector<std::size_t> order(sm.requests.size()), first_step(sm.requests.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t r = 1; r < first_step.size(); ++r) first_step[r] = first_step[r - 1] + sm.requests[r - 1].steps;
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return sm.requests[a].issued < sm.requests[b].issued; });
        std::vector<std::pair<std::uint64_t, Time>> lanes;  // and until when they are taken
        for (const std::size_t r : order) {
            if (is_full()) {
                ++loads_left_out_;
                continue;
            }
            const Timeline::Request& request = sm.requests[r];
            auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const auto& l) { return l.second <= request.issued; });
            if (lane == lanes.end()) lane = lanes.insert(lane, {trace_.track("loads", group), 0});
            const Timeline::Step* const steps = sm.steps.data() + first_step[r];
            lane->second = steps[request.steps - 1].until;
            load(lane->first, request, steps);
        }
    }

    void load(std::uint64_t track, const Timeline::Request& request, const Timeline::Step* steps) {
        Cycle at = cycle_of(request.issued);
        trace_.begin(track, at, request.merged ? "merged load" : "load", [&](EventWriter& event) {
            annotate(event, "pc", request.pc);
            annotate(event, "warp slot", request.warp);
            if (loads_of_.at(request.served_by) > 1) event.add_fixed64(EventField::flow_ids, request.served_by);
        });
        for (std::uint32_t i = 0; i < request.steps; ++i) {
            const Cycle until = cycle_of(steps[i].until);
            if (until == at) continue;
            trace_.begin(track, at, run_.stages[steps[i].stage].first);
            trace_.end(track, until);
            at = until;
        }
        trace_.end(track, at);
    }

    std::string left_out() const {
        std::string what;
        const auto add = [&](std::uint64_t count, const char* name) {
            if (count != 0) what += fmt::format("{}{} {}{}", what.empty() ? "" : ", ", grouped(count), name, count == 1 ? "" : "s");
        };
        add(kernels_left_out_, "kernel");
        add(ctas_left_out_, "CTA");
        add(loads_left_out_, "load");
        if (what.empty()) return what;
        return fmt::format(
            "left out: {}, because a timeline has at most {} MiB; simulate fewer kernels (--kernels) or cycles (--max-cycles) to see them",
            what, most_bytes_ >> 20);
    }

    const RunResult& run_;
    const Timeline& timeline_;
    const std::size_t most_bytes_;
    std::size_t stride_ = 1;
    const Intervals intervals_;
    std::unordered_map<std::string_view, std::size_t> index_;    ///< of statistics
    std::unordered_map<std::uint64_t, std::uint32_t> loads_of_;  ///< per request, those that waited for it
    TraceWriter trace_;
    std::uint64_t root_ = 0;
    std::uint64_t kernels_left_out_ = 0, ctas_left_out_ = 0, loads_left_out_ = 0;
};

}  // namespace

TimelineFile to_perfetto(const RunResult& result, const Timeline& timeline, std::size_t most_bytes) {
    return TimelinePage(result, timeline, most_bytes).all();
}

}  // namespace mergelane
