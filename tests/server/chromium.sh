#!/bin/sh
# Installs chromium if it is missing and can be installed; otherwise goes on: the tests that need it say what to do.
command -v chromium >/dev/null && exit 0
[ "$(id -u 2>/dev/null)" = 0 ] && command -v apt-get >/dev/null || exit 0
echo "installing chromium, for the tests of the pages (once) …"
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends chromium >/dev/null 2>&1 ||
    { apt-get update && apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1 ||
    echo "chromium cannot be installed here: those tests are skipped"
exit 0
