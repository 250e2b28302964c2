#!/usr/bin/env bash
# Usage: run.sh           the example twice: the second run finds what the first one wrote
#        run.sh conform   the contract's test-suite on the store of the example
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

dist="${ORBWEAVER_DIST:-../../dist}"
python="${ORBWEAVER_PYTHON:-.venv/bin/python}"
if [ ! -x "$python" ]; then
    python3 -m venv .venv
    "$python" -m pip install --quiet --requirement requirements.txt
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

leaderboard() { "$python" leaderboard.py "$dist/orbweaver.wasm" "$folder/scores.db"; }
conform() { "$python" conform.py "$dist/orbweaver-conform.wasm" "$folder/conform.db" "$@"; }

case "${1:-}" in
"")
    leaderboard
    leaderboard
    ;;
conform)
    conform
    conform leave
    conform find
    # Three processes at once on one store.
    conform contend 1 3 & one=$!
    conform contend 2 3 & two=$!
    conform contend 0 3
    wait "$one"
    wait "$two"
    ;;
*)
    sed -n '2,3s/^# //p' run.sh >&2
    exit 2
    ;;
esac
