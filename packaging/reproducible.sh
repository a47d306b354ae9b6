#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whether two builds in two folders give the same bytes: clones this commit twice, builds the packages in each and compares.
#   packaging/reproducible.sh [--plain] [--cached] [--with FOLDER]
# --with: FOLDER has packages of this commit already, and only one build is made. --cached: with the compiler cache; only generating,
# linking and packing are compared.
set -euo pipefail
cd "$(dirname "$0")/.."
plain=() first=
export CCACHE_DISABLE=1  # what another build has compiled would prove nothing
while [ $# -gt 0 ]; do
    case "$1" in
        --plain) plain=(--plain); shift ;;
        --cached) unset CCACHE_DISABLE; export CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1; shift ;;
        --with) first=$(realpath "$2"); shift 2 ;;
        *) echo "usage: packaging/reproducible.sh [--plain] [--cached] [--with FOLDER]" >&2; exit 2 ;;
    esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() {  # build PATH FOLDER
    git clone --quiet --no-hardlinks . "$work/$1"
    "$work/$1/packaging/build" "${plain[@]}" "$2" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
}
if [ -z "$first" ]; then
    first=$work/first
    build one "$first"
fi
build a/longer/path/than/the/first "$work/second"

differ=0
for file in "$first"/*; do
    name=$(basename "$file")
    case "$name" in SHA256SUMS | *-oci.tar) continue ;; esac  # the image holds Debian's packages of the day
    if cmp -s "$file" "$work/second/$name"; then echo "same bytes: $name"; continue; fi
    differ=1
    echo "DIFFERS: $name"
    mkdir -p "$work/x/1" "$work/x/2"
    for side in 1 2; do
        if [ $side = 1 ]; then from=$file; else from=$work/second/$name; fi
        case "$name" in
            *.deb) dpkg-deb -R "$from" "$work/x/$side" ;;
            *.tar.gz) tar -xzf "$from" -C "$work/x/$side" ;;
            *.whl) python3 -m zipfile -e "$from" "$work/x/$side" ;;
            *) cp "$from" "$work/x/$side/" ;;
        esac
    done
    diff -rq "$work/x/1" "$work/x/2" | sed "s#$work/x/##g; s/^/    /" || true
    rm -rf "$work/x"
done
exit $differ
