#!/usr/bin/env bash
# The page docs/start.md as a new user would follow it, with the seconds of each step: a first result, a page, a kernel of one's own.
#   tests/first_five_minutes.sh MERGELANE         with a command that is there
#   tests/first_five_minutes.sh --from-source     from a clean copy of the tree (git archive), building it first as the page says
set -euo pipefail
cd "$(dirname "$0")/.."
started=$SECONDS
case "${1:-}" in
    --from-source)
        copy=$(mktemp -d)
        trap 'rm -rf "$copy"' EXIT
        git archive HEAD | tar -x -C "$copy"
        # The lines of the page's first block, apart from the packages.
        mapfile -t commands < <(awk '/^## Install/ {seen = 1} seen && /^```$/ {exit} inside {print} seen && /^```sh$/ {inside = 1}' docs/start.md | grep -E '^cmake ')
        for command in "${commands[@]}"; do
            begin=$SECONDS
            (cd "$copy" && bash -euo pipefail -c "$command" >build.log 2>&1) || { tail -n 30 "$copy/build.log" >&2; exit 1; }
            printf '%6d s  %s\n' $((SECONDS - begin)) "$command"
        done
        mergelane=$copy/build/release/apps/mergelane/mergelane ;;
    "") sed -n '2,4s/^# *//p' "$0" >&2; exit 2 ;;
    *) mergelane=$1 ;;
esac
python3 tests/doc_commands.py "$mergelane" --page docs/start.md --times --jobs 1
printf '%6d s  in all\n' $((SECONDS - started))
