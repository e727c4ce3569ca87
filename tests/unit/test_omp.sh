#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_omp.sh - unmodified OpenMP programs under libcoloc_omp: open regions follow the grant, sizes
# that the program chose stand, and no work is lost. With gcc and with clang, whichever is there.
set -u
srcdir=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
builddir=${COLOC_BUILDDIR:-.}
lib=$builddir/.libs/libcoloc_omp.so
granter=$builddir/tests/unit/omp_granter
tmp=$(mktemp -d "${TMPDIR:-/tmp}/coloc-omp.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
failed=0 tested=0 under=()
unset SLURM_STEP_TASKS_PER_NODE SLURM_NODEID OMPI_COMM_WORLD_LOCAL_SIZE MPI_LOCALNRANKS \
  OMP_STACKSIZE GOMP_STACKSIZE SLURM_CPUS_ON_NODE OMP_PROC_BIND OMP_PLACES GOMP_CPU_AFFINITY

# granted ARG...: as the granter, again where its answer came later than the program waits for one.
granted() {
  local rc=75
  for _ in 1 2 3 4 5; do
    [ $rc = 75 ] || break
    rc=0
    "$granter" "$@" >"$tmp/out" 2>"$tmp/err" || rc=$?
  done
  cat "$tmp/out"
  return $rc
}

# check NAME GRANTS HABIT WANTED: what the habit prints, lines joined by blanks.
check() {
  local got
  got=$(granted "$2" "$lib" ${under[@]+"${under[@]}"} "$tmp/probe" "$3" | paste -sd' ')
  if [ "$got" = "$4" ]; then
    echo "ok - $cc: $1"
  else
    echo "not ok - $cc: $1: got '$got', wanted '$4'"
    sed 's/^/#   /' "$tmp/err"
    failed=1
  fi
}

for cc in gcc clang; do
  if ! "$cc" -O1 -fopenmp -o "$tmp/probe" "$srcdir/tests/unit/omp_probe.c" >"$tmp/cc" 2>&1; then
    echo "# $cc with -fopenmp is not there: not tested ($(head -1 "$tmp/cc"))"
    continue
  fi
  if [ "$cc" = clang ] && [ "$(uname -m)" != x86_64 ]; then
    echo "# clang: LLVM's fork is followed on x86-64 only"
    continue
  fi
  tested=1
  # Sleeping, not spinning: whoever shares the cores with this test waits less, and the test for him.
  export OMP_NUM_THREADS=4 OMP_WAIT_POLICY=passive
  check "open regions follow, down and up" 2,1,3 open "2 1 3"
  check "never more than the program's own maximum" 9,8,2 open "4 4 2"
  check "a grant that is not known changes nothing" 0 open "4 4 4"
  # 9001; of each thread's last 128 some may be missing.
  told=$(OMP_GRANTER_TELLS=1 granted 2 "$lib" "$tmp/probe" many | sed -n 's/^told \([0-9]*\) regions$/\1/p')
  if [ "${told:-0}" -ge 8745 ] && [ "${told:-0}" -le 9001 ]; then
    echo "ok - $cc: regions are counted ($told of 9001 told)"
  else
    echo "not ok - $cc: regions are counted: '$told' of 9001 told"
    failed=1
  fi
  check "a clause stands" 2 clause "3 2 1"
  check "omp_set_num_threads() stands" 2 set "2 3 3"
  check "nested regions are let alone" 2 nested "2 4"
  check "work cut by omp_get_max_threads() is all done" 3,1,2 cut "3 1 2 missing 0"
  check "... also when the number is kept and the grant shrinks" 3,1,2 cached "3 missing 0"
  check "... or grows" 1,4,2 cached "1 missing 0"
  check "every kind of region" 2 kinds "2 2 2 2 2 2 2 all"
  check "... by cores, not by CPUs" 2x2,1x2,3 open "2 1 3"
  # A grant is the step's, of all its processes here.
  SLURM_STEP_TASKS_PER_NODE='1,2(x3),1' SLURM_NODEID=3 check "two processes share the grant" 4,2,1 open "2 1 1"
  SLURM_STEP_TASKS_PER_NODE='2(x3),1' SLURM_NODEID=3 check "... nodes may have other numbers" 4,2,1 open "4 2 1"
  for list in '' x '2(x' '2(x)' '1(x1)2' '-2' '2(x99999999999)'; do
    SLURM_STEP_TASKS_PER_NODE=$list SLURM_NODEID=1 check "'$list' says nothing of node 1" 3,2,1 open "3 2 1"
  done
  OMPI_COMM_WORLD_LOCAL_SIZE=2 check "mpirun's processes" 4,2,1 open "2 1 1"
  COLOC_OMP_KEEP_THREADS=1 check "COLOC_OMP_KEEP_THREADS: all keep their size" 2,1,3 open "4 4 4"
  COLOC_OMP_KEEP_THREADS=1 check "... also of one that asks before its first region" 2,1,3 cut "4 4 4 missing 0"
  OMP_NUM_THREADS=1
  check "one thread is one thread" 4 open "1 1 1"
  if [ "$cc" = clang ]; then
    OMP_NUM_THREADS=4
    unset OMP_WAIT_POLICY
    # One that yields while it spins hands its partner the core, and finds the work done: no sleep.
    export KMP_USE_YIELD=0
    KMP_BLOCKTIME=100000 OMP_PROBE_TRIES=20 \
      check "threads of a given size sleep while there are fewer cores" 4,1,4 waits \
      "wide spin narrow sleep wide spin as before"
    KMP_BLOCKTIME=100000 OMP_PROBE_TRIES=20 \
      check "... not where cores are as many" 4,2,4 waits "wide spin narrow spin wide spin as before"
    KMP_BLOCKTIME=100000 OMP_PROBE_TRIES=20 \
      check "... nor where a core has a CPU for each" 4,1x2,4 waits "wide spin narrow spin wide spin as before"
    unset KMP_USE_YIELD
    continue
  fi
  # With more threads than CPUs from the start libgomp's never spin.
  [ "$(env -u OMP_NUM_THREADS nproc)" -ge 2 ] || {
    echo "# one CPU: how threads of a given size wait is not tested"
    continue
  }
  # Threads that would spin for hours for a partner that is not running.
  OMP_NUM_THREADS=4
  export GOMP_SPINCOUNT=2000000000
  unset OMP_WAIT_POLICY
  check "threads of a given size sleep while there are fewer cores" 4,1,4 waits \
    "wide spin narrow sleep wide spin as before"
  OMP_PROBE_TRIES=100 check "... not where cores are as many" 4,2,4 waits "wide spin narrow spin wide spin as before"
  OMP_PROBE_TRIES=100 check "... nor where a core has a CPU for each" 4,1x2,4 waits "wide spin narrow spin wide spin as before"
  # Limits for the program, not for who grants: a sanitizer needs room.
  under=(prlimit --as=61440000)
  export OMP_PROBE_TRIES=100
  check "... no room for more threads, and nothing is lost" 4,1,4 waits \
    "wide spin narrow spin wide spin as before"
  OMP_STACKSIZE=5M check "... nor where stacks may not fit" 4,1,4 waits \
    "wide spin narrow spin wide spin as before"
  # A program that begins on one CPU of the two it may get.
  OMP_NUM_THREADS=2
  under=(taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')")
  check "born narrow: as many CPUs as there are, without Slurm's word" 2,1,2 waits \
    "wide sleep narrow sleep wide sleep as before"
  export SLURM_CPUS_ON_NODE=2
  unset OMP_PROBE_TRIES
  check "born narrow: it waits by the cores that it has now" 2,1,2 waits \
    "wide spin narrow sleep wide spin as before"
  check "... asked later it is told the truth" 2 procs 1
  export OMP_PROBE_TRIES=100
  OMP_PROC_BIND=true check "... where the user binds threads nothing is made up" 2,1,2 waits \
    "wide sleep narrow sleep wide sleep as before"
  SLURM_CPUS_ON_NODE=1 check "... nor where Slurm gave no more" 2,1,2 waits \
    "wide sleep narrow sleep wide sleep as before"
  unset OMP_PROBE_TRIES
  check "... nobody grants: it goes by the CPUs that it has" 0 waits-alone "narrow sleep"
  unset SLURM_CPUS_ON_NODE
  under=()
  unset GOMP_SPINCOUNT
done
# Without a daemon, and without the library, the same program runs as ever.
if [ $tested = 1 ]; then
  cc=plain
  got=$(OMP_NUM_THREADS=4 COLOC_SOCKET=/nonexistent LD_PRELOAD=$lib "$tmp/probe" clause | paste -sd' ')
  [ "$got" = "3 4 1" ] || { echo "not ok - no daemon: got '$got'"; failed=1; }
  # A library starts a region while it is loaded; meanwhile another thread does for the first time.
  echo 'int region(void) { int n = 0;
    _Pragma("omp parallel reduction(+ : n)") n++; return n; }' >"$tmp/l.c"
  cat >"$tmp/m.c" <<'EOF'
#include <semaphore.h>
#include <unistd.h>
extern sem_t loading;
static int n;
__attribute__((constructor)) static void load(void)
{
	sem_post(&loading);
	usleep(300000);
#pragma omp parallel reduction(+ : n)
	n++;
}
EOF
  cat >"$tmp/main.c" <<'EOF'
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
sem_t loading;
int region(void);
static void *other(void *arg)
{
	sem_wait(&loading);
	return region() > 0 ? arg : 0;
}
int main(int argc, char **argv)
{
	void *ret = 0;
	pthread_t t;
	sem_init(&loading, 0, 0);
	if (argc < 2 || pthread_create(&t, 0, other, argv) || !dlopen(argv[1], RTLD_NOW))
		return 2;
	pthread_join(t, &ret);
	return ret != argv;
}
EOF
  if gcc -O1 -fopenmp -shared -fPIC -o "$tmp/libl.so" "$tmp/l.c" 2>"$tmp/cc" &&
    gcc -O1 -fopenmp -shared -fPIC -o "$tmp/libm.so" "$tmp/m.c" 2>>"$tmp/cc" &&
    gcc -O1 -rdynamic -o "$tmp/main" "$tmp/main.c" -L"$tmp" -ll -Wl,-rpath,"$tmp" -ldl -lpthread 2>>"$tmp/cc"; then
    if COLOC_SOCKET=/nonexistent LD_PRELOAD=$lib timeout 60 "$tmp/main" "$tmp/libm.so"; then
      echo "ok - regions of two threads, one of which loads a library"
    else
      echo "not ok - regions of two threads, one of which loads a library: status $?"
      failed=1
    fi
  else
    echo "# no library with regions can be built: $(head -1 "$tmp/cc")"
  fi
  # libgomp's entry points: all that this machine's library exports.
  gomp=$(ldconfig -p | sed -n 's/.*libgomp.so.1 .*=> //p' | head -1)
  if [ -n "$gomp" ] && command -v nm >/dev/null; then
    nm -D --defined-only "$gomp" | sed -n 's/.* \(GOMP_parallel[a-z_]*\).*/\1/p' |
      grep -vx GOMP_parallel_end | sort -u >"$tmp/theirs"
    nm -D --defined-only "$lib" | sed -n 's/.* \(GOMP_parallel[a-z_]*\).*/\1/p' | sort -u >"$tmp/ours"
    if ! missing=$(comm -23 "$tmp/theirs" "$tmp/ours") || [ -n "$missing" ]; then
      echo "not ok - libgomp starts regions by $missing"
      failed=1
    else
      echo "ok - $(wc -l <"$tmp/theirs") entry points of $gomp"
    fi
  fi
  exit $failed
fi
echo "1..0 # SKIP no compiler with OpenMP"
exit 77
