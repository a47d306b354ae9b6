#!/usr/bin/env bash
# The same inputs give the same bytes, whoever compiled the simulator: runs six synthetic workloads on three machines
# with every binary given and requires equal digests.
#   tests/cross_build_digests.sh BINARY BINARY...
set -euo pipefail
if [ $# -lt 2 ]; then
    echo "usage: tests/cross_build_digests.sh BINARY BINARY...   (at least two builds of mergelane to compare)" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
export MERGELANE_GPUS=$root/gpus
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

different=0
compared=0
for gpu in icc60 gtx480 v100; do
    for kind in compute stream tiled divergent atomic barrier; do
        expected=
        for binary in "$@"; do
            "$binary" run --gpu "$gpu" --synthetic "$kind" --param ctas=96 --param iterations=3 --quiet --json "$temp/out.json"
            digest=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["digest"])' "$temp/out.json")
            [ -n "$expected" ] || expected=$digest
            if [ "$digest" != "$expected" ]; then
                echo "$gpu $kind: $binary gives $digest, $1 gives $expected" >&2
                different=$((different + 1))
            fi
        done
        compared=$((compared + 1))
    done
done
if [ "$different" -ne 0 ]; then
    echo "cross-build digests: $different differ" >&2
    exit 1
fi
echo "cross-build digests: $compared runs, equal for all $# builds"
