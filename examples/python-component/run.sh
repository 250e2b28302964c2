#!/usr/bin/env bash
# Usage: run.sh [FOLDER]
# Builds the application, puts it on top of the store, and runs it twice with its data in FOLDER: the second run finds what the
# first one wrote. Without FOLDER the data goes away at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

dist="${ORBWEAVER_DIST:-../../dist}"
python="${ORBWEAVER_PYTHON:-.venv/bin/python}"
if [ ! -x "$python" ]; then
    python3 -m venv .venv
    "$python" -m pip install --quiet --requirement requirements.txt
fi
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
data="${1:-$build/data}"
mkdir -p "$data"

# The application alone. It imports wasi:keyvalue.
"${python%/*}/componentize-py" --quiet -d "$dist/wit/wasi-keyvalue-0.2.0-draft2" -d wit -w example:visits/visits \
    componentize app -o "$build/app.wasm"

# The application on top of Orbweaver and redb, in one file.
cargo run --quiet --manifest-path ../../plugins/Cargo.toml --package orbweaver-package -- \
    compose "$build/visits.wasm" "$dist/orbweaver-keyvalue-on-redb.wasm" "$build/app.wasm"

"$python" host.py "$build/visits.wasm" "$data"
"$python" host.py "$build/visits.wasm" "$data"
