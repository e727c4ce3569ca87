# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# own_rate.sh - unmodified programs that print what they have done, and the rates that follow. For
# benches to source, after contrib/lib.sh, with: dir (of their own), seconds (of a run), cores, build;
# and SLURM_CONF in the environment. With often they print as often as they can: tens of times a second.
: "${often:=}"

every_s=$([ -n "$often" ] && echo 0.02 || echo 0.2)
cat >"$dir/products.py" <<'PY'
import numpy, sys, time
a = numpy.random.rand(300, 300)
n, start, told = 0, time.time(), 0
while time.time() - start < float(sys.argv[1]):
    a = a @ a
    a /= abs(a).max()
    n += 1
    if time.time() - told > float(sys.argv[2]):
        told = time.time()
        print("done", n, flush=True)
PY
# What a program prints of what it has done, by the clock of who reads it: its rate between the moment
# FILE was written last, or the first such line, and the last one. Lines that bear no figure are
# counted; those of pw.x are added up: in each of its cycles the Hamiltonian is applied once at first,
# and in each iteration. When each line came (CLOCK_MONOTONIC), and what had been done by then, goes into a file.
cat >"$dir/rate.py" <<'PY'
import os, re, sys, time
since, pattern = sys.argv[1], re.compile(sys.argv[2].encode())
seen, n, rest, began = [], 0, b"", 0
lines_file = open(sys.argv[3], "w", buffering=1)
while chunk := os.read(0, 65536):
    now = time.monotonic()
    *lines, rest = re.split(rb"[\r\n]", rest + chunk)
    for line in lines:
        if m := pattern.search(line):
            n = n + 1 if not pattern.groups else n + float(m[1]) + 1 if sys.argv[4] else int(m[1])
            print(now, n, file=lines_file)
            if since and os.path.exists(since) and os.stat(since).st_mtime_ns != began:
                began, seen = os.stat(since).st_mtime_ns, []
            if not since or began:
                seen.append((now, n))
    sys.stderr.buffer.write(b"\n".join(lines) + b"\n")
if len(seen) > 2:
    print((seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0]))
PY
declare -gA told=([numpy]='^done ([0-9]+)' [gnu]='^done ([0-9]+)' [llvm]='^done ([0-9]+)' [pwscf]='avg # of iterations = *([0-9.]+)'
  [scalapack]='^WALL .* PASSED' [lammps]='^ +([0-9]+) +[-0-9.]+ +' [gromacs]='^step ([0-9]+)')
printf '%s\n' 'units lj' 'atom_style atomic' 'lattice fcc 0.8442' 'region box block 0 20 0 20 0 20' \
  'create_box 1 box' 'create_atoms 1 box' 'mass 1 1.0' 'velocity all create 3.0 87287 loop geom' \
  'pair_style lj/cut 2.5' 'pair_coeff 1 1 1.0 1.0 2.5' 'fix 1 all nve' "thermo $([ -n "$often" ] && echo 2 || echo 20)" \
  "timer timeout 0:0:$seconds every 20" 'run 100000000' >"$dir/melt.in"
# shellcheck disable=SC2034 # by name
numpy=(-n1 -c"$cores" /usr/bin/python3 "$dir/products.py" "$seconds" "$every_s")
# shellcheck disable=SC2034
lammps=(-n"$cores" -c1 --mpi=pmix lmp -in "$dir/melt.in" -log none)
# shellcheck disable=SC2034
gromacs=(-n1 -c"$cores" gmx -quiet mdrun -s "$dir/water.tpr" -ntmpi 1 -ntomp "$cores" -pin off -nobackup -noconfout -v -stepout "$([ -n "$often" ] && echo 5 || echo 50)"
  -deffnm gmx -nsteps -1 -maxh "$(awk -v s="$seconds" 'BEGIN { print s / 3600 / 0.99 }')")
# Silicon that moves, until its time is over: self-consistent steps a second.
cat >"$dir/si.in" <<PW
&control
 calculation='md', prefix='si', outdir='pw', pseudo_dir='/usr/share/espresso/pseudo'
 nstep=100000, dt=20, max_seconds=$seconds, disk_io='none'
/
&system
 ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=20, nosym=.true.
/
&electrons
 conv_thr=1e-8
/
&ions
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.0 0.0 0.0
 Si 0.26 0.25 0.25
K_POINTS automatic
 3 3 3 0 0 0
PW
# shellcheck disable=SC2034
pwscf=(-n2 -c1 --mpi=pmix pw.x -in "$dir/si.in")
# Of one size, so many as take the time where a second has eighty, up to 100 s: 20 by blocks by grids.
list() { printf "$1 %.0s" $(seq "$2"); }
grids=$(((seconds + 4) / 5 < 20 ? (seconds + 4) / 5 : 20)) # it takes no more of anything
blocks=$(((seconds * 80 / grids + 19) / 20 < 20 ? (seconds * 80 / grids + 19) / 20 : 20))
printf '%s\n' title - "'LU.out'" 6 20 "$(list 600 20)" "$(list 600 20)" "$blocks" "$(list 32 "$blocks")" \
  1 1 1 1 "$grids" "$(list 2 "$grids")" "$(list 1 "$grids")" 1.0 F >"$dir/LU.dat"
xdlu=/usr/lib/$(gcc -print-multiarch)/scalapack/mpich-tests/xdlu
# Its lines come as they are written: gfortran would keep them for seconds.
# shellcheck disable=SC2034
scalapack=(-n2 -c1 --mpi=pmi2 '--export=ALL,GFORTRAN_UNBUFFERED_ALL=y' "$xdlu")
cat >"$dir/stencil.c" <<'C'
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	int n = 1000;
	double *a = calloc(n * n, sizeof(*a)), *b = calloc(n * n, sizeof(*b)), start = omp_get_wtime();
	double told = start;
	long sweeps = 0;

	for (int i = 0; i < n; i++)
		a[i] = b[i] = 1;
	while (argc > 2 && omp_get_wtime() - start < atof(argv[1])) {
		double *t = a;
#pragma omp parallel for
		for (int i = 1; i < n - 1; i++)
			for (int j = 1; j < n - 1; j++)
				b[i * n + j] = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] +
							      a[i * n + j - 1] + a[i * n + j + 1]);
		a = b;
		b = t;
		sweeps++;
		if (omp_get_wtime() - told < atof(argv[2]))
			continue;
		told = omp_get_wtime();
		printf("done %ld\n", sweeps);
		fflush(stdout);
	}
	return a[n * n / 2] > 1;
}
C
gcc -O2 -fopenmp -o "$dir/gnu" "$dir/stencil.c"
! command -v clang >/dev/null || clang -O2 -fopenmp -o "$dir/llvm" "$dir/stencil.c" 2>/dev/null || true
# shellcheck disable=SC2034
gnu=(-n1 -c"$cores" "$dir/gnu" "$seconds" "$every_s") llvm=(-n1 -c"$cores" "$dir/llvm" "$seconds" "$every_s")
is_there() {
  case $1 in
  numpy) /usr/bin/python3 -c 'import numpy' 2>/dev/null ;;
  lammps) command -v lmp >/dev/null ;;
  gromacs) command -v gmx >/dev/null ;;
  pwscf) command -v pw.x >/dev/null && [ -e /usr/share/espresso/pseudo/Si.pz-vbc.UPF ] ;;
  scalapack) [ -x "$xdlu" ] ;;
  gnu | llvm) [ -x "$dir/$1" ] ;;
  *) die "'$1' is none of numpy, lammps, pwscf, scalapack, gromacs, gnu, llvm" ;;
  esac
}
# start NAME [FILE [COPY [OPTION]...]]: in the background, as job NAMECOPY, in a folder of its own; its
# rate from when FILE is there comes in $dir/rateCOPY, its lines in $dir/linesCOPY. Sets started.
start() {
  # shellcheck disable=SC2178 # the array of that name
  local -n command=$1
  local name=$1 file=${2:-} copy=${3:-} in=$dir/run${3:-}
  shift $(($# < 3 ? $# : 3))
  mkdir -p "$in"
  ln -sf "$dir/LU.dat" "$in"
  srun -u -J "$name$copy" --chdir="$in" "${@:---coloc=on}" "${command[@]}" 2>&1 |
    python3 "$dir/rate.py" "$file" "${told[$name]}" "$dir/lines$copy" \
      "$([ "$name" != pwscf ] || echo adds)" >"$dir/rate$copy" 2>"$dir/out$copy" &
  started=$!
}
# ended NAME PID [COPY [known]]: sets rate. It may be blank where the fourth is there and blank: the
# speed was never known.
ended() {
  local out=$dir/out${3:-}
  wait "$2" || [ "$1" = pwscf ] || die "$1: $(tail -3 "$out")" # by its own limit: 2
  rate=$(cat "$dir/rate${3:-}")
  [ -n "$rate" ] || { [ $# = 4 ] && [ -z "$4" ]; } || die "$1: it prints nothing of what it does: $(tail -3 "$out")"
}

# For awk: of logarithms their mean, m, and half of its interval of 95 % (Student's t; "" of one), h.
mean_of='
  function mean_of(logs,  x, t, k, i, v) {
    k = split(logs, x, " ")
    split("12.71 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131", t, " ")
    m = 0
    for (i = 1; i <= k; i++) m += x[i] / k
    for (i = 1; i <= k; i++) v += (x[i] - m) ^ 2 / (k - 1 ? k - 1 : 1)
    h = k > 1 ? (k - 1 > 15 ? 2.1 : t[k - 1]) * sqrt(v / k) : ""
    return k
  }'
