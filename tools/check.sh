#!/usr/bin/env bash
# check.sh BUILD JOBS [ctest arguments]: runs every test; the output ends with ctest's summary, which stays in
# BUILD/check.log.
set -u -o pipefail
build=$1
jobs=$2
shift 2
# A test that hangs is ended by its own time limit.
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error --timeout 600 "$@" </dev/null 2>&1 |
  tee "$build/check.log"
