#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# corun.sh - four programs share the node: STP in the accounting, from progress, is within 5 % of
# the STP from wall times with and without company. Needs a quiet machine: COLOC_QUIET=1.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
[ -n "${COLOC_QUIET:-}" ] || skip_all "QUIET: measures speeds; set COLOC_QUIET=1 on a quiet machine"
programs=$builddir/contrib/programs/bin
start_spine 'policy: fair' 'baseline_fraction: 0'
seconds=${COLOC_CORUN_S:-60}
names='stencil cachehog spin pagerank'
declare -A args=([stencil]='--work=3000' [cachehog]='--work=10' [spin]='--work=800' [pagerank]='--work=40')

# again NAME SECONDS: the program over and over for so long; "seconds=" of each run with its end.
cat >"$tmp/again" <<'SH'
#!/bin/sh
end=$(($(date +%s) + $2))
while [ "$(date +%s)" -lt "$end" ]; do
  echo "$("$COLOC_PROGRAMS/$1" $3) end=$(date +%s.%N)"
done
SH
chmod 755 "$tmp/again"
export COLOC_PROGRAMS=$programs
for n in $names; do
  srun -J "alone-$n" --coloc=on --coloc-type="$n" "$tmp/again" "$n" 15 "${args[$n]}" >"$tmp/alone.$n" 2>&1
done
steps=()
for n in $names; do
  srun -J "corun-$n" --coloc=on --coloc-type="$n" "$tmp/again" "$n" "$seconds" "${args[$n]}" >"$tmp/corun.$n" 2>&1 &
  started_pids+=("$!")
  steps+=("$!")
done
wait "${steps[@]}"
run python3 -c "
import re,sqlite3,statistics as st,sys
names='$names'.split()
def runs(f):
    return [(float(m.group(1)),float(m.group(2))) for m in re.finditer(r'seconds=([0-9.]+).* end=([0-9.]+)',open(f).read())]
first=max(runs('$tmp/corun.'+n)[0][1]-runs('$tmp/corun.'+n)[0][0] for n in names)
last=min(max(e for s,e in runs('$tmp/corun.'+n)) for n in names)
stp=0
for n in names:
    alone=st.mean(s for s,e in runs('$tmp/alone.'+n)[1:])
    corun=st.mean(s for s,e in runs('$tmp/corun.'+n) if e-s >= first and e <= last)
    stp+=alone/corun
    print('# %s: alone %.3f s, in company %.3f s' % (n,alone,corun))
c=sqlite3.connect('file:$tmp/store/coloc.db?mode=ro',uri=True)
got=[r[0] for r in c.execute(\"SELECT stp_full FROM step WHERE name LIKE 'corun-%'\")]
print('# STP by wall times %.4f, in the accounting %s' % (stp,got))
ok=len(got)==4 and all(g is not None and abs(g/stp-1) < 0.05 for g in got)
print('within 5 %' if ok else 'not within 5 %')"
echo "$out$err"
like "$out" '^within 5 %$' "STP of progress is the STP of wall times, within 5 %"
done_testing
