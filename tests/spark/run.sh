#!/bin/sh
# Runs the tests that need Spark, with the Python that is named, those that are marked (`not slow` unless told): on this machine, then on a cluster of it, because a process has one Spark. Where Java or pyspark cannot be had they are skipped, in words.
export DISCREET_SPARK=1
marked=${2:-not slow}
skipped() {
    many=$("$1" -m pytest -q --collect-only -m "$marked" tests/spark 2>/dev/null | grep -c '::')
    echo "$many tests of Spark need $2: skipped"
    exit 0
}
command -v java >/dev/null || skipped "$1" "Java 17 or newer, which is not here"
make --no-print-directory .spark/.ready || skipped "$1" "pyspark, which could not be installed"
export PYTHONPATH="$PWD/.spark"
"$1" -m pytest -q --durations=5 -m "$marked" tests/spark || exit
DISCREET_SPARK=cluster exec "$1" -m pytest -q --durations=5 -m "$marked" tests/spark/cluster
