# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages-root.sh - another machine's files: Debian's packages of another architecture or another
# release, by apt, unpacked into the cache and never installed here; no package's script is run. Sets
# why where something fails.

# shellcheck disable=SC2154,SC2034 # packages.sh has cache; who sources this reads why
root_packages=(bash libc-bin coreutils sed grep gawk procps findutils util-linux mount iproute2 passwd hostname
  busybox-static slurm-wlm slurm-client munge libpapi-dev libpfm4-dev libhwloc-dev libyaml-dev
  libjson-c-dev libsqlite3-dev libsmartcols-dev libncurses-dev libslurm-dev check)

# apt as on a machine of $root_arch, with $root_suite's packages (this machine's if empty), where
# nothing is installed: this machine's own lists and dpkg stay as they are.
apt_root() {
  local tool=$1
  shift
  DEBIAN_FRONTEND=noninteractive "$tool" -qq -o APT::Architecture="$root_arch" \
    -o APT::Architectures="$root_arch" -o Dir::State::lists="$root_dir/lists" \
    -o Dir::State::status="$root_dir/status" -o Dir::Cache="$root_dir/apt" \
    ${root_suite:+-o Dir::Etc::sourcelist="$root_dir/sources.list" -o Dir::Etc::sourceparts=/dev/null} "$@"
}

# The mirror that this machine has its own Debian from carries the other releases, too.
suite_sources() {
  local uri codename
  codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # shellcheck disable=SC2016 # apt's fields
  uri=${COLOC_GUEST_MIRROR:-$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    sed -n "s/^$codename //p" | head -1)}
  [ -n "$uri" ] || { why="no Debian mirror known (COLOC_GUEST_MIRROR=URI)" && return 1; }
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $root_suite main"
}

# The kernel alone, without the initramfs tools it would bring; newer releases have it in parts.
# Not the cloud kernel, which has no 9p.
root_kernel() {
  local image
  image=$(apt_root apt-cache depends "linux-image-$root_arch" |
    sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -1)
  [ -n "$image" ] || return 1
  echo "$image"
  apt_root apt-cache depends "$image" | sed -n 's/.*Depends: \(linux-\(base\|binary\|modules\)-[0-9][^ ]*\)$/\1/p'
}

# unpack DEB DIR: over a merged /usr, too: a directory of the package's may be a link.
unpack() { dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"; }

# fetch_root DIR ARCH SUITE [PACKAGE...]: into DIR/root, with root_packages and the kernel.
fetch_root() {
  local deb kernel_parts=() log
  root_dir=$1 root_arch=$2 root_suite=$3 log=$cache/apt-${1##*/}.log
  shift 3
  command -v apt-get >/dev/null || { why="no apt-get to fetch packages with" && return 1; }
  rm -rf "$root_dir"
  mkdir -p "$root_dir"/{lists/partial,apt/archives/partial,new} || { why="cannot write $root_dir" && return 1; }
  : >"$root_dir/status"
  [ -z "$root_suite" ] || suite_sources >"$root_dir/sources.list" || return 1
  {
    apt_root apt-get update &&
      mapfile -t kernel_parts < <(root_kernel) && [ ${#kernel_parts[@]} -gt 0 ] &&
      apt_root apt-get -y --download-only --no-install-recommends install base-files "${root_packages[@]}" "$@" &&
      (cd "$root_dir/apt/archives" && apt_root apt-get download "${kernel_parts[@]}")
  } >"$log" 2>&1 || {
    why="apt-get for ${root_suite:-$root_arch} failed: $(grep -m1 '^E:' "$log")"
    return 1
  }
  # base-files first: it has the links of a merged /usr.
  for deb in "$root_dir"/apt/archives/base-files_*.deb "$root_dir"/apt/archives/*.deb; do
    unpack "$deb" "$root_dir/new" || { why="cannot unpack ${deb##*/}" && return 1; }
  done
  rm -rf "$root_dir/apt" "$root_dir/lists"
  configure_root "$root_dir/new" && mv "$root_dir/new" "$root_dir/root"
}

# What the packages' scripts would have done, as far as the tests need it.
configure_root() {
  local r=$1 f
  [ -e "$r/bin/sh" ] || ln -s bash "$r/bin/sh"
  [ -e "$r/usr/bin/awk" ] || ln -s gawk "$r/usr/bin/awk"
  for f in "$r"/usr/{bin,sbin}/*-wlm; do
    [ ! -e "$f" ] || [ -e "${f%-wlm}" ] || ln -s "${f##*/}" "${f%-wlm}"
  done
  for f in "$r"/usr/bin/mpi*.openmpi; do
    [ ! -e "$f" ] || [ -e "${f%.openmpi}" ] || ln -s "${f##*/}" "${f%.openmpi}"
  done
  printf '%s\n' root:x:0:0:root:/root:/bin/bash munge:x:111:111::/nonexistent:/bin/false \
    daemon:x:1:1::/nonexistent:/bin/false nobody:x:65534:65534::/nonexistent:/bin/false >"$r/etc/passwd"
  printf '%s\n' root:x:0: munge:x:111: daemon:x:1: nogroup:x:65534: >"$r/etc/group"
  printf 'passwd: files\ngroup: files\nhosts: files\n' >"$r/etc/nsswitch.conf"
  mkdir -p "$r"/{proc,sys,dev,run,tmp,root,var/lib,var/log}
  # By a name, for the scripts that look for it there.
  for f in "$r"/usr/lib/modules/*/vmlinuz; do
    [ ! -e "$f" ] || { mkdir -p "$r/boot" && ln -sf "../${f#"$r/"}" "$r/boot/vmlinuz-$(basename "${f%/vmlinuz}")"; }
  done
  # A build of the tree lies below it, and users load the plugin from there.
  chmod 755 "$r/root"
  ldconfig -r "$r" 2>/dev/null
}
