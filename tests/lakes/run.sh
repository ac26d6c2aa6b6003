#!/bin/sh
# Runs the tests of Delta and Iceberg tables, with the Python that is named. Where their packages cannot be had they are skipped, in words.
export DISCREET_LAKES=1
make --no-print-directory .lakes/.ready || {
    many=$("$1" -m pytest -q --collect-only tests/lakes 2>/dev/null | grep -c '::')
    echo "$many tests of lakes need deltalake and pyiceberg, which could not be installed: skipped"
    exit 0
}
PYTHONPATH="$PWD/.lakes" exec "$1" -m pytest -q tests/lakes
