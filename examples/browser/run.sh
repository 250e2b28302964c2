#!/usr/bin/env bash
# Usage: run.sh [PORT]   installs the package as `cargo xtask web` has packed it, and serves the page on the loopback interface
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

npm install --no-save --ignore-scripts --no-audit --no-fund --silent "${ORBWEAVER_DIST:-../../dist}"/web/orbweaver-*.tgz
exec node ../../web/serve.mjs . "${1:-8000}"
