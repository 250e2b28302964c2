#!/usr/bin/env bash
# Usage: run.sh            the example twice: the second run finds what the first one wrote
#        run.sh together   four processes at once on one database
#        run.sh conform    the contract's test-suite on the store of the example
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

[ -d node_modules ] || npm ci --ignore-scripts --no-audit --no-fund
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

leaderboard() { node leaderboard.mjs "$folder/scores"; }
conform() { node conform.mjs "$folder/conform" "$@"; }

npm run --silent transpile
case "${1:-}" in
"") leaderboard && leaderboard ;;
together) { for _ in 1 2 3 4; do leaderboard & done; wait; } | grep '^This is run' | sort ;;
conform) npm run --silent transpile-conform && conform && conform leave && conform find ;;
*) sed -n '2,4s/^# //p' run.sh >&2 && exit 2 ;;
esac
