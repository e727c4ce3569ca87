# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages-arm64.sh - an arm64 machine's files, Debian's packages by apt, unpacked into the cache
# and never installed here: kernel, shell, Slurm, and what Coloc is built against. With them a
# cross build of the tree. get_arm64 sets qemu, kernel, root, guest_busybox and builddir, or
# returns 1 with the reason in $why.

# shellcheck disable=SC2154 # packages.sh has it
arm64=$cache/arm64
arm64_packages=(bash libc-bin coreutils sed grep mawk procps findutils util-linux mount iproute2 passwd hostname
  busybox-static slurm-wlm slurm-client munge libpapi-dev libpfm4-dev libhwloc-dev libyaml-dev
  libjson-c-dev libsqlite3-dev libsmartcols-dev libslurm-dev check)

# apt as on an arm64 machine without a package: this machine's own lists and dpkg stay as they are.
apt_arm64() {
  local tool=$1
  shift
  DEBIAN_FRONTEND=noninteractive "$tool" -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 \
    -o Dir::State::lists="$arm64/lists" -o Dir::State::status=/dev/null \
    -o Dir::Cache="$arm64/apt" "$@"
}

fetch_arm64() {
  local deb kernel_package
  command -v apt-get >/dev/null || { why="no apt-get to fetch arm64 packages with" && return 1; }
  rm -rf "$arm64"
  mkdir -p "$arm64"/{lists/partial,apt/archives/partial,new} || { why="cannot write $arm64" && return 1; }
  {
    apt_arm64 apt-get update &&
      kernel_package=$(apt_arm64 apt-cache depends linux-image-arm64 |
        sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -1) &&
      [ -n "$kernel_package" ] &&
      apt_arm64 apt-get -y --download-only --no-install-recommends install "${arm64_packages[@]}" &&
      (cd "$arm64/apt/archives" && apt_arm64 apt-get download "$kernel_package")
  } >"$cache/apt-arm64.log" 2>&1 || {
    why="apt-get for arm64 failed: $(grep -m1 '^E:' "$cache/apt-arm64.log")"
    return 1
  }
  for deb in "$arm64"/apt/archives/*.deb; do
    dpkg-deb -x "$deb" "$arm64/new" || { why="cannot unpack ${deb##*/}" && return 1; }
  done
  rm -rf "$arm64/apt" "$arm64/lists"
  configure_arm64 "$arm64/new" && mv "$arm64/new" "$arm64/root"
}

# What the packages' scripts would have done, as far as the tests need it.
configure_arm64() {
  local r=$1 f
  [ -e "$r/bin/sh" ] || ln -s bash "$r/bin/sh"
  [ -e "$r/usr/bin/awk" ] || ln -s mawk "$r/usr/bin/awk"
  for f in "$r"/usr/{bin,sbin}/*-wlm; do
    [ ! -e "$f" ] || [ -e "${f%-wlm}" ] || ln -s "${f##*/}" "${f%-wlm}"
  done
  printf '%s\n' root:x:0:0:root:/root:/bin/bash munge:x:111:111::/nonexistent:/bin/false \
    nobody:x:65534:65534::/nonexistent:/bin/false >"$r/etc/passwd"
  printf '%s\n' root:x:0: munge:x:111: nogroup:x:65534: >"$r/etc/group"
  printf 'passwd: files\ngroup: files\nhosts: files\n' >"$r/etc/nsswitch.conf"
  mkdir -p "$r"/{proc,sys,dev,run,tmp,root,var/lib,var/log}
}

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
  ) >"$arm64/build.log" 2>&1 || { why="no arm64 build: $(grep -m1 -iE 'error' "$arm64/build.log"), see $arm64/build.log" && return 1; }
}

# shellcheck disable=SC2034 # for guest
get_arm64() {
  local src=$1
  why=''
  mkdir -p "$cache"
  ls "$arm64"/root/boot/vmlinuz-* >/dev/null 2>&1 || fetch_arm64 || return 1
  arm64_tools || return 1
  root=$arm64/root
  qemu="qemu-system-aarch64"
  kernel=$(printf '%s\n' "$root"/boot/vmlinuz-* | sort -V | tail -1)
  guest_busybox=$root/bin/busybox
  build_arm64 "$src"
}
