#!/usr/bin/env bash
# check.sh BUILD JOBS [ctest arguments]: runs every test; the output ends with ctest's summary, which stays in
# BUILD/check.log.
# CHECK=all runs everything. Otherwise the tests that docs/progress.md lists as not yet steady are left out, and named.
set -u -o pipefail
unsteady='^(mpi4py\.|recovery\.(times|random_kills)|mpi\.order_steered|house\.headers_alone)'
build=$1
jobs=$2
shift 2
# A test that hangs is ended by its own time limit.
selection=()
if [ "${CHECK:-}" != all ] && [ $# -eq 0 ]; then
  selection=(-E "$unsteady")
  echo "left out (see docs/progress.md; CHECK=all make check runs them): $unsteady"
fi
ctest --test-dir "$build" -j "$jobs" --output-on-failure --no-tests=error --timeout 600 "${selection[@]}" "$@" </dev/null 2>&1 |
  tee "$build/check.log"
