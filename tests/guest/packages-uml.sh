# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages-uml.sh - Linux as a process of this machine (user-mode Linux): built once, of Debian's
# kernel source, into the cache. get_uml sets kernel, or returns 1 with the reason in $why.

# The first release whose kernel runs on several CPUs as a process (6.19); the kernel Debian builds of
# it has neither that nor cpusets.
uml_release=forky
# On top of its own defaults: cgroup v2 as a node has it, this machine's files, an interface that is
# not loopback; and nothing that only takes time to build.
uml_config=(-e SMP --set-val NR_CPUS 8 -e CGROUPS -e CPUSETS -e MEMCG -e CGROUP_SCHED -e FAIR_GROUP_SCHED
  -e CFS_BANDWIDTH -e CGROUP_PIDS -e CGROUP_FREEZER -e PSI -e SCHED_AUTOGROUP -e SCHEDSTATS
  -e HOSTFS -e OVERLAY_FS -e DEVTMPFS -e TMPFS -e FANOTIFY -e INOTIFY_USER
  -e UNIX -e INET -e NETDEVICES -e NET_CORE -e DUMMY -d ETHERNET -d WLAN -d WIRELESS -d PHYLIB
  -e NAMESPACES -e USER_NS -e POSIX_MQUEUE -e SYSVIPC -e SECCOMP
  -d MODULES -d SOUND -d EXT4_FS -e DEBUG_INFO_NONE)

# What no part of it is built of, and much: drivers' own text.
uml_leave=(sound drivers/gpu drivers/media drivers/infiniband drivers/net/ethernet drivers/net/wireless)

# build_uml DIR: DIR/linux.
build_uml() {
  local dir=$1 tool package leave=("${uml_leave[@]/#/--exclude=*/}")
  leave=("${leave[@]/%//*.[ch]}")
  for tool in make gcc flex bison bc; do
    command -v "$tool" >/dev/null || { why="no $tool to build a kernel with" && return 1; }
  done
  command -v apt-get >/dev/null || { why="no apt-get to fetch a kernel's source with" && return 1; }
  rm -rf "$dir"
  # shellcheck disable=SC2034 # for apt_root
  root_dir=$dir root_arch=amd64 root_suite=$uml_release
  mkdir -p "$dir"/{lists/partial,apt/archives/partial,source} || { why="cannot write $dir" && return 1; }
  : >"$dir/status"
  suite_sources >"$dir/sources.list" || return 1
  {
    apt_root apt-get update &&
      package=$(apt_root apt-cache depends linux-source | sed -n 's/.*Depends: \(linux-source-[0-9][^ ]*\)$/\1/p' | head -1) &&
      [ -n "$package" ] && (cd "$dir" && apt_root apt-get download "$package")
  } >"$dir/build.log" 2>&1 || {
    why="apt-get for the kernel's source failed: $(grep -m1 '^E:' "$dir/build.log")"
    return 1
  }
  echo "# building the kernel once, in $dir" >&2
  (
    set -e
    dpkg-deb --fsys-tarfile "$dir"/linux-source-*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
      tar -xJ -C "$dir/source" --strip-components=1 "${leave[@]}" \
        --exclude='*/tools/testing' --exclude='*/boot/dts'
    cd "$dir/source"
    make ARCH=um defconfig
    scripts/config "${uml_config[@]}"
    make ARCH=um olddefconfig
    for option in SMP CPUSETS OVERLAY_FS HOSTFS DUMMY; do grep -x "CONFIG_$option=y" .config; done
    make ARCH=um -j"$(nproc)" linux
    strip -o ../linux.new linux
  ) >>"$dir/build.log" 2>&1 || {
    why="the kernel does not build: $(grep -m1 -E 'rror[: ]' "$dir/build.log"), see $dir/build.log"
    return 1
  }
  rm -rf "$dir"/{source,lists,apt,status,sources.list} "$dir"/linux-source-*.deb
  mv "$dir/linux.new" "$dir/linux"
}

# shellcheck disable=SC2034,SC2154 # for guest; packages.sh has cache
get_uml() {
  local dir=$cache/uml lock rc=0
  why=''
  kernel=$dir/linux
  mkdir -p "$cache" || { why="cannot write $cache" && return 1; }
  # One builds, the others wait.
  exec {lock}>"$dir.lock" && flock "$lock"
  # What was built for an older version of these lines may lack an option.
  if [ ! -x "$kernel" ] || [ "$(cat "$dir/config" 2>/dev/null)" != "${uml_config[*]}" ]; then
    build_uml "$dir" && echo "${uml_config[*]}" >"$dir/config" || rc=1
  fi
  exec {lock}>&-
  return $rc
}
