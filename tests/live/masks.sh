#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# masks.sh - threads' affinity masks, on a kernel that remembers them (6.2 and later: widening a
# cpuset alone sends a thread back to where it was bound) and on one that forgets them: ranks that
# Slurm bound follow their step, a program's own pin is kept and comes back, and a step that was put
# back behaves at later writes of its cpuset as one that we never had.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
start_spine 'policy: fair' 'min_dwell_s: 0' 'max_moves_per_min: 0'

# put NAME CPUS: as Slurm or an administrator would write it; v1 has levels of tasks below that want
# to be inside.
put() {
  local dir below f
  dir=$(step_dir "$(job_id "$1")" 0)
  below=$(find "$dir" -mindepth 2 -name cpuset.cpus)
  [ -z "$step_below" ] || below=''
  for _ in 1 2; do
    for f in $below "$dir/cpuset.cpus"; do echo "$2" >"$f"; done 2>/dev/null
  done
  is "$(cpuset_of "$1")" "$2" "a hand writes $2 for $1"
}
masks_are() { [ "$(mask_of "$1")" = "$2" ]; }
pids_of() {
  local t
  while read -r t; do grep -qx sleep "/proc/$t/comm" 2>/dev/null && echo "$t"; done \
    < <(step_threads "$(step_dir "$(job_id "$1")" 0)")
}
narrow() { [[ $(cpuset_of "$1") == [01] ]]; }

# --- this kernel -------------------------------------------------------------------------------
kernel=$(uname -r | sed 's/[^0-9.].*//')
remembers=''
[ "$(printf '%s\n' 6.2 "$kernel" | sort -V | head -1)" != 6.2 ] || remembers=1
spawn plain -n2 -c1
is "$(mask_of plain)" "0 1" "Slurm binds ranks side by side"
put plain 1
is "$(mask_of plain)" 1 "narrowed, both are there"
put plain 0-1
if [ -n "$remembers" ]; then
  is "$(mask_of plain)" "0 1" "Linux $kernel remembers masks: widened, each is back where it was bound"
else
  is "$(mask_of plain)" 0-1 "Linux $kernel forgets masks: widened, both have all"
fi
stop_steps

# --- ranks that Slurm bound follow their step -----------------------------------------------------
spawn two --coloc=on -n2 -c1
is "$(mask_of two)" "0 1" "alone, each rank has its part"
for round in first second; do
  spawn one --coloc=on -n1
  ok "$round neighbour: the ranks share a core" wait_for 5 narrow two
  is "$(mask_of two)" "$(cpuset_of two)" "... by mask, too"
  end_job one
  ok "it ends: the step has both cores" wait_for 10 cpuset_is two 0-1
  ok "... and each rank its part, none stays where it was sent" wait_for 5 masks_are two "0 1"
done
end_job two

# --- a pin for a moment -----------------------------------------------------------------------------
# hwloc looks at each CPU from there, at a program's start, and puts back the mask that it had: for a
# rank that is placed the one of its place.
spawn two --coloc=on -n2 -c1
spawn one --coloc=on -n1
ok "the ranks share a core" wait_for 5 narrow two
place=$(cpuset_of two)
ok "... by mask, too" wait_for 5 masks_are two "$place"
for p in $(pids_of two); do taskset -cp $((1 - place)) "$p" >/dev/null; done
sleep 0.5
is "$(mask_of two)" $((1 - place)) "where they went for a moment they are left"
for p in $(pids_of two); do taskset -cp "$place" "$p" >/dev/null; done
end_job one
ok "both cores again: each rank has its part, not where it went for a moment" wait_for 10 masks_are two "0 1"
# What it read before it was moved.
for p in $(pids_of two); do taskset -cp "$place" "$p" >/dev/null; done
ok "... nor what it puts back after that" wait_for 5 masks_are two "0 1"
for p in $(pids_of two); do taskset -cp "$place" "$p" >/dev/null; done
ctl release "$(job_id two)" >/dev/null
ok "... nor when it is given back at just that time" wait_for 5 masks_are two "0 1"
end_job two

# --- a step of one task, displaced from every CPU it had ------------------------------------------
spawn solo --coloc=on -n1 -c1
for round in first second; do
  spawn one --coloc=on -n1
  ok "$round neighbour: it has one core" wait_for 5 narrow solo
  is "$(mask_of solo)" "$(cpuset_of solo)" "... by mask, too"
  end_job one
  ok "it ends: both cores" wait_for 10 cpuset_is solo 0-1
  ok "... by mask, too: no memory of before holds it back" wait_for 5 masks_are solo 0-1
done

# --- a program's own pin --------------------------------------------------------------------------
spawn one --coloc=on -n1
left=$((1 - $(cpuset_of solo)))
end_job one
wait_for 10 masks_are solo 0-1
# Another's call is to the kernel as its own.
for p in $(pids_of solo); do taskset -cp "$left" "$p" >/dev/null; done
is "$(mask_of solo)" "$left" "a program pins itself"
spawn one --coloc=on -n1
ok "narrowed: it runs where its step is" wait_for 5 masks_are solo "$(cpuset_of solo)"
end_job one
ok "both cores again: the pin is the program's" wait_for 10 masks_are solo "$left"
stop_steps

# --- put back: it behaves as one that was never ours ------------------------------------------------
# same WHEN: at later writes, too.
same() {
  local cpus
  is "$(mask_of a)" "$(mask_of control)" "$1: masks as of a step that was never ours"
  for cpus in 1 0-1 0 0-1; do
    put a $cpus
    put control $cpus
    is "$(mask_of a)" "$(mask_of control)" "$1, then $cpus: as the other"
  done
}
spawn control -n2 -c1
spawn a --coloc=on -n2 -c1
spawn b --coloc=on -n1
ok "the step is narrowed" wait_for 5 narrow a
ctl release >/dev/null
same "release"
stop_steps

spawn control -n2 -c1
spawn a --coloc=on -n2 -c1
spawn b --coloc=on -n1
ok "narrowed again" wait_for 5 narrow a
stop "$colocd_pid" KILL
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
ctl release >/dev/null
same "kill -9, start, release"
is "$(ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/')" 0 "the ledger is empty"
stop_steps
stop "$colocd_pid"
done_testing
