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
