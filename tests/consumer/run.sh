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

# 4. Mechanisms from outside: three files of a user's own, and every command knows them.
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
expect 'is superstitious' "$outside" config check icc60 --set delay_front.cycles=13
expect 'request counter' "$outside" config show icc60 --set request_counter.enabled=true
tiled=(--gpu icc60 --synthetic tiled --param ctas=120 --param iterations=4)
"$outside" run "${tiled[@]}" --json plain.json -q
"$outside" run "${tiled[@]}" --set lsu.front=delay --set delay_front.cycles=50 --set request_counter.enabled=true \
    --set dispatch.scheduler=emptiest_first --energy bottom_up_40nm --json added.json >added.txt
"$outside" run "${tiled[@]}" --set lsu.front=delay --set delay_front.cycles=50 --set request_counter.enabled=true \
    --set dispatch.scheduler=emptiest_first --threads 2 --json threads.json -q
"$temp/prefix/bin/mergelane" run "${tiled[@]}" --json ours.json -q
grep -q 'Request counter' added.txt
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
CHECK
echo "consumer: mechanisms from outside work"
