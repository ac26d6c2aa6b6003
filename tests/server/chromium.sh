#!/bin/sh
# Installs a browser if it is missing and can be installed; otherwise goes on: the tests that need it say what to do.
# Without windows, chromium takes half of the processor: chromium itself is used where there is nothing smaller.
command -v chromium-headless-shell >/dev/null && exit 0
[ "$(id -u 2>/dev/null)" = 0 ] && command -v apt-get >/dev/null || exit 0
echo "installing chromium, for the tests of the pages (once) …"
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y --no-install-recommends "$@" >/dev/null 2>&1; }
install chromium-headless-shell || command -v chromium >/dev/null ||
    { apt-get update >/dev/null 2>&1; install chromium-headless-shell || install chromium; } ||
    echo "chromium cannot be installed here: those tests are skipped"
exit 0
