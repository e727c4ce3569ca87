#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gain.sh - windows tell the truth: of a program placed badly on purpose (one core of two) the
# interval holds the ratio of two separate runs; with nothing to gain it holds 1. Needs a quiet
# machine: COLOC_QUIET=1 says it is one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
[ -n "${COLOC_QUIET:-}" ] || skip_all "QUIET: measures speeds; set COLOC_QUIET=1 on a quiet machine"
programs=$builddir/contrib/programs/bin
# The guard would keep the policy away from what is placed badly.
no_guard='guard: {enabled: no}'
start_spine 'policy: fair' 'baseline_fraction: 0.3' "$no_guard"
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
  printf 'store: %s\nsocket: %s\nlog: debug\npolicy: fair\nbaseline_fraction: %s\n%s\n%s\n' \
    "$tmp/store" "$socket" "$1" "$2" "$no_guard" >"$tmp/coloc.yaml"
  ctl reload >/dev/null
}
# holds NAME RATIO
holds() { row "$1" | python3 -c "
import sys
g,lo,hi,n=(float(x) for x in sys.stdin.read().split())
half=(hi-lo)/2/g
print('# $1: %.3f (%.3f to %.3f), %d windows, half-width %.1f %%; separate runs: %.3f' % (g,lo,hi,n,100*half,$2))
sys.exit(not (lo <= $2 <= hi and half < 0.15))"; }

# The separate runs before and after the one with windows, mirrored: a drift of the machine is in all.
alone() { # NAME POLICY CONF SWEEPS
  set_conf 0 "$3"
  stencil "$1" "$2" "$4" >>"$tmp/alone.$1"
}
alone bad fair 'reserve: "1"' $((sweeps / 4))
alone plain none '' $((sweeps / 2))
set_conf 0.3 'reserve: "1"'
stencil windows fair $((2 * sweeps)) >/dev/null
alone plain none '' $((sweeps / 2))
alone bad fair 'reserve: "1"' $((sweeps / 4))
diag "one core: $(paste -sd' ' "$tmp/alone.bad") sweeps/s; Slurm's placement: $(paste -sd' ' "$tmp/alone.plain")"
mean_ratio() { python3 -c "
import statistics as st
print(*(st.geometric_mean(map(float, open('$tmp/alone.' + k))) for k in ('bad', 'plain')))" |
  awk '{ print $1 / $2 }'; }
ok "placed badly: the interval holds the ratio of separate runs, half-width under 15 %" \
  holds windows "$(mean_ratio)"
set_conf 0.3 ''
stencil nothing fair $((5 * sweeps)) >/dev/null
ok "nothing to gain: the interval holds 1, half-width under 15 %" holds nothing 1.0

# Launches: a program of two threads that meet every few milliseconds, beside one that
# keeps a core busy, so that it has one core for its two threads. Without the lever it spins at the
# meeting for the rest of a time slice: a gain that is neither small nor beyond measure, and the
# same each time. Three kinds of launches in turn, so that a drift of the machine is in all of them:
# all controls and all with the lever (the two separate runs, each under a name of its own, so that
# the service takes neither for the other's), and drawn by the service, which are what it compares.
launches=${COLOC_GAIN_LAUNCHES:-18} # of each kind
set_conf 0 'control_fraction: 0'
srun -J company --coloc=on "$programs/spin" --work=100000000 >/dev/null 2>&1 &
started_pids+=("$!")
launch() { # TYPE CONTROL_FRACTION SWEEPS
  set_conf 0 "control_fraction: $2"
  srun -J launch --coloc=on --coloc-type="$1" "$programs/stencil" --size=2000 --work="$3" 2>&1 |
    sed -n 's/.*rate=\([^ ]*\).*/\1/p' >>"$tmp/rates.$1"
}
ok "company runs" wait_for 20 job_known company
launch probe 0 100
# With the lever some four seconds: a control has its first one under Slurm's placement.
each=$(python3 -c "print(max(40, round(4 * float(open('$tmp/rates.probe').read()))))")
for _ in $(seq "$launches"); do
  launch all-control 1 "$each"
  launch all-lever 0 "$each"
  launch drawn 0.5 "$each"
done
launch=$(python3 - "$tmp" "$launches" <<'PY'
import math, sqlite3, statistics as st, sys
tmp, n = sys.argv[1], int(sys.argv[2])
c = sqlite3.connect("file:%s/store/coloc.db?mode=ro" % tmp, uri=True)
logs = {k: [math.log(float(x)) for x in open("%s/rates.%s" % (tmp, k))] for k in ("all-control", "all-lever")}
for k, v in logs.items():
    print("# %s: %d launches, %.2f sweeps/s, spread %.1f %%" % (k, len(v), math.exp(st.mean(v)), 100 * st.stdev(v)))
kinds = dict(c.execute("SELECT program || ' ' || launch, count(*) FROM step WHERE name = 'launch' GROUP BY 1"))
print("#", kinds)
r = c.execute("""SELECT gain_launch, gain_launch_lo, gain_launch_hi, launches, gain_placement FROM step
 WHERE program = 'drawn' AND gain_launch IS NOT NULL ORDER BY end_ns DESC LIMIT 1""").fetchone()
alone = c.execute("SELECT count(*) FROM step WHERE program LIKE 'all-%' AND gain_launch IS NOT NULL").fetchone()[0]
true = math.exp(st.mean(logs["all-lever"]) - st.mean(logs["all-control"]))
if not r:
    sys.exit(print("no gain of launches") or 1)
half = (r[2] - r[1]) / 2 / r[0]
print("# gain_launch %.3f (%.3f to %.3f), %s of each, half-width %.1f %%; two runs: %.3f" % (*r[:4], 100 * half, true))
print("kinds", kinds.get("all-control control"), kinds.get("all-lever lever"), alone, r[4])
print("holds" if r[1] <= true <= r[2] else "misses", "narrow" if half < 0.15 else "wide")
print("effect" if true > 1.1 else "none")
PY
)
grep '^#' <<<"$launch"
like "$launch" "^kinds $launches $launches 0 None$" "controls have no lever, the others have, and neither has a gain alone"
like "$launch" '^effect$' "the lever is worth something here"
like "$launch" '^holds ' "control launches: the interval holds the ratio of two separate runs"
like "$launch" '^[a-z]+ narrow$' "its half-width is under 15 %"
done_testing
