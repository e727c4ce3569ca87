# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # used by those who source this
# lib.sh - what contrib/quickstart and contrib/runtests share: packages, builds, progress.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_packages=(autoconf automake libtool make gcc pkg-config check libhwloc-dev libpapi-dev libpfm4-dev
  libyaml-dev libjson-c-dev libsqlite3-dev libsmartcols-dev libslurm-dev)
run_packages=(slurm-wlm slurm-client munge valgrind openmpi-bin runc)
export LC_ALL=C.UTF-8

start_s=$SECONDS
say() { printf '[%3ds] %s\n' $((SECONDS - start_s)) "$*"; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

need_root() {
  [ "$(id -u)" -eq 0 ] || die "must be root: it starts a private Slurm and writes cgroups"
}

# Installs what is missing of its arguments; does nothing, also no update, when all is there.
install_packages() {
  local missing=() p
  for p in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
      missing+=("$p")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  command -v apt-get >/dev/null || die "missing: ${missing[*]}; install them and run again"
  say "installing ${#missing[@]} packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local log
  log=$(mktemp)
  { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1 || {
    tail -5 "$log" >&2
    rm -f "$log"
    die "apt-get failed"
  }
  rm -f "$log"
}

# configure and make in DIR with the given configure options; quiet unless it fails.
build() {
  local dir=$1
  shift
  if ! [ "$top/configure" -nt "$top/configure.ac" ]; then
    run_quiet "$top/autogen.log" "$top/autogen.sh"
  fi
  mkdir -p "$dir"
  run_quiet "$dir/configure.out" env -C "$dir" "$top/configure" "$@"
  run_quiet "$dir/make.out" make -C "$dir" -j"$(nproc)"
}

# Runs a command with its output in a file that is shown only when it fails.
run_quiet() {
  local log=$1
  shift
  "$@" >"$log" 2>&1 || {
    tail -40 "$log" >&2
    die "failed: $*"
  }
}
