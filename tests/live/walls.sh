#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# walls.sh - rebind: cpuset. A step is placed by its cpuset, which no thread leaves; one that binds
# itself, by a variable or by a call, stays at Slurm's cpuset, for the reason that is given; and what
# Slurm set comes back.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
start_spine 'policy: fair' 'rebind: cpuset' 'min_dwell_s: 0' 'max_moves_per_min: 0'

wall_is() { [ "$(wall_of "$1")" = "$2" ]; }
one_core() { [[ $(wall_of "$1") == [01] ]]; }
apart() { one_core "$1" && wall_is "$2" $((1 - $(wall_of "$1"))); }
pids_of() {
  local t
  while read -r t; do grep -qx sleep "/proc/$t/comm" 2>/dev/null && echo "$t"; done \
    < <(step_threads "$(step_dir "$(job_id "$1")" 0)")
}
pin() {
  local p
  for p in $(pids_of "$1"); do taskset -cp "$2" "$p" >/dev/null 2>&1 || return; done
}
rows() { ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/'; }
# What the kernel holds, the same for every job of a name.
by_name() {
  kernel_state | sed -E "s/^job_$(job_id one)\//one /; s/^job_$(job_id two)\//two /" | sort -u
}
# spawn waits for the first task alone.
asleep() { [ "$(for j in one two; do pids_of "$j"; done | wc -l)" = 3 ]; }
spawn_both() {
  spawn one "$@" -n1 -c2
  spawn two "$@" -n2 -c1
  wait_for 20 asleep || diag "not all three tasks run"
}
spawn_both
slurms=$(by_name)
stop_steps
like "$slurms" 'two step_0 sleep 1$' "what Slurm sets is known"
like "$(ctl --json status)" '"rebind": ?"cpuset"' "the node places by cpusets"

# --- a step moves by its cpuset ---
spawn one --coloc=on -n1 -c2
is "$(wall_of one)" 0-1 "alone, a step has what Slurm gave"
spawn two --coloc=on -n2 -c1
ok "with a neighbour, each cpuset has one core" apart one two
is "$(born two | sort -u)" "$(wall_of two)" "the second was born inside"
is "$(mask_of one) $(mask_of two)" "$(wall_of one) $(wall_of two)" "their threads' masks are the walls"
neither_leaves() { ! pin one "$(wall_of two)" && ! pin two "$(wall_of one)"; }
ok "no thread can be bound to the other's core" neither_leaves
end_job one
ok "the first ends: the cpuset of the second has both cores" wait_for 10 wall_is two 0-1
is "$(mask_of two)" "0 1" "each rank its own"
end_job two

# --- what binds itself stays ---
why() { ctl explain "$(job_id "$1").0" 2>&1; }
OMP_PROC_BIND=true spawn says --coloc=on -n1 -c2
spawn two --coloc=on -n2 -c1
is "$(wall_of says) $(mask_of says)" "0-1 0-1" "a step whose user set OMP_PROC_BIND keeps Slurm's cpuset"
like "$(why says)" 'its user set OMP_PROC_BIND: under rebind: cpuset it stays' "... for that reason"
stop_steps
for core in 0 1; do
  spawn does --coloc=on -n1 -c2
  ok "a program binds itself to core $core" pin does $core
  spawn two --coloc=on -n2 -c1
  binds() { why does | grep -q 'its program binds its threads: under rebind: cpuset it stays'; }
  ok "a neighbour comes: that is found, and the reason given" wait_for 10 binds
  is "$(wall_of does) $(mask_of does)" "0-1 $core" "its cpuset is Slurm's, its mask the program's"
  ok "it may bind itself to the other" pin does $((1 - core))
  stop_steps
done

# --- what Slurm set comes back ---
differs() { [ "$(by_name)" != "$slurms" ]; }
spawn_both --coloc=on
ok "two steps are placed" differs
ctl release >/dev/null
is "$(by_name)" "$slurms" "release: all as Slurm set it"
is "$(rows)" 0 "the ledger is empty"
stop_steps

spawn_both --coloc=on
ok "placed again" differs
stop "$colocd_pid"
is "$(by_name)" "$slurms" "stop: all as Slurm set it"
stop_steps

start_colocd "$tmp/coloc.yaml" "$socket"
spawn_both --coloc=on
ok "placed a third time" differs
placed=$(by_name)
stop "$pid" KILL
is "$(by_name)" "$placed" "killed: the walls stay"
start_colocd "$tmp/coloc.yaml" "$socket"
is "$(by_name)" "$placed" "a new colocd leaves them where they are"

# Slurm (here: the test) rewrites a cpuset.
set_one=$(wall_of one)
echo 0-1 >"$(step_dir "$(job_id one)" 0)/cpuset.cpus"
ok "a rewritten cpuset is placed again" wait_for 10 wall_is one "$set_one"
srun --overlap --jobid="$(job_id one)" -n1 true
is "$?" 0 "a further step of a job whose step is walled in runs"
ok "... and leaves the wall where it is" wait_for 10 wall_is one "$set_one"
ok "release by the second" ctl release
is "$(by_name)" "$slurms" "all as Slurm set it"
is "$(rows)" 0 "the ledger is empty"
is "$(squeue -h | wc -l)" 2 "the steps go on"

# The way to place is read at a start: one that knows of masks alone takes over from one of walls.
stop_steps
spawn_both --coloc=on
ok "placed a fourth time" differs
stop "$pid" KILL
sed -i 's/^rebind:.*/rebind: masks/' "$tmp/coloc.yaml"
start_colocd "$tmp/coloc.yaml" "$socket"
masks_only() { wall_is one 0-1 && wall_is two 0-1 && [ "$(mask_of one)" != 0-1 ]; }
ok "killed, and the next one places by masks: the walls are gone, the places are not" wait_for 10 masks_only
ok "release" ctl release
is "$(by_name)" "$slurms" "all as Slurm set it"
is "$(rows)" 0 "the ledger is empty"
stop_steps
stop "$pid"
ok "no cgroup of the tests is left" wait_for 10 no_jobs
done_testing
