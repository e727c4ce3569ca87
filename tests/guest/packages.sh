# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages.sh - emulator, kernel and busybox for the guest: Debian's packages, by apt, unpacked into
# a cache outside the tree and never installed. get_packages sets qemu, kernel and busybox, or
# returns 1 with the reason in $why.

cache=${COLOC_GUEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/coloc-guest}

# The kernel that linux-image-amd64 stands for, without the initramfs tools it would bring. Not the
# cloud kernel, which has no 9p.
kernel_package() { apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -1; }

# What apt would install for the emulator here: what is there already is not fetched again.
emulator_packages() {
  command -v qemu-system-x86_64 >/dev/null && return
  apt-get -s install --no-install-recommends qemu-system-x86 2>/dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p'
}

fetch() {
  local deb list
  command -v apt-get >/dev/null || { why="no apt-get to fetch the guest's kernel with" && return 1; }
  [ -n "$(kernel_package)" ] || apt-get update -qq >/dev/null 2>&1
  mapfile -t list < <(kernel_package && emulator_packages && echo busybox-static)
  [ ${#list[@]} -ge 2 ] || { why="apt knows no linux-image-amd64" && return 1; }
  rm -rf "$cache/new"
  mkdir -p "$cache/new/debs" || { why="cannot write $cache" && return 1; }
  if ! (cd "$cache/new/debs" && apt-get -qq download "${list[@]}") >"$cache/apt.log" 2>&1 &&
    ! (cd "$cache/new/debs" && apt-get -qq update && apt-get -qq download "${list[@]}") >"$cache/apt.log" 2>&1; then
    why="apt-get download failed: $(grep -m1 '^E:' "$cache/apt.log")"
    return 1
  fi
  for deb in "$cache"/new/debs/*.deb; do
    dpkg-deb -x "$deb" "$cache/new" || { why="cannot unpack ${deb##*/}" && return 1; }
  done
  rm -rf "$cache/new/debs" "$cache/root"
  mv "$cache/new" "$cache/root"
}

# shellcheck disable=SC2034 # for guest
get_packages() {
  why=''
  ls "$cache"/root/boot/vmlinuz-* >/dev/null 2>&1 && [ -x "$cache/root/bin/busybox" ] &&
    [ -n "$(find_qemu)" ] || fetch || return 1
  qemu=$(find_qemu)
  [ -n "$qemu" ] || { why="no qemu-system-x86_64 (Debian: qemu-system-x86)" && return 1; }
  kernel=$(printf '%s\n' "$cache"/root/boot/vmlinuz-* | sort -V | tail -1)
  busybox=$cache/root/bin/busybox
  guest_busybox=$busybox
  "$busybox" true || { why="$busybox does not run" && return 1; }
}

# Of this machine, to make an initramfs with; for guests that bring the rest themselves.
# shellcheck disable=SC2034
get_busybox() {
  local dir=$cache/busybox
  busybox=$cache/root/bin/busybox
  [ ! -x "$busybox" ] || return 0
  busybox=$dir/bin/busybox
  [ ! -x "$busybox" ] || return 0
  mkdir -p "$dir" || { why="cannot write $cache" && return 1; }
  (cd "$dir" && { apt-get -qq download busybox-static || { apt-get -qq update && apt-get -qq download busybox-static; }; } &&
    dpkg-deb -x busybox-static_*.deb .) >"$cache/apt.log" 2>&1
  "$busybox" true || { why="$busybox does not run" && return 1; }
}

find_qemu() {
  command -v qemu-system-x86_64 || ls "$cache/root/usr/bin/qemu-system-x86_64" 2>/dev/null
}

# One initramfs per kernel: the modules to reach the root over 9p and to have an interface, and
# initramfs-init.
# shellcheck disable=SC2034
make_initramfs() {
  local here=$1 version dir todo m dep modules
  version=${kernel##*/vmlinuz-}
  modules=${root:-$cache/root}/lib/modules/$version
  initramfs=$cache/initramfs-$version.cpio
  [ "$initramfs" -nt "$here/initramfs-init" ] && [ "$initramfs" -nt "$here/packages.sh" ] &&
    [ "$initramfs" -nt "$kernel" ] && return
  dir=$(mktemp -d)
  "$busybox" depmod -b "${root:-$cache/root}" "$version" || return 1
  mkdir -p "$dir"/{bin,dev,proc,sys,lower,run,root,modules}
  cp "$guest_busybox" "$dir/bin/busybox"
  ln -s busybox "$dir/bin/sh"
  install -m 755 "$here/initramfs-init" "$dir/init"
  # In the order in which they have to be loaded: what a module needs comes before it.
  for m in virtio_pci 9p 9pnet_virtio overlay dummy; do
    ! grep -qs "/$m\.ko" "$modules/modules.builtin" || continue
    todo=$(sed -n "s,^\(.*/$m\.ko[.a-z]*\): *\(.*\),\2 \1,p" "$modules/modules.dep")
    [ -n "$todo" ] || { why="kernel $version has no module $m" && return 1; }
    # modules.dep names the deepest one last.
    for dep in $(tr ' ' '\n' <<<"${todo% *}" | sed '/^$/d' | tac) "${todo##* }"; do
      grep -qxs "${dep##*/}" "$dir/modules/order" && continue
      cp "$modules/$dep" "$dir/modules/"
      echo "${dep##*/}" >>"$dir/modules/order"
    done
  done
  (cd "$dir" && find . | "$busybox" cpio -o -H newc) >"$initramfs.new" 2>/dev/null &&
    mv "$initramfs.new" "$initramfs"
  rm -rf "$dir"
}
