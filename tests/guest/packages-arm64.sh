# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages-arm64.sh - an arm64 machine: its files and kernel in the cache (packages-root.sh), and a
# cross build of the tree against them. get_arm64 sets qemu, kernel, root, guest_busybox and builddir, or
# returns 1 with the reason in $why; 2 if it is the tree that does not build.

# shellcheck disable=SC2154 # packages.sh has it
arm64=$cache/arm64

# The tools that make arm64 programs, and the emulator, are packages of this machine.
arm64_tools() {
  local need=()
  command -v aarch64-linux-gnu-gcc >/dev/null || need+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
  command -v qemu-system-aarch64 >/dev/null || need+=(qemu-system-arm)
  [ ${#need[@]} -eq 0 ] ||
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "${need[@]}" >"$cache/apt.log" 2>&1 ||
    (apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "${need[@]}") >"$cache/apt.log" 2>&1 ||
    { why="cannot install ${need[*]}: $(grep -m1 '^E:' "$cache/apt.log")" && return 1; }
}

# A build of the tree for the guest, kept in the cache and brought up to date by make.
build_arm64() {
  local src=$1 lib=usr/lib/aarch64-linux-gnu
  builddir=$arm64/build
  mkdir -p "$builddir"
  (
    cd "$builddir" || exit
    # Another tree than last time: anew.
    [ "$(cat srcdir 2>/dev/null)" = "$src" ] || { rm -rf ./* && echo "$src" >srcdir; }
    [ -e Makefile ] ||
      PKG_CONFIG_LIBDIR=$root/$lib/pkgconfig:$root/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
        "$src/configure" --host=aarch64-linux-gnu CC="aarch64-linux-gnu-gcc --sysroot=$root" || exit
    make -j"$(nproc)" nodesvc/colocd nodesvc/colocctl nodesvc/colocacct spank/spank_coloc.la \
      tests/guest/pmu_step tests/guest/pmu_loop tests/unit/test_events
  ) >"$arm64/build.log" 2>&1 || { why="no arm64 build: $(grep -m1 -iE 'error' "$arm64/build.log"), see $arm64/build.log" && return 2; }
}

# shellcheck disable=SC2034 # for guest
get_arm64() {
  local src=$1
  why=''
  mkdir -p "$cache"
  ls "$arm64"/root/boot/vmlinuz-* >/dev/null 2>&1 || fetch_root "$arm64" arm64 "" || return 1
  arm64_tools || return 1
  root=$arm64/root
  qemu="qemu-system-aarch64"
  kernel=$(printf '%s\n' "$root"/boot/vmlinuz-* | sort -V | tail -1)
  guest_busybox=$root/bin/busybox
  build_arm64 "$src"
}
