#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the container image as its users would: a first result, an experiment of a paper whose page lands in a folder of the host, and a CUDA
# program.
#   packaging/test_image.sh FOLDER [PROGRAM]    as root; FOLDER has the image (packaging/image). PROGRAM: see test_in_chroot.sh
# 77: skipped, podman is missing
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -lt 1 ]; then sed -n '3,6s/^# //p' "$0" >&2; exit 2; fi
command -v podman >/dev/null || { echo "skipped: podman is not installed"; exit 77; }
archive=$(echo "$(realpath "$1")"/mergelane-*-oci.tar) program=${2:-}
work=$(mktemp -d)
podman=(podman --root "$work/storage" --runroot "$work/run" --storage-driver vfs --cgroup-manager cgroupfs --events-backend file)
trap '"${podman[@]}" rmi --all --force >/dev/null 2>&1; rm -rf "$work"' EXIT
mkdir "$work/out"

begin=$(date +%s%N)
image=$("${podman[@]}" load --quiet --input "$archive" | sed -n 's/^Loaded image: *//p')
options=(--rm --network none)
# Podman raises limits, which a restricted root may not, and crun refuses hosts that mount both versions of cgroups.
"${podman[@]}" run "${options[@]}" "$image" --version >/dev/null 2>&1 || options+=(--ulimit nofile=1000:1000 --ulimit nproc=1000:1000)
"${podman[@]}" run "${options[@]}" "$image" --version >/dev/null 2>&1 || podman+=(--runtime runc)
run() { "${podman[@]}" run "${options[@]}" --volume "$work/out:/work" "$@"; }
run "$image" run --gpu icc60 --synthetic stream >"$work/first.txt"
took=$(($(date +%s%N) - begin))
grep -q IPC "$work/first.txt" || { cat "$work/first.txt"; exit 1; }
echo "image: first result $((took / 1000000000)).$((took / 100000000 % 10)) s after the archive"

run "$image" reproduce icc --figure 10 --size tiny --html r.html >/dev/null
grep -q "<svg\|vega" "$work/out/r.html"
run "$image" explain --gpu icc60 --workload hotspot --size tiny >/dev/null
if [ -z "$program" ] && { command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }; then
    program=$work/out/program
    PATH=$PATH:/usr/local/cuda/bin nvcc -arch=sm_75 -cudart shared -o "$program" "$top/tests/cuda/vector_add.cu"
fi
if [ -n "$program" ]; then
    run --volume "$(realpath "$program"):/opt/program:ro" "$image" cuda /opt/program >"$work/plain.txt"
    grep -q "sums are right" "$work/plain.txt"
    echo "image: the CUDA program runs"
else
    echo "image: no nvcc, so no CUDA program was run"
fi
echo "image: all is well"
