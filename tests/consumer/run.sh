#!/usr/bin/env bash
# Installs a finished build into a temporary prefix, moves that prefix, and builds and runs a project that finds it
# there with find_package. The move shows that nothing installed depends on where it was installed first.
#   tests/consumer/run.sh BUILD_DIR
set -euo pipefail
if [ $# -ne 1 ] || [ ! -f "$1/CMakeCache.txt" ]; then
    echo "usage: tests/consumer/run.sh BUILD_DIR   (a configured and built directory, for example build/release)" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

cmake --install "$build" --prefix "$temp/first" >"$temp/install.log"
mv "$temp/first" "$temp/prefix"

# 1. The installed command works without the source tree.
(cd "$temp" && env -u MERGELANE_GPUS prefix/bin/mergelane list gpus >gpus.txt)
grep -q '^icc60' "$temp/gpus.txt"
(cd "$temp" && env -u MERGELANE_ENERGY prefix/bin/mergelane run --gpu icc60 --synthetic stream --param ctas=1 --energy "$temp/prefix/share/mergelane/energy/bottom_up_40nm.toml" -q)
test -f "$temp/prefix/share/mergelane/energy/gpuwattch_gtx480_40nm.toml" && test -f "$temp/prefix/share/mergelane/energy/sram.csv"
(cd "$temp" && env -u MERGELANE_PUBLISHED prefix/bin/mergelane reproduce icc --experiment ICC-12 | grep -q '1 of 1 pass')
test -f "$temp/prefix/share/mergelane/published.csv" && test -f "$temp/prefix/share/mergelane/studies/icc/study.toml"
test -f "$temp/prefix/share/mergelane/kernels/metadata.toml" && test -f "$temp/prefix/share/mergelane/kernels/rodinia/hotspot.ptx"

# The header for CUDA sources is where mergelane-clang-cuda looks for it.
test -f "$temp/prefix/include/mergelane/cta_cluster.cuh"

# The replacement CUDA runtime is where the installed command looks for it.
"$temp/prefix/bin/mergelane" cuda true

# 2. No installed CMake file names a library by an absolute path.
if grep -rnE '["; :]/[^"; ]*\.(a|so)([^a-z]|$)' "$temp/prefix" --include='*.cmake'; then
    echo "consumer test: the package files above name libraries of the build machine" >&2
    exit 1
fi

# 3. A project finds, links and runs the library.
cmake -S "$here" -B "$temp/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$temp/prefix" >"$temp/configure.log" ||
    { cat "$temp/configure.log" >&2; exit 1; }
cmake --build "$temp/build" >"$temp/build.log" || { cat "$temp/build.log" >&2; exit 1; }
"$temp/build/consumer" | tail -n 1

# A project that asks for the model alone gets none of the libraries that traces, adviser and studies need.
cmake --no-warn-unused-cli -S "$here/model" -B "$temp/model" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$temp/prefix" -DCMAKE_DISABLE_FIND_PACKAGE_LibLZMA=ON \
    >"$temp/configure.log" || { cat "$temp/configure.log" >&2; exit 1; }
cmake --build "$temp/model" >"$temp/build.log" || { cat "$temp/build.log" >&2; exit 1; }
"$temp/model/model_only"
readelf -d "$temp/model/model_only" | grep NEEDED >"$temp/needed.txt"
ldd "$temp/model/model_only" >>"$temp/needed.txt"
if grep -E 'sqlite|metis|lzma|zstd|lz4' "$temp/needed.txt"; then
    echo "consumer test: the model alone needs the libraries above" >&2
    exit 1
fi

# 4. Mechanisms from outside: a file of a user's own each, and every command knows them.
outside=$temp/build/outside
export MERGELANE_DATA=$temp/prefix/share/mergelane
cd "$temp"
expect() {  # expect TEXT COMMAND...
    local text=$1
    shift
    "$@" >expect.txt 2>&1 || true
    grep -qF -- "$text" expect.txt || { echo "consumer test: no '$text' in the output of: $*" >&2; cat expect.txt >&2; exit 1; }
}
expect 'with outside 1' "$outside" --version
expect 'delay_front.cycles' "$outside" describe delay_front
expect 'request_counter.enabled' "$outside" describe request_counter
expect 'emptiest_first' "$outside" describe dispatch.scheduler
expect ', delay ' "$outside" describe lsu.front
expect 'request_counter.busiest_sm' "$outside" describe stats
expect "did you mean 'delay'" "$outside" run --gpu icc60 --set lsu.front=dealy --synthetic tiled
expect 'is superstitious' "$outside" config check icc60 --set lsu.front=delay --set delay_front.cycles=13
expect 'delay_front.cycles is only used with lsu.front = "delay"; set that, or remove the key' "$outside" config check icc60 --set delay_front.cycles=13
expect '[inactive unless noc.kind = "relay"]' "$outside" describe noc.relay
expect '[inactive unless split.enabled = true]' "$outside" describe split
expect '[inactive unless dispatch.transform = "reverse"]' "$outside" describe reverse
expect 'two crossbars with noc.relay.links links' "$outside" describe noc.kind
expect 'the last CTAs first' "$outside" describe dispatch.transform
expect 'noc.relay.links is only used with noc.kind = "relay"' "$outside" config check icc60 --set noc.relay.links=4
expect 'relay of 64 sources and sinks' "$outside" bench network --kind relay --set noc.relay.links=8 --cycles 200 --pattern uniform --load 0.1
expect 'set noc.kind = "mesh"' "$outside" config check icc60 --set read_delay.enabled=true
expect 'read_delay.entries' "$outside" describe read_delay
expect 'read_delay.delivered' "$outside" describe stats
expect 'read delay queue' "$outside" config show pkt28 --set read_delay.enabled=true
expect 'request counter' "$outside" config show icc60 --set request_counter.enabled=true
tiled=(--gpu icc60 --synthetic tiled --param ctas=120 --param iterations=4)
"$outside" run "${tiled[@]}" --json plain.json -q
"$outside" run "${tiled[@]}" --set lsu.front=delay --set delay_front.cycles=50 --set request_counter.enabled=true \
    --set dispatch.scheduler=emptiest_first --energy bottom_up_40nm --json added.json >added.txt
"$outside" run "${tiled[@]}" --set lsu.front=delay --set delay_front.cycles=50 --set request_counter.enabled=true \
    --set dispatch.scheduler=emptiest_first --threads 2 --json threads.json -q
"$temp/prefix/bin/mergelane" run "${tiled[@]}" --json ours.json -q
# Behind packet coalescing, which is asked first, and alone.
stream=(--gpu pkt28 --synthetic stream --param ctas=28 --param iterations=4)
"$temp/prefix/bin/mergelane" run "${stream[@]}" --json mesh_ours.json -q
"$outside" run "${stream[@]}" --json mesh_plain.json -q
"$outside" run "${stream[@]}" --set read_delay.enabled=true --set read_delay.cluster=3 --energy bottom_up_40nm --json mesh_delayed.json >delayed.txt
"$outside" run "${stream[@]}" --set read_delay.enabled=true --set read_delay.cluster=3 --threads 2 --json mesh_threads.json -q
"$outside" run "${stream[@]}" --set read_delay.enabled=true --set noc.coalescing.enabled=true --json mesh_both.json -q
grep -q 'Request counter' added.txt
# A network kind, a fabric and a transform: runs with energy, and runs that break an invariant of each.
with() {  # with NAME KEY=VALUE...
    local name=$1 set=()
    shift
    for value in "$@"; do set+=(--set "$value"); done
    "$outside" run "${tiled[@]}" "${set[@]}" --energy bottom_up_40nm --json "$name.json" >"$name.txt"
    "$outside" run "${tiled[@]}" "${set[@]}" --threads 2 --json "$name.threads.json" -q
}
with relay noc.kind=relay
with slow_relay noc.kind=relay noc.relay.edge_cycles=20
with split split.enabled=true
with reverse dispatch.transform=reverse reverse.block=2
expect 'noc.relay.expected_requests' "$outside" run "${tiled[@]}" --set noc.kind=relay --set noc.relay.expected_requests=7
expect 'split.expected_requests' "$outside" run "${tiled[@]}" --set split.enabled=true --set split.expected_requests=7
expect 'reverse.expected_ctas' "$outside" run "${tiled[@]}" --set dispatch.transform=reverse --set reverse.expected_ctas=7
grep -q 'Relay' relay.txt && grep -q 'Split networks' split.txt
grep -q 'Read delay' delayed.txt
python3 - <<'CHECK'
import json
plain, added, threads, ours = (json.load(open(f"{name}.json")) for name in ("plain", "added", "threads", "ours"))
stats = added["stats"]
assert plain["digest"] == ours["digest"] and plain["config_hash"] == ours["config_hash"], "what is not switched on changes nothing"
assert added["digest"] == threads["digest"], "any number of threads gives the same result"
assert added["config_hash"] != plain["config_hash"]
assert added["cycles"] > plain["cycles"], "waiting takes time"
assert 0 < stats["delay_front.delayed"] <= stats["delay_front.accepted"] / 2, "every second instruction of each SM"
assert stats["delay_front.passed"] == stats["delay_front.accepted"] == stats["sm.memory_instructions"] + stats["sm.shared_instructions"]
assert stats["request_counter.requests"] == stats["cluster.requests_in"] > 0
names = [item["name"] for table in added["energy"].values() for item in table["items"]]
assert any("request counter" in name for name in names), names
runs = {name: json.load(open(f"{name}.json")) for name in ("relay", "slow_relay", "split", "reverse")}
hashes = {run["config_hash"] for run in (plain, *runs.values())}
assert len(hashes) == 5, "each is a machine of its own"
for name, run in runs.items():
    assert run["digest"] == json.load(open(f"{name}.threads.json"))["digest"], name
def items(name):
    return [item["name"] for table in runs[name]["energy"].values() for item in table["items"]]
assert runs["slow_relay"]["cycles"] > runs["relay"]["cycles"], "the kind's own latency at the edge counts"
assert any("request relay" in item for item in items("relay")), items("relay")
assert any("narrow request" in item for item in items("split")), items("split")
assert runs["split"]["stats"]["noc.request.flits"] > plain["stats"]["noc.request.flits"], "narrower ports"
assert runs["reverse"]["stats"]["dispatch.ctas_completed"] == plain["stats"]["dispatch.ctas_completed"]
assert runs["reverse"]["digest"] != plain["digest"]

plain, ours, delayed, threads, both = (json.load(open(f"mesh_{name}.json")) for name in ("plain", "ours", "delayed", "threads", "both"))
stats = delayed["stats"]
assert plain["digest"] == ours["digest"] and plain["config_hash"] == ours["config_hash"], "a unit that is off changes nothing"
assert delayed["digest"] == threads["digest"], "any number of threads gives the same result"
assert delayed["config_hash"] != plain["config_hash"]
assert 0 < stats["read_delay.sent"] == stats["read_delay.held"]
assert stats["read_delay.cycles"] >= 40 * stats["read_delay.sent"], "each waits for its time at least"
assert stats["read_delay.delivered"] == stats["noc.request.packets"] == plain["stats"]["noc.request.packets"]
assert stats["noc.request.latency"] > plain["stats"]["noc.request.latency"], "waiting takes time"
assert both["stats"]["noc.coalescing.merged"] > 0, "units work side by side"
names = [item["name"] for table in delayed["energy"].values() for item in table["items"]]
assert any("read delay queue" in name for name in names), names
CHECK
echo "consumer: mechanisms from outside work"

# 5. The warp scheduler of docs/how-to/my-mechanism.md: its files as they are on the page, its commands with this prefix.
page=$here/../../docs/how-to/my-mechanism.md
mkdir "$temp/page"
for file in main.cpp CMakeLists.txt; do
    awk -v mark="<!-- file: $file -->" '$0 == mark {seen = 1; next} seen && /^```$/ {exit} inside {print} seen && /^```/ {inside = 1}' "$page" >"$temp/page/$file"
    test -s "$temp/page/$file"
done
cd "$temp/page"
awk '/^build\/my_mergelane / {print; seen++} END {exit seen < 3}' "$page" >commands.sh
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$temp/prefix" >"$temp/configure.log" || { cat "$temp/configure.log" >&2; exit 1; }
cmake --build build >"$temp/build.log" || { cat "$temp/build.log" >&2; exit 1; }
bash -euo pipefail commands.sh >output.txt 2>&1 || { cat output.txt >&2; exit 1; }
grep -q "youngest_first  *the newest CTA's first warp" output.txt
echo "consumer: the warp scheduler of the documentation works"
