#!/usr/bin/env bash
# Runs the quick start of README.md as written: the lines of the first ```sh block after the quick-start marker, in
# order, each from the top of the source tree. Lines that install packages or fetch the sources are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t commands < <(awk '/<!-- quick start -->/ {seen = 1}
                             seen && /^```$/ {exit}
                             inside {print}
                             seen && /^```sh$/ {inside = 1}' README.md | grep -vE '^(#|sudo |git clone |cd |$)')
if [ ${#commands[@]} -lt 3 ]; then
    echo "readme: found ${#commands[@]} commands in the quick start; expected at least configure, build and run" >&2
    exit 1
fi
# Where everything is installed already, a package that is missing from the list would not be noticed.
for package in $(sed -n '/^packages=(/,/)/p' .ci/run | grep -oE '[a-z0-9-]+-dev' | grep -v '^libclang-rt'); do
    for page in README.md CONTRIBUTING.md docs/start.md; do
        grep -q "apt-get install.*\b$package\b\|^    .*\b$package\b" "$page" || { echo "readme: $page does not install $package, which CI needs to build" >&2; exit 1; }
    done
done
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for command in "${commands[@]}"; do
    echo "readme: $command"
    bash -euo pipefail -c "$command" >"$log" 2>&1 || { cat "$log"; echo "readme: failed: $command" >&2; exit 1; }
done
# The output shown in docs/using.md must be the output seen; only how long it took may differ.
shown=$(awk '/^synthetic:/ {inside = 1} /^```$/ {if (inside) exit} inside' docs/using.md | grep -v '^Simulated in')
if ! diff <(grep -v '^Simulated in' "$log") <(printf '%s\n' "$shown"); then
    echo "readme: the quick start prints something else than docs/using.md shows (<: printed, >: shown); paste it anew" >&2
    exit 1
fi
tail -n 3 "$log"
