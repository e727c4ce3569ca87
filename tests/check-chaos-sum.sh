#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check-chaos-sum.sh - tests/chaos/sum adds up slices of the campaign, and no other ones.
set -euo pipefail

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

# slice FILE SEED FAILED KILLS TERMS
slice() {
  {
    [ "$3" = 0 ] || echo "FOUND after 3 faults (last: kill): job 7"
    printf '%-16s %s\n' fault times kill "$4" no_socket_dir "$5"
    echo "chaos: $(($4 + $5)) faults, 20 jobs, $3 failed, 0 leftovers, 1 records lost (seed $2)"
  } >"$tmp/$1"
}
# sums STATUS REGEX FILE...
sums() {
  local status=$1 want=$2 rc=0
  shift 2
  (cd "$tmp" && "$top/tests/chaos/sum" "$@") >"$tmp/out" 2>&1 || rc=$?
  if [ $rc != "$status" ] || ! grep -qE "$want" "$tmp/out"; then
    echo "check-chaos-sum: $*: status $rc, not $status, or no '$want':" >&2
    cat "$tmp/out" >&2
    bad=1
  fi
}

slice a 1 0 3 4
slice b 2 2 10 0
sums 1 '^chaos: 17 faults, 40 jobs, 2 failed, 0 leftovers, 2 records lost \(seeds 1 2\)$' a b
sums 1 '^kill +13$' a b
sums 1 '^no_socket_dir +4$' a b
sums 1 '^FOUND after 3 faults' a b
sed -i 's/1 records/0 records/' "$tmp/a"
sums 0 '^chaos: 7 faults, 20 jobs, 0 failed, 0 leftovers, 0 records lost \(seeds 1\)$' a
slice again 1 0 1 1
sums 1 'sum: again: seed 1 is that of a' a again
head -2 "$tmp/a" >"$tmp/cut"
sums 1 'sum: cut: a slice that came to no end' a cut
sums 1 'sum: none: a slice that came to no end' a none
sed 's/^kill .*/kill 2/' "$tmp/a" >"$tmp/short"
sums 1 'sum: short: 6 faults in the table' short
sums 2 'OUTPUT'
exit $bad
