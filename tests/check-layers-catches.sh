#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# That check-layers.sh passes what is right and names what is not, on a small tree of its own.
set -eu
check=$(cd "$(dirname "$0")" && pwd)/check-layers.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc=$(command -v cc || command -v gcc || command -v clang)
failed=0

# A tree that is right: conf/high uses base/low, base/low uses base/floor.
fresh() {
  rm -rf "$dir/src" "$dir/build"
  mkdir -p "$dir/src/tests/live" "$dir/build"
  for folder in common doc spank nodesvc/base nodesvc/conf; do
    mkdir -p "$dir/src/$folder" "$dir/build/$folder/.libs"
  done
  cp "$(dirname "$check")"/layers.awk "$(dirname "$check")"/layers.rooms "$dir/src/tests"
  cd "$dir/src"
  touch Makefile.am tests/live/actuate.mk tests/layers.known
  for name in base/floor base/low conf/high; do
    echo "int ${name#*/}_value(void);" >"nodesvc/$name.h"
    printf '#include "nodesvc/%s.h"\nint %s_value(void)\n{\n\treturn 1;\n}\n' "$name" "${name#*/}" >"nodesvc/$name.c"
  done
  calls nodesvc/base/low.c nodesvc/base/floor.h floor_value
  calls nodesvc/conf/high.c nodesvc/base/low.h low_value
}

# calls FILE HEADER FUNCTION; HEADER none: declared by the file itself
calls() {
  if [ "$2" = none ]; then
    echo "int $3(void);" >>"$1"
  else
    echo "#include \"$2\"" >>"$1"
  fi
  printf 'int uses_%s(void);\nint uses_%s(void)\n{\n\treturn %s();\n}\n' "$3" "$3" "$3" >>"$1"
}

# As libtool leaves them.
build() {
  for file in nodesvc/*/*.c; do
    "$cc" -c -I. "$file" -o "$dir/build/${file%/*}/.libs/libx_la-$(basename "$file" .c).o"
  done
}

# expect WHAT [TEXT]: nothing is found, or TEXT is.
expect() {
  if out=$("$check" "$dir/src" "$dir/build" 2>&1); then
    [ $# -gt 1 ] || return 0
    echo "not ok: $1: passes"
  else
    [ $# = 1 ] || ! echo "$out" | grep -qF "$2" || return 0
    echo "not ok: $1: $out"
  fi
  failed=1
}

fresh && build
expect "a tree that is right"

fresh
echo '#include "nodesvc/conf/high.h"' >>nodesvc/base/low.h
build
expect "an include up" "up low high: nodesvc/base/low.h -> nodesvc/conf/high.h, which is not below: #include"

fresh
calls nodesvc/base/floor.c none high_value
build
expect "a call up, without an include" \
  "up floor high: nodesvc/base/floor.c -> nodesvc/conf/high.c, which is not below: high_value"
echo "up floor high" >tests/layers.known
expect "a call up that is known"
echo "up low high" >>tests/layers.known
expect "a known call that has gone" "up low high: no more so"
"$check" --shrink "$dir/src" "$dir/build"
expect "after --shrink"

fresh
calls nodesvc/base/floor.c nodesvc/base/low.h low_value
build
expect "two files of a room that call each other" \
  "circle floor low: nodesvc/base/floor.c -> nodesvc/base/low.c: low_value"

fresh && build
echo "conf base low_value looks" >doc/one.walk
expect "a picture that is right"
echo "conf base floor_value looks lower" >>doc/one.walk
expect "a picture of a call that nobody makes" "doc/one.walk: not so: conf base floor_value"

fresh && build
mkdir nodesvc/attic
touch nodesvc/attic/old.h
expect "a room that nobody knows" "the room nodesvc/attic has no line"

fresh && build
rm "$dir/build/nodesvc/conf/.libs/libx_la-high.o"
expect "a file that was not built" "nodesvc/conf/high.c: no object of it"

fresh
echo '#include <sqlite3.h>' >>nodesvc/conf/high.h
expect "a library's header in another room" "<sqlite3.h> belongs to nodesvc/record/"

fresh
mkdir nodesvc/engine
echo 'static long now(void) { return time(NULL); }' >nodesvc/engine/clock.h
build
expect "a clock in the engine" "impure call in the engine"

[ "$failed" = 1 ] || echo "check-layers-catches: ok"
exit "$failed"
