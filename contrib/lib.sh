# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2034 # used by those who source this
# lib.sh - what contrib/quickstart and contrib/runtests share: packages, builds, progress.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_packages=(autoconf automake libtool make gcc pkg-config check libhwloc-dev libpapi-dev libpfm4-dev
  libyaml-dev libjson-c-dev libsqlite3-dev libsmartcols-dev libncurses-dev libslurm-dev)
session_packages=(slurm-wlm slurm-client munge valgrind)
run_packages=("${session_packages[@]}" openmpi-bin runc tmux)
make_targets=() # of build(); none: everything
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

# configure and make in DIR with the given configure options; quiet unless it fails. make_targets, where
# somebody set it, is all that is made. Sources that are configured in place stay so: a copy without what was built there is taken, in DIR/source.
build() {
  local dir=$1 src=$top
  shift
  if ! [ "$top/configure" -nt "$top/configure.ac" ]; then
    run_quiet "$top/autogen.log" "$top/autogen.sh"
  fi
  mkdir -p "$dir"
  if [ -e "$top/config.status" ]; then
    src=$dir/source
    rm -rf "$src"
    mkdir "$src"
    local others=(.git shared "${dir#"$top"/}") d
    for d in "$top"/*/; do
      [ ! -e "$d/config.status" ] || others+=("$(basename "$d")")
    done
    tar -C "$top" "${others[@]/#/--exclude=./}" -cf - . | tar -C "$src" -xf -
    run_quiet "$dir/distclean.out" make -C "$src" distclean
  fi
  run_quiet "$dir/configure.out" env -C "$dir" "$src/configure" "$@"
  run_quiet "$dir/make.out" make -C "$dir" -j"$(nproc)" ${make_targets[@]+"${make_targets[@]}"}
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

# start_colocd BUILD DIR LINE...: colocd of that build with a configuration of these lines; its
# store, socket (DIR/colocd.sock) and log are in DIR. Sets colocd_pid.
start_colocd() {
  local b=$1 d=$2
  shift 2
  printf '%s\n' "store: $d/store" "socket: $d/colocd.sock" "$@" >"$d/coloc.yaml"
  chmod 644 "$d/coloc.yaml"
  "$b/nodesvc/colocd" --config="$d/coloc.yaml" >"$d/colocd.log" 2>&1 &
  colocd_pid=$!
  for _ in $(seq 100); do
    [ -S "$d/colocd.sock" ] && return
    kill -0 "$colocd_pid" 2>/dev/null || die "colocd ended: $(tail -1 "$d/colocd.log")"
    sleep 0.1
  done
  die "colocd opens no socket: $(tail -1 "$d/colocd.log")"
}

# gromacs_water DIR NM [relaxed]: DIR/water.tpr, a cube of water of that edge, PME. Where the edge
# is no multiple of the solvent box's, molecules overlap: then it must be relaxed first.
gromacs_water() {
  local into=$1 start=conf.gro # not dir: an exit trap of the caller's removes that
  mkdir -p "$into"
  (
    cd "$into"
    gmx -quiet solvate -cs spc216.gro -box "$2" "$2" "$2" -o conf.gro
    printf '%s\n' '#include "oplsaa.ff/forcefield.itp"' '#include "oplsaa.ff/spc.itp"' \
      '[ system ]' water '[ molecules ]' "SOL $(grep -c OW conf.gro)" >topol.top
    printf '%s\n' 'cutoff-scheme = Verlet' 'coulombtype = PME' 'rcoulomb = 0.9' 'rvdw = 0.9' >em.mdp
    cat em.mdp - >md.mdp <<'MDP'
integrator = md
dt = 0.002
nsteps = 1000
tcoupl = v-rescale
tc-grps = System
tau-t = 0.5
ref-t = 300
gen-vel = yes
gen-seed = 1
constraints = h-bonds
MDP
    if [ "${3:-}" = relaxed ]; then
      printf '%s\n' 'integrator = steep' 'nsteps = 200' >>em.mdp
      gmx -quiet grompp -f em.mdp -c conf.gro -p topol.top -o em.tpr -maxwarn 5
      gmx -quiet mdrun -s em.tpr -ntmpi 1 -ntomp 1 -pin off -deffnm em
      start=em.gro
    fi
    gmx -quiet grompp -f md.mdp -c "$start" -p topol.top -o water.tpr -maxwarn 5
  ) >"$into/gromacs.log" 2>&1 ||
    die "no input for GROMACS, see $into/gromacs.log: $(sed -n '/^Fatal error:/{n;p;q}' "$into/gromacs.log")"
}
