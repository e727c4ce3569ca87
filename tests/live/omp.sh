#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# omp.sh - an unmodified OpenMP program under --coloc-omp has as many threads as cores granted, when
# a neighbour comes and when it goes; without the option, or with a preload of its user's, as ever.
# And with how many one starts under launch_env.threads: granted.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
gcc -O1 -fopenmp -o "$tmp/probe" "$srcdir/tests/unit/omp_probe.c" 2>/dev/null ||
  skip_all "OPENMP: gcc with -fopenmp is not there"
start_spine 'policy: fair' 'launch_env:' "  omp_library: $builddir/.libs/libcoloc_omp.so"

# watch_step NAME HABIT OPTION...
watch_step() {
  local name=$1 habit=$2
  shift 2
  srun -J "$name" -c2 "$@" "$tmp/probe" "$habit" >"$tmp/watch.$name" 2>&1 &
  started_pids+=("$!")
  wait_for 20 test -s "$tmp/watch.$name" || diag "step $name did not start"
}
seen() { paste -sd' ' "$tmp/watch.$1"; }
seen_is() { [ "$(seen "$1")" = "$2" ]; }

watch_step follows watch --coloc=on --coloc-omp
is "$(seen follows)" 2 "alone: both cores"
watch_step not watch --coloc=on
ok "a neighbour comes: one" wait_for 10 seen_is follows "2 1"
is "$(seen not)" 2 "without --coloc-omp a program keeps its threads"
end_job not
ok "it goes: two again" wait_for 10 seen_is follows "2 1 2"
like "$(ctl explain "$(job_id follows)")" 'LD_PRELOAD' "explain names the library"
counted() { ctl explain "$(job_id follows)" | grep -qE "progress_per_s +[0-9.a-z]+ \(calls\)"; }
ok "its regions are its speed" wait_for 10 counted
LD_PRELOAD=libm.so.6 watch_step own watch --coloc=on --coloc-omp
is "$(seen own)" 2 "whose user preloads something keeps that alone"
like "$(ctl explain "$(job_id own)")" 'the user set LD_PRELOAD' "explain says so"
stop_steps
# Its own two threads, and while there is one core two that sleep.
watch_step given given --coloc=on --coloc-omp
is "$(seen given)" 2 "a program that gives its regions a size: its threads, alone"
watch_step beside watch --coloc=on
ok "a neighbour comes: threads that sleep" wait_for 10 seen_is given "2 4"
sleep 4 # until colocd has looked at it again
like "$(ctl explain "$(job_id given)")" 'Threads +2 in 1 tasks' "colocd does not take them for the program's"
end_job beside
ok "it goes: they go" wait_for 10 seen_is given "2 4 2"
stop_steps
# It begins beside another, on one core, and gets the other's.
watch_step beside watch --coloc=on
watch_step born given --coloc=on --coloc-omp
is "$(seen born)" 4 "a program that begins on one core: threads that sleep from the start"
end_job beside
ok "alone: they go" wait_for 10 seen_is born "4 2"
stop_steps
sed -i 's/^launch_env:$/&\n  threads: granted/' "$tmp/coloc.yaml"
like "$(ctl reload 2>&1)" 'launch_env.threads' "reload takes launch_env.threads"
watch_step first watch --coloc=on
is "$(seen first)" 2 "threads by what is granted: alone, both cores"
watch_step second watch --coloc=on
is "$(seen second)" 1 "beside another, one"
like "$(ctl explain "$(job_id second)")" 'OMP_NUM_THREADS=1: 1 of 2 cores granted' "explain says why"
watch_step grows watch --coloc=on --coloc-omp
like "$(ctl explain "$(job_id grows)")" 'OMP_NUM_THREADS=2: .*libcoloc_omp' "who can grow begins with all"
stop_steps

# Those that come at the same time have registered before one of them begins.
come_at_once() {
  local name
  echo "optional $tmp/hold.so $tmp/held" >>"$(sed -n 's/^PlugStackConfig=//p' "$SLURM_CONF")"
  : >"$tmp/held"
  for name in one other; do
    # shellcheck disable=SC2016 # the step's
    srun -J "$name" -c2 --coloc=on bash -c 'env >"$0.env"; exec "$1" watch >"$0"' "$tmp/watch.$name" "$tmp/probe" &
    started_pids+=("$!")
  done
  ok "two are there, and none has begun" wait_for 10 have_come 2
  OMP_NUM_THREADS=2 srun -J own -c2 --coloc=on "$tmp/probe" watch >"$tmp/watch.own" 2>&1 &
  started_pids+=("$!")
  ok "then one more" wait_for 10 have_come 3
  rm "$tmp/held"
  for name in one other own; do
    wait_for 20 test -s "$tmp/watch.$name" || diag "step $name did not start"
  done
  for name in one other; do
    is "$(seen "$name")" 1 "$name of those that come at the same time begins with its share"
    like "$(ctl explain "$(job_id "$name")")" 'OMP_NUM_THREADS=1: 1 of 2 cores granted' "$name: explain has the number"
    is "$(grep -E '^(MKL|BLIS|OPENBLAS)_NUM_THREADS=' "$tmp/watch.$name.env" | sort | paste -sd' ')" \
      "BLIS_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1" "$name: for linear algebra as well"
  done
  is "$(seen own)" 2 "what its user set stands"
  stop_steps
}
have_come() { [ "$(ctl jobs | grep -c pending)" = "$1" ]; }
if gcc -shared -fPIC -I/usr/include/slurm-wlm -o "$tmp/hold.so" "$srcdir/tests/live/hold.c" 2>/dev/null; then
  come_at_once
else
  diag "Slurm's headers are not there: steps that come at the same time are not tried"
fi
stop "$colocd_pid"
done_testing
