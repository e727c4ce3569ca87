#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# polling.sh - MPI ranks that poll, under a policy that partitions: two such steps on two cores take
# turns, and say why; gang_polling: no ends that, and told to yield they are left where they are, which
# views say. How much it gains is printed, not tested: the machine may be busy.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
mpicc -O1 -o "$tmp/pollers" "$srcdir/tests/live/pollers.c" 2>/dev/null ||
  skip_all "MPI: mpicc is not there"
spin=$builddir/contrib/programs/bin/spin
[ -x "$spin" ] || skip_all "PROGRAMS: contrib/programs was not built"
conf=('policy: fair' 'min_dwell_s: 0' 'max_moves_per_min: 0' 'gang_slice_ms: 50')
start_spine "${conf[@]}" 'launch_env:' '  enabled: no'
# Debian's 26.05 has none.
[[ $(srun --mpi=list 2>&1) =~ pmix ]] || skip_all "PMIX: this Slurm has no plugin mpi/pmix"

start_ranks() {
  local name=$1
  shift
  rm -f "$tmp/count.$name"
  srun -J "$name" -n2 -c1 --mpi=pmix --coloc=on "$@" "$tmp/pollers" "$tmp/count.$name" \
    >"$tmp/srun.$name" 2>&1 &
  started_pids+=("$!")
  wait_for 30 test -s "$tmp/count.$name" || diag "$name did not start: $(cat "$tmp/srun.$name")"
}
count() { cat "$tmp/count.$1" 2>/dev/null || echo 0; }
# Iterations of both in five seconds.
work() {
  local a b
  a=$(count p1) b=$(count p2)
  sleep 5
  echo $(($(count p1) - a + $(count p2) - b))
}
# The newest decision's sentence.
why() { ctl explain "$(job_id "$1")" | sed -n '/newest first/{n;p}'; }
says() { why "$1" | grep -qE "$2"; }
both_take_turns() { says p1 'in turns' && says p2 'in turns'; }
# set_conf LINE...: another configuration, by reload.
set_conf() {
  printf 'store: %s\nsocket: %s\nlog: debug\n' "$tmp/store" "$socket" >"$tmp/coloc.yaml"
  printf '%s\n' "${conf[@]}" "$@" 'launch_env:' '  enabled: no' >>"$tmp/coloc.yaml"
  ctl reload >"$tmp/reload.out" 2>&1 || diag "$(cat "$tmp/reload.out")"
}

start_ranks p1
ok "alone: no turns" says p1 'alone|whole|all'
unlike "$(why p1)" 'in turns' "... it says nothing of turns"
start_ranks p2
ok "the second comes: both take turns" wait_for 20 both_take_turns
like "$(log)" 'step .*: its 2 MPI processes poll for one another' "the log says what was seen"
# On a busy machine one of them may be seen to poll, and the other to run beside it.
like "$(why p1) $(why p2)" '2 processes poll for one another, 1 cores by right' "explain says why"
is "$(cpuset_of p1) $(cpuset_of p2)" "0-1 0-1" "each has both cores in its turn"
turns=$(work)

set_conf 'gang_polling: no'
parted() { says p1 'fair share' || [ "$(cpuset_of p1)" != 0-1 ]; }
ok "gang_polling: no: a core each" wait_for 10 parted
fixed=$(work)
diag "iterations of both in 5 s: $turns in turns, $fixed on a core each"

set_conf 'gang_polling: yes'
ok "gang_polling: yes: turns again" wait_for 20 both_take_turns
srun -J busy -n1 -c2 --mpi=none --coloc=on "$spin" --work=100000000 >"$tmp/srun.busy" 2>&1 &
started_pids+=("$!")
third() { says busy 'all of it|whole|alone|core'; }
ok "a step that does not poll comes" wait_for 20 third
ok "... the others go on taking turns" wait_for 10 both_take_turns
end_job busy
end_job p2
gone_back() { ! says p1 'in turns'; }
ok "one alone takes no turns" wait_for 10 gone_back
stop_steps

export OMPI_MCA_mpi_yield_when_idle=1
start_ranks p1
start_ranks p2
sleep 3
unlike "$(why p1)$(why p2)" 'in turns' "ranks that yield are left in their parts"
# What policies know of it is in the view: the next one is made when somebody comes.
ctl record start yields.trace >/dev/null
views() { grep -oE '"yielding": *2' "$tmp/store/yields.trace" | head -2 | wc -l; }
srun -J late -n1 -c2 --mpi=none --coloc=on "$spin" --work=100000000 >"$tmp/srun.late" 2>&1 &
started_pids+=("$!")
both_yield() { [ "$(views)" = 2 ]; }
ok "... and policies are told that two processes of each were told to" wait_for 20 both_yield
ctl record stop >/dev/null
end_job late
stop_steps

# The example of contrib/examples: an unmodified MPI program tells its iterations.
if mpicc -shared -fPIC -I"$srcdir/nodesvc/runtime" -o "$tmp/libcoloc_mpi.so" \
  "$srcdir/contrib/examples/coloc_mpi.c" -L"$builddir/.libs" -lcoloc 2>"$tmp/err"; then
  start_ranks p1 --export="ALL,LD_PRELOAD=$tmp/libcoloc_mpi.so,LD_LIBRARY_PATH=$builddir/.libs"
  progress() { ctl explain "$(job_id p1)" | grep -qE 'progress_per_s +[1-9][0-9.]*[kM]? +\(app\)'; }
  ok "the MPI profiling layer reports its iterations" wait_for 20 progress
  diag "$(ctl explain "$(job_id p1)" | grep progress_per_s)"
  stop_steps
else
  diag "the MPI profiling layer does not compile: $(cat "$tmp/err")"
fi
stop "$colocd_pid"
done_testing
