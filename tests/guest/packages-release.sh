# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages-release.sh - a machine of another Debian release: its files and kernel in the cache
# (packages-root.sh), and in them a build of the tree, by the release's own compiler in a chroot,
# against its own headers. get_release sets kernel, root and builddir, or returns 1 with the reason
# in $why; 2 if it is the tree that does not build.

# shellcheck disable=SC2154 # packages.sh has it
# What the tree needs on top of root_packages, and what the live tests look for.
release_packages=(base-passwd diffutils gcc make libc6-dev pkgconf libtool python3 mariadb-server slurmdbd sqlite3 file
  openmpi-bin libopenmpi-dev runc tmux ncurses-base ncurses-bin)

# in_root ROOT DIR... -- COMMAND...: with these directories of this machine at their own paths.
in_root() {
  # shellcheck disable=SC2016 # for the inner shell
  unshare -m --propagation private bash -c '
    set -e
    root=$1 && shift
    # A container needs a mount for its parent root.
    mount --bind "$root" "$root"
    mount --rbind /dev "$root/dev"
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 run "$root/run"
    touch "$root/etc/hosts" && mount --bind /etc/hosts "$root/etc/hosts"
    while [ "$1" != -- ]; do
      mkdir -p "$root$1" && mount --rbind "$1" "$root$1" && shift
    done
    shift
    dir=$PWD
    [ -d "$root$dir" ] || dir=/
    exec chroot "$root" env -C "$dir" -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      HOME=/root LC_ALL=C.UTF-8 "$@"' in_root "$@"
}

# A build for the release, kept in the cache and brought up to date by make.
build_release() {
  local src=$1 dir=$2
  builddir=$dir/build
  mkdir -p "$builddir"
  # Another tree than last time: anew.
  [ "$(cat "$builddir/srcdir" 2>/dev/null)" = "$src" ] || { rm -rf "$builddir" && mkdir -p "$builddir" && echo "$src" >"$builddir/srcdir"; }
  # shellcheck disable=SC2016
  in_root "$root" "$src" "$builddir" -- sh -ec '
    cd "$1"
    # The tools that make configure are those of the machine outside.
    [ -e Makefile ] || "$2/configure" --enable-werror
    made="AUTOCONF=: AUTOMAKE=: ACLOCAL=: AUTOHEADER=:"
    # One after the other: `all` is a make of its own, and two would write the same files.
    make -j2 $made all
    make -j2 $made tests/live/live_msgdump tests/live/live_actuate tests/live/live_levels tests/live/live_client \
      tests/live/live_worker tests/live/live_liar tests/live/live_topology' sh "$builddir" "$src" \
    >"$dir/build.log" 2>&1 || {
    why="no build on ${dir##*/}: $(grep -m1 -iE 'error' "$dir/build.log"), see $dir/build.log"
    return 2
  }
}

# shellcheck disable=SC2034 # for guest
get_release() {
  local release=$1 src=$2 dir
  dir=$cache/$release
  why=''
  mkdir -p "$cache"
  # What was fetched for an older version of these scripts may lack a package.
  [ "$(cat "$dir/packages" 2>/dev/null)" = "${root_packages[*]} ${release_packages[*]}" ] ||
    fetch_root "$dir" amd64 "$release" "${release_packages[@]}" || return 1
  echo "${root_packages[*]} ${release_packages[*]}" >"$dir/packages"
  root=$dir/root
  kernel=$(printf '%s\n' "$root"/boot/vmlinuz-* | sort -V | tail -1)
  guest_busybox=$root/bin/busybox
  build_release "$src" "$dir"
}
