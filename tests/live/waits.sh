#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# waits.sh - what a step waits for is named: its own threads, a neighbour, its turn, load outside
# Slurm; while it runs and in its record. (A paused virtual CPU takes a guest.)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
gcc -O1 -pthread -o "$tmp/pair" "$srcdir/tests/live/pair.c" 2>/dev/null || skip_all "GCC: gcc is not there"
chmod 755 "$tmp/pair"
start_spine 'policy: fair'
declare -A id
# It looks in time although they are.
renice -n -20 -p "$colocd_pid" >/dev/null
{ echo -20 >"/proc/$colocd_pid/autogroup"; } 2>/dev/null

step() {
  local name=$1 policy=$2
  shift 2
  srun -J "$name" -c2 --coloc-policy="$policy" "$tmp/pair" "$@" >"$tmp/srun.$name" 2>&1 &
  started_pids+=("$!")
  id[$name]=$(new_job_id "$name")
}
waits_of() { ctl explain "$1" 2>/dev/null | sed -n 's/^Waits *//p'; }
waits_for() { grep -q "^$2 " <<<"$(waits_of "$1")"; }
# names JOB CAUSE NAME: the largest, while it runs, and in its record.
names() {
  local bad=0
  wait_for 40 waits_for "$1" "$2" || bad=1
  verdict $bad "$3" "got:    $(waits_of "$1")" "wanted: $2 first"
  like "$(ctl jobs)" "^$1\.0 .* $2 [0-9]+%" "$3: in colocctl jobs"
}
recorded() {
  like "$(acct -n -P --format=JobID,Waits)" "^$1\.0\|$2 [0-9]+%" "$3"
}

watch_machine
# Enough to count as a thread that works (WORKS, utilization.c): with 2 that hangs on how long its
# wake-ups take.
step own fair 20
if wait_for 40 waits_for "${id[own]}" 'own threads' ||
  ! was_disturbed $(($(ps -o cputimes= -C pair | paste -sd+) * 1000)); then
  names "${id[own]}" 'own threads' "a thread with less to do waits for the other"
  stop_steps
  recorded "${id[own]}" 'own threads' "... and so it is recorded"
else
  # shellcheck disable=SC2154 # from was_disturbed
  skipped "a thread with less to do waits for the other" "$disturbance: $(waits_of "${id[own]}")"
  stop_steps
fi

step outside fair
for i in 1 2; do
  setsid "$tmp/pair" &
  started_pids+=("$!")
  pair[i]=$!
done
names "${id[outside]}" outside "load outside Slurm"
kill "${pair[@]}"
stop_steps

step one fair
step two fair
names "${id[one]}" neighbour "a neighbour has one of its cores"
stop_steps
recorded "${id[one]}" neighbour "... and so it is recorded"

step first gang
step second gang
names "${id[first]}" turns "Coloc has it wait for its turn"
names "${id[second]}" turns "and the other"
stop_steps
stop "$colocd_pid"
done_testing
