#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# threads.sh - priorities of threads (callisto,threads=yes): of each step as many threads are high
# as it has cores, its main thread among them, and the rest is SCHED_IDLE; where the owner of a core
# sleeps a low thread is high in its place, until it wakes. All as before after release, stop, and
# kill -9 with a new start.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
stencil=$builddir/contrib/programs/bin/stencil
[ -x "$stencil" ] || skip_all "PROGRAMS: contrib/programs was not built"
start_spine 'policy: callisto' 'policy_options:' '  callisto: {threads: "yes"}' \
  'min_dwell_s: 0' 'max_moves_per_min: 0'

start_omp() {
  srun -J "$1" -c2 --coloc=on env OMP_NUM_THREADS=2 "$stencil" --size=200 --work=100000000 \
    >"$tmp/srun.$1" 2>&1 &
  started_pids+=("$!")
}
# One thread that sleeps until $tmp/wake is there, and again without it.
start_lazy() {
  srun -J lazy -c2 --coloc=on bash -c "while :; do
    if [ -e '$tmp/wake' ]; then for ((i = 0; i < 20000; i++)); do :; done; else read -rt 0.5 <>'$tmp/fifo'; fi
  done" >"$tmp/srun.lazy" 2>&1 &
  started_pids+=("$!")
}
threads_of() { step_threads "$(step_dir "$(job_id "$1")" 0)"; }
# Field 41 of stat, 5 is SCHED_IDLE; the program's threads only, main thread first.
classes() {
  local t
  threads_of "$1" | sort -un | while read -r t; do
    grep -qE '^(stencil|bash)$' "/proc/$t/comm" 2>/dev/null &&
      sed 's/.*) //' "/proc/$t/stat" 2>/dev/null | cut -d' ' -f39
  done | paste -sd' '
}
has() { [ "$(classes "$1")" = "$2" ]; }
both() { has one "$1" && has two "$1"; }
runs() { [ -n "$(job_id "$1")" ] && [ "$(classes "$1" | wc -w)" = "$2" ]; }
rows() { ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/'; }

mkfifo "$tmp/fifo"
start_omp one
ok "an OpenMP step of two threads runs" wait_for 20 runs one 2
is "$(classes one)" "0 0" "alone, its threads are as they were"
start_omp two
ok "beside another" wait_for 20 runs two 2
ok "of each the main thread is high, the other low" wait_for 20 both "0 5"
is "$(cpuset_of one) $(cpuset_of two)" "0-1 0-1" "the low ones may run on the other's core"
like "$(log)" 'threads of high priority on [01], its others below those of [01]' "the log says so"
like "$(ctl explain "$(job_id one)")" 'at low priority' "explain too"

stop "$colocd_pid" KILL
# Whatever they were at that moment: an owner may just have been asleep.
left="$(classes one), $(classes two)"
sleep 1
is "$(classes one), $(classes two)" "$left" "killed: they stay as they are"
like "$left" 5 "... low ones among them"
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
like "$(log)" 'put back the priorities of [12] steps' "the next daemon puts them back first"
ok "... and sets them again" wait_for 20 both "0 5"
end_job two
ok "alone again: as it was" wait_for 20 has one "0 0"

start_lazy
ok "a step that sleeps comes" wait_for 20 runs lazy 1
ok "its core is lent: both threads beside it are high" wait_for 20 has one "0 0"
ok "... and it runs on both cores" cpuset_is one 0-1
touch "$tmp/wake"
ok "it wakes: its core is its own again" wait_for 20 has one "0 5"
is "$(classes lazy)" 0 "... and it is high"
rm "$tmp/wake"
ok "it sleeps: lent again" wait_for 20 has one "0 0"
touch "$tmp/wake"
ok "it wakes again" wait_for 20 has one "0 5"

ctl release >/dev/null
is "$(classes one) $(classes lazy)" "0 0 0" "release: every class as it was"
is "$(cpuset_of one)" 0-1 "... Slurm's cpuset"
# A thread that was in a fork is looked at once more.
is_restored() { [ "$(rows)" = 0 ]; }
ok "... and the ledger is empty" wait_for 20 is_restored
stop_steps

start_omp one
start_omp two
ok "once more" wait_for 30 both "0 5"
stop "$colocd_pid"
ok "stop: as they were" both "0 0"
is "$(squeue -h | wc -l)" 2 "the steps go on"
stop_steps
done_testing
