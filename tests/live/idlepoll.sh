#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# idlepoll.sh - idle CPUs poll before they halt while there is an OpenMP step that was told to spin for a
# moment only, and wait as before at its end, at release, at stop, and after a crash; for nobody else.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
setting=/sys/module/haltpoll/parameters/guest_halt_poll_ns
[ "$(cat /sys/devices/system/cpu/cpuidle/current_governor 2>/dev/null)" = haltpoll ] ||
  skip_all "HALTPOLL: this kernel's cpuidle governor is not haltpoll"
was=$(cat "$setting")
[ "$was" -lt 200000 ] || skip_all "HALTPOLL: idle CPUs poll as it is"
gcc -O1 -fopenmp -o "$tmp/probe" "$srcdir/tests/unit/omp_probe.c" 2>/dev/null ||
  skip_all "OPENMP: gcc with -fopenmp is not there"
start_spine 'policy: fair' 'launch_env:' "  omp_library: $builddir/.libs/libcoloc_omp.so"
setting_is() { [ "$(cat "$setting")" = "$1" ]; }
is_kept() {
  [ "$(python3 -c "import sqlite3
print(sqlite3.connect('$tmp/store/coloc.db').execute(
 'SELECT figures NOT NULL FROM registration WHERE job_id = $1').fetchone()[0])")" = 1 ]
}
# omp_step NAME OPTION...
omp_step() {
  local name=$1
  shift
  srun -J "$name" -c2 "$@" "$tmp/probe" watch >"$tmp/watch.$name" 2>&1 &
  started_pids+=("$!")
  wait_for 20 test -s "$tmp/watch.$name" || diag "step $name did not start"
}

omp_step first --coloc=on
ok "an OpenMP step: CPUs poll before they halt" wait_for 10 setting_is 200000
like "$(ctl status)" "Idle CPUs +poll before they halt, for OpenMP steps" "status says so"
count=$(ctl explain "$(job_id first)" | sed -n 's/.*GOMP_SPINCOUNT=//p')
# 6 us and 25 us, two digits of each. Nobody knows whether printenv would wait that way.
shares=$(srun --coloc=on printenv GOMP_SPINCOUNT)
ok "its spins are short ($count, others' $shares)" [ $((${count:-999999} * 3)) -lt "${shares:-0}" ]
end_job first
ok "it ends: as before" wait_for 10 setting_is "$was"

# What nobody waits for that way: another program, the library, an own setting, a dry run.
spawn sleeper -c2 --coloc=on
omp_step library --coloc=on --coloc-omp
GOMP_SPINCOUNT=5000 omp_step own --coloc=on
omp_step dry --coloc-policy=fair,dry_run=yes
sleep 1 # some ticks
is "$(cat "$setting")" "$was" "no other step makes them poll"
stop_steps

omp_step second --coloc=on
ok "again" wait_for 10 setting_is 200000
ctl release >/dev/null
is "$(cat "$setting")" "$was" "release: as before, at once"
stop_steps

omp_step third --coloc=on
ok "and again" wait_for 10 setting_is 200000
ok "what the next daemon is to know of it is kept" wait_for 20 is_kept "$(job_id third)"
kill -KILL "$colocd_pid"
wait "$colocd_pid" 2>/dev/null
is "$(cat "$setting")" 200000 "colocd is killed"
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
ok "the next one goes on for the step that runs" wait_for 10 setting_is 200000
end_job third
ok "and ends it with it" wait_for 10 setting_is "$was"

omp_step fourth --coloc=on
ok "once more" wait_for 10 setting_is 200000
stop "$colocd_pid"
is "$(cat "$setting")" "$was" "a stop puts them back"
done_testing
