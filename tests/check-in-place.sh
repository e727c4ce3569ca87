#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check-in-place.sh - contrib/quickstart and contrib/runtests build where the sources are configured in
# place, too: from a copy, and what was built in place stays. A tiny package stands for ours.
set -euo pipefail
srcdir=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/top/contrib" "$tmp/top/build-aux" "$tmp/top/build-other" "$tmp/top/.git"
touch "$tmp/top/build-aux/install-sh" "$tmp/top/build-other/config.status"
cp "$srcdir/contrib/lib.sh" "$tmp/top/contrib/"
cd "$tmp/top"
touch configure.ac
# As configure of autoconf's and automake's Makefile.
cat >configure <<'EOF'
#!/bin/sh
src=$(dirname "$0")
[ -e "$src/build-aux/install-sh" ] || exit 2
if [ "$(cd "$src" && pwd)" != "$PWD" ] && [ -f "$src/config.status" ]; then
  echo "configure: error: source directory already configured" >&2
  exit 1
fi
echo "$src" >config.status
printf 'all: prog\nprog:\n\tcp %s/prog.c prog\ndistclean:\n\trm -f prog config.status Makefile\n' "$src" >Makefile
EOF
chmod +x configure
touch -d '1 hour ago' configure.ac
echo one >prog.c
./configure
make -s
ls -A >"$tmp/before"
# shellcheck source=contrib/lib.sh
. contrib/lib.sh
failed=0
is() {
  [ "$1" = "$2" ] && return
  failed=1
  echo "FAIL: $3: '$1', not '$2'"
}
build "$tmp/top/build-new"
is "$(cat build-new/prog)" one "it is built"
is "$(ls -A --ignore=build-new)" "$(cat "$tmp/before")" "what was built in place stays"
is "$(ls build-new/source)" $'build-aux\nconfigure\nconfigure.ac\ncontrib\nprog.c' "the copy has sources alone"
echo two >prog.c
rm -r build-new/prog build-other
build "$tmp/top/build-new"
is "$(cat build-new/prog)" two "a second time, of what the sources are then"
make -s distclean
build "$tmp/top/build-third"
is "$(cat build-third/prog)" two "sources that are not configured are taken as they are"
is "$(test -e build-third/source && echo yes || echo no)" no "without a copy"
exit $failed
