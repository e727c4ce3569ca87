#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# progress.sh - a program's progress reaches colocd, and nobody else's does; phases are seen.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
programs=$builddir/contrib/programs/bin
[ -x "$programs/phases" ] || skip_all "PROGRAMS: contrib/programs were not built"
# A step whose registration the disk held up for a quarter of a second would not be watched at all.
spine_timeout_ms=5000 start_spine 'policy: fair' 'baseline_fraction: 0'

# signal JOB.STEP NAME: its provenance and value.
json() { ctl explain "$1" --json 2>/dev/null; }
signal() { json "$1" | python3 -c "
import json,sys
s=json.load(sys.stdin)['now']['signals'].get('$2')
print(s['provenance'] if s and s['value'] > ${3:-0} else 'none')"; }
signal_is() { [ "$(signal "$1" "$2")" = "$3" ]; }
figure() { json "$1" | python3 -c "
import json,sys
v=json.load(sys.stdin)
for k in '$2'.split('.'): v=v[k]
print(v)"; }

# --- attaching ---
srun -J work --coloc=on "$programs/spin" --work=1000000 >"$tmp/work.out" 2>&1 &
started_pids+=("$!")
ok "progress is a signal, from the program itself" wait_for 20 signal_is 1.0 progress_per_s app
is "$(figure 1.0 now.progress_unit)" Msteps "with its unit"
is "$(figure 1.0 figures.speed_source)" app "and it is a speed"
srun -J aside sh -c "COLOC_SOCKET=$socket exec $programs/spin --work=1000000" >"$tmp/aside.out" 2>&1 &
started_pids+=("$!")
wait_for 10 job_is 2 RUNNING
ok "a process of an unregistered step gets no pages" wait_for 10 grep -q 'no pages: its step is not registered' "$tmp/colocd.out"
before=$(grep -c 'no pages' "$tmp/colocd.out")
run env COLOC_SOCKET="$socket" "$programs/spin" --work=1
is "$rc" 0 "a process outside of Slurm runs as ever"
refused_more() { [ "$(grep -c 'no pages' "$tmp/colocd.out")" -gt "$before" ]; }
ok "and is refused" wait_for 5 refused_more
# Another user's process in the step's cgroup: only root could put it there.
# Where the program is: with cgroup v2 below the step's own group, which takes no process.
tasks=$(find "$(step_dir "$(job_id work)" 0)" -name cgroup.procs -exec grep -l . {} + | head -1)
run sh -c "echo \$\$ >$tasks && COLOC_SOCKET=$socket exec setpriv --reuid=65534 --regid=65534 --clear-groups $programs/spin --work=1"
is "$rc" 0 "another user's process in the step runs"
ok "and is refused" wait_for 5 grep -q "no pages: step 1.0 is another user's" "$tmp/colocd.out"
run sh -c "echo \$\$ >$tasks && COLOC_SOCKET=$socket exec $programs/spin --work=1"
is "$rc" 0 "a late process of the step's user is taken"
stop_steps

# --- a daemon that is restarted is found again ---
srun -J again --coloc=on "$programs/spin" --work=1000000 >"$tmp/again.out" 2>&1 &
started_pids+=("$!")
ok "progress is there" wait_for 20 signal_is 3.0 progress_per_s app
signal_is 3.0 progress_per_s app || diag "$(json 3.0; tail -n 9 "$tmp/colocd.out" "$tmp/again.out")"
stop "$colocd_pid"
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
ok "and after a restart of the daemon" wait_for 20 signal_is 3.0 progress_per_s app
stop_steps

# --- phases ---
if [ -n "${COLOC_GUEST:-}" ]; then
  skipped "phases are seen" "timing: work per cpu second tells them, which a machine inside another does not keep"
  done_testing
fi
# A change counts as seen within two intervals when the sample that tells it was due at most two
# interval_ms after the program began the phase, wherever in an interval that was. By how much the
# machine let a sample come late is in colocd's log; that, and nothing else, is not counted.
interval_ms=$(ctl status --json | sed -n 's/.*"interval_ms": *\([0-9]*\).*/\1/p')
go_through_phases() {
  watch_machine
  srun -J phases --coloc=on "$programs/phases" --work=13 --ms=2100 >"$tmp/phases.out" 2>&1
  was_watched() { [ "$(acct -n -P -j "$1" -o State)" = COMPLETED ]; }
  ok "their step was watched" wait_for 10 was_watched "$1"
  ok "all thirteen phases were gone through" test "$(grep -c ^phase= "$tmp/phases.out")" = 13
  out=$(python3 - "$tmp/phases.out" "$tmp/colocd.out" "$interval_ms" <<'PY'
import re, sys
log = open(sys.argv[2]).read()
begun = [float(l.split("unix=")[1]) for l in open(sys.argv[1]) if l.startswith("phase=")]
seen = [float(t) for t in re.findall(r"phase change.*unix=([0-9.]+)", log) if float(t) >= begun[0]]
late = [(float(t), float(s)) for s, t in re.findall(r"samples late by ([0-9.]+) s, unix=([0-9.]+)", log)]
interval = int(sys.argv[3]) / 1000
missed = slow = 0
def lag_of(t, s):
    lateness = sum(l for u, l in late if t < u <= s + 0.002)
    return s - t - lateness, lateness
# What it did before its first phase may have been watched too: then that one is a change.
left = [s for s in seen if lag_of(begun[0], s)[0] > 2 * interval]
for k, t in enumerate(begun[1:], 1):
    until = begun[k + 1] if k + 1 < len(begun) else float("inf")
    hit = [s for s in left if t <= s < until]
    if not hit:
        missed += 1
        print("change %d: not seen" % k)
        continue
    left.remove(hit[0])
    lag, lateness = lag_of(t, hit[0])
    print("change %d: after %.3f s and %.3f s of lateness, %.2f intervals" % (k, lag, lateness, lag / interval))
    slow += lag > 2 * interval
for s in left:
    print("false: %.3f s after the first phase began" % (s - begun[0]))
print("missed %d slow %d false %d" % (missed, slow, len(left)))
PY
)
  diag "$out"
}
cpu_of_phases() { sed -n 's/^cpu_ms=//p' "$tmp/phases.out"; }
for try in 1 2 3; do
  go_through_phases $((3 + try)).0
  disturbance=''
  if grep -q '^missed 0 slow 0 false 0$' <<<"$out" || ! was_disturbed "$(cpu_of_phases)"; then break; fi
  diag "$disturbance: once more"
done
seen="each change is seen within two intervals, and no other"
if [ -n "$disturbance" ]; then
  skipped "$seen" "$disturbance, three times"
else
  like "$out" '^missed 0 slow 0 false 0$' "$seen"
fi
done_testing
