#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pages.sh - the sessions of README, doc/ and the manual pages, on a real Slurm: what a reader types
# does what the page shows. tests/blocks.sh says how blocks are annotated and compared; pages named
# as arguments, else all.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
cd "$srcdir" || exit 1
# It looks for pages where we are.
# shellcheck source=tests/blocks.sh
. tests/blocks.sh
# The examples of the manual pages name job 4711: the first one, which colocctl.1 starts.
[ $# -gt 0 ] || set -- nodesvc/ctl/colocctl.1 nodesvc/report/colocacct.1 "${blocks_pages[@]}" doc/coloc.7
mkdir "$tmp/blocks"
blocks_find "$tmp/blocks" "$@" || verdict 1 "every block is annotated"

# The partition of adopting.md is `shared'.
spine_cluster=(--conf FirstJobId=4711 --conf 'PartitionName=shared Nodes=ALL OverSubscribe=FORCE:4')
start_spine 'policy: auto'
# adopting.md's `allow' asks slurmctld.
restart_colocd
[ "$(nproc)" = 2 ] || {
  blocks_uncompared="the pages show a node of two cores"
  diag "commands are run, their output is not compared: $blocks_uncompared"
}
export PATH=$builddir/nodesvc:$PATH COLOC_SOCKET=$socket
# Private paths, as they are on a site; longer ones first.
etc=$cluster/etc
blocks_subst=("s|$plugin|/usr/lib/x86_64-linux-gnu/slurm-wlm/spank_coloc.so|g" "s|$etc/|/etc/slurm/|g"
  "s|$socket|/run/coloc/colocd.sock|g" "s|$tmp/store|/var/lib/coloc|g"
  "s|$tmp/coloc.yaml|/etc/coloc/coloc.yaml|g" "s|$node|node1|g")

# What a block does is told from its shell by a file: lines "0|1<NUL>name<NUL>details<NUL>".
told() { printf '%s\0' "$1" "$2" "${3:-}" >>"$tmp/told"; }
take_told() {
  local bad name detail
  while IFS= read -r -d '' bad && IFS= read -r -d '' name && IFS= read -r -d '' detail; do
    verdict "$bad" "$name" "$detail"
  done <"$tmp/told"
  : >"$tmp/told"
}
: >"$tmp/told"

# conf N: the block becomes coloc.yaml, beside where this colocd keeps its files, and is reloaded.
conf() {
  printf 'store: %s\nsocket: %s\n' "$tmp/store" "$socket" | cat - "$tmp/blocks/$1.body" >"$tmp/coloc.yaml"
  colocctl reload >"$tmp/reload.out" 2>&1 && colocctl ping >>"$tmp/reload.out" 2>&1 &&
    ! grep -i 'restart' "$tmp/reload.out"
  told $? "$block_where: colocctl reload takes it" "$(cat "$tmp/reload.out")"
}

# plugstack N: the page's line, with the plugin that was built.
plugstack() {
  local out
  cp "$etc/plugstack.conf" "$tmp/plugstack.kept"
  sed -e "s|[^ ]*/spank_coloc.so|$plugin|" -e "s|\$| socket=$socket|" "$tmp/blocks/$1.body" >"$etc/plugstack.conf"
  out=$(srun true 2>&1 && srun --coloc-policy=list 2>&1 | grep -c lira)
  told $(($? != 0 || ${#out} != 1)) "$block_where: srun runs with it" "$out"
  cp "$tmp/plugstack.kept" "$etc/plugstack.conf"
}

# session PAGE: its blocks in order, in a shell and a directory of their own.
session() {
  local n
  mkdir "$tmp/session" && cd "$tmp/session" || return
  ln -s "$builddir"/contrib/programs/bin/* .
  ln -s stencil app
  printf '#!/bin/sh\nsrun ./spin\n' >job.sh
  while read -r n; do
    blocks_field "$tmp/blocks" "$n"
    case $block_kind in
    node) blocks_run "$tmp/blocks" "$n" told ;;
    conf) ! has_session "$1" || conf "$n" ;;
    plugstack) plugstack "$n" ;;
    esac
  done < <(awk -v page="$1" 'index($2, page ":") == 1 { print $1 }' "$tmp/blocks/index")
}
has_session() { awk -v page="$1" 'index($2, page ":") == 1 && $4 == "node" { f = 1 } END { exit !f }' "$tmp/blocks/index"; }

for page; do
  grep -Eq "^[0-9]+ $page:[0-9]+ [^ ]+ (node|plugstack)" "$tmp/blocks/index" || continue
  session "$page" >"$tmp/session.out" 2>&1 &
  started_pids+=("$!")
  ok "$page: the session ends" wait_for 240 process_gone "$!"
  process_gone "$!" || stop "$!" KILL
  take_told
  stop_steps
  rm -rf "$tmp/session"
  printf 'store: %s\nsocket: %s\npolicy: auto\n' "$tmp/store" "$socket" >"$tmp/coloc.yaml"
  colocctl reload >/dev/null || verdict 1 "reload after $page"
done
ok "blocks were run" test "$tests_run" -gt 1
done_testing
