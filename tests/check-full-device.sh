#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check-full-device.sh - a program that cannot write what it was asked for says so, and exits 1: all
# of them, whatever they print, into /dev/full.
set -uo pipefail
builddir=${COLOC_BUILDDIR:-.}
srcdir=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
[ -w /dev/full ] || {
  echo "SKIP: no /dev/full"
  exit 77
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0 n=0
full() {
  local rc=0
  n=$((n + 1))
  timeout 300 "$@" >/dev/full 2>"$tmp/err" </dev/null || rc=$?
  [ $rc = 1 ] && grep -qE 'error: standard output: (No space left on device|not all of it)' "$tmp/err" && return
  failed=$((failed + 1))
  echo "FAIL: exit $rc: $* >/dev/full: $(head -c 300 "$tmp/err")"
}
# The same into a file that an option names.
full_file() {
  local rc=0
  n=$((n + 1))
  timeout 300 "$@" >/dev/null 2>"$tmp/err" </dev/null || rc=$?
  [ $rc = 1 ] && grep -q '/dev/full' "$tmp/err" && return
  failed=$((failed + 1))
  echo "FAIL: exit $rc: $*: $(head -c 300 "$tmp/err")"
}

ctl=$builddir/nodesvc/colocctl acct=$builddir/nodesvc/colocacct sim=$builddir/nodesvc/colocsim
export COLOC_SOCKET=$tmp/none.sock
for args in --help --version "check --help" "jobs --help" "check --root=$tmp" "--json check --root=$tmp" \
  "check --root=$tmp --json" bundle; do
  # shellcheck disable=SC2086 # words
  full "$ctl" $args
done
full_file "$ctl" bundle --output=/dev/full
for args in --help --usage --version --helpformat; do full "$acct" "$args"; done
full "$builddir/nodesvc/colocd" --help
full "$builddir/nodesvc/colocd" --version
for args in --help "plan --help" "run --help" "eval --help" "replay --help"; do
  # shellcheck disable=SC2086 # words
  full "$sim" $args
done
job='{"jobs":[{"id":"1"},{"id":"2"}]}'
echo "$job" >"$tmp/jobs.json"
for args in "" --json; do
  # shellcheck disable=SC2086 # words
  full "$sim" plan --policy=fair --topology="core:4 pu:1" --jobs="$tmp/jobs.json" $args
done
for args in "" --json --csv; do
  # shellcheck disable=SC2086 # words
  full "$sim" eval --population=lira --policies=fair --combos=1 --runs=1 $args
done
workload=$(find "$srcdir/contrib/workloads" -name '*.yaml' ! -name '*tasks*' | sort | head -1)
for args in "" --json --csv; do
  # shellcheck disable=SC2086 # words
  full "$sim" run "$workload" $args
done
for bench in "$builddir"/contrib/bench/bin/*; do
  # Some have no help, and say so on standard error.
  if [ -n "$("$bench" --help 2>/dev/null)" ]; then full "$bench" --help; fi
done
echo "$n commands into a full device, $failed failed"
[ "$failed" = 0 ]
