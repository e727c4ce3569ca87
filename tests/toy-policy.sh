#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# toy-policy.sh - does what doc/policies.md, "Write your own", tells a newcomer to do: in a copy of
# the tree it adds the toy policy of that page, its registry line, its line in the build list and
# its golden case, each taken from the page, sees that nothing else differs, and runs the golden
# vectors, the random lives and the tests of invariance with it. --full: through autotools.
set -eu

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
top=$(cd "$top" && pwd)
full=
[ "${1:-}" = --full ] && full=1
work=$(mktemp -d "${TMPDIR:-/tmp}/toy-policy.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/tree
page=$tree/doc/policies.md

fail() {
  echo "toy-policy: $*" >&2
  exit 1
}

skip() {
  echo "toy-policy: $*"
  exit 77
}

for pkg in check json-c hwloc; do
  pkg-config --exists "$pkg" || skip "no $pkg"
done

mkdir "$tree"
(cd "$top" && tar -cf - --exclude='./build*' --exclude=./.git --exclude='./autom4te.cache' \
  --exclude='*.o' --exclude='*.lo' --exclude='./coloc-*' .) | tar -xf - -C "$tree"
cp -R "$tree" "$work/before"

# The page's lines: `PATH`: `LINE`
told() {
  sed -n "/^## Write your own/,\$s|^[0-9]\. \`$1\`: \`\(.*\)\`.*|\1|p" "$page"
}
file=$(sed -n '/^## Write your own/,$s|^/\* \(nodesvc/engine/policies/[a-z]*\.c\) \*/$|\1|p' "$page")
entry=$(told nodesvc/engine/registry.def)
source=$(told nodesvc/engine/local.mk)
case=$(sed -n '/^## Write your own/,$s|^ *`\({"case": .*}\)`$|\1|p' "$page")
if [ -z "$file" ] || [ -z "$entry" ] || [ -z "$source" ] || [ -z "$case" ]; then
  fail "the page does not name file, registry line, source line and golden case"
fi

awk '/^## Write your own/ { on = 1 } on && /^```c$/ { in_code = 1; next }
  in_code && /^```$/ { exit } in_code { print }' "$page" >"$tree/$file"
echo "$entry" >>"$tree/nodesvc/engine/registry.def"
# Through the environment: -v would read the backslash at the line's end as an escape.
line="	$source" awk '{ print } /policies\/lira\.c \\$/ { print ENVIRON["line"] }' \
  "$work/before/nodesvc/engine/local.mk" >"$tree/nodesvc/engine/local.mk"
line="$case," awk '{ print } NR == 1 { print ENVIRON["line"] }' \
  "$work/before/tests/golden/others.json" >"$tree/tests/golden/others.json"

diff -rq "$work/before" "$tree" >"$work/differs" || :
[ "$(wc -l <"$work/differs")" -eq 4 ] ||
  fail "not four files differ: $(cat "$work/differs")"

tests='test_golden test_engine test_plan_check test_sequence'
export CK_TIMEOUT_MULTIPLIER=20
if [ -n "$full" ]; then
  cd "$tree"
  if ! (./autogen.sh && mkdir build-toy && cd build-toy && ../configure --enable-werror &&
    make -j2 && make check TESTS="$(for t in $tests; do printf 'tests/unit/%s ' "$t"; done)") \
    >"$work/log" 2>&1; then
    tail -40 "$work/log"
    fail "the tree with the toy does not build or pass"
  fi
  cd build-toy
  nodesvc/colocsim plan --policy=help | grep '^latest '
  exit 0
fi

# The build list is what names the sources, here as for automake.
sources() {
  sed -n "/^$1 = /,/[^\\\\]\$/p" "$2" | tr -s '[:blank:]' '\n' | grep '\.c$'
}

cd "$tree"
list() {
  sources libengine_la_SOURCES nodesvc/engine/local.mk
  echo tests/unit/policy_life.c # what some of the tests share
  sources libviewjson_la_SOURCES nodesvc/trace/local.mk
  sources libcommon_la_SOURCES common/local.mk
  echo common/topo.c
}
mkdir "$work/o"
flags="-std=gnu17 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -I. $(pkg-config --cflags check json-c hwloc)"
for f in $(list | sort -u); do
  # shellcheck disable=SC2086
  ${CC:-cc} $flags -c "$f" -o "$work/o/$(echo "$f" | tr / -).o"
done
for t in $tests; do
  # shellcheck disable=SC2086,SC2046
  ${CC:-cc} $flags "tests/unit/$t.c" "$work"/o/*.o -o "$work/$t" \
    $(pkg-config --libs check json-c hwloc) -lm
  COLOC_SRCDIR=$tree "$work/$t" >"$work/log" 2>&1 || {
    cat "$work/log"
    fail "$t does not pass with the toy"
  }
  echo "ok $t: $(tail -1 "$work/log")"
done
grep -q '"case": "latest"' tests/golden/others.json && grep -q latest nodesvc/engine/registry.def
echo "four files: $(sed -e "s|.*Only in $tree/\{0,1\}||; s|^Files .* and $tree/||; s| differ$||; s|: |/|" "$work/differs" | paste -sd' ')"
