# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # from lib.sh and spine.sh, for the tests
# SPDX-License-Identifier: GPL-2.0-or-later
#
# turns.sh - for the tests of steps that take turns or borrow cores: steps that spin, the freezer's
# file of each, what the ledger holds. Source after spine.sh.

need_spin() {
  spin=$builddir/contrib/programs/bin/spin
  [ -x "$spin" ] || skip_all "PROGRAMS: contrib/programs was not built"
}
# Two threads' worth of spinning, in the background, until cancelled.
spin_step() {
  local name=$1
  shift
  srun -J "$name" -c2 "$@" bash -c "'$spin' --work=100000000 & exec '$spin' --work=100000000" \
    >"$tmp/srun.$name" 2>&1 &
  started_pids+=("$!")
  wait_for 20 spins "$name" ||
    diag "step $name does not spin: $(cat "$tmp/srun.$name") $(ps -o pid=,comm= -p "$(step_pids "$(job_id "$name")" | paste -sd,)" | paste -sd' ')"
}
spins() {
  local id
  id=$(job_id "$1")
  [ -n "$id" ] && [ "$(step_pids "$id" | xargs -I{} cat /proc/{}/comm | grep -cx spin)" = 2 ]
}
# The step's own group of the freezer, and what it says: of step 0, or of $step.
freezer_of() {
  if [ -n "$step_below" ]; then
    echo "$(step_dir "$1" "${step:-0}")/cgroup.freeze"
  else
    echo "/sys/fs/cgroup/freezer/slurm_$node/uid_$(id -u)/job_$1/step_${step:-0}/freezer.state"
  fi
}
step_pids() { cat "$(dirname "$(freezer_of "$1")")"/{.,*,*/*}/cgroup.procs 2>/dev/null; }
# freezer_says JOB REGEX: where its file is does not change, and to look for it each time would
# start processes beside steps that take all there is.
declare -A freezer_files=()
freezer_says() {
  local file=${freezer_files[$1]:-} state
  if [ -z "$file" ]; then
    file=$(freezer_of "$1")
    [ ! -e "$file" ] || freezer_files[$1]=$file
  fi
  { read -r state <"$file"; } 2>/dev/null && [[ $state =~ $2 ]]
}
is_frozen() { freezer_says "$1" '^(1|FROZEN|FREEZING)'; }
is_thawed() { freezer_says "$1" '^(0|THAWED)'; }
are_thawed() {
  local id
  for id in "$@"; do is_thawed "$id" || return 1; done
}
all_thawed() {
  local id
  for id in $(squeue -h -t R,S -o %i); do is_thawed "$id" || return 1; done
}
# looks ONE TWO SECONDS: up to two hundred a second at which of them may run. Sets n_looks, only_one,
# only_two, both. Turns are counted by them, not by processor time: beside a process of another
# session, of the lowest priority even, the kernel may leave both threads of a thawed step on one
# core (measured: 2.4 s of processor in equal turns in which the other step had 4.0).
looks() {
  local one two end=$((SECONDS + $3)) a b c never
  one=$(freezer_of "$1") two=$(freezer_of "$2")
  exec {never}<> <(:)
  n_looks=0 only_one=0 only_two=0 both=0
  while [ $SECONDS -lt $end ]; do
    n_looks=$((n_looks + 1))
    # One before and after the other, without starting a process: a switch in between is no overlap.
    read -r a <"$one"
    read -r b <"$two"
    read -r c <"$one"
    case $a$b$c in
    000 | THAWEDTHAWEDTHAWED) both=$((both + 1)) ;;
    010 | THAWEDF*THAWED) only_one=$((only_one + 1)) ;;
    101 | F*THAWEDF*) only_two=$((only_two + 1)) ;;
    esac
    read -rt 0.005 -u "$never" _ || true
  done
  exec {never}<&-
  diag "of $n_looks looks in $3 s: the first alone in $only_one, the second in $only_two, both in $both"
}
# A step takes turns: seen frozen and seen thawed.
# Who is behind goes before the others until it has caught up, for 10 s on end (gang): thrice that.
rotates() { wait_for 30 is_frozen "$1" && wait_for 30 is_thawed "$1"; }
cpu_ms() {
  local p sum=0 ns
  for p in $(step_pids "$1"); do
    ns=$(cut -d' ' -f1 "/proc/$p/schedstat" 2>/dev/null) && sum=$((sum + ns / 1000000))
  done
  echo "$sum"
}
rows() { ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/'; }
rows_are() { [ "$(rows)" = "$1" ]; }
suspended() { squeue -h -j "$1" -o %t | grep -q S && log | grep -q "step $1.0: suspended"; }
guard_of() { pgrep -P "$1" -x colocd-guard; }
