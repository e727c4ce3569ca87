#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check-examples.sh - `colocd -t` takes each site's example in etc/examples, and each YAML block of
# the guides in doc/.
set -eu

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
colocd=${COLOC_BUILDDIR:-$top/build}/nodesvc/colocd
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
tried=0 failed=0

fail() {
  echo "check-examples: $*" >&2
  failed=1
}

# try NAME FILE
try() {
  tried=$((tried + 1))
  "$colocd" -t -c "$2" >"$tmp/out" 2>&1 || fail "$1: $(cat "$tmp/out")"
}

# Of a program that takes everything nothing would be learnt.
for wrong in 'no_such_key: 1' 'policy: lyra' 'fallback: lyra' 'fallback: oracle'; do
  echo "$wrong" >"$tmp/wrong.yaml"
  if "$colocd" -t -c "$tmp/wrong.yaml" >"$tmp/out" 2>&1 || ! grep -q "'\?${wrong%%:*}" "$tmp/out"; then
    fail "$colocd -t does not refuse '$wrong': $(cat "$tmp/out")"
  fi
done

# Events of the site's own are looked up, where there is PAPI: libpfm is told a CPU to know them of.
if [ "$(uname -m)" = x86_64 ] && grep -q '^#define HAVE_PAPI 1' "$(dirname "$colocd")/../config.h" 2>/dev/null; then
  echo 'events: {loads: "MEM_INST_RETIRED:ALL_LOADS", llc_misses: "NO_SUCH_EVENT"}' >"$tmp/wrong.yaml"
  if LIBPFM_FORCE_PMU=skx "$colocd" -t -c "$tmp/wrong.yaml" >"$tmp/out" 2>&1 ||
    ! grep -q "key 'events.llc_misses': PAPI knows no event 'NO_SUCH_EVENT'" "$tmp/out"; then
    fail "$colocd -t does not refuse an unknown event: $(cat "$tmp/out")"
  fi
  echo 'events: {loads: "MEM_INST_RETIRED:ALL_LOADS", mem_bytes: "LONGEST_LAT_CACHE:MISS*64"}' >"$tmp/right.yaml"
  LIBPFM_FORCE_PMU=skx "$colocd" -t -c "$tmp/right.yaml" >"$tmp/out" 2>&1 ||
    fail "$colocd -t refuses known events: $(cat "$tmp/out")"
fi

for file in "$top"/etc/examples/*.yaml; do
  [ -e "$file" ] && try "etc/examples/${file##*/}" "$file"
done
[ "$tried" -gt 0 ] || fail "no example in etc/examples"

for page in adopting faq; do
  awk -v out="$tmp/$page" '
    /^```yaml$/ { n++; inside = 1; next }
    /^```/ { inside = 0 }
    inside { print > (out "-" n ".yaml") }' "$top/doc/$page.md"
done
blocks=$tried
for file in "$tmp"/*-*.yaml; do
  [ -e "$file" ] && try "doc: block ${file##*/}" "$file"
done
[ "$tried" -gt "$blocks" ] || fail "no YAML block in doc/adopting.md and doc/faq.md"
exit "$failed"
