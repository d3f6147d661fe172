#!/bin/sh
# The playground in real Chromium, with the network off. Called by `make webtest`.
# usage: tests/web/run.sh PAGE_DIR CURVE_PROGRAM WORK_DIR [PICTURE]
# PICTURE: also keep the picture of the page there (examples/web/playground.png)
set -eu
here=$(dirname "$0")
work=$3
need() { # COMMAND DEBIAN_PACKAGE
    command -v "$1" >/dev/null || { echo "there is no $1: install it (Debian: $2)"; exit 1; }
}
need node nodejs
need npm npm
need chromium chromium
mkdir -p "$work"
# what drives the browser; nothing else of npm is used, and nothing of it is kept
if [ ! -d "$work/node_modules/playwright-core" ]; then
    npm install --prefix "$work" --no-save --no-audit --no-fund --loglevel error \
        playwright-core@1.65.1
fi
"$2" 0 30 1 >"$work/cartpole.json"
"$2" 2 5 1 >"$work/half_cheetah.json"
code=0
timeout 3600 node "$here/page.js" "$1" "$work" "$(command -v chromium)" ${4:+"$4"} || code=$?
[ $code -ne 124 ] || echo "not done after an hour: given up"
exit $code
