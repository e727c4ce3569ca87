#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# measure.sh - what running steps show is kept, used and exported; experiments are carried out;
# decisions are recorded and replay to the same plans. No figure's size is looked at here: that is
# gain.sh's and corun.sh's, on a quiet machine.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
programs=$builddir/contrib/programs/bin
[ -x "$programs/phases" ] || skip_all "PROGRAMS: contrib/programs were not built"
start_spine 'policy: fair' 'baseline_fraction: 0.3' 'profile_interval_s: 1' 'min_dwell_s: 0.5'

json() { ctl explain "$1" --json 2>/dev/null; }
figure() { json "$1" | python3 -c "
import json,sys
v=json.load(sys.stdin)
for k in '$2'.split('.'): v=v[k]
print(v)"; }
measured() { ctl profile list "$1" --json | python3 -c "
import json,sys
for m in json.load(sys.stdin)['measured']: print(m['type'], m['cores'], m['kind'], m['signal'], m['unit'], m['count'], m['source'])"; }
has_measured() { measured "$1" | grep -qE "$2"; }
run_step() { # NAME PROGRAM [ARGS]: in the background
  local name=$1
  shift
  srun -J "$name" --coloc=on "$@" >"$tmp/$name.out" 2>&1 &
  started_pids+=("$!")
}

# --- the first interval, and a run alone ---
ok "record starts" ctl record start fair.trace
run srun --coloc=on "$programs/stencil" --work=100 # under a second: nothing to keep of it
run_step one "$programs/spin" --work=1000000
ok "the first interval of a run is kept" wait_for 20 has_measured spin '^spin 2 alone progress_per_s Msteps 1 app$'
ok "with its utilisation" has_measured spin '^spin 2 alone utilization  1 os$'
end_job one
ok "and the whole run, which was alone" wait_for 10 has_measured spin '^spin 2 solo progress_per_s Msteps 1 app$'

# --- company, windows ---
run_step two "$programs/spin" --work=1000000
run_step three "$programs/stencil" --work=100000000
two=$(new_job_id two) three=$(new_job_id three)
speed_known() { [ "$(figure "$1.0" figures.solo_basis)" = profile ] &&
  [ "$(figure "$1.0" figures.ntt_full)" != None ]; }
ok "its slow-down is told against the stored run" wait_for 30 speed_known "$two"
is "$(figure "$three.0" figures.ntt_full)" None "of a program never seen alone nothing is told"
is "$(figure "$three.0" figures.stp_full)" None "nor of its company"
windows() { [ "$(figure "$1.0" figures.windows)" -ge "$2" ]; }
ok "windows under Slurm's placement are taken" wait_for 60 windows "$two" 3
ok "and give a gain with its interval" test "$(figure "$two.0" figures.gain_placement_lo)" != None
like "$(ctl explain "$two.0")" '^Gain +[0-9.]+ \([0-9.]+ to [0-9.]+\) by placement' "explain tells it"
ok "between windows they are where the plan has them" wait_for 10 cpuset_is two \
  "$(figure "$two.0" now.coreset)"
stop_steps
gain_row() { sqlite_row "SELECT windows > 2, gain_basis, gain_placement_lo < gain_placement_hi, ntt_full > 0, speed_basis FROM step WHERE job_id = $two"; }
sqlite_row() { python3 -c "
import sqlite3,sys
print('|'.join(str(c) for c in sqlite3.connect('file:$tmp/store/coloc.db?mode=ro',uri=True).execute(sys.argv[1]).fetchone()))" "$1"; }
is "$(gain_row)" '1|app|1|1|profile' "the accounting has the figures"
is "$(sqlite_row "SELECT count(*) FROM step WHERE job_id = $three AND (ntt_full IS NOT NULL OR stp_full IS NOT NULL)")" \
  0 "and blanks where nobody knows"

# --- a recorded trace replays ---
ok "record stops" ctl record stop
run "$builddir/nodesvc/colocsim" replay "$tmp/store/fair.trace"
is "$rc" 0 "the trace replays to the same plans"
diag "$out"

# --- experiments ---
ctl record start sbmp.trace >/dev/null
run_step four --coloc-policy=sbmp "$programs/stencil" --work=100000000
four=$(new_job_id four)
ok "experiments measure the program at one core" wait_for 30 has_measured stencil \
  '^stencil 1 alone progress_per_s sweeps [0-9]+ app$'
ok "and at two" wait_for 30 has_measured stencil '^stencil 2 alone progress_per_s sweeps [0-9]+ app$'
by_sbmp() { [ "$(figure "$four.0" now.policy)" = sbmp ]; }
ok "then the policy itself decides" wait_for 30 by_sbmp
run_step five sleep 1000
five=$(new_job_id five)
fallback() { [ "$(figure "$five.0" now.policy)" = fair ]; }
ok "a program without a speed is not experimented with" wait_for 10 fallback
ok "which is said" wait_for 10 grep -q "fair decides instead of sbmp: .* step $five.0 tells no speed" \
  "$tmp/colocd.out"
stop_steps
# What was measured of the program is this run's scalability table: nothing is tried again.
run_step six --coloc-policy=sbmp "$programs/stencil" --work=100000000
ok "the program runs once more" wait_for 20 job_known six
six=$(job_id six)
six_by_sbmp() { [ "$(figure "$six.0" now.policy)" = sbmp ]; }
ok "sbmp decides from what was stored" wait_for 30 six_by_sbmp
ran_a_while() { python3 -c "import sys; sys.exit(not $(figure "$six.0" now.elapsed_s) >= 5)"; }
ok "for five seconds" wait_for 30 ran_a_while
unlike "$(grep "step $six.0: experiment" "$tmp/colocd.out")" . "without an experiment"
stop_steps
ok "the second record stops" ctl record stop
run "$builddir/nodesvc/colocsim" replay "$tmp/store/sbmp.trace"
is "$rc" 0 "with experiments the trace replays too"
diag "$out"

# --- export and import ---
ctl profile export >"$tmp/all.json"
ok "rm takes the measurements" ctl profile rm spin
is "$(measured spin)" "" "and leaves none"
ok "import brings them back" ctl profile import "$tmp/all.json"
ctl profile export >"$tmp/again.json"
ok "as they were" cmp "$tmp/all.json" "$tmp/again.json"
echo '{"measured": 1, "type": "x", "cores": 0}' >"$tmp/bad.json"
run ctl profile import "$tmp/bad.json"
like "$rc:$err" "^1:.*cores: 0 cannot be" "a bad line is refused by field"

# --- launches without the levers ---
sed -i 's/^policy: fair/&\ncontrol_fraction: 1/' "$tmp/coloc.yaml"
ctl reload >/dev/null
run srun --coloc=on -J control sh -c "env | grep -c GOMP_SPINCOUNT; exec $programs/stencil --work=20000"
like "$out" '^0$' "a control launch has nothing set"
is "$(sqlite_row "SELECT launch, coreset FROM step WHERE name = 'control'")" 'control|0-1' \
  "is told from others, and placed a little later"
done_testing
