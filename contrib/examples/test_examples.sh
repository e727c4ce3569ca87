#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_examples.sh - the examples compile and reach libcoloc: granted two cores by a service that
# stands for colocd. What has no compiler or interpreter here is said and left out.
set -u
srcdir=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
builddir=$(cd "${COLOC_BUILDDIR:-.}" && pwd)
granter=$builddir/tests/unit/omp_granter
tmp=$(mktemp -d "${TMPDIR:-/tmp}/coloc-examples.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export LD_LIBRARY_PATH=$builddir/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
failed=0 tested=0
if grep -q __asan_init "$builddir/.libs/libcoloc.so"; then
  echo "1..0 # SKIP a libcoloc with a sanitizer loads into no other program"
  exit 77
fi

check() {
  local got
  tested=$((tested + 1))
  got=$("$granter" 2 '' "${@:2}" 2>"$tmp/err") || true
  if [ "$(echo "$got" | tr -s ' ')" = "attached 1 cores 2" ]; then
    echo "ok - $1"
  else
    echo "not ok - $1: '$got'"
    sed 's/^/#   /' "$tmp/err"
    failed=1
  fi
}

fortran=$(command -v gfortran gfortran-12 | head -1)
if [ -n "$fortran" ]; then
  if (cd "$tmp" && "$fortran" -cpp -DCOLOC_EXAMPLE -Wall -o f "$srcdir/contrib/examples/coloc.f90" \
    -L"$builddir/.libs" -lcoloc) 2>"$tmp/err"; then
    check "Fortran" "$tmp/f"
  else
    echo "not ok - Fortran does not compile"
    sed 's/^/#   /' "$tmp/err"
    failed=1
  fi
else
  echo "# no gfortran: the Fortran module is not tested"
fi
if command -v python3 >/dev/null; then
  COLOC_LIBRARY=$builddir/.libs/libcoloc.so check "Python" python3 "$srcdir/contrib/examples/coloc.py"
else
  echo "# no python3: the ctypes example is not tested"
fi
# Debian has the compiler's name in openmpi-bin and its headers in libopenmpi-dev.
if echo '#include <mpi.h>' | mpicc -E -x c - >/dev/null 2>&1; then
  tested=$((tested + 1))
  if mpicc -shared -fPIC -Wall -Wextra -Werror -I"$srcdir/nodesvc/runtime" -o "$tmp/libcoloc_mpi.so" \
    "$srcdir/contrib/examples/coloc_mpi.c" -L"$builddir/.libs" -lcoloc 2>"$tmp/err"; then
    echo "ok - the MPI profiling layer compiles"
  else
    echo "not ok - the MPI profiling layer does not compile"
    sed 's/^/#   /' "$tmp/err"
    failed=1
  fi
else
  echo "# no mpicc with its mpi.h: the MPI example is not tested"
fi
tested=$((tested + 1))
if ${CC:-cc} -O2 -Wall -Wextra -Werror -I"$srcdir/nodesvc/tasks" -o "$tmp/kmeans" \
  "$srcdir/contrib/examples/kmeans.c" -L"$builddir/.libs" -lcoloc_tasks -lm 2>"$tmp/err" &&
  [ "$(COLOC_TASKS=das-dam-p "$tmp/kmeans" 5 2000 8 2>"$tmp/err" | grep -cE '^[0-4] [0-9.]+$')" = 5 ] &&
  ! COLOC_TASKS=das-x "$tmp/kmeans" 2>"$tmp/err"; then
  echo "ok - K-means of tasks compiles and runs"
else
  echo "not ok - K-means of tasks"
  sed 's/^/#   /' "$tmp/err"
  failed=1
fi
tested=$((tested + 1))
# The first example of libcoloc_tasks.3; the second are commands.
sed -n '/^\.EX/,/^\.EE/p; /^\.EE/q' "$srcdir/nodesvc/tasks/libcoloc_tasks.3" |
  sed -e '/^\.E/d' -e 's/\\e/\\/g' >"$tmp/page.c"
if ${CC:-cc} -Wall -Werror -I"$srcdir/nodesvc/tasks" -o "$tmp/page" "$tmp/page.c" -L"$builddir/.libs" \
  -lcoloc_tasks 2>"$tmp/err" && [ "$("$tmp/page" 2>"$tmp/err")" = 42 ]; then
  echo "ok - the manual page's example of tasks"
else
  echo "not ok - the manual page's example of tasks"
  sed 's/^/#   /' "$tmp/err"
  failed=1
fi
[ $tested -gt 0 ] || exit 77
exit $failed
