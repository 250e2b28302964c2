#!/usr/bin/env bash
# Usage: run.sh           the example twice: the second run finds what the first one wrote
#        run.sh conform   the contract's test-suite on the store of the example
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

[ -d node_modules ] || npm ci --ignore-scripts --no-audit --no-fund
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

leaderboard() { node leaderboard.mjs "$folder/scores"; }
conform() { node conform.mjs "$folder/conform" "$@"; }

npm run --silent transpile
case "${1:-}" in
"")
    leaderboard
    leaderboard
    ;;
conform)
    npm run --silent transpile-conform
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
