#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# lend.sh - core donation: a busy step runs on an idle neighbour's core too, at idle priority; when
# the neighbour wants its core it has it, and cpuset and priorities are as before; so they are after
# release, stop, and kill -9 with a new start.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
spin=$builddir/contrib/programs/bin/spin
[ -x "$spin" ] || skip_all "PROGRAMS: contrib/programs was not built"
start_spine 'policy: callisto' 'min_dwell_s: 0' 'max_moves_per_min: 0'

# An ordinary user's threads are made idle only if they could leave that class by themselves.
if [ "$steps_user" != root ] && [ -z "$step_below" ] && ! (ulimit -e 20) 2>/dev/null; then
  skip_all "RESOURCE: Slurm may not raise RLIMIT_NICE here (CAP_SYS_RESOURCE)"
fi

# Busy with two threads' worth; the other sleeps until $tmp/wake is there, and again without it.
start_busy() {
  srun -J busy -c2 --coloc=on bash -c "'$spin' --work=100000000 & exec '$spin' --work=100000000" \
    >"$tmp/srun.busy" 2>&1 &
  started_pids+=("$!")
}
start_lazy() {
  srun -J lazy -c2 --coloc=on bash -c "while :; do
    if [ -e '$tmp/wake' ]; then for ((i = 0; i < 20000; i++)); do :; done; else sleep 0.05; fi
  done" >"$tmp/srun.lazy" 2>&1 &
  started_pids+=("$!")
}
running() { [ -n "$(job_id "$1")" ] && [ -n "$(step_threads "$(step_dir "$(job_id "$1")" 0)")" ]; }
# Policies of the step's threads, slurmstepd's left out: field 41 of stat, 5 is SCHED_IDLE.
policies() {
  local t
  while read -r t; do
    grep -qE '^(spin|bash)$' "/proc/$t/comm" 2>/dev/null && sed 's/.*) //' "/proc/$t/stat" | cut -d' ' -f39
  done < <(step_threads "$(step_dir "$(job_id "$1")" 0)") | sort -u | paste -sd' '
}
group_is_idle() { grep -qx 1 "$(dirname "$(dirname "$(step_dir "$(job_id busy)" 0)")")/cpu.idle"; }
is_idle() { if [ -n "$step_below" ]; then group_is_idle; else [ "$(policies busy)" = 5 ]; fi; }
is_usual() { if [ -n "$step_below" ]; then ! group_is_idle; else [ "$(policies busy)" = 0 ]; fi; }
borrows() { cpuset_is busy 0-1 && is_idle; }
is_home() { [ "$(cpuset_of busy)" != 0-1 ] && is_usual; }
rows() { ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/'; }

start_lazy
ok "the idle step runs" wait_for 20 running lazy
start_busy
ok "the busy step runs" wait_for 20 running busy
ok "it borrows the idle neighbour's core, at idle priority" wait_for 20 borrows
is "$(policies lazy)" 0 "the donor's priority is its own"
touch "$tmp/wake"
ok "the donor wakes: the donee is home again, its priority too" wait_for 20 is_home
rm "$tmp/wake"
ok "the donor sleeps: lent again" wait_for 20 borrows
like "$(log)" 'borrows [01]' "the log says so"

stop "$colocd_pid" KILL
n_borrowed=$(log | sed -n 's/.* step \([0-9.]*\): borrows .*/\1/p' | sort -u | wc -l)
ok "killed: the loan stays" borrows
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
# Of another, too, that borrowed while it was awake: not all of its threads may be back yet.
like "$(log)" "put back the priorities of [1-$n_borrowed] steps" "the next daemon puts priorities back first"
ok "... and lends again" wait_for 20 borrows
ctl release >/dev/null
is "$(cpuset_of busy)" 0-1 "release: Slurm's cpuset"
ok "... and priority" is_usual
# A thread that was in a fork is looked at once more.
is_restored() { [ "$(rows)" = 0 ]; }
ok "the ledger is empty" wait_for 20 is_restored
stop_steps

start_lazy
start_busy
ok "lent once more" wait_for 30 borrows
stop "$colocd_pid"
ok "stop: priority as it was" is_usual
is "$(squeue -h | wc -l)" 2 "the steps go on"
stop_steps
done_testing
