#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# suspend.sh - who does not run competes for nothing: a job that Slurm suspends (by hand, for a job of
# a higher partition, for a slice of its own gang scheduling) or that somebody stops leaves its cores
# to the others at once, and has its part again when it goes on; under fair and auto (with COLOC_LONG:
# lira and gang, too), before and after a restart of colocd. Nothing of ours wakes it. Turns, ours and
# those of Slurm's gang, take minutes: with COLOC_LONG only. How long Slurm and a shell take to say so
# is the machine's to answer for: a minute for each.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
. "$(dirname "$0")/turns.sh"
need_spin
# Equal turns from the first moment: of who goes first, one look in a hundred sees a turn of the other.
start_spine 'policy: fair' 'policy_options: {gang: {foreground_ms: 0}}' 'gang_slice_ms: 50' 'freeze_max_ms: 1000' 'guard: {enabled: no}' 'baseline_fraction: 0'

# The CPUs that its processes may use, whatever keeps them there.
cpus_of() {
  local p
  for p in $(step_pids "$1"); do
    sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$p/status" 2>/dev/null
  done | sort -u | paste -sd' '
}
all_cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
has_all() { [ "$(cpus_of "$1")" = "$all_cpus" ]; }
# Each has cores of its own.
are_apart() {
  local a b
  a=$(cpus_of "$1") b=$(cpus_of "$2")
  [ -n "$a" ] && [ -n "$b" ] && [ "$a" != "$b" ] && ! [[ "$a $b" = *[,-]* ]]
}
take_turns() { rotates "$1" && rotates "$2"; }
# How the ruling policy has two jobs share the node.
share() { if [ "$policy" = gang ]; then take_turns "$@"; else are_apart "$@"; fi; }
# All of the node, all the time.
is_alone() {
  has_all "$1" || return 1
  for _ in {1..20}; do
    is_thawed "$1" || return 1
    sleep 0.01
  done
}
state_in() { ctl --json jobs | python3 -c 'import json, sys
print(" ".join(j["state"] for j in json.load(sys.stdin)["steps"] if j["id"] == sys.argv[1] + "." + sys.argv[2]))' "$@"; }
says_suspended() { [ "$(state_in "$1" "${2:-0}")" = suspended ]; }
says_placed() { [ "$(state_in "$1" "${2:-0}")" = placed ]; }
# Frozen, and not for a moment thawed.
stays_frozen() {
  for _ in {1..60}; do
    is_frozen "$1" || return 1
    sleep 0.05
  done
}
two_jobs() {
  spin_step one "--coloc-policy=$policy"
  spin_step two "--coloc-policy=$policy"
  one=$(job_id one) two=$(job_id two)
  ok "$policy: two jobs share the node" wait_for 60 share "$one" "$two"
}
[ "$(nproc)" = 2 ] || skip_all "CPUS: for two CPUs, here are $(nproc)"

# --- by hand -------------------------------------------------------------------------------------
for policy in fair auto ${COLOC_LONG:+lira gang}; do
  two_jobs
  scontrol suspend "$one"
  ok "$policy: one is suspended, and jobs says so" wait_for 60 says_suspended "$one"
  ok "... the other has all cores" wait_for 60 is_alone "$two"
  like "$(ctl explain "$one")" 'Reason.*suspended: its ' "... and explain why"
  ok "... Slurm freezes it" wait_for 60 is_frozen "$one"
  ok "... and longer than freeze_max_ms nothing wakes it" stays_frozen "$one"
  like "$(ctl explain "$one")" 'Reason.*suspended: its cgroup is frozen' "... explain says by what"
  ok "... the other has all cores still" is_alone "$two"
  scontrol resume "$one"
  ok "$policy: resumed, they share it again" wait_for 60 share "$one" "$two"
  ok "... jobs says so" wait_for 60 says_placed "$one"
  like "$(ctl explain "$one")" ' resume ' "... explain has the event"

  # Who comes meanwhile.
  scontrol suspend "$one"
  ok "$policy: suspended" wait_for 60 says_suspended "$one"
  end_job two
  spawn third -n1 -c2 "--coloc-policy=$policy"
  is "$(born third)" "$all_cpus" "$policy: who comes beside a suspended one is born on all cores"
  end_job third
  spin_step two "--coloc-policy=$policy"
  two=$(job_id two)
  scontrol resume "$one"
  ok "... and shares them when it goes on" wait_for 60 share "$one" "$two"

  # The end of one that does not run.
  scontrol suspend "$one"
  ok "$policy: suspended" wait_for 60 says_suspended "$one"
  scancel "$one"
  ok "... and cancelled it ends" wait_for 60 job_gone one
  ok "... the other has all cores" wait_for 60 is_alone "$two"
  stop_steps
  ok "$policy: the ledger is empty" wait_for 60 rows_are 0
  is "$(node_state)" idle "... the node is idle"
done

# --- a restart of colocd ---------------------------------------------------------------------------
restart_colocd() {
  kill -KILL "$colocd_pid"
  wait "$colocd_pid" 2>/dev/null
  "$@"
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
}
for policy in fair ${COLOC_LONG:+gang}; do
  two_jobs
  scontrol suspend "$one"
  wait_for 60 is_frozen "$one"
  restart_colocd true
  ok "$policy: a colocd that is started anew knows who is suspended" wait_for 60 says_suspended "$one"
  ok "... the other has all cores" wait_for 60 is_alone "$two"
  ok "... nothing wakes it" stays_frozen "$one"
  scontrol resume "$one"
  ok "... resumed, they share them" wait_for 60 share "$one" "$two"
  suspend_now() { scontrol suspend "$one" && wait_for 60 is_thawed "$two"; }
  restart_colocd suspend_now
  ok "$policy: suspended while no colocd runs: known to the next" wait_for 60 says_suspended "$one"
  wait_for 60 is_frozen "$one"
  ok "... nothing wakes it" stays_frozen "$one"
  frozen_now() { scontrol resume "$one" && wait_for 60 is_thawed "$one" && scontrol suspend "$one" && wait_for 60 is_frozen "$one"; }
  restart_colocd frozen_now
  ok "... nor one that was frozen meanwhile" stays_frozen "$one"
  scontrol resume "$one"
  ok "... resumed, they share the node" wait_for 60 share "$one" "$two"
  stop_steps
done

# --- a whole job, and a stop by signals ------------------------------------------------------------
policy=fair
batch=$(sbatch --parsable -J whole -c2 -o /dev/null --coloc-policy=fair --wrap \
  "srun --overlap '$spin' --work=100000000 & srun --overlap '$spin' --work=100000000 & wait")
spin_step two --coloc-policy=fair
two=$(job_id two)
ok "a job of two steps" wait_for 60 says_placed "$batch" 1
scontrol suspend "$batch"
all_suspended() { says_suspended "$batch" 0 && says_suspended "$batch" 1 && says_suspended "$batch" batch; }
ok "a whole job suspended: both of its steps and its shell" wait_for 60 all_suspended
ok "... the other has all cores" wait_for 60 is_alone "$two"
scontrol resume "$batch"
goes_on() { says_placed "$batch" 0 && says_placed "$batch" 1 && [ "$(state_in "$batch" batch)" = aside ] && ! has_all "$two"; }
ok "... it goes on" wait_for 60 goes_on
scancel "$batch"
wait_for 60 job_gone whole
spin_step one --coloc-policy=fair
one=$(job_id one)
ok "two jobs" wait_for 60 are_apart "$one" "$two"
step_pids "$one" | xargs kill -STOP
ok "stopped by a signal: the other has all cores" wait_for 60 is_alone "$two"
like "$(ctl explain "$one")" 'Reason.*suspended: its processes are stopped' "... explain says by what"
step_pids "$one" | xargs kill -CONT
ok "... and goes on" wait_for 60 are_apart "$one" "$two"
step_pids "$one" | head -1 | xargs kill -STOP
sleep 0.5
ok "one of two processes stopped: the step runs" says_placed "$one"
step_pids "$one" | xargs kill -CONT
stop_steps

# --- Slurm's own preemption and gang scheduling --------------------------------------------------
"$minislurm" down "$cluster" --quiet
start_cluster --plugin-args "socket=$socket timeout_ms=$spine_timeout_ms" \
  --conf PreemptType=preempt/partition_prio --conf PreemptMode=SUSPEND,GANG --conf SchedulerTimeSlice=5 \
  --conf 'PartitionName=low Nodes=ALL PriorityTier=1 OverSubscribe=FORCE:1' \
  --conf 'PartitionName=high Nodes=ALL PriorityTier=10 OverSubscribe=FORCE:1'
find_layout
freezer_files=()
for policy in fair auto ${COLOC_LONG:+lira gang}; do
  spin_step one "--coloc-policy=$policy" -p low
  one=$(job_id one)
  ok "$policy: one alone has all cores" wait_for 60 has_all "$one"
  spin_step two "--coloc-policy=$policy" -p high
  two=$(job_id two)
  ok "$policy: preempted by SUSPEND" wait_for 60 says_suspended "$one"
  ok "... the other has all cores" wait_for 60 is_alone "$two"
  end_job two
  ok "... and it has them back" wait_for 60 is_alone "$one"
  stop_steps
done
for policy in ${COLOC_LONG:+fair gang}; do
  # Without a step of their own: Slurm creates none in a suspended job.
  one=$(sbatch --parsable -J one -o /dev/null "--coloc-policy=$policy" --wrap "exec '$spin' --work=100000000")
  two=$(sbatch --parsable -J two -o /dev/null "--coloc-policy=$policy" --wrap "exec '$spin' --work=100000000")
  step='batch'
  for round in 1 2; do
    turn_of() { says_suspended "$2" batch && is_alone "$1"; }
    ok "$policy: a slice of Slurm's gang, round $round: the second has all cores" wait_for 60 turn_of "$two" "$one"
    ok "... then the first" wait_for 60 turn_of "$one" "$two"
  done
  stop_steps
done
ok "the ledger is empty" wait_for 60 rows_are 0
stop "$colocd_pid"
ok "no cgroup of the tests is left" wait_for 60 no_jobs
done_testing
