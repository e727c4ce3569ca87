#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# steady.sh - a steady program under noise changes no phase: for half a minute, or COLOC_STEADY_S.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
programs=$builddir/contrib/programs/bin
[ -x "$programs/phases" ] || skip_all "PROGRAMS: contrib/programs were not built"
seconds=${COLOC_STEADY_S:-30}
start_spine 'policy: fair' 'baseline_fraction: 0'

# Noise: a process that computes for a third of a second, then sleeps as long.
noise() {
  while :; do
    timeout 0.33 "$programs/spin" --work=1000000 >/dev/null
    sleep 0.33
  done
}
# srun ends before slurmstepd says so to colocd.
row_is_there() { [ "$(acct -n -P -j "$try.0" -o State)" = COMPLETED ]; }
for try in 1 2 3; do
  watch_machine
  noise &
  noise_pid=$!
  started_pids+=("$noise_pid")
  srun -J steady --coloc=on "$programs/phases" --work=1 --phases=1 --ms=$((seconds * 1000)) \
    >"$tmp/steady.out" 2>&1
  is "$?" 0 "the program ran for $seconds s"
  stop "$noise_pid"
  ok "its row is there" wait_for 10 row_is_there
  changes=$(grep "step $try.0: phase change" "$tmp/colocd.out")
  disturbance=''
  if [ -z "$changes" ] || ! was_disturbed "$(sed -n 's/^cpu_ms=//p' "$tmp/steady.out")"; then break; fi
  diag "$disturbance: once more" "$changes"
done
if [ -n "$disturbance" ]; then
  skipped "no change of phase was seen" "$disturbance, three times"
else
  is "$changes" "" "no change of phase was seen"
fi
done_testing
