#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The wheel in a clean Debian 12: from `pip install` to a first figure in under two minutes, and uninstalled without a trace.
#   tests/python/wheel_in_chroot.sh BUILD_DIR     as root; needs mmdebstrap, and the mirror that this machine's apt uses; 77: skipped
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
build=$(realpath "$1")
if [ "$(id -u)" -ne 0 ]; then echo "skipped: only root can make a chroot"; exit 77; fi
command -v mmdebstrap >/dev/null || { echo "skipped: mmdebstrap is not installed"; exit 77; }
work=$(mktemp -d)
root=$work/root
clean_up() {
    if mountpoint -q "$root/proc"; then umount "$root/proc" || umount --lazy "$root/proc"; fi
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT

python3 -m build --wheel --no-isolation -C "build-dir=$build" -o "$work" "$top" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/debian.sources 2>/dev/null >"$work/sources" || true
mmdebstrap --quiet --mode=root --variant=minbase --include=python3,python3-venv,python3-numpy,python3-pandas,python3-matplotlib bookworm "$root" "$work/sources"
mount -t proc proc "$root/proc"
cp "$work"/*.whl "$root/tmp/"
cat >"$root/tmp/first_plot.py" <<'E2'
import matplotlib
matplotlib.use("Agg")
import mergelane
runs = mergelane.sweep({"gpu": ["v100", "a100", "h100"], "workload": ["hotspot", "spmv"], "size": ["tiny"]})
axes = runs.pivot(index="workload", columns="gpu", values="cycles").plot.bar(ylabel="core cycles")
axes.figure.savefig("/tmp/first.png")
E2

started=$SECONDS
chroot "$root" python3 -m venv --system-site-packages /opt/mergelane
chroot "$root" sh -c '/opt/mergelane/bin/pip install --quiet --no-index --no-deps /tmp/*.whl'
chroot "$root" env HOME=/tmp/home /opt/mergelane/bin/python /tmp/first_plot.py
took=$((SECONDS - started))
file "$root/tmp/first.png" 2>/dev/null || true
test -s "$root/tmp/first.png"
chroot "$root" /opt/mergelane/bin/pip uninstall --quiet --yes mergelane
if find "$root/opt/mergelane" -iname '*mergelane*' -mindepth 1 | grep .; then echo "left behind"; exit 1; fi
echo "from pip install to a figure in $took s (at most 120)"
test "$took" -le 120
