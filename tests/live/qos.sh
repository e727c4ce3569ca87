#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# qos.sh - mapper: a step that is faster on one core than on its share of two gives one up; when
# it falls below its --coloc-qos there it has both again at once, though it was moved just now. At
# the same speed, one that asked for less stays.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
command -v python3 >/dev/null || skip_all "PYTHON: python3 is not there"
if grep -q __asan_init "$builddir/.libs/libcoloc.so"; then
  skip_all "SANITIZER: a libcoloc with a sanitizer loads into no other program"
fi
# No window under Slurm's placement: it would disturb what is timed here.
start_spine 'policy: mapper' 'min_dwell_s: 600' 'max_moves_per_min: 2' 'baseline_fraction: 0'
cat >"$tmp/worker.py" <<P
import os, sys, time
sys.path.insert(0, "$srcdir/contrib/examples")
sys.dont_write_bytecode = True
import coloc
c = coloc.Coloc()
c.unit("things")
last = time.monotonic()
while True:
    time.sleep(0.01)
    now = time.monotonic()
    one = len(os.sched_getaffinity(0)) == 1
    slow = os.path.exists("$tmp/slow")
    c.progress((now - last) * ((70 if slow else 100) if one else 80))
    last = now
P
work() {
  local name=$1
  shift
  COLOC_LIBRARY=$builddir/.libs/libcoloc.so srun -J "$name" -n1 -c2 --coloc=on --coloc-type=worker "$@" \
    python3 "$tmp/worker.py" >"$tmp/srun.$name" 2>&1 &
  started_pids+=("$!")
}
has() { [ -n "$(job_id "$1")" ] && [ "$(cpuset_of "$1")" = "$2" ]; }
is_one() { has "$1" 0 || has "$1" 1; }

work strict --coloc-qos=0.9
ok "it starts on its share" wait_for 20 has strict 0-1
ok "it is faster on one core: one is spare" wait_for 60 is_one strict
like "$(ctl explain "$(job_id strict)")" '1 cores, fair share 2' "explain says so"
touch "$tmp/slow" # 70 against 80 at its share: below 0.9 of it
t0=$(now_ms)
ok "below its floor it has its share again" wait_for 20 has strict 0-1
# Two samples of 227 ms and a tick of 100 ms; five times slack.
at_most $(($(now_ms) - t0)) 2770 "ms from the loss of speed to the cores, min_dwell_s 600"
like "$(ctl explain "$(job_id strict)")" '2 cores, fair share 2' "explain says so"
sleep 1
ok "it keeps them" has strict 0-1
end_job strict
rm "$tmp/slow"

work easy --coloc-qos=0.5
ok "known from the run before: one core is enough" wait_for 90 is_one easy
touch "$tmp/slow"
sleep 3
ok "above its floor it stays there" is_one easy
stop_steps
stop "$colocd_pid"
done_testing
