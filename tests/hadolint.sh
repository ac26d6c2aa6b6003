#!/bin/sh
# Asks hadolint about the container file. Where it cannot be had that is said.
make --no-print-directory .hadolint/.ready || {
    echo "1 test of the container file needs hadolint, which could not be installed: skipped"
    exit 0
}
.hadolint/bin/hadolint --no-color --failure-threshold info deploy/Containerfile && echo "hadolint finds nothing in deploy/Containerfile"
