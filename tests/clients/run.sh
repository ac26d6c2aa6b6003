#!/bin/sh
# Runs the tests of clients that are no Python packages, with the Python that is named: R, with what Debian packages for it.
# Where R cannot be had they are skipped, in words. RPostgres is used instead if R has it.
export DISCREET_CLIENTS=1 DEBIAN_FRONTEND=noninteractive
driver() { Rscript -e "q(status = !(requireNamespace('RPostgres', quietly = TRUE) || requireNamespace('RPostgreSQL', quietly = TRUE)))" >/dev/null 2>&1; }
install() { apt-get install -y --no-install-recommends r-base-core r-cran-dbi r-cran-rpostgresql >/dev/null 2>&1; }
if ! driver && [ "$(id -u 2>/dev/null)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing R, for the tests of clients (once) …"
    install || { apt-get update >/dev/null 2>&1; install; }
fi
driver || {
    many=$("$1" -m pytest -q --collect-only tests/clients 2>/dev/null | grep -c '::')
    echo "$many tests of clients need R with RPostgres or RPostgreSQL, which cannot be had here: skipped"
    exit 0
}
exec "$1" -m pytest -q tests/clients
