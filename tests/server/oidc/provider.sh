#!/bin/sh
# Unpacks npm's oidc-provider beside the environment (3 MB), if npm is there; otherwise the tests that need it say what to do.
[ -e .oidc/.ready ] && cmp -s tests/server/oidc/package-lock.json .oidc/package-lock.json && exit 0
command -v npm >/dev/null || exit 0
mkdir -p .oidc && cp tests/server/oidc/package.json tests/server/oidc/package-lock.json .oidc/
npm ci --prefix .oidc --no-audit --no-fund --ignore-scripts --silent >/dev/null 2>&1 && touch .oidc/.ready ||
    echo "npm's oidc-provider cannot be installed here: its tests are skipped"
exit 0
