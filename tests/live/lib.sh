# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# lib.sh - for the live tests: TAP lines, a private Slurm, daemons in the background, and cleaning
# up whatever happens. A test sources it, calls need, makes its checks and ends with done_testing:
#
#   . "$(dirname "$0")/lib.sh"
#   need ROOT SLURM PLUGIN
#   start_cluster --plugin-args "socket=$tmp/colocd.sock"
#   run srun true
#   is "$rc" 0 "srun runs"
#   done_testing
#
# Exit status: 0 all passed, 1 something failed, 77 a prerequisite is missing (with the reason).
# Nothing sleeps for a fixed time: wait_for polls.
set -uo pipefail

srcdir=$(cd "${COLOC_SRCDIR:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd)
builddir=${COLOC_BUILDDIR:-$srcdir}
# shellcheck disable=SC2034 # used by the tests
plugin=$builddir/spank/.libs/spank_coloc.so
minislurm=$srcdir/contrib/cluster/minislurm
msgdump=$builddir/tests/live/live_msgdump

tmp=$(mktemp -d "${TMPDIR:-/tmp}/coloc-live.XXXXXX")
test_name=$(basename "$0" .sh)
tests_run=0 tests_failed=0 started_pids=() colocd_pids=() cluster_dirs=()

# --- the node ----------------------------------------------------------------------------------

# The tests are for a node of two CPUs. On a machine with more, Slurm and colocd are told of two of its
# cores alone (both ask hwloc), and what runs keeps to them. An emulated machine has the CPUs that its
# test wants. (Not nproc: slurmd finds those, too, that the tests themselves are kept from.)
if [ -z "${COLOC_GUEST:-}" ] && [ "$(getconf _NPROCESSORS_ONLN)" -gt 2 ] &&
  "$builddir/tests/live/live_topology" 2 >"$tmp/topology.xml" 2>/dev/null; then
  export HWLOC_XMLFILE=$tmp/topology.xml HWLOC_THISSYSTEM=1
  taskset -cp "$(sed -n 's/.*<object type="PU" os_index="\([0-9]*\)".*/\1/p' "$tmp/topology.xml" | paste -sd,)" $$ >/dev/null
fi

# An emulated machine, at a tenth of the speed. (Linux as a process of this machine is not.)
emulated=''
case ${COLOC_GUEST:-} in '' | uml) ;; *) emulated=1 ;; esac

# --- TAP -------------------------------------------------------------------------------------

diag() { printf '# %s\n' "$@"; }

# verdict 0|1 NAME [DETAIL...]: one TAP line; details only on failure.
verdict() {
  local bad=$1 name=$2
  shift 2
  tests_run=$((tests_run + 1))
  if [ "$bad" = 0 ]; then
    echo "ok $tests_run - $name"
  else
    echo "not ok $tests_run - $name"
    tests_failed=$((tests_failed + 1))
    [ $# -eq 0 ] || printf '%s\n' "$@" | sed 's/^/#   /'
  fi
}

# ok NAME COMMAND...
ok() {
  local name=$1 bad=0
  shift
  "$@" || bad=1
  verdict $bad "$name" "failed: $*"
}

# is GOT WANTED NAME
is() {
  local bad=0
  [ "$1" = "$2" ] || bad=1
  verdict $bad "$3" "got:    $1" "wanted: $2"
}

# like TEXT REGEX NAME, unlike TEXT REGEX NAME (extended, any line)
like() {
  local bad=0
  grep -qE -- "$2" <<<"$1" || bad=1
  verdict $bad "$3" "wanted: $2" "in:" "$1"
}
unlike() {
  local bad=0
  ! grep -qE -- "$2" <<<"$1" || bad=1
  verdict $bad "$3" "not wanted: $2" "in:" "$1"
}

# at_most NUMBER LIMIT NAME: integers; the measured figure is always printed.
at_most() {
  local bad=0
  [ "$1" -le "$2" ] || bad=1
  verdict $bad "$3 ($1, at most $2)"
}

done_testing() {
  no_colocd_crashed
  echo "1..$tests_run"
  if [ "$tests_failed" -gt 0 ]; then
    diag "$tests_failed of $tests_run failed"
    [ ! -s "$tmp/colocd.out" ] || diag "colocd's last lines:" "$(tail -4 "$tmp/colocd.out" | cut -c1-200)"
  fi
  exit $((tests_failed > 0))
}

# Fail open hides it from the jobs: a colocd that ended by a signal nobody sends on purpose is a
# failure of whatever test it was in.
no_colocd_crashed() {
  local p status
  for p in "${colocd_pids[@]+"${colocd_pids[@]}"}"; do
    process_gone "$p" || continue
    wait "$p" 2>/dev/null
    status=$?
    case $((status - 128)) in
    4 | 6 | 7 | 8 | 11 | 13 | 31)
      verdict 1 "colocd does not crash" "process $p ended by SIG$(kill -l $((status - 128)))"
      ;;
    esac
  done
}

skip_all() {
  echo "1..0 # SKIP $*"
  exit 77
}

# --- prerequisites ---------------------------------------------------------------------------

need() {
  local what
  for what in "$@"; do
    case $what in
    ROOT)
      [ "$(id -u)" = 0 ] || skip_all "ROOT: needs root (slurmd makes cgroups, starts tasks as users)"
      ;;
    SLURM)
      local tool
      for tool in slurmctld slurmd srun munged; do
        command -v "$tool" >/dev/null ||
          skip_all "SLURM: $tool not found (Debian: slurm-wlm slurm-client munge)"
      done
      ;;
    PLUGIN) [ -r "$plugin" ] || skip_all "PLUGIN: $plugin was not built (Slurm's headers missing)" ;;
    MSGDUMP) [ -x "$msgdump" ] || skip_all "MSGDUMP: $msgdump was not built" ;;
    TMUX) command -v tmux >/dev/null || skip_all "TMUX: tmux not found (Debian: tmux)" ;;
    COLOCD) [ -x "$builddir/nodesvc/colocd" ] || skip_all "COLOCD: nodesvc/colocd was not built" ;;
    *)
      echo "Bail out! unknown prerequisite $what"
      exit 1
      ;;
    esac
  done
}

# --- waiting and running ---------------------------------------------------------------------

# wait_for SECONDS COMMAND...: until the command succeeds. An emulated machine is given more time,
# and asked less often: there the asking itself is what takes long. MINISLURM_CLOCK: as for minislurm.
clock() { if [ -n "${MINISLURM_CLOCK:-}" ]; then cat "$MINISLURM_CLOCK"; else echo "$SECONDS"; fi; }
wait_for() {
  local nap=0.02 times=1 end clock_end
  [ -z "$emulated" ] || nap=0.3 times=4
  end=$((SECONDS + $1 * times))
  clock_end=$(($(clock) + $1 * times))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || [ "$(clock)" -lt "$clock_end" ] || return 1
    sleep $nap
  done
}

now_ms() {
  local t=$EPOCHREALTIME
  echo $((${t%[.,]*} * 1000 + 10#${t#*[.,]} / 1000))
}

# Whether the machine was the test's own, for checks of speed: watch_machine, the work, was_disturbed
# MS, with the cpu time of the test's job steps. True, and sets disturbance, where others (processes,
# or the hypervisor) had more than a twentieth of the processors' time. Such a check that fails is
# tried again, and in the end skipped: it says nothing.
machine_ms() {
  awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%d\n", ($2 + $3 + $4 + $7 + $8 + $9) * 1000 / hz }' /proc/stat
}
# Of this shell's children that have ended.
children_ms() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%d\n", ($14 + $15) * 1000 / hz }' /proc/$$/stat; }
watch_machine() { watched=$(machine_ms) watched_own=$(children_ms) watched_at=$(now_ms); }
was_disturbed() {
  local own others all
  own=$(($(children_ms) - watched_own + $1))
  others=$(($(machine_ms) - watched - own))
  all=$((($(now_ms) - watched_at) * $(getconf _NPROCESSORS_ONLN)))
  [ $((others * 20)) -gt $all ] || return 1
  # shellcheck disable=SC2034 # the test's
  disturbance="others had $((others * 100 / all)) % of the processors"
}
# skipped NAME REASON: one check.
skipped() {
  tests_run=$((tests_run + 1))
  echo "ok $tests_run - $1 # SKIP $2"
}

# run COMMAND...: sets rc, out, err and ms.
# shellcheck disable=SC2034
run() {
  local t0
  t0=$(now_ms)
  rc=0
  "$@" >"$tmp/run.out" 2>"$tmp/run.err" </dev/null || rc=$?
  ms=$(($(now_ms) - t0))
  out=$(tr -d '\0' <"$tmp/run.out")
  err=$(tr -d '\0' <"$tmp/run.err")
}

# A zombie is gone.
process_gone() {
  local state
  state=$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
  [ -z "$state" ] || [ "$state" = Z ] || [ "$state" = X ]
}

# --- a private Slurm -------------------------------------------------------------------------

# start_cluster [minislurm options]: below $tmp/cluster with our plugin, unless options name one;
# exports SLURM_CONF, sets node and cluster.
# shellcheck disable=SC2034
start_cluster() {
  cluster=$tmp/cluster${#cluster_dirs[@]}
  cluster_dirs+=("$cluster")
  if ! "$minislurm" up "$cluster" --quiet --plugin "$plugin" "$@" >"$tmp/minislurm.out" 2>&1; then
    sed 's/^/# /' "$tmp/minislurm.out"
    echo "Bail out! no Slurm"
    exit 1
  fi
  export SLURM_CONF=$cluster/etc/slurm.conf
  node=$(cat "$cluster/run/node")
}

slurmd_log() { cat "$cluster"/log/slurmd*.log; }
# With --nodes: the states of all, each once.
node_state() { sinfo -h -N -o %T | sort -u; }
node_is_idle() { [ "$(node_state)" = idle ]; }
job_state() { scontrol show job "$1" 2>/dev/null | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p'; }
job_is() { [ "$(job_state "$1")" = "$2" ]; }

# sbatch_wait ARGS...: submits, waits for the end (sbatch --wait backs off for seconds); sets out,
# and rc, 0 if the job was accepted and ended.
# shellcheck disable=SC2034
sbatch_wait() {
  local id
  id=$(sbatch --parsable -o "$tmp/job.out" -e "$tmp/job.out" "$@" 2>"$tmp/job.err") || {
    rc=$?
    out=$(cat "$tmp/job.err")
    return
  }
  rc=1
  ! wait_for 30 job_ended "$id" || rc=0
  out=$(cat "$tmp/job.out")
}
job_ended() {
  case $(job_state "$1") in
  COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) ;;
  *) return 1 ;;
  esac
}

# --- daemons ---------------------------------------------------------------------------------

# start PATH COMMAND...: in the background, output to $tmp/PATH.out; sets pid. Waits for nothing.
start() {
  local name=$1
  shift
  "$@" >>"$tmp/$name.out" 2>&1 &
  pid=$!
  started_pids+=("$pid")
}

# stop PID [SIGNAL]: also a stopped one; waits until it is gone.
stop() {
  kill "-${2:-TERM}" "$1" 2>/dev/null
  kill -CONT "$1" 2>/dev/null
  wait "$1" 2>/dev/null
}

# start_msgdump SOCKET [options]: waits until it listens; messages go to $tmp/dump.
start_msgdump() {
  local socket=$1
  shift
  rm -f "$socket"
  "$msgdump" "$socket" "$@" >>"$tmp/dump" &
  pid=$!
  started_pids+=("$pid")
  wait_for 5 test -S "$socket" || diag "live_msgdump does not listen"
}

listens_or_gone() { [ -S "$1" ] || process_gone "$2"; }

# start_colocd CONFIG SOCKET [options]: the real daemon, once it listens; sets pid. COLOCD_RUN: a
# command to run it by (valgrind, or setpriv with the capabilities of the systemd unit).
start_colocd() {
  local config=$1 socket=$2
  shift 2
  rm -f "$socket"
  # shellcheck disable=SC2086 # words
  start colocd ${COLOCD_RUN:-} "$builddir/nodesvc/colocd" --config="$config" "$@"
  colocd_pids+=("$pid")
  wait_for 60 listens_or_gone "$socket" "$pid"
  [ -S "$socket" ] || {
    tail -40 "$tmp/colocd.out" | sed 's/^/# /'
    echo "Bail out! colocd does not listen on $socket: $(tail -1 "$tmp/colocd.out")"
    exit 1
  }
}

# --- end -------------------------------------------------------------------------------------

cleanup() {
  local status=$? p d
  trap '' INT TERM HUP
  for d in "${cluster_dirs[@]+"${cluster_dirs[@]}"}"; do
    "$minislurm" down "$d" --quiet || status=1
  done
  for p in "${started_pids[@]+"${started_pids[@]}"}"; do
    process_gone "$p" || stop "$p"
  done
  if [ "$status" != 0 ] && [ "$status" != 77 ] && [ -n "${COLOC_KEEP:-}" ]; then
    diag "$test_name: files are in $tmp"
  else
    rm -rf "$tmp"
  fi
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
