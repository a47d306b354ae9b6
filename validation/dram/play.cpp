// SPDX-License-Identifier: MIT
// Plays a stream of requests into one DRAM channel and prints what the channel did, as JSON. Usage:
//     mergelane_dram_play GPU STREAM [KEY=VALUE...]
// STREAM has a line per request: DRAM cycle of arrival, channel-local byte address (hexadecimal), R or W. Every request is one column
// command. A request that finds the queue full waits outside; its latency counts from the moment it enters.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/meter.hpp"
#include "dram/channel.hpp"
#include "dram/detailed_channel.hpp"
#include "sim/built_in.hpp"
#include "sim/engine.hpp"

namespace {

using namespace mergelane;

struct Request {
    Cycle at = 0;
    Addr address = 0;
    bool write = false;
};

std::vector<Request> read_stream(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw InputError(path + ": cannot be read; write it with validation/dram/streams.py");
    std::vector<Request> stream;
    std::uint64_t line = 0;
    for (std::string at, address, kind; file >> at >> address >> kind;) {
        ++line;
        try {
            if (kind != "R" && kind != "W") throw std::invalid_argument(kind);
            stream.push_back({std::stoull(at), std::stoull(address, nullptr, 16), kind == "W"});
        } catch (const std::logic_error&) {
            throw InputError(fmt::format("{}:{}: expected a cycle, a hexadecimal address, and R or W", path, line));
        }
    }
    if (stream.empty()) throw InputError(path + ": has no requests");
    return stream;
}

/// When the channel accepted each request.
class Entrances final : public DramObserver {
public:
    explicit Entrances(std::vector<Cycle>& at) : at_(at) {}
    void arrived(std::uint32_t, std::uint64_t, std::uint32_t, bool, Cycle now) override { at_.push_back(now); }

private:
    std::vector<Cycle>& at_;
};
struct EntranceMeter final : MeterSpec<EntranceMeter> {
    std::vector<Cycle>* at = nullptr;
    void fields(SpecFields&) override {}
    std::unique_ptr<DramObserver> at_dram(const DramPlace&) const override { return std::make_unique<Entrances>(*at); }
};

class Source final : public Component {
public:
    Source(const std::vector<Request>& stream, Link<DramRequest>& link, std::uint32_t access_bytes)
        : Component("source"), stream_(stream), link_(link), sectors_(access_bytes / kSectorBytes) {}
    Cycle step(Cycle now) override {
        for (; next_ < stream_.size() && stream_[next_].at <= now; ++next_) {
            if (!link_.can_send(now, 1)) return now + 1;
            const Request& r = stream_[next_];
            const auto first = static_cast<std::uint32_t>(r.address % kMaxLineBytes) / kSectorBytes / sectors_ * sectors_;
            link_.send(now, {r.address, static_cast<std::uint32_t>(low_bits(sectors_)) << first, static_cast<std::uint16_t>(next_), 0, r.write});
        }
        return next_ == stream_.size() ? kNever : std::max(stream_[next_].at, now + 1);
    }
    void stats(StatFields&, Cycle) const override {}
    std::uint64_t held() const override { return stream_.size() - next_; }

private:
    const std::vector<Request>& stream_;
    Link<DramRequest>& link_;
    std::uint32_t sectors_;
    std::size_t next_ = 0;
};

/// When the last data of each read arrived, by its place in the stream.
class Sink final : public Component {
public:
    Sink(const std::vector<Request>& stream, Link<DramRequest>& link) : Component("sink"), link_(link), arrived_(stream.size(), kNever) {}
    Cycle step(Cycle now) override {
        while (link_.has(now)) {
            // A tag has 16 bits; of the requests that share one, only the oldest that is unanswered can be in the channel.
            std::size_t place = link_.front().tag;
            while (arrived_[place] != kNever) place += 1u << 16;
            arrived_[place] = now - 1;  // the link takes a cycle
            link_.pop_and_release(now);
        }
        return link_.head_arrival();
    }
    void stats(StatFields&, Cycle) const override {}
    const std::vector<Cycle>& arrived() const { return arrived_; }

private:
    Link<DramRequest>& link_;
    std::vector<Cycle> arrived_;
};

nlohmann::ordered_json latencies(std::vector<Cycle> list) {
    if (list.empty()) return nullptr;
    std::sort(list.begin(), list.end());
    const double sum = std::accumulate(list.begin(), list.end(), 0.0);
    return {{"mean", sum / static_cast<double>(list.size())},
            {"median", list[list.size() / 2]},
            {"p95", list[list.size() * 95 / 100]},
            {"max", list.back()}};
}

nlohmann::ordered_json play(const MachineSpec& machine, const std::vector<Request>& stream) {
    std::vector<Cycle> entered;
    Sections sections = machine.sections;
    auto meter = std::make_unique<EntranceMeter>();
    meter->at = &entered;
    sections.add(std::move(meter));
    const Policies policies(*machine.registry, sections);
    const LinkTiming timing{{}, {}, 1, 1, false};
    Link<DramRequest> requests("requests", 2, timing), replies("replies", 4096, timing);
    std::unique_ptr<MemoryChannel> channel;
    if (sections.get<DramControllerSpec>().enabled())
        channel = std::make_unique<DetailedChannel>("channel", machine.dram, policies);
    else
        channel = std::make_unique<DramChannel>("channel", machine.dram, policies);
    Source source(stream, requests, machine.dram.access_bytes);
    Sink sink(stream, replies);
    std::vector<DramCommand> log;
    channel->log_commands(&log);
    Domain domain("dram", Clock{});
    for (Component* component : {static_cast<Component*>(&source), static_cast<Component*>(channel.get()), static_cast<Component*>(&sink)})
        domain.add(*component);
    requests.connect(source, *channel);
    replies.connect(*channel, sink);
    channel->connect({&requests}, {&replies});
    Engine engine({&domain}, EngineOptions{1, 50, true});
    for (Component* component : domain.components()) component->wake(0);
    Time end = 0;
    do {
        end += 100'000;
        engine.run_until(end, [](Time) { return true; });
        engine.advance_to(end);
    } while (source.held() + channel->held() + requests.in_flight() + replies.in_flight() != 0);

    std::vector<Cycle> read_latency;
    Cycle last = 0;
    for (std::size_t i = 0; i < stream.size(); ++i) {
        if (stream[i].write) continue;
        read_latency.push_back(sink.arrived()[i] - entered[i]);
        last = std::max(last, sink.arrived()[i]);
    }
    std::array<std::uint64_t, DramCommand::kKinds> commands{};
    const std::uint32_t burst = sections.get<DramControllerSpec>().burst_cycles(machine.dram);
    for (const DramCommand& command : log) {
        ++commands[static_cast<std::size_t>(command.kind)];
        if (command.kind == DramCommand::Kind::write) last = std::max(last, command.at + machine.dram.timing.tWL + burst);
    }
    const auto of = [&](DramCommand::Kind kind) { return commands[static_cast<std::size_t>(kind)]; };
    const std::uint64_t columns = of(DramCommand::Kind::read) + of(DramCommand::Kind::write);
    const Cycle cycles = last - entered.front();
    return {{"requests", stream.size()},
            {"activates", of(DramCommand::Kind::activate)},
            {"precharges", of(DramCommand::Kind::precharge)},
            {"refreshes", of(DramCommand::Kind::refresh) + of(DramCommand::Kind::refresh_bank)},
            {"reads", of(DramCommand::Kind::read)},
            {"writes", of(DramCommand::Kind::write)},
            {"cycles", cycles},
            {"columns_per_cycle", static_cast<double>(columns) / static_cast<double>(cycles)},
            {"read_latency", latencies(std::move(read_latency))}};
}

int run(int count, char** words) {
    if (count < 3) {
        fmt::print(stderr, "usage: {} GPU STREAM [KEY=VALUE...]\n", words[0]);
        return 2;
    }
    const std::vector<std::string> settings(words + 3, words + count);
    const MachineSpec machine = load_config(words[1], settings, default_preset_dirs()).spec;
    fmt::print("{}\n", play(machine, read_stream(words[2])).dump());
    return 0;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run(count, words);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}: {}\n", words[0], error.what());
        return 1;
    }
}
