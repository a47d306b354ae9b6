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
