#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# pages-full.sh - the blocks that take minutes: long simulations, builds in a copy of the tree, the
# installation from source into a throw-away copy of this machine's root and back out of it, and what
# contrib/quickstart prints; and README's session as a newcomer has it, from `contrib/quickstart
# --shell', with its time.
# COLOC_PAGES=KIND: only these (host, build, root, quickstart).
# COLOC_TREE=DIR: the copy of the tree is made of this one, which may be built already.
# Mounts of ours end with us.
if [ "$(id -u)" = 0 ] && [ -z "${COLOC_UNSHARED:-}" ]; then
  COLOC_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
need ROOT SLURM
[ "$(nproc)" = 2 ] || skip_all "CPUS: the pages show a node of two cores"
cd "$srcdir" || exit 1
# It looks for pages where we are.
# shellcheck source=tests/blocks.sh
. tests/blocks.sh
mkdir "$tmp/blocks"
blocks_find "$tmp/blocks" "${blocks_pages[@]}" "${blocks_manuals[@]}" || verdict 1 "every block is annotated"

# wanted KIND; numbers_of KIND [PAGE]: of its blocks.
wanted() { [ -z "${COLOC_PAGES:-}" ] || [ "$COLOC_PAGES" = "$1" ]; }
numbers_of() {
  awk -v kind="$1" -v page="${2:-}" '$4 == kind && index($2, page) == 1 { print $1 }' "$tmp/blocks/index"
}
# What a subshell found out, as in pages.sh.
told() { printf '%s\0' "$1" "$2" "${3:-}" >>"$tmp/told"; }
take_told() {
  local bad name detail
  while IFS= read -r -d '' bad && IFS= read -r -d '' name && IFS= read -r -d '' detail; do
    verdict "$bad" "$name" "$detail"
  done <"$tmp/told"
  : >"$tmp/told"
}
: >"$tmp/told"
# As a checkout has it: nothing that a build made.
copy_tree() {
  mkdir -p "$1"
  if [ -n "${COLOC_TREE:-}" ]; then
    cp -a "$COLOC_TREE/." "$1"
  elif git -C "$srcdir" rev-parse -q --is-inside-work-tree >/dev/null 2>&1; then
    git -C "$srcdir" ls-files -z | tar -C "$srcdir" --null -T - -cf - | tar -C "$1" -xf -
  else
    tar -C "$srcdir" --exclude='./build*' --exclude='./autom4te.cache' -cf - . | tar -C "$1" -xf -
  fi
}

# --- quickstart -------------------------------------------------------------------------------

# What quickstart prints somewhere holds each block.
quickstart_prints() {
  local n out
  for n in $(numbers_of quickstart); do
    blocks_field "$tmp/blocks" "$n"
    { echo ... && cat "$tmp/blocks/$n.body" && echo ...; } >"$tmp/shown"
    cp "$tmp/quickstart.out" "$tmp/printed"
    out=$(blocks_same "$tmp/shown" "$tmp/printed")
    verdict $? "$block_where: contrib/quickstart prints this" "$out" "$(cat "$tmp/quickstart.out")"
  done
}
if wanted quickstart; then
  run contrib/quickstart
  printf '%s\n' "$out" "$err" >"$tmp/quickstart.out"
  is "$rc" 0 "contrib/quickstart"
  quickstart_prints

  # README's session, from the first command to the report.
  for n in $(numbers_of node README.md); do
    count=$(blocks_split "$tmp/blocks/$n.body" "$tmp/path")
    for ((k = 1; k <= count; k++)); do
      cat "$tmp/path.$k.cmd"
      # A reader is slower than this.
      grep -q ' &' "$tmp/path.$k.cmd" || echo 'sleep 2'
    done
  done >"$tmp/typed"
  t0=$SECONDS
  contrib/quickstart --shell <"$tmp/typed" >"$tmp/path.out" 2>&1
  is "$?" 0 "contrib/quickstart --shell"
  is "$(grep -c 'COMPLETED' "$tmp/path.out")" 4 "README's session ends in a report of four co-located jobs"
  at_most $((SECONDS - t0)) 600 "seconds from nothing but packages to that report"
fi

# --- without a node ---------------------------------------------------------------------------

if wanted host; then
  for n in $(numbers_of host); do
    blocks_field "$tmp/blocks" "$n"
    blocks_has "$block_words" full || continue
    mkdir "$tmp/host"
    (cd "$tmp/host" && PATH=$builddir/nodesvc:$PATH && blocks_run "$tmp/blocks" "$n" told)
    take_told
    rm -rf "$tmp/host"
  done
fi

# --- a build ----------------------------------------------------------------------------------

if wanted build; then
  for n in $(numbers_of build); do
    rm -rf "$tmp/tree"
    copy_tree "$tmp/tree"
    (cd "$tmp/tree" && blocks_run "$tmp/blocks" "$n" told)
    take_told
  done
  rm -rf "$tmp/tree"
fi

# --- as this machine's administrator ----------------------------------------------------------

in_root() { chroot "$tmp/root" env -i LC_ALL=C.UTF-8 HOME=/root EDITOR=true PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
# A chroot has no systemd: of `systemctl enable|disable --now UNIT' this does what matters here.
stand_in_for_systemd() {
  cat >"$tmp/root/usr/local/bin/systemctl" <<'SH'
#!/bin/sh
[ "$2 $3" = "--now colocd" ] || exit 1
unit=$(find /lib/systemd/system /usr/lib/systemd/system -name colocd.service | head -1)
case $1 in
enable)
  mkdir -p /run/coloc && mkdir -p -m 0700 /var/lib/coloc
  $(sed -n 's/^ExecStart=//p' "$unit") >/tmp/colocd.out 2>&1 &
  echo $! >/tmp/colocd.pid
  for _ in $(seq 100); do [ -S /run/coloc/colocd.sock ] && exit; sleep 0.1; done
  cat /tmp/colocd.out; exit 1 ;;
disable)
  kill "$(cat /tmp/colocd.pid)" && for _ in $(seq 100); do [ -d "/proc/$(cat /tmp/colocd.pid)" ] || exit 0; sleep 0.1; done
  exit 1 ;;
esac
SH
  chmod +x "$tmp/root/usr/local/bin/systemctl"
}
end_root() {
  [ -x "$tmp/root/tmp/minislurm" ] || return 0
  in_root systemctl disable --now colocd >/dev/null 2>&1
  in_root /tmp/minislurm down /tmp/cluster --quiet >/dev/null 2>&1
  umount -R "$tmp/root" "$tmp/layer" 2>/dev/null
  # Never through a mount that would not go.
  ! grep -q " $tmp/" /proc/self/mounts
}
# cleanup takes the status of what came last.
# shellcheck disable=SC2154
trap 'ended=$?; end_root; (exit "$ended"); cleanup' EXIT
root_session() {
  local n=$1
  mkdir "$tmp/layer" "$tmp/root"
  mount -t tmpfs -o mode=755 layer "$tmp/layer" && mkdir "$tmp"/layer/{up,work} &&
    mount -t overlay -o "lowerdir=/,upperdir=$tmp/layer/up,workdir=$tmp/layer/work" root "$tmp/root" || return
  mount --rbind /sys "$tmp/root/sys" && mount --rbind /dev "$tmp/root/dev" &&
    mount -t proc proc "$tmp/root/proc" && mount -t tmpfs -o mode=1777 tmp "$tmp/root/tmp" &&
    mount -t tmpfs -o mode=755 run "$tmp/root/run" || return
  cp "$minislurm" "$tmp/root/tmp/minislurm"
  copy_tree "$tmp/root/tmp/coloc"
  stand_in_for_systemd
  mkdir -p "$tmp/root/etc/slurm"
  : >"$tmp/root/etc/slurm/plugstack.conf"
  in_root /tmp/minislurm up /tmp/cluster --quiet --memory 512 --conf PlugStackConfig=/etc/slurm/plugstack.conf || return
  cp "$tmp"/root/tmp/cluster/etc/{slurm,cgroup}.conf "$tmp/root/etc/slurm/"
  # The block's commands are typed in there.
  blocks_split "$tmp/blocks/$n.body" "$tmp/root/tmp/step" >"$tmp/count"
  for ((k = 1; k <= $(cat "$tmp/count"); k++)); do
    out=$(in_root sh -c "cd /tmp/coloc && . /tmp/step.$k.cmd" 2>&1)
    verdict $? "$block_where: $(cat "$tmp/root/tmp/step.$k.cmd")" "$(tail -30 <<<"$out")"
  done
  out=$(in_root srun --coloc=on sleep 1 2>&1)
  verdict $? "a step runs" "$out"
  is "$(in_root colocacct -n -P -o State)" COMPLETED "and is in the report"
  # README's way back.
  for k in 'systemctl disable --now colocd' 'make uninstall' 'rm -r /var/lib/coloc'; do
    ok "README tells: $k" grep -qF "${k}" README.md
    out=$(in_root sh -c "cd /tmp/coloc && $k" 2>&1)
    verdict $? "$k" "$out"
  done
  is "$(find "$tmp/layer/up" ! -type d ! -type c -path '*coloc*' -printf '%P\n')" '' "no file of Coloc is left"
}
if wanted root; then
  for n in $(numbers_of root); do
    blocks_field "$tmp/blocks" "$n"
    root_session "$n"
    verdict $((tests_run < 8)) "$block_where: was run"
    ok "all mounts of the copied root are gone" end_root
  done
fi
take_told
done_testing
