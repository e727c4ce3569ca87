#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2016,SC1003 # the pages of the self-test are no shell of ours
#
# check-blocks.sh - every block of the pages is annotated, and those that need neither root nor Slurm
# do what the page says (the others: tests/live/pages.sh). Before that, pages with known mistakes: a
# test that finds none of them would find nothing in ours either.
set -euo pipefail

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
build=$(cd "${COLOC_BUILDDIR:-$top/build}" && pwd)
cd "$top"
# shellcheck source=tests/blocks.sh
. tests/blocks.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0 ran=0
PATH=$build/nodesvc:$build/contrib/programs/bin:$PATH
mkdir "$tmp/empty"

report() {
  ran=$((ran + 1))
  [ "$1" != 0 ] || return 0
  shift
  failed=1
  printf 'check-blocks: %s\n' "$1"
  shift
  printf '%s\n' "$@" | sed 's/^/  /'
}

# check_conf DIR N
check_conf() {
  local text=''
  blocks_field "$1" "$2"
  text=$(colocd -t -c "$1/$2.body" 2>&1) || {
    report 1 "$block_where: colocd -t" "$text"
    return
  }
  report 0 "$block_where"
}

# run_pages DIR: all that can be said here.
run_pages() {
  local n wrong
  for ((n = 1; n <= $(wc -l <"$1/index"); n++)); do
    blocks_field "$1" "$n"
    wrong=$(blocks_static "$1" "$n")
    [ -z "$wrong" ] || report 1 "$block_where" "$wrong"
    case $block_kind in
    host) blocks_has "$block_words" full || (cd "$tmp/empty" && blocks_run "$1" "$n" told) ;;
    conf) check_conf "$1" "$n" ;;
    esac
  done
  while IFS= read -r -d '' wrong; do report "${wrong%%$'\n'*}" "${wrong#*$'\n'}"; done <"$tmp/told"
  : >"$tmp/told"
}
# A block runs in a shell of its own: what it found comes by a file.
told() { printf '%s\n' "$@" >>"$tmp/told" && printf '\0' >>"$tmp/told"; }
: >"$tmp/told"

# --- mistakes that have to be found -----------------------------------------------------------

# mistake WANT PAGE: checking the page (its text; a name for a manual page) says WANT.
mistakes=0
mistake() {
  local want=$1 page=$tmp/page.md out
  mistakes=$((mistakes + 1))
  [ "$want" != manual ] || { page=$tmp/page.1 want=$2 && shift; }
  printf '%s\n' "${@:2}" >"$page"
  rm -rf "$tmp/self"
  mkdir "$tmp/self"
  out=$( (blocks_find "$tmp/self" "$page" && run_pages "$tmp/self") 2>&1) || :
  [ "$want" = nothing ] && [ -z "$out" ] && return
  [ "$want" != nothing ] && [ -n "$out" ] && grep -q -e "$want" <<<"$out" && return
  echo "check-blocks: wanted '$want' of this page, got '$out':"
  sed 's/^/  /' "$page"
  failed=1
}
run='<!-- run: host -->'
fence='```'
mistake nothing "$run" '```console' '$ echo four 4' 'four 5' "$fence"
mistake nothing "$run" '```console' '$ date -d @0 +"%F %T  %s x"' '2026-11-21   19:45:49 7 x' "$fence"
mistake nothing "$run" '```console' '$ echo 0-1,4 -2.5 29.6M 3% -7' '1 3 415k 99% 12' "$fence"
mistake nothing "$run" '```console' '$ printf "a\nb\nc\nd\n"' a ... d "$fence"
mistake nothing "$run" '```console' '$ printf "a\nb c d\n"' a 'b ...' "$fence"
mistake nothing '<!-- run: host sorted -->' '```console' '$ printf "b\na\n"' a b "$fence"
mistake nothing '<!-- run: host status=3 -->' '```console' '$ true' '$ sh -c "exit 3"' "$fence"
mistake nothing '<!-- run: host' '  x=hidden' '-->' '' '```console' '$ echo $x' hidden "$fence"
mistake nothing "$run" '```' 'true' '# nothing' 'echo shown \' '  nowhere' "$fence"
mistake nothing "$run" '```console' '$ echo a \' '  b' 'a b' "$fence"
mistake nothing '<!-- run: conf -->' '```yaml' 'policy: none' "$fence"
mistake nothing '<!-- run: text a picture -->' '```' '-->' "$fence"
mistake nothing "- item" "  $run" '  ```console' '  $ echo indented' '  indented' '  ```'

mistake 'printed: four #' "$run" '```console' '$ echo four 4' 'five 4' "$fence"
mistake 'printed: x' "$run" '```console' '$ echo x' '7' "$fence"
mistake 'printed: #' "$run" '```console' '$ echo 7' 'x' "$fence"
mistake 'shown:   (the end)' "$run" '```console' '$ printf "a\nb\n"' a "$fence"
mistake 'printed: (the end)' "$run" '```console' '$ echo a' a b "$fence"
mistake 'shown:   (the end)' "$run" '```console' '$ echo a' '$ echo b' b "$fence"
mistake 'shown:   d' "$run" '```console' '$ printf "a\nb\nc\n"' a ... d "$fence"
mistake 'shown:   e ...' "$run" '```console' '$ printf "a\nb c d\n"' a 'e ...' "$fence"
mistake 'printed: b' "$run" '```console' '$ printf "b\na\n"' a b "$fence"
mistake 'printed: c' '<!-- run: host sorted -->' '```console' '$ printf "c\na\n"' a b "$fence"
mistake 'status 1' "$run" '```console' '$ false' "$fence"
mistake 'status 0' '<!-- run: host status=3 -->' '```console' '$ true' "$fence"
mistake 'status 127' "$run" '```console' '$ colocctl-of-old --status' "$fence"
mistake 'prepare' '<!-- run: host' '  false' '-->' '```console' '$ true' "$fence"
mistake 'no command' "$run" '```console' "$fence"
mistake 'no annotation' '```console' '$ true' "$fence"
mistake 'no annotation' "$run" '```' 'true' "$fence" '~~~' 'true' '~~~'
mistake 'just before' "$run" 'Text.' '```' 'true' "$fence"
mistake 'has no end' "$run" '```' 'true'
mistake "unknown kind 'hots'" '<!-- run: hots -->' '```' 'true' "$fence"
mistake 'a console block is run' '<!-- run: text looks nice -->' '```console' 'x' "$fence"
mistake 'it has commands' '<!-- run: text looks nice -->' '```' '$ true' "$fence"
mistake 'needs a reason' '<!-- run: text -->' '```' 'true' "$fence"
mistake 'full is a word for host' '<!-- run: node full -->' '```' 'true' "$fence"
mistake manual 'it has commands' '.SH EXAMPLES' '.\" run: text too long' '.EX' '$ true' '.EE'
mistake 'runs: contrib/no-such' '<!-- run: by contrib/runtests -->' '```' 'contrib/no-such   # it' "$fence"
mistake 'no file' '<!-- run: by contrib/no-such -->' '```' 'true' "$fence"
mistake 'does not name' '<!-- run: by contrib/runtests -->' '```c' 'int main;' "$fence"
mistake 'no_such_key' '<!-- run: conf -->' '```yaml' 'no_such_key: 1' "$fence"
mistake manual nothing '.SH EXAMPLES' '.\" run: host' '.\"   y=7' '.EX' '$ echo \-\-y=$y' '\-\-y=7' '.EE'
mistake manual 'printed: --z' '.SH EXAMPLES' '.\" run: host' '.EX' '$ echo \-\-z' '\-\-y' '.EE'
mistake manual 'no annotation' '.SH EXAMPLES' '.EX' 'true' '.EE'
mistake manual 'between .EX' '.SH EXAMPLES' '.nf' 'true' '.fi'

# --- our pages --------------------------------------------------------------------------------

mkdir "$tmp/pages"
blocks_find "$tmp/pages" "${blocks_pages[@]}" "${blocks_manuals[@]}" || failed=1
ran=0
run_pages "$tmp/pages"
count() { awk -v k="$1" '$4 == k' "$tmp/pages/index" | wc -l; }
for kind in node host conf; do
  [ "$(count $kind)" -gt 0 ] || report 1 "no block of kind $kind was found"
done
echo "check-blocks: $mistakes pages with and without mistakes; $(wc -l <"$tmp/pages/index") blocks: $(
  awk '{ n[$4]++ } END { for (k in n) printf "%s%s %d", s, k, n[k], s = ", " }' "$tmp/pages/index")"
exit "$failed"
