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
failed=0 tested=0

# check NAME GRANTS HABIT WANTED: what the habit prints, lines joined by blanks.
check() {
  local got
  got=$("$granter" "$2" "$lib" "$tmp/probe" "$3" 2>"$tmp/err" | paste -sd' ')
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
  check "a clause stands" 2 clause "3 2 1"
  check "omp_set_num_threads() stands" 2 set "2 3 3"
  check "nested regions are let alone" 2 nested "2 4"
  check "work cut by omp_get_max_threads() is all done" 3,1,2 cut "3 1 2 missing 0"
  check "... also when the number is kept and the grant shrinks" 3,1,2 cached "3 missing 0"
  check "... or grows" 1,4,2 cached "1 missing 0"
  check "every kind of region" 2 kinds "2 2 2 2 2 2 2 all"
  OMP_NUM_THREADS=1
  check "one thread is one thread" 4 open "1 1 1"
done
# Without a daemon, and without the library, the same program runs as ever.
if [ $tested = 1 ]; then
  cc=plain
  got=$(OMP_NUM_THREADS=4 COLOC_SOCKET=/nonexistent LD_PRELOAD=$lib "$tmp/probe" clause | paste -sd' ')
  [ "$got" = "3 4 1" ] || { echo "not ok - no daemon: got '$got'"; failed=1; }
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
