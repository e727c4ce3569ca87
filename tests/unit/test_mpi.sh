#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_mpi.sh - unmodified MPI programs under libcoloc_mpi: their operations are counted, each once,
# and all that they give and are given is as without it. With an MPI library made for this test, and
# with those whose compilers are there.
set -u
srcdir=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
builddir=${COLOC_BUILDDIR:-.}
lib=$builddir/.libs/libcoloc_mpi.so
granter=$builddir/tests/unit/omp_granter
tmp=$(mktemp -d "${TMPDIR:-/tmp}/coloc-mpi.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
failed=0
export OMP_GRANTER_TELLS=1

# told COMMAND...: what it reported; again where the answer came later than it waits for one.
told() {
  local rc=75
  for _ in 1 2 3 4 5; do
    [ $rc = 75 ] || break
    rc=0
    "$granter" 2 "$lib" "$@" >"$tmp/out" 2>"$tmp/err" || rc=$?
  done
  [ $rc = 0 ] || echo "status $rc"
  sed -n 's/^told \(.*[^ ]\) *$/\1/p' "$tmp/out"
}

# check NAME WANTED COMMAND...
check() {
  local name=$1 wanted=$2 got
  shift 2
  got=$(told "$@" | paste -sd' ')
  if [ "$got" = "$wanted" ]; then
    echo "ok - $name"
  else
    echo "not ok - $name: got '$got', wanted '$wanted'"
    sed 's/^/#   /' "$tmp/err"
    failed=1
  fi
}

if ! cc -shared -fPIC -O1 -o "$tmp/libmpi_fake.so" "$srcdir/tests/unit/mpi_fake.c" 2>"$tmp/cc" ||
  ! cc -DPROBE -O1 -o "$tmp/probe" "$srcdir/tests/unit/mpi_fake.c" -Wl,--no-as-needed \
    -L"$tmp" -lmpi_fake -Wl,-rpath,"$tmp" -ldl 2>>"$tmp/cc" ||
  ! cc -DPROBE -O1 -o "$tmp/module" "$srcdir/tests/unit/mpi_fake.c" -ldl 2>>"$tmp/cc"; then
  echo "1..0 # SKIP no C compiler: $(head -1 "$tmp/cc")"
  exit 77
fi
check "each operation is counted once, and what polls is not" "4000 mpi_ops" "$tmp/probe" 1000
check "... of an MPI library that only a module has loaded" "4000 mpi_ops" \
  "$tmp/module" 1000 "$tmp/libmpi_fake.so"
# Statically in the module, as some of Python's packages are.
cp "$tmp/libmpi_fake.so" "$tmp/extension.so"
check "... that a module has linked into itself" "4000 mpi_ops" "$tmp/module" 1000 "$tmp/extension.so"
check "a program without MPI runs as ever" "0" true
if COLOC_SOCKET=/nonexistent LD_PRELOAD=$lib "$tmp/probe" 10 2>"$tmp/err"; then
  echo "ok - without a service it runs as ever"
else
  echo "not ok - without a service: $(cat "$tmp/err")"
  failed=1
fi

cat >"$tmp/real.c" <<'EOF'
#include <mpi.h>
int main(int argc, char **argv)
{
	int one = 1, all = 0, from = -1;
	MPI_Init(&argc, &argv);
	for (int i = 0; i < 100; i++)
		MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
	for (int i = 0; i < 50; i++)
		MPI_Sendrecv(&i, 1, MPI_INT, 0, 7, &from, 1, MPI_INT, 0, 7, MPI_COMM_SELF,
			MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_SELF);
	MPI_Finalize();
	return all == 1 && from == 49 ? 0 : 5;
}
EOF
# As its header has them: in C int, and so many arguments; in Fortran one more.
awk -F'[(,) ]+' '/^MPI_CALL\(/ { print "MPI_" $2, $4 }' "$srcdir/nodesvc/runtime/mpi_calls.h" |
  sort >"$tmp/ours"
for cc in mpicc.openmpi mpicc.mpich; do
  if ! echo '#include <mpi.h>' | "$cc" -E -P -x c - >"$tmp/header" 2>/dev/null; then
    echo "# no $cc with its mpi.h: not tested with it"
    continue
  fi
  tr -s '\n\t ' ' ' <"$tmp/header" | tr ';' '\n' | sed 's/__attribute__ *((.*))//' |
    sed -n 's/^.*\bint \(MPI_[A-Za-z_]*\) *(\(.*\)) *$/\1 \2/p' |
    awk '{ name = $1; $1 = ""; print name, gsub(/,/, ",") + 1 }' | sort >"$tmp/theirs"
  if differs=$(join "$tmp/ours" "$tmp/theirs" | awk '$2 != $3') && [ -z "$differs" ] &&
    [ "$(join "$tmp/ours" "$tmp/theirs" | wc -l)" -ge 60 ]; then
    echo "ok - $cc: $(join "$tmp/ours" "$tmp/theirs" | wc -l) operations have the arguments that mpi.h says"
  else
    echo "not ok - $cc: of $(wc -l <"$tmp/theirs") in mpi.h these differ (name, ours, theirs): $differs"
    failed=1
  fi
  if ! "$cc" -O1 -o "$tmp/real" "$tmp/real.c" 2>"$tmp/cc" ||
    ! timeout 120 "$tmp/real" >"$tmp/out" 2>&1; then
    echo "# $cc: a program of one rank does not run here: $(head -1 "$tmp/cc" "$tmp/out" | paste -sd' ')"
    continue
  fi
  check "$cc: a program of one rank" "151 mpi_ops" "$tmp/real"
done
exit $failed
