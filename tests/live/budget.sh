#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# budget.sh - work whose size a user chooses: 20 000 threads, 100 processes of 64 000 mappings each
# and 4 000 tasks, all at once. The service goes on answering, says what lags, and puts all back.
# The times that are judged are five times what the service is made for.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
many=$builddir/tests/live/live_many client=$builddir/tests/live/live_client
threads=${COLOC_BUDGET_THREADS:-20000} tasks=4000 processes=100 mappings=64000

[ -x "$many" ] || skip_all "HELPERS: tests/live/live_many was not built"
# Two to three kernel objects for each of them, and those of everybody else.
free_mib=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
[ "$free_mib" -ge 6000 ] || skip_all "MEMORY: needs 6 GiB, $free_mib MiB are there"
pid_max=$(cat /proc/sys/kernel/pid_max)
put_back_pid_max() { [ "$pid_max" -ge 65536 ] || echo "$pid_max" >/proc/sys/kernel/pid_max; }
[ "$pid_max" -ge 65536 ] || echo 65536 >/proc/sys/kernel/pid_max 2>/dev/null ||
  skip_all "PID_MAX: $pid_max, and it cannot be raised"
[ "$(cat /proc/sys/kernel/threads-max)" -ge 60000 ] || skip_all "THREADS: kernel.threads-max is below 60000"
ulimit -u unlimited 2>/dev/null
[ "$(ulimit -u)" = unlimited ] || [ "$(ulimit -u)" -ge 60000 ] ||
  skip_all "ULIMIT: processes are limited to $(ulimit -u)"
# Its exit status is the test's.
# shellcheck disable=SC2031
trap 's=$?; put_back_pid_max; (exit "$s"); cleanup' EXIT

start_spine 'policy: fair'

# begin NAME ARGS...: a step that has them, and waits until it says so.
begin() {
  local name=$1
  shift
  srun -J "$name" -n1 --overlap --coloc=on "$many" "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" &
  started_pids+=("$!")
  wait_for 120 test -s "$tmp/$name.out" || diag "$name: $(cat "$tmp/$name.err")"
}
answers() { "$client" "$socket" 0 time "$1" ping; }
longest_ms() { ctl --json status | sed -n 's/.*"longest_turn_ms":[[:space:]]*\([0-9]*\).*/\1/p' | head -1; }
start_ms() {
  local t0
  t0=$(now_ms)
  srun -J true --coloc=on true || return
  echo $(($(now_ms) - t0))
}
median_start_ms() { for _ in 1 2 3 4 5 6 7; do start_ms; done | sort -n | sed -n 4p; }

spawn quiet --coloc=on
diag "alone: ping (median, 99th, longest) $(answers 200) ms, srun true $(median_start_ms) ms"
begin threads threads "$threads"
begin mappings mappings "$mappings" "$processes" 2
begin tasks tasks "$tasks"
is "$(cat "$tmp/threads.out")" "$threads threads" "the threads are there"
like "$(cat "$tmp/mappings.out")" "^$((mappings + 1)) mappings, $processes processes" "the mappings are there"
is "$(cat "$tmp/tasks.out")" "$tasks tasks" "the tasks are there"

read -r median p99 longest <<<"$(answers 400)"
diag "with all of them: ping $median $p99 $longest ms, srun true $(median_start_ms) ms"
at_most "$p99" 100 "99 of 100 questions are answered soon, ms"
all_known() {
  ctl --json jobs | tr -d ' \n' | sed 's/"id"/\n&/g' | sed -n 's/.*"threads":\([0-9]*\).*/\1/p' | sort -n | tail -2 | paste -sd' '
}
known() { [ "$(all_known)" = "$((tasks + 1)) $threads" ]; }
ok "all threads and tasks are counted" wait_for 60 known
like "$(ctl status)" "step [0-9.]+: threads, [0-9]+ of $threads left" "status says what lags"
like "$(ctl --json status | tr -d ' \n')" "\"lags\":\[\{\"step\":\"[0-9.]+\",\"what\":\"" "so does its JSON"
at_most "$(longest_ms)" 6000 "the watchdog, after 30 s, is far: the longest turn of the loop, ms"
diag "the longest turn: $(longest_ms) ms"

# Back to Slurm's placement, as long as it takes, and the service goes on answering.
run ctl release "$(job_id threads)"
is "$rc" 0 "the step of $threads threads is released"
read -r median p99 longest <<<"$(answers 200)"
at_most "$p99" 100 "99 of 100 questions are answered soon meanwhile, ms"
none_goes_back() { ! ctl --json status | grep -q '"putting back"'; }
ok "and is put back" wait_for 120 none_goes_back
is "$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/"$(pgrep -a -x live_many | awk '$3 == "threads" { print $1 }')"/task/*/status | sort -u | paste -sd' ')" \
  "$(awk '/^Cpus_allowed_list/ { print $2 }' /proc/$$/status)" "all of its threads may use the CPUs that Slurm gave"

stop_steps
steps_left() { ctl --json jobs | grep -c '"id"'; }
gone() { [ "$(steps_left)" = 0 ]; }
ok "the service saw them all end" wait_for 60 gone
is "$(ctl --json status | tr -d ' \n' | sed 's/.*"ledger_rows":\([0-9]*\).*/\1/')" 0 "the ledger is empty"
is "$(node_state)" idle "the node is idle, not drained"
done_testing
