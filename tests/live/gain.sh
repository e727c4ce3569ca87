#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gain.sh - windows tell the truth: of a program placed badly on purpose (one core of two) the
# interval holds the ratio of two separate runs; with nothing to gain it holds 1. Needs a quiet
# machine: COLOC_QUIET=1 says it is one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
[ -n "${COLOC_QUIET:-}" ] || skip_all "QUIET: measures speeds; set COLOC_QUIET=1 on a quiet machine"
programs=$builddir/contrib/programs/bin
start_spine 'policy: fair' 'baseline_fraction: 0.3'
sweeps=${COLOC_GAIN_SWEEPS:-20000} # of 1200 x 1200 points

# The same environment in every run: it is the placement that differs.
stencil() { # NAME POLICY
  srun -J "$1" --coloc=on --coloc-policy="$2" \
    env OMP_NUM_THREADS=2 GOMP_SPINCOUNT=1000 "$programs/stencil" --size=1200 --work="$3" \
    2>&1 | sed -n 's/.*rate=\([^ ]*\).*/\1/p'
}
row() { python3 -c "
import sqlite3
r=sqlite3.connect('file:$tmp/store/coloc.db?mode=ro',uri=True).execute(
 'SELECT gain_placement, gain_placement_lo, gain_placement_hi, windows FROM step WHERE name=?',('$1',)).fetchone()
print(*r)"; }
set_conf() {
  printf 'store: %s\nsocket: %s\nlog: debug\npolicy: fair\nbaseline_fraction: %s\n%s\n' \
    "$tmp/store" "$socket" "$1" "$2" >"$tmp/coloc.yaml"
  ctl reload >/dev/null
}
# holds NAME RATIO
holds() { row "$1" | python3 -c "
import sys
g,lo,hi,n=(float(x) for x in sys.stdin.read().split())
half=(hi-lo)/2/g
print('# $1: %.3f (%.3f to %.3f), %d windows, half-width %.1f %%; two runs: %.3f' % (g,lo,hi,n,100*half,$2))
sys.exit(not (lo <= $2 <= hi and half < 0.15))"; }

set_conf 0 'reserve: "1"'
bad=$(stencil bad fair $((sweeps / 2)))
set_conf 0 ''
plain=$(stencil plain none "$sweeps")
diag "one core: $bad sweeps/s; Slurm's placement: $plain sweeps/s"
set_conf 0.3 'reserve: "1"'
stencil windows fair "$sweeps" >/dev/null
ok "placed badly: the interval holds the ratio of two runs, half-width under 15 %" \
  holds windows "$(python3 -c "print($bad/$plain)")"
set_conf 0.3 ''
stencil nothing fair $((5 * sweeps)) >/dev/null
ok "nothing to gain: the interval holds 1, half-width under 15 %" holds nothing 1.0

# Launches: two programs at once whose threads spin, half of them without the levers.
printf 'store: %s\nsocket: %s\nlog: debug\npolicy: fair\nbaseline_fraction: 0\ncontrol_fraction: 0.5\n' \
  "$tmp/store" "$socket" >"$tmp/coloc.yaml"
ctl reload >/dev/null
for _ in 1 2 3 4 5 6 7 8; do
  for k in 1 2; do
    srun -J launch --coloc=on --coloc-type=launch "$programs/stencil" --size=200 --work=20000 \
      >/dev/null 2>&1 &
    started_pids+=("$!")
    steps[k]=$!
  done
  wait "${steps[1]}" "${steps[2]}"
done
launch=$(python3 -c "
import sqlite3,math
c=sqlite3.connect('file:$tmp/store/coloc.db?mode=ro',uri=True)
m={}
for kind,speed in c.execute(\"SELECT launch, shared_speed FROM step WHERE program='launch' AND shared_speed > 0\"):
    m.setdefault(kind,[]).append(math.log(speed))
print('# launches:', {k: len(v) for k,v in m.items()})
r=c.execute(\"SELECT gain_launch, gain_launch_lo, gain_launch_hi FROM step WHERE program='launch' AND gain_launch IS NOT NULL ORDER BY end_ns DESC LIMIT 1\").fetchone()
true=math.exp(sum(m['lever'])/len(m['lever'])-sum(m['control'])/len(m['control']))
print('# gain_launch %.2f (%.2f to %.2f), ratio of means %.2f' % (*r, true))
print('ok' if abs(r[0]/true-1) < 0.05 and r[1] <= true <= r[2] else 'bad')")
echo "${launch%$'\n'*}"
is "${launch##*$'\n'}" ok "control launches tell the gain of the launch levers"
done_testing
