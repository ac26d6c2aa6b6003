#!/bin/sh
# Runs the tests that need Spark, with the Python that is named. Where Java is missing they are skipped, and nothing is unpacked for them.
export DISCREET_SPARK=1
if ! command -v java >/dev/null; then
    many=$("$1" -m pytest -q --collect-only -m 'not slow' tests/spark 2>/dev/null | grep -c '::')
    echo "$many tests of Spark need Java 17 or newer, which is not here: skipped"
    exit 0
fi
make --no-print-directory .spark/.ready || exit 1
PYTHONPATH="$PWD/.spark" exec "$1" -m pytest -q -n 0 --durations=5 -m 'not slow' tests/spark
