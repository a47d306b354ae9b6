#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Packages where they land: a clean system without compiler, made by mmdebstrap. Each is installed as its users would, runs the quick start, a
# CUDA program and an experiment of a paper, and is removed without a trace.
#   packaging/test_in_chroot.sh SUITE deb|tarball|wheel FOLDER [PROGRAM]    as root; FOLDER: the packages (packaging/build)
# PROGRAM is compiled by nvcc with -cudart shared (default: tests/cuda/vector_add.cu is compiled here; without nvcc this step is skipped).
# MERGELANE_MIRROR: a mirror instead of those that this machine's apt uses, for suites that they do not have. 77: skipped
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
if [ $# -lt 3 ]; then sed -n '3,8s/^# //p' "$0" >&2; exit 2; fi
suite=$1 kind=$2 folder=$(realpath "$3") program=${4:-}
if [ "$(id -u)" -ne 0 ]; then echo "skipped: only root can make a chroot"; exit 77; fi
command -v mmdebstrap >/dev/null || { echo "skipped: mmdebstrap is not installed"; exit 77; }
case "$kind" in deb | tarball | wheel) ;; *) echo "'$kind' is none of deb, tarball and wheel" >&2; exit 2 ;; esac
work=$(mktemp -d)
root=$work/root
clean_up() {
    for place in proc dev/shm dev; do
        if mountpoint -q "$root/$place"; then umount "$root/$place" || umount --lazy "$root/$place"; fi
    done
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT

if [ -z "$program" ] && { command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; }; then
    program=$work/vector_add
    PATH=$PATH:/usr/local/cuda/bin nvcc -arch=sm_75 -cudart shared -o "$program" "$top/tests/cuda/vector_add.cu"
fi

# 1. A minimal system; with what the kind of package is installed by.
include=()
case "$kind" in
    deb) include=(--include=ca-certificates) ;;
    wheel) include=(--include=python3,python3-venv,python3-numpy,python3-pandas) ;;
esac
sources=$work/sources
if [ -n "${MERGELANE_MIRROR:-}" ]; then
    echo "deb $MERGELANE_MIRROR $suite main" >"$sources"
else
    cat /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources >"$sources" 2>/dev/null || true
    if ! grep -q "Suites:.*\b$suite\b\|^deb .*\b$suite\b" "$sources"; then echo "deb http://deb.debian.org/debian $suite main" >"$sources"; fi
fi
mmdebstrap --quiet --mode=root --variant=minbase "${include[@]}" "$suite" "$root" "$sources"
mount -t proc proc "$root/proc"
in_root() { chroot "$root" env -i HOME="$home" PATH="$path" LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
home=/root path=/usr/sbin:/usr/bin:/sbin:/bin
in_root useradd --create-home --shell /bin/sh user
[ -z "$program" ] || cp "$program" "$root/opt/program"
state() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/dpkg -o -path ./home/user/.cache \) -prune -o -print | sort); }
as_user() { chroot --userspec=user:user "$root" env -i HOME=/home/user PATH="$path" LC_ALL=C.UTF-8 "$@"; }

# 2. Install, and a first result.
cp -r "$folder" "$root/tmp/packages"
chmod -R a+rX "$root/tmp/packages"
if [ "$kind" = deb ]; then in_root apt-get -qq update; fi
state >"$work/before"
begin=$(date +%s%N)
case "$kind" in
    deb) in_root sh -c 'apt-get install -qq -y --no-install-recommends /tmp/packages/mergelane_*.deb' >"$work/install.log" 2>&1 || { cat "$work/install.log"; exit 1; } ;;
    tarball)
        as_user sh -c 'cd && tar -xzf /tmp/packages/mergelane-*-linux-*.tar.gz && mv mergelane-* mergelane'
        path=/home/user/mergelane/bin:$path ;;
    wheel)
        as_user sh -c 'cd && python3 -m venv --system-site-packages mergelane && mergelane/bin/pip install --quiet --no-index --no-deps /tmp/packages/*.whl'
        path=/home/user/mergelane/bin:$path ;;
esac
as_user sh -c 'mergelane run --gpu icc60 --synthetic stream' >"$work/first.txt"
took=$(($(date +%s%N) - begin))
grep -q IPC "$work/first.txt" || { cat "$work/first.txt"; exit 1; }
echo "$suite $kind: first result $((took / 1000000000)).$(printf %01d $((took / 100000000 % 10))) s after the beginning of the installation"

# 3. The quick start, a CUDA program, an experiment.
as_user sh -c 'command -v cc c++ gcc g++' && { echo "this system has a compiler" >&2; exit 1; }
as_user sh -ec 'cd
    mergelane --version
    mergelane run --gpu icc60 --workload hotspot --size tiny --set l1.size_kib=64 -q
    mergelane cuda true
    mergelane explain --gpu icc60 --workload hotspot --size tiny --what-if >explain.txt
    mergelane compare icc60 v100 --workloads hotspot,bfs --size tiny >compare.txt
    mergelane reproduce icc --figure 10 --size tiny --html r.html >r.txt
    test -s explain.txt
    test -s compare.txt
    grep -q "<svg\|vega" r.html
    rm -r explain.txt compare.txt r.html r.txt out'
if [ -n "$program" ]; then
    as_user sh -ec 'cd
        mergelane cuda /opt/program >plain.txt
        grep -q "sums are right" plain.txt
        mergelane cuda --gpu v100 --json timed.json /opt/program >plain.txt
        grep -q "\"cycles\"" timed.json
        rm plain.txt timed.json'
    echo "$suite $kind: the CUDA program runs"
else
    echo "$suite $kind: no nvcc, so no CUDA program was run"
fi
if [ "$kind" = deb ] && ls "$folder"/python3-mergelane_*.deb >/dev/null 2>&1; then
    in_root sh -c 'apt-get install -qq -y --no-install-recommends /tmp/packages/python3-mergelane_*.deb' >"$work/install.log" 2>&1 || { cat "$work/install.log"; exit 1; }
fi
if [ "$kind" != tarball ]; then
    as_user python3 -c 'import mergelane; run = mergelane.run("v100", "hotspot", size="tiny"); assert run.cycles > 0'
    echo "$suite $kind: the Python package runs"
fi

# 4. Removed without a trace; what apt installed for it goes with it. The cache of recordings is the user's.
case "$kind" in
    deb) in_root apt-get purge -qq -y --autoremove 'mergelane' 'python3-mergelane*' >"$work/remove.log" 2>&1 || { cat "$work/remove.log"; exit 1; } ;;
    tarball) as_user rm -r /home/user/mergelane ;;
    wheel)
        as_user /home/user/mergelane/bin/pip uninstall --quiet --yes mergelane
        if find "$root/home/user/mergelane" -mindepth 1 -iname '*mergelane*' | grep .; then echo "the above was left behind" >&2; exit 1; fi
        as_user rm -r /home/user/mergelane ;;
esac
state >"$work/after"
if ! diff "$work/before" "$work/after" | grep '^>' | grep -i mergelane; then :; else echo "the above was left behind" >&2; exit 1; fi
diff "$work/before" "$work/after" | grep '^[<>]' >"$work/changed" || true
if [ -s "$work/changed" ]; then echo "$suite $kind: other differences after removal:"; head -20 "$work/changed"; fi
echo "$suite $kind: removed without a trace"
