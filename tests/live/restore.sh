#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# restore.sh - while steps still run: after release, after a stop, and after kill -9 and a new
# start, no cpuset and no thread mask differs from what Slurm set.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
start_spine 'policy: fair'

# The same steps twice: without us, to know what Slurm sets; then with us.
spawn_all() {
  spawn r1 "$@" -n1
  spawn r2 "$@" -n2
  spawn r3 "$@" -n2 -c1
  spawn r4 "$@" -n1 -c2
}
# Job numbers differ from round to round.
by_name() {
  kernel_state | sed -E "s/^job_$(job_id r1)\//r1 /; s/^job_$(job_id r2)\//r2 /
    s/^job_$(job_id r3)\//r3 /; s/^job_$(job_id r4)\//r4 /" | sort -u
}
spawn_all
slurms=$(by_name)
stop_steps
like "$slurms" 'r4 step_0 sleep 0-1' "what Slurm sets is known"

differs() { [ "$(by_name)" != "$slurms" ]; }
same() { [ "$(by_name)" = "$slurms" ]; }

spawn_all --coloc=on
ok "the steps are placed" differs
ctl release >/dev/null
is "$(by_name)" "$slurms" "release: all as Slurm set it"
is "$(ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/')" 0 "the ledger is empty"
is "$(squeue -h | wc -l)" 4 "the steps go on"
stop_steps

spawn_all --coloc=on
ok "the steps are placed again" differs
stop "$colocd_pid"
is "$(by_name)" "$slurms" "stop: all as Slurm set it"
is "$(squeue -h | wc -l)" 4 "the steps go on"
stop_steps

start_colocd "$tmp/coloc.yaml" "$socket"
spawn_all --coloc=on
ok "the steps are placed a third time" differs
stop "$pid" KILL
ok "killed: the placements stay" differs
start_colocd "$tmp/coloc.yaml" "$socket"
ok "release after a crash" ctl release
is "$(by_name)" "$slurms" "kill -9, start, release: all as Slurm set it"
is "$(squeue -h | wc -l)" 4 "the steps go on"

# The daemon after next knows the steps by what the one that adopted them wrote down.
known() { ctl --json jobs | grep -c '"program"'; }
stop "$pid" KILL
start_colocd "$tmp/coloc.yaml" "$socket"
is "$(known)" 4 "killed twice: the steps are known still"
is "$(by_name)" "$slurms" "killed twice: the release is remembered"
stop_steps

spawn_all --coloc=on
ok "the steps are placed a fourth time" differs
placed=$(by_name)
for round in first second; do
  stop "$pid" KILL
  start_colocd "$tmp/coloc.yaml" "$socket"
  is "$(known)" 4 "the $round new daemon adopts all steps"
  # Decided anew at once and at each tick: nothing was wrong with where they ran.
  sleep 0.5
  is "$(by_name)" "$placed" "the $round new daemon leaves them where they run"
done
ok "release by the second" ctl release
is "$(by_name)" "$slurms" "two crashes, then release: all as Slurm set it"
stop_steps

# Slurm (here: the test) rewrites a cpuset.
spawn r1 --coloc=on
spawn r2 --coloc=on
set_r1=$(cpuset_of r1)
echo 0-1 >"$(step_dir "$(job_id r1)" 0)/cpuset.cpus"
ok "a rewritten cpuset is placed again" wait_for 10 cpuset_is r1 "$set_r1"
is "$(mask_of r1)" "$set_r1" "its threads too"
stop_steps
stop "$pid"
ok "no cgroup of the tests is left" wait_for 10 no_jobs
done_testing
