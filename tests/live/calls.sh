#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# calls.sh - the speed of programs as they are, by the calls that the kernel counts: it is there,
# all calls are counted where they are few, nothing stays behind. Programs that are not installed
# are skipped.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
start_spine 'policy: fair' 'baseline_fraction: 0' 'profile_interval_s: 0.5'

# The kernel's list of probes, by a mount of its own.
probes() {
  unshare -m sh -c 'mount -t tracefs none /sys/kernel/tracing; cat /sys/kernel/tracing/uprobe_events' 2>/dev/null |
    grep ":coloc_"
}
no_probes() { [ -z "$(probes)" ]; }
works() { log | grep -q 'calls are counted, '; }
refused() { log | sed -n 's/.*calls are not counted: //p'; }
if ! wait_for 20 works; then
  why=$(refused | head -1)
  case $why in *'this kernel has no'*) ;; *) skip_all "UPROBES: $why" ;; esac
  srun -J none -c1 --coloc=on sleep 20 >"$tmp/srun.none" 2>&1 &
  started_pids+=("$!")
  id=$(new_job_id none)
  tells_why() { ctl explain "$id" | grep -q "^Calls .*$why"; }
  ok "explain says that this kernel does not count" wait_for 10 tells_why
  # What has ended otherwise is started again after 30 s.
  sleep 20
  is "$(refused)" "$why" "... and the log, once"
  stop_steps
  stop "$colocd_pid"
  done_testing
fi

cat >"$tmp/regions.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv)
{
	long n = atol(argv[1]), work = atol(argv[2]);
	volatile double s = 0;
	for (long i = 0; i < n; i++) {
		double t = 0;
#pragma omp parallel for reduction(+ : t)
		for (long k = 0; k < work; k++)
			t += (double)k * 1e-9;
		s += t;
	}
	printf("%ld regions, %d, %ld ms\n", n, s > 0 && argc > 2, clock() / (CLOCKS_PER_SEC / 1000));
	return 0;
}
C
export OMP_WAIT_POLICY=passive

# figure NAME KEY: of the running step whose job has that name.
figure() {
  ctl --json explain "$(job_id "$1")" 2>/dev/null | sed -n "s/.*\"$2\": *\"\{0,1\}\([^\",]*\).*/\1/p" | head -1
}
has_speed() { [ "$(figure "$1" speed_source)" = calls ]; }
# Processor time of the running step of that name, ms: for was_disturbed. Of each thread: without
# task/ a thread's file has its whole process's.
step_ms() {
  step_threads "$(step_dir "$(job_id "$1")" 0)" | sed 's,.*,/proc/&/task/&/stat,' | xargs cat 2>/dev/null |
    awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); ms += ($12 + $13) * 1000 / hz } END { printf "%d\n", ms }'
}
# knows NAME WHAT: the speed of the running step of that name is known by calls. Which function
# marks its work is not told where others leave it little of the processors.
knows() {
  if wait_for 15 has_speed "$1"; then
    ok "$2" true
  elif was_disturbed "$(step_ms "$1")"; then
    skipped "$2" "$disturbance"
    return 1
  else
    ok "$2" false || diag "$(figure "$1" calls)" "$(log | grep "step $(job_id "$1").0: " | tail -12)"
  fi
}
# speed_of NAME UNIT SRUN-ARGUMENTS...: it is known, by calls of a function like UNIT.
speed_of() {
  local name=$1 unit=$2
  shift 2
  watch_machine
  srun -J "$name" --coloc=on "$@" >"$tmp/$name.out" 2>&1 &
  started_pids+=("$!")
  wait_for 20 job_known "$name"
  if knows "$name" "$name: its speed is known by calls"; then
    like "$(figure "$name" speed_unit)" "calls of $unit" "$name: by which"
  fi
  end_job "$name"
}

for cc in gcc clang; do
  if $cc -fopenmp -O1 -o "$tmp/regions.$cc" "$tmp/regions.c" 2>"$tmp/cc.out"; then
    speed_of "$cc" '(GOMP_|__kmpc_)' -n1 -c2 "$tmp/regions.$cc" 100000000 200000
  else
    skipped "a program by $cc" "$(head -1 "$tmp/cc.out")"
  fi
done
if /usr/bin/python3 -c 'import numpy' 2>/dev/null &&
  readlink -f /usr/lib/*/libblas.so.3 /usr/lib/*/libopenblas.so.0 | grep -q openmp; then
  speed_of numpy GOMP_ -n1 -c2 /usr/bin/python3 -c '
import numpy
a = numpy.random.rand(300, 300)
while True:
    a = a @ a
    a /= abs(a).max()'
else
  skipped "numpy on OpenBLAS with OpenMP" "not installed (Debian: python3-numpy libopenblas0-openmp)"
fi
if command -v lmp >/dev/null && [[ $(srun --mpi=list 2>&1) =~ pmix ]]; then
  printf '%s\n' 'units lj' 'atom_style atomic' 'lattice fcc 0.8442' 'region box block 0 10 0 10 0 10' \
    'create_box 1 box' 'create_atoms 1 box' 'mass 1 1.0' 'velocity all create 3.0 87287 loop geom' \
    'pair_style lj/cut 2.5' 'pair_coeff 1 1 1.0 1.0 2.5' 'fix 1 all nve' 'run 10000000' >"$tmp/melt.in"
  lammps=(-n2 -c1 --mpi=pmix lmp -in "$tmp/melt.in" -log none -screen none)
  speed_of lammps MPI_ "${lammps[@]}"
  watch_machine
  srun -J preload --coloc=on --export="ALL,LD_PRELOAD=$builddir/.libs/libcoloc_mpi.so" "${lammps[@]}" \
    >"$tmp/preload.out" 2>&1 &
  started_pids+=("$!")
  wait_for 20 job_known preload
  if knows preload "LAMMPS with libcoloc_mpi: its speed is known by calls"; then
    is "$(figure preload speed_unit)" mpi_ops "LAMMPS with libcoloc_mpi: which the library counts"
  fi
  end_job preload
else
  skipped "LAMMPS" "not installed (Debian: lammps, and Slurm with mpi/pmix)"
fi

# Exactly: the function that marked the work is known from the run before, and counted from the
# start; its calls are few enough to be counted all the time.
whole() { log | sed -n 's/.*: \([0-9]*\) calls of GOMP_parallel in all$/\1/p' | tail -1; }
counted='' own_ms=0
watch_machine
for _ in 1 2 3 4; do
  srun -J exact --coloc=on -n1 -c2 "$tmp/regions.gcc" 400 1000000 >"$tmp/exact.out" 2>&1
  counted=$(whole)
  own_ms=$((own_ms + $(sed -n 's/.*, \([0-9]*\) ms$/\1/p' "$tmp/exact.out")))
  [ -z "$counted" ] || break
done
if [ -z "$counted" ] && was_disturbed "$own_ms"; then
  skipped "of a program that ran before all calls are counted" "$disturbance"
else
  is "$counted" 400 "of a program that ran before all calls are counted"
fi
like "$(cat "$tmp/exact.out")" '^400 regions' "and it runs as it would"

# Programs that are linked, kept or begun in other ways: counted, or it is said why not.
# unknown NAME WHY SRUN-ARGUMENTS...
calls_are() { [[ $(figure "$1" calls) =~ $2 ]]; }
unknown() {
  local name=$1 reason=$2
  shift 2
  srun -J "$name" --coloc=on "$@" >"$tmp/$name.out" 2>&1 &
  started_pids+=("$!")
  wait_for 20 job_known "$name"
  ok "$name: it is said why its calls are not counted" wait_for 20 calls_are "$name" "$reason" ||
    diag "$(figure "$name" calls)" "$(cat "$tmp/$name.out")"
  is "$(figure "$name" speed_source)" null "$name: no speed is told"
  end_job "$name"
}
forever=(100000000 200000)
strip -o "$tmp/stripped" "$tmp/regions.gcc"
speed_of stripped GOMP_ -n1 -c2 "$tmp/stripped" "${forever[@]}"
if gcc -static -fopenmp -O1 -o "$tmp/static" "$tmp/regions.c" 2>"$tmp/cc.out"; then
  speed_of static GOMP_ -n1 -c2 "$tmp/static" "${forever[@]}"
  strip -o "$tmp/static-stripped" "$tmp/static"
  unknown static-stripped 'linked statically' -n1 -c2 "$tmp/static-stripped" "${forever[@]}"
else
  skipped "a static program" "$(head -1 "$tmp/cc.out")"
fi
# A container has libraries of its own, under a root of its own.
mkdir "$tmp/root"
ldd "$tmp/regions.gcc" | grep -o '/[^ ]*' | xargs -I{} cp --parents {} "$tmp/root"
cp "$tmp/regions.gcc" "$tmp/root/regions"
speed_of other-root GOMP_ -n1 -c2 chroot "$tmp/root" /regions "${forever[@]}"
# Its executable and its library are replaced, as by an upgrade, while it runs.
cp "$tmp/regions.gcc" "$tmp/replaced"
cp "$tmp/root$(ldd "$tmp/regions.gcc" | grep -o '/[^ ]*libgomp[^ ]*')" "$tmp/libgomp.so.1"
cat >"$tmp/replace.sh" <<'SH'
LD_LIBRARY_PATH=$1 "$1/replaced" 100000000 200000 &
sleep 0.2
for f in replaced libgomp.so.1; do cp "$1/$f" "$1/new" && mv "$1/new" "$1/$f"; done
wait
SH
speed_of replaced GOMP_ -n1 -c2 bash "$tmp/replace.sh" "$tmp"
# Of one that begins others, theirs are counted.
speed_of child GOMP_ -n1 -c2 bash -c '"$@"; true' - "$tmp/regions.gcc" "${forever[@]}"
# With another's rights, and not to be read by who runs it: its library is counted.
cp "$tmp/regions.gcc" "$tmp/setuid"
chown 65533 "$tmp/setuid"
chmod 4711 "$tmp/setuid"
with=(setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/setuid")
"${with[@]}" "${forever[@]}" >/dev/null 2>&1 &
has_rights() { [ "$(awk '$1 == "Uid:" { print $3 }' "/proc/$1/status")" = 65533 ]; }
ok "setuid: it has another's rights" wait_for 5 has_rights "$!"
kill "$!"
speed_of setuid GOMP_ -n1 -c2 "${with[@]}" "${forever[@]}"

# Counted or not, what a program does works.
srun -J harmless --coloc=on -n1 -c2 sh -c '
  taskset -c 0 true && taskset -c 1 true && setpriv --reuid=65534 --regid=65534 --clear-groups id -u &&
  '"$tmp/regions.gcc"' 50 100000 && exec '"$tmp/regions.gcc"' 50 100000' >"$tmp/harmless.out" 2>&1
is "$?" 0 "binding, another user, children and exec succeed" || diag "$(cat "$tmp/harmless.out")"

# Who is to be left alone is not counted either.
srun -J excluded --coloc=on --coloc-exclude -n1 -c2 "$tmp/regions.gcc" 100000000 200000 >"$tmp/excluded.out" 2>&1 &
started_pids+=("$!")
wait_for 20 job_known excluded
was_read() { [[ $(figure excluded threads) =~ ^[1-9] ]]; }
wait_for 20 was_read
is "$(figure excluded calls)" null "a step with --coloc-exclude is not counted"
end_job excluded

# Killed while it counts.
srun -J killed --coloc=on -n1 -c2 "$tmp/regions.gcc" 100000000 200000 >"$tmp/killed.out" 2>&1 &
started_pids+=("$!")
# Those of programs before it are kept for a while.
wait_for 20 has_speed killed || diag "it has no speed"
ok "probes are there while a step is counted" wait_for 20 probes
kill -9 "$colocd_pid"
ok "after kill -9 of colocd none is left" wait_for 20 no_probes
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
watch_machine
knows killed "the next colocd counts the step that it adopts"
end_job killed
stop "$colocd_pid"
ok "after its stop none is left" wait_for 20 no_probes
done_testing
