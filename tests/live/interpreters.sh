#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# interpreters.sh - what an interpreter or a launcher links is not what it runs: it gets every
# runtime's variables, and those of what its processes loaded at the next launch of the same program.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
python=$(PATH=/usr/bin:/bin command -v python3) || skip_all "PYTHON: /usr/bin/python3 is not there"
ldconfig -p | grep 'libgomp\.so\.1 ' >/dev/null || skip_all "LIBGOMP: libgomp.so.1 is not there"
cat >"$tmp/loads.py" <<'END'
import ctypes, os, sys, time
if sys.argv[1] != "-":
    ctypes.CDLL(sys.argv[1])
with open(sys.argv[2] + ".new", "w") as f:
    f.write("\n".join(sorted(os.environ.get("COLOC_LAUNCH_ENV", "").split(","))))
os.rename(sys.argv[2] + ".new", sys.argv[2])
while not os.path.exists(sys.argv[3]):
    sum(range(10000))
END
cp "$tmp/loads.py" "$tmp/other.py"
chmod 644 "$tmp"/*.py
start_spine 'policy: fair'

# launch NAME COMMAND...: runs it until it is told to end; what Coloc set for it is in $tmp/set.NAME.
launch() {
  local name=$1
  shift
  rm -f "$tmp/set.$name" "$tmp/end.$name"
  srun -J "$name" -c2 --coloc=on "$@" >"$tmp/srun.$name" 2>&1 &
  started_pids+=("$!")
  wait_for 60 test -s "$tmp/set.$name" || diag "step $name did not start: $(cat "$tmp/srun.$name")"
}
finish() {
  touch "$tmp/end.$1"
  wait_for 30 job_gone "$1"
}
set_for() { paste -sd' ' "$tmp/set.$1"; }
loads() { echo "$python" "$tmp/${3:-loads}.py" "$2" "$tmp/set.$1" "$tmp/end.$1"; }
all='BLIS_NUM_THREADS GOMP_SPINCOUNT KMP_BLOCKTIME MKL_NUM_THREADS OMPI_MCA_mpi_yield_when_idle OMP_NUM_THREADS OMP_WAIT_POLICY OPENBLAS_NUM_THREADS'
gomp='GOMP_SPINCOUNT OMP_NUM_THREADS OMP_WAIT_POLICY'
explains() { ctl explain "$(job_id "$1")" | grep -q "$2"; }

# shellcheck disable=SC2046
{
  launch first $(loads first libgomp.so.1)
  is "$(set_for first)" "$all" "an interpreter: all families"
  # The service has looked when its next launch knows.
  knows() {
    launch "next$1" $(loads "next$1" libgomp.so.1)
    finish "next$1"
    [ "$(set_for "next$1")" = "$gomp" ]
  }
  # As many launches as it takes: they are short, and the service looks in its own time.
  for ((i = 0, until = SECONDS + 60; SECONDS < until; i++)); do knows "$i" && break; done
  is "$(set_for "next$((SECONDS < until ? i : i - 1))")" "$gomp" "its next launch: those of the runtime that it loaded"
  launch told $(loads told libgomp.so.1)
  like "$(ctl explain "$(job_id told)")" 'seen to load libgomp' "explain says why others are not set"
  finish told
  finish first
  launch other $(loads other - other)
  is "$(set_for other)" "$all" "another script is another program"
  finish other
  launch wrapped env A=1 $(loads wrapped libgomp.so.1)
  is "$(set_for wrapped)" "$all" "a launcher: all families"
  finish wrapped
  export OMP_NUM_THREADS=1
  launch own $(loads own - other)
  is "$(set_for own)" OMPI_MCA_mpi_yield_when_idle "who sets OMP_NUM_THREADS has chosen for linear algebra, too"
  finish own
}
# Beside eight that nobody placed, each in a session of its own: it gets little of a CPU, and wants
# one all the time.
crowd=()
for ((i = 0; i < 8; i++)); do
  # shellcheck disable=SC2016 # the loop's own
  setsid bash -c 'while kill -0 $1 2>/dev/null; do :; done' crowd $$ &
  crowd+=("$!")
done
# shellcheck disable=SC2046
{
  launch one $(loads one - other)
  launch two $(loads two - other)
}
apart() {
  local a b
  a=$(cpuset_of one) b=$(cpuset_of two)
  [ "$a$b" = 01 ] || [ "$a$b" = 10 ]
}
ok "an interpreter that computes is moved, however crowded the node" wait_for 60 apart
kill "${crowd[@]}"
stop_steps
stop "$colocd_pid"
done_testing
