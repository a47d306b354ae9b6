#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tests of the Python package that make up their inputs, repeated for some minutes, with the extension module under ASan and UBSan.
#   tests/python/under_asan.sh BUILD COMMAND MINUTES    BUILD: made with the preset `asan` and -DMERGELANE_PYTHON=ON
# COMMAND has no sanitizers: tests start it, and campaigns limit its address space.
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ $# -ne 3 ]; then sed -n '3,5s/^# //p' "$0" >&2; exit 2; fi
build=$(realpath "$1") command=$(realpath "$2") minutes=$3
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf '#!/bin/sh\nexec env -u LD_PRELOAD "%s" "$@"\n' "$command" >"$work/mergelane"
chmod +x "$work/mergelane"
mkdir "$work/python"
cp -rL "$build/python/mergelane" "$work/python/mergelane"
cp "$work/mergelane" "$work/python/mergelane/bin/mergelane"

# Without libstdc++ in the process from the start, the runtime cannot intercept exceptions. Python itself leaks.
export LD_PRELOAD="$("$compiler" -print-file-name=libclang_rt.asan-x86_64.so) $("$compiler" -print-file-name=libstdc++.so.6)"
export ASAN_OPTIONS=detect_leaks=0:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1
export PYTHONPATH=$work/python PYTHONDONTWRITEBYTECODE=1 MERGELANE=$work/mergelane
begin=$SECONDS rounds=0
until [ $((SECONDS - begin)) -ge $((minutes * 60)) ] && [ $rounds -gt 0 ]; do
    for file in reading_any machines kernels running sweep; do
        only=()
        if [ $file = sweep ]; then only=(-k any_grid); fi  # its other tests start programs, such as ps, which hang with the runtime preloaded
        # Whoever starts this in the background has SIGINT ignored, which tests of Ctrl-C must not inherit.
        env --default-signal=INT /usr/bin/python3 -m unittest "${only[@]}" "tests/python/test_$file.py" >"$work/log" 2>&1 || {
            cat "$work/log"
            echo "under_asan: test_$file.py failed after $((SECONDS - begin)) s" >&2
            exit 1
        }
        echo "under_asan: test_$file.py passed, $((SECONDS - begin)) s"
        if [ $rounds -gt 0 ] && [ $((SECONDS - begin)) -ge $((minutes * 60)) ]; then break; fi
    done
    rounds=$((rounds + 1))
done
