#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# qos.sh - mapper: a step that is faster on one core than on its share of two gives one up; when
# it falls below its --coloc-qos there it has both again at once, though it was moved just now. At
# the same speed, one that asked for less stays.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
worker=$builddir/tests/live/live_worker
[ -x "$worker" ] || skip_all "WORKER: $worker was not built"
# No window under Slurm's placement: it would disturb what is timed here.
start_spine 'policy: mapper' 'min_dwell_s: 600' 'max_moves_per_min: 2' 'baseline_fraction: 0'
work() {
  local name=$1 qos=$2
  # One that rests is a program of its own: what is learnt of it is not told of the others.
  cp "$worker" "$tmp/worker.$name"
  srun -J "$name" -n1 -c2 --coloc=on "$qos" "$tmp/worker.$name" "$tmp/slow" "${@:3}" >"$tmp/srun.$name" 2>&1 &
  started_pids+=("$!")
}
# By decision, not for an experiment.
decided() { ctl explain "$(job_id "$1")" | grep -q "$2 cores, fair share 2"; }
has() { [ -n "$(job_id "$1")" ] && [ "$(cpuset_of "$1")" = "$2" ]; }
is_one() { (has "$1" 0 || has "$1" 1) && decided "$1" 1; }

# An engine that has explored nothing: the next exploration would be 70 s away.
again() {
  stop "$colocd_pid"
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
}

# What hardly runs stays where Slurm has it; as fast on fewer cores it only seems.
resting_is_told() {
  local job
  job=$(job_id resting)
  [ -n "$job" ] && grep -q "step $job.0 hardly runs and is not moved" "$tmp/colocd.out"
}
# What was done for it before its exec counts as its own: with 20 ms it is a program that runs.
used_ms() {
  local ns
  read -r ns _ <"/proc/$(pgrep -f "^$tmp/worker.resting" | head -1)/schedstat" && echo $((ns / 1000000))
}
work resting --coloc-qos=0.5 rest
if ! wait_for 20 resting_is_told && [ "$(used_ms)" -ge 20 ]; then
  skipped "one that is not moved tells no speed of fewer cores" "SLOW: it has used $(used_ms) ms of processor time, launch included"
else
  ok "one that is not moved tells no speed of fewer cores" resting_is_told
fi
end_job resting
again

work strict --coloc-qos=0.9
ok "it starts on its share" wait_for 20 has strict 0-1
ok "it is faster on one core: one is spare" wait_for 60 is_one strict
touch "$tmp/slow" # 70 against 80 at its share: below 0.9 of it
t0=$(now_ms)
ok "below its floor it has its share again" wait_for 20 has strict 0-1
# Two samples of 227 ms and a tick of 100 ms; five times slack.
at_most $(($(now_ms) - t0)) 2770 "ms from the loss of speed to the cores, min_dwell_s 600"
ok "explain says so" decided strict 2
sleep 1
ok "it keeps them" has strict 0-1
end_job strict
rm "$tmp/slow"

again
work easy --coloc-qos=0.5
ok "one that asks for less gives one up too" wait_for 60 is_one easy
touch "$tmp/slow"
sleep 3
# But for an experiment's moment.
ok "above its floor it stays there" wait_for 5 is_one easy
stop_steps
stop "$colocd_pid"
done_testing
