# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages-release.sh - a machine of another Debian release: its files and kernel in the cache
# (packages-root.sh), and in them a build of the tree, by the release's own compiler in a chroot,
# against its own headers. get_release sets kernel, root and builddir (below the one given), or returns 1 with the reason
# in $why; 2 if it is the tree that does not build.

# shellcheck disable=SC2154 # packages.sh has it
# What the tree needs on top of root_packages, and what the live tests look for.
release_packages=(base-passwd diffutils gcc make libc6-dev pkgconf libtool python3 mariadb-server slurmdbd sqlite3 file
  openmpi-bin libopenmpi-dev runc tmux ncurses-base ncurses-bin numactl hwloc-nox stress-ng libomp-dev)

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

# A build for the release below this machine's, brought up to date by make. One at a time.
build_release() {
  local src=$1 release=$2 log lock rc=0
  builddir=$builddir/guest-$release
  log=$builddir/build.log
  mkdir -p "$builddir" || { why="cannot write $builddir" && return 1; }
  exec {lock}>"$builddir/lock" && flock "$lock"
  # shellcheck disable=SC2016
  in_root "$root" "$src" "$builddir" -- sh -ec '
    cd "$1"
    # The tools that make configure are those of the machine outside.
    [ -e Makefile ] || "$2/configure" --enable-werror
    made="AUTOCONF=: AUTOMAKE=: ACLOCAL=: AUTOHEADER=:"
    # One after the other: `all` is a make of its own, and two would write the same files.
    make -j2 $made all
    make -j2 $made live-programs' sh "$builddir" "$src" \
    >"$log" 2>&1 || {
    why="no build on $release: $(grep -m1 -iE 'error' "$log"), see $log"
    rc=2
  }
  exec {lock}>&-
  return $rc
}

# shellcheck disable=SC2034 # for guest
get_release() {
  local release=$1 src=$2 dir lock rc=0
  dir=$cache/$release
  why=''
  mkdir -p "$cache"
  # One fetches, the others wait.
  exec {lock}>"$dir.lock" && flock "$lock"
  # What was fetched for an older version of these scripts may lack a package.
  if [ "$(cat "$dir/packages" 2>/dev/null)" != "${root_packages[*]} ${release_packages[*]}" ]; then
    fetch_root "$dir" amd64 "$release" "${release_packages[@]}" &&
      echo "${root_packages[*]} ${release_packages[*]}" >"$dir/packages" || rc=1
  fi
  exec {lock}>&-
  [ $rc = 0 ] || return $rc
  root=$dir/root
  kernel=$(printf '%s\n' "$root"/boot/vmlinuz-* | sort -V | tail -1)
  guest_busybox=$root/bin/busybox
  build_release "$src" "$release"
}
