#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# adopt.sh - what was measured of a running step outlasts kill -9 of colocd and its stop: sums,
# windows, phases, its way over the cores; and the record tells for how long nobody measured.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
programs=$builddir/contrib/programs/bin
[ -x "$programs/spin" ] || skip_all "PROGRAMS: contrib/programs were not built"
start_spine 'policy: fair' 'baseline_fraction: 0.4'

figure() { ctl explain "$1" --json 2>/dev/null | python3 -c "
import json,sys
v=json.load(sys.stdin)
for k in '$2'.split('.'): v=v[k]
print(v)"; }
at_least() { python3 -c "import sys; sys.exit(not float(sys.argv[1]) >= float(sys.argv[2]))" \
  "$(figure "$1" "$2")" "$3"; }
saved() { python3 -c "
import sqlite3
r=sqlite3.connect('file:$tmp/store/coloc.db?mode=ro',uri=True).execute(
 'SELECT figures FROM registration WHERE job_id = $1').fetchone()
v=dict(f.split('=',1) for f in r[0].decode().split('\0') if f)['$2']
print(float.fromhex(v) if '0x' in v else v)"; }
saved_at_least() { python3 -c "import sys; sys.exit(not float(sys.argv[1]) >= float(sys.argv[2]))" \
  "$(saved "$1" "$2")" "$3"; }

srun -J one --coloc=on "$programs/spin" --work=1000000000 >"$tmp/one.out" 2>&1 &
started_pids+=("$!")
# The first job, whatever srun is quicker.
ok "one step" wait_for 20 job_is 1 RUNNING
srun -J two --coloc=on "$programs/spin" --work=1000000000 >"$tmp/two.out" 2>&1 &
started_pids+=("$!")
ok "two steps in company" wait_for 20 job_is 2 RUNNING
ok "windows were taken" wait_for 90 at_least 1.0 figures.windows 3
ok "and saved" wait_for 15 saved_at_least 1 windows 3
ok "with the time in company" wait_for 15 saved_at_least 1 shared_s 1
shared=$(saved 1 shared_s) windows=$(saved 1 windows)

stop "$colocd_pid" KILL
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
ok "killed, started: the windows are there" at_least 1.0 figures.windows "$windows"
is "$(figure 1.0 figures.speed_unit)" Msteps "the unit of its speed too"
ok "what nobody measured is told" at_least 1.0 figures.unmeasured_s 0.001
like "$(ctl explain 1.0)" '^Unmeasured +[0-9.]+ s: colocd was away' "also to people"
ok "the sums go on from where they were" wait_for 60 saved_at_least 1 shared_s \
  "$(python3 -c "print($shared + 1)")"
gap=$(figure 1.0 figures.unmeasured_s)
stop "$colocd_pid"
start_colocd "$tmp/coloc.yaml" "$socket"
ok "stopped, started: a second gap is added" wait_for 20 at_least 1.0 figures.unmeasured_s \
  "$(python3 -c "print($gap + 0.001)")"
end_job one
row() { acct -n -P -j 1.0 -o "$1"; }
ended() { [ "$(row End)" != "" ] && [ "$(row State)" != RUNNING ]; }
ok "the step ends" wait_for 20 ended
ok "its record has the windows of all three" test "$(row Windows)" -ge "$windows"
like "$(row Unmeasured)" '^[0-9]+\.[0-9]+$' "how long nobody measured"
like "$(row UnmeasuredFrom,UnmeasuredTo)" '^20[0-9T:-]+\|20[0-9T:-]+$' "from when and to when"
like "$(row Gain)" '^[0-9.]+ \([0-9.]+-[0-9.]+\)$' "and a gain"

# A step's end is not lost with its beginning: both tasks ended, one before the restart.
srun -J tasks -n2 --coloc=on sh -c \
  "[ \$SLURM_PROCID = 0 ] || exit 0; while [ ! -e $tmp/go ]; do sleep 0.1; done" &
started_pids+=("$!")
ok "a step of two tasks" wait_for 20 job_known tasks
tasks=$(job_id tasks)
one_ended() { [ "$(saved "$tasks" n_ended)" = 1 ]; }
ok "a task ends while the other runs" wait_for 20 one_ended
stop "$pid" KILL
start_colocd "$tmp/coloc.yaml" "$socket"
touch "$tmp/go"
completed() { [ "$(acct -n -P -j "$tasks.0" -o State)" = COMPLETED ]; }
ok "after a kill between them the step is still known to have completed" wait_for 20 completed
is "$(acct -n -P -j "$tasks.0" -o NTasks,ExitCode)" '2|0:0' "with both its tasks"
# What colocd cannot read it does without.
srun -J three --coloc=on "$programs/spin" --work=1000000000 >"$tmp/three.out" 2>&1 &
started_pids+=("$!")
ok "a third step" wait_for 20 job_known three
three=$(job_id three)
ok "a third step is measured" wait_for 30 saved_at_least "$three" n_ended 0
stop "$pid" KILL
python3 -c "
import sqlite3
c=sqlite3.connect('$tmp/store/coloc.db')
c.execute('UPDATE registration SET figures = x\'00\' WHERE job_id = $three')
c.commit()"
start_colocd "$tmp/coloc.yaml" "$socket"
ok "of damaged figures it says so" grep -q "step $three.0: what was measured of it is lost" \
  "$tmp/colocd.out"
ok "and takes all of the step's life so far as unmeasured" wait_for 20 at_least "$three.0" \
  figures.unmeasured_s 0.1
stop_steps

# A step is a job, a step and a cgroup: its first task may have ended, by hundreds.
srun -J many -n3 --overcommit --coloc=on sh -c \
  "[ \$SLURM_PROCID != 0 ] || exit 0; exec sleep 300" >"$tmp/many.out" 2>&1 &
started_pids+=("$!")
srun -J other --coloc=on sleep 300 >"$tmp/other.out" 2>&1 &
started_pids+=("$!")
ok "a step whose first task ends, and another" wait_for 20 job_known other
ok "both are known" wait_for 20 job_known many
many=$(job_id many)
ok "its first task has ended" wait_for 20 saved_at_least "$many" n_ended 1
placed() { ctl --json jobs | python3 -c "
import json,sys
print([s['state'] for s in json.load(sys.stdin)['steps'] if s['id'] == '$1'] == ['placed'])"; }
is_placed() { [ "$(placed "$1")" = True ]; }
ok "it is placed" wait_for 20 is_placed "$many.0"
stop "$pid" KILL
start_colocd "$tmp/coloc.yaml" "$socket"
ok "killed, started: it is adopted" grep -q "step $many.0: adopted" "$tmp/colocd.out"
ok "and placed" wait_for 20 is_placed "$many.0"
is "$(acct -n -P -j "$many.0" -o State)" RUNNING "its record goes on"
stop_steps

# A message of a launch is lost: the plugin has a budget for them.
srun -J lost -n2 --overcommit --coloc=off sleep 300 >"$tmp/lost.out" 2>&1 &
started_pids+=("$!")
srun -J gone -n1 --coloc=off sleep 300 >"$tmp/gone.out" 2>&1 &
started_pids+=("$!")
ok "two steps that nobody registered" wait_for 20 job_known gone
ok "they run" wait_for 20 job_known lost
say() { "$builddir/tests/live/live_client" "$socket" 0 say "$@"; }
lost=$(job_id lost) gone=$(job_id gone)
task_of() {
  for t in $(step_threads "$(step_dir "$1" 0)"); do
    grep -qx sleep "/proc/$t/comm" && echo "$t"
  done | head -1
}
has_task() { [ -n "$(task_of "$1")" ]; }
ok "their tasks run" wait_for 20 has_task "$lost"
ok "both steps' tasks" wait_for 20 has_task "$gone"
like "$(say step_start "job=$lost" step=0 uid=0 nnodes=1 nodeid=0 ntasks=2 name=sleep)" \
  'step_ok' "one is registered, of two tasks"
like "$(say task_start "job=$lost" step=0 nodeid=0 task=0 "pid=$(task_of "$lost")")" 'task_ok' \
  "one of its tasks comes"
like "$(say step_start "job=$gone" step=0 uid=0 nnodes=1 nodeid=0 ntasks=1 name=sleep)" \
  'step_ok' "of the other none"
ok "the first is placed all the same" wait_for 20 is_placed "$lost.0"
ok "the other is found by its cgroup" wait_for 20 is_placed "$gone.0"
stop_steps
nobody() { [ "$(ctl --json status | tr -d ' \n' | sed 's/.*"steps":\([0-9]*\).*/\1/')" = 0 ]; }
ok "and they end with their cgroups" wait_for 20 nobody
done_testing
