#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gang.sh - whole steps take turns by the freezer: fair shares, or a foreground; scancel, a time
# limit and Slurm's suspend work on a frozen step; no step stays frozen after release, stop, a hang,
# or kill -9.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
. "$(dirname "$0")/turns.sh"
need_spin
gcc -O1 -pthread -o "$tmp/starter" "$srcdir/tests/live/starter.c" 2>/dev/null || skip_all "GCC: gcc is not there"
chmod 755 "$tmp/starter"
# Equal turns from the first moment; the foreground, which is the default, comes further down.
start_spine 'policy: gang,foreground_ms=0' 'gang_slice_ms: 50' 'freeze_max_ms: 2000'

# --- shares ----------------------------------------------------------------------------------
spin_step g1 --coloc=on
one=$(job_id g1)
ok "one alone is never frozen" is_thawed "$one"
spin_step g2 --coloc=on
two=$(job_id g2)
ok "the first takes turns" rotates "$one"
ok "the second takes turns" rotates "$two"
looks "$one" "$two" 5
# 5 % of a half, with five times slack.
larger=$((only_one > only_two ? only_one : only_two))
at_most $((100 * larger / (only_one + only_two))) 62 "larger share of the turns in percent"
at_most $((100 * both / n_looks)) 10 "looks in percent with both running"
spin_step g3 --coloc=on
three=$(job_id g3)
ok "a third joins" rotates "$three"
# One that starts waits for others at every other step, as MPI_Init does, and computes then; no shell,
# for a program that takes long to load computes meanwhile. It is let alone for a second from when its
# process is made: a machine on which it takes longer, or that lets nobody look meanwhile, shows
# nothing, and it starts anew. It says itself who it is: to ask Slurm takes as long as it starts.
exec {never}<> <(:)
watch_start() {
  local end=$((SECONDS + 60))
  rm -f "$tmp"/{zero,started}
  srun -J g0 -c2 --coloc=on "$tmp/starter" "$tmp/zero" "$tmp/started" >"$tmp/srun.g0" 2>&1 &
  started_pids+=("$!")
  zero='' n=0 frozen=0
  while [ ! -e "$tmp/started" ] && [ $SECONDS -lt $end ]; do
    [ -n "$zero" ] || { read -r zero <"$tmp/zero"; } 2>/dev/null
    if [ -n "$zero" ] && { is_thawed "$zero" || is_frozen "$zero"; }; then
      n=$((n + 1))
      ! is_frozen "$zero" || frozen=$((frozen + 1))
    fi
    read -rt 0.005 -u "$never" _
  done
  read -r took <"$tmp/started" || took=-1
  diag "$n looks until it had started, $took ms after it was made"
}
shown=''
for _ in {1..5}; do
  watch_start
  if [ $n -gt 10 ] && { [ $frozen = 0 ] || [[ $took -ge 0 && $took -le 950 ]]; }; then
    shown=1
    break
  fi
  diag "frozen at $frozen of them: once more"
  scancel "$zero"
  wait_for 20 job_gone g0
done
if [ -z "$shown" ] && [ -n "${COLOC_GUEST:-}" ]; then
  skipped "a step is not frozen while it starts" "this machine lets nobody look often enough"
else
  [ "$n" -gt 10 ] || frozen="$n looks"
  is "$frozen" 0 "a step is not frozen while it starts"
  ok "... and takes turns when it computes" rotates "$zero"
fi
ok "... the others had theirs all along" rotates "$one"
scancel "$zero"
wait_for 10 job_gone g0
ok "a batch step is not frozen" test "$(sbatch --parsable -J batch -o /dev/null --coloc=on --wrap "sleep 5" >"$tmp/b"; echo ok)" = ok
wait_for 10 job_is "$(cat "$tmp/b")" RUNNING
ok "... the others go on" rotates "$one"
scancel "$(cat "$tmp/b")"

# --- ends ------------------------------------------------------------------------------------
wait_for 5 is_frozen "$three"
t0=$(now_ms)
scancel "$three"
ok "scancel ends a frozen step" wait_for 10 job_gone g3
diag "gone after $(($(now_ms) - t0)) ms"
is "$(node_state | sed "s/mixed/allocated/; s/+$//")" allocated "the node is not drained"
ok "the others go on" rotates "$two"

# --- Slurm's suspend ----------------------------------------------------------------------------
scontrol suspend "$one"
ok "a suspend is seen" wait_for 10 suspended "$one"
ok "... Slurm freezes it" wait_for 10 is_frozen "$one"
thawed=0
for _ in $(seq 100); do
  ! is_thawed "$one" || thawed=$((thawed + 1))
  sleep 0.02
done
is $thawed 0 "a suspended step stays so for 2 s of rotation"
ok "the other has the node" is_thawed "$two"
scontrol resume "$one"
ok "a resumed step takes its turns again" rotates "$one"

# --- drain: no new steps; those that run go on as they are -----------------------------------
ctl drain >/dev/null
spin_step g4 --coloc=on
ok "a step that comes while the node drains is left alone" is_thawed "$(job_id g4)"
like "$(log)" 'draining: no new steps are taken' "the log says so"
ok "those that run take their turns" rotates "$one"
ctl resume >/dev/null
scancel "$(job_id g4)"

# --- the guard -------------------------------------------------------------------------------
g=$(guard_of "$colocd_pid")
kill -KILL "$g"
other_guard() {
  local now
  now=$(guard_of "$colocd_pid")
  [ -n "$now" ] && [ "$now" != "$g" ]
}
ok "a killed guard is started again" wait_for 5 other_guard
ok "the rotation goes on" rotates "$one"

# Within a second, five times slack; that it was not the limit of 2 s which let them go, the guard says.
thawed_by_guard() { [ "$(log | grep -cE 'guard: colocd is gone, [1-9][0-9]* steps thawed')" = "$1" ]; }
for round in 1 2 3; do
  g=$(guard_of "$colocd_pid")
  wait_for 5 is_frozen "$one"
  t0=$(now_ms)
  kill -KILL "$colocd_pid"
  wait_for 10 are_thawed "$one" "$two"
  at_most $(($(now_ms) - t0)) 5000 "kill -9, round $round: ms until all are thawed"
  ok "... by its guard, as its daemon is gone" wait_for 5 thawed_by_guard "$round"
  ok "its guard ends" wait_for 5 process_gone "$g"
  wait "$colocd_pid" 2>/dev/null
  start_colocd "$tmp/coloc.yaml" "$socket"
  colocd_pid=$pid
  ok "the next daemon takes turns again" rotates "$one"
done

wait_for 5 is_frozen "$one"
kill -STOP "$colocd_pid"
t0=$(now_ms)
ok "a hung daemon: the guard thaws" wait_for 10 are_thawed "$one" "$two"
at_most $(($(now_ms) - t0)) 10000 "ms until all are thawed, freeze_max_ms 2000"
kill -CONT "$colocd_pid"
ok "the rotation goes on" rotates "$one"

# --- both guard and daemon gone -----------------------------------------------------------------
g=$(guard_of "$colocd_pid")
wait_for 5 is_frozen "$two"
kill -STOP "$colocd_pid"
kill -KILL "$g" "$colocd_pid"
wait "$colocd_pid" 2>/dev/null
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
like "$(log)" 'thawed [12] steps that a former colocd had' "the next daemon thaws what both left"
ok "the rotation goes on" rotates "$two"

# --- release, stop -------------------------------------------------------------------------------
wait_for 5 is_frozen "$two"
ctl release "$two" >/dev/null
ok "release thaws" is_thawed "$two"
ok "one alone takes no turns" wait_for 5 all_thawed
ctl release >/dev/null
is "$(rows)" 0 "the ledger is empty"
stop_steps

spin_step g1 --coloc=on
spin_step g2 --coloc=on
one=$(job_id g1)
ok "they take turns" rotates "$one"
wait_for 5 is_frozen "$one"
stop "$colocd_pid"
ok "stop thaws" all_thawed
is "$(squeue -h | wc -l)" 2 "the steps go on"
: >"$tmp/colocd.out"
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
unlike "$(log)" 'that a former colocd had' "stop left no row of the rotation"
stop_steps

# --- a step that waits, and a time limit -------------------------------------------------------
spin_step g1 --coloc=on ${COLOC_LONG:+-t 1}
one=$(job_id g1)
spawn lazy --coloc=on -n1 -c2
lazy=$(job_id lazy)
sleep 1
thawed=0
for _ in $(seq 100); do
  ! is_thawed "$one" || thawed=$((thawed + 1))
  sleep 0.02
done
at_most $((100 - thawed)) 20 "a step beside one that sleeps: looks in a hundred that see it frozen"
ok "the sleeper is not frozen either" is_thawed "$lazy"
spin_step g2 --coloc=on
ok "... takes turns with one that does not" rotates "$one"
# Slurm's shortest limit is a minute.
if [ -n "${COLOC_LONG:-}" ]; then
  ok "a time limit ends a step that takes turns" wait_for 120 job_gone g1
fi
stop_steps

# --- a foreground, without asking for it ---------------------------------------------------------
# In a machine within this one its 10 s are over before two steps have started and been looked at.
longer=${COLOC_GUEST:+,foreground_ms=60000}
spin_step first --coloc-policy="gang$longer"
spin_step second --coloc-policy="gang$longer"
one=$(job_id first) two=$(job_id second)
ok "one of them has the node" wait_for 5 is_frozen "$two"
before=$(cpu_ms "$two")
looks "$two" "$one" 4
# 10 ms of 1800, with five times slack.
at_most $((100 * only_one / (only_one + only_two))) 3 "the other's share in percent"
ok "... who has turns, too" test "$(cpu_ms "$two")" -gt "$before"
like "$(ctl explain "$two")" 'another goes first' "explain says why"
end_job first
ok "it has the node when the other has ended" wait_for 5 all_thawed
stop_steps
# burst_step NAME [FOREGROUND_MS [WAIT]]: bursts of 0.2 s, and as long a wait.
burst_step() {
  srun -J "$1" -c2 --coloc-policy=gang,foreground_ms="${2:-60000}" bash -c "exec {never}<> <(:)
    while :; do timeout 0.2 '$spin' --work=100000000 & timeout 0.2 '$spin' --work=100000000; wait
      read -rt ${3:-0.2} -u \$never _; done" >"$tmp/srun.$1" 2>&1 &
  started_pids+=("$!")
}
is_registered() { ctl explain "$1" >/dev/null 2>&1; }
goes_first() { ctl explain "$1" | grep -q '^Reason.*before the others'; }
nobody_goes_first() { ctl explain "$1" | grep -q '^Reason.*the whole node for .* in every'; }
burst_step first
one=$(new_job_id first)
wait_for 20 is_registered "$one"
spin_step second --coloc-policy=gang,foreground_ms=60000
two=$(job_id second)
ok "the first goes first" wait_for 20 goes_first "$one"
before=$(cpu_ms "$two")
sleep 4
ran=$(($(cpu_ms "$two") - before))
# Half of 8000, with five times slack; without its waits it were 2 % of them.
at_most 800 "$ran" "the other computes while it waits, for so many ms of two cores in 4 s"
ok "... and it goes first still" goes_first "$one"
end_job second
burst_step third
three=$(new_job_id third)
wait_for 20 is_registered "$three"
ok "where all compute in bursts nobody goes first" wait_for 20 nobody_goes_first "$one"
stop_steps
# From here on without the guard, which would soon measure a window of plain sharing: nobody takes turns then.
echo 'guard: {enabled: no}' >>"$tmp/coloc.yaml"
ok "the guard can be told to rest" ctl reload
# It waits two thirds of the time, and its time in front stands still meanwhile: when that is over it
# has run for 5 s, but for those it was alone.
burst_step first 5000 0.4
one=$(new_job_id first)
wait_for 20 is_registered "$one"
alone_since=$(now_ms)
spin_step second --coloc-policy=gang,foreground_ms=5000
ok "the first goes first" wait_for 20 goes_first "$one"
alone_ms=$(($(now_ms) - alone_since))
has_had_it() { ctl explain "$1" | grep -Eq '^Reason.*(another goes first|the whole node for .* in every)'; }
ok "... until it has had its time" wait_for 120 has_had_it "$one"
# served_ms JOB: that it had in the rotation, by the last decision's view.
served_ms() {
  ctl explain "$1.0" --save-view | python3 -c 'import json, sys
jobs = [j for line in sys.stdin for j in json.loads(line).get("view", {}).get("jobs", [])]
print([int(1000 * j.get("served_s", 0)) for j in jobs if j["id"] == sys.argv[1]][-1])' "$1.0"
}
served=$(served_ms "$one")
ok "... however long it waits ($served ms served, $alone_ms ms alone)" test "$served" -ge $((4000 - alone_ms))
stop_steps
# equal_when OPTIONS REASON TEXT: two steps, whose turns are equal when explain tells REASON.
equal_when() {
  local larger
  spin_step first "--coloc-policy=gang,$1"
  spin_step second "--coloc-policy=gang,$1"
  one=$(job_id first) two=$(job_id second)
  reason_is() { ctl explain "$two" | grep -q "^Reason.*$1"; }
  ok "$3" wait_for 20 reason_is "$2"
  looks "$two" "$one" 4
  larger=$((only_one > only_two ? only_one : only_two))
  at_most $((100 * larger / (only_one + only_two))) 62 "... equal turns then: larger share in percent"
  stop_steps
}
equal_when foreground_ms=500 'whole node for' "until both have had it"
equal_when foreground_ms=60000,behind_ms=1000 'nobody goes first.*far enough behind' \
  "until the other is far enough behind"

# --- turns of those that share a core ------------------------------------------------------------
if [ "$(nproc)" = 2 ]; then
  for name in c1 c2 c3 c4; do spin_step $name --coloc-policy=fair,turns=all,turns_ms=50; done
  two_on_each() {
    declare -gA on=()
    local name
    for name in c1 c2 c3 c4; do on[$(cpuset_of "$name")]+=" $(job_id "$name")"; done
    [ "$(wc -w <<<"${on[0]:-}") $(wc -w <<<"${on[1]:-}")" = "2 2" ]
  }
  ok "fair has two of four on each core" wait_for 10 two_on_each
  read -r one two <<<"${on[0]}"
  read -r three four <<<"${on[1]}"
  for id in "$one" "$two" "$three" "$four"; do ok "step $id.0 takes turns" rotates "$id"; done
  looks "$one" "$two" 4
  larger=$((only_one > only_two ? only_one : only_two))
  at_most $((100 * larger / (only_one + only_two))) 62 "... on one core: larger share in percent"
  at_most $((100 * both / n_looks)) 10 "... looks in percent with both of it running"
  like "$(ctl explain "$one")" 'in turns of 50 ms' "explain says so"
  ctl release >/dev/null
  ok "release thaws all four" all_thawed
  is "$(rows)" 0 "the ledger is empty"
  stop_steps
else
  diag "turns on a core: not tried, they are for 2 cores, here are $(nproc)"
fi

# --- the launch environment --------------------------------------------------------------------
in_turns=$(srun --coloc-policy=gang printenv GOMP_SPINCOUNT)
stop_steps
shares=$(srun --coloc-policy=fair printenv GOMP_SPINCOUNT)
diag "spins: $in_turns in turns, $shares where steps share"
# 50 us and 25 us, two digits of each.
ok "who takes turns spins longer than who shares" test $((10 * in_turns)) -gt $((15 * shares))
ok "the ledger is empty" wait_for 5 rows_are 0
stop "$colocd_pid"
ok "no cgroup of the tests is left" wait_for 10 no_jobs
done_testing
