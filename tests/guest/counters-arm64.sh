#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# counters-arm64.sh - a machine with a PMU: an emulated arm64 whose instructions and cycles are
# exact. Our backends count a real job step through a move to the other socket; presets that PAPI
# has but that stay at 0 are not used.
[ -n "${COLOC_GUEST:-}" ] || exec "$(dirname "$0")/guest" --arch arm64 --timeout 600 "$(realpath "$0")"
. "$(dirname "$0")/../live/lib.sh"
. "$(dirname "$0")/../live/spine.sh"
# shellcheck disable=SC2034 # for start_spine
spine_timeout_ms=5000
export MINISLURM_POLL=0.5
# This machine's clock skips the time in which nothing runs here, be it that the emulator is fetching
# a file; in one CI 6 minutes of it went by while Slurm started. The RTC is the host's.
export MINISLURM_CLOCK=/sys/class/rtc/rtc0/since_epoch
pmu=$builddir/tests/guest

diag "$SECONDS s: event tables"
run "$builddir/tests/unit/test_events"
is "$rc" 0 "the event maps agree with an arm64 libpfm ($(grep -o '[0-9]* codes.*' <<<"$out"))"

diag "$SECONDS s: presets"
echo 1 >/proc/sys/kernel/perf_event_paranoid
run "$pmu/pmu_step" presets
diag "$out"
dead=$(awk '$2 == "claimed" && $3 == 0 { print $1 }' <<<"$out" | paste -sd' ')
ok "PAPI has presets here that read 0 (${dead:-none})" test -n "$dead"

diag "$SECONDS s: Slurm and colocd"
# Debian's default keeps PAPI away even from root; perf_event_open itself does not.
echo 3 >/proc/sys/kernel/perf_event_paranoid
start_spine 'policy: fair' 'interval_ms: 500' 'tick_ms: 1000'
like "$(ctl counters)" 'papi: .*paranoid=3' "perf_event_paranoid=3: PAPI says why it does not count"
like "$(ctl counters)" '^Source +perf' "and perf counts in its stead"
echo 1 >/proc/sys/kernel/perf_event_paranoid
stop "$colocd_pid"
start_colocd "$tmp/coloc.yaml" "$socket"
counters=$(ctl counters)
diag "$counters"
like "$counters" '^Source +papi' "the service counts by PAPI"
like "$counters" 'instructions_per_s +yes +papi +PAPI_TOT_INS' "instructions are live"
like "$counters" 'llc_misses_per_s +no' "misses are not: their presets are dead"

diag "$SECONDS s: the site's own events"
stop "$pid"
cp "$tmp/coloc.yaml" "$tmp/wrong.yaml"
echo 'events: {loads: INST_RETIERD}' >>"$tmp/wrong.yaml"
run "$builddir/nodesvc/colocd" -t -c "$tmp/wrong.yaml"
is "$rc" 1 "an event that the CPU has not is refused"
like "$err" "key 'events.loads': PAPI knows no event 'INST_RETIERD' of this CPU" "by its key and name"
# No loads, but it counts: an instruction is what this PMU has.
echo 'events: {loads: INST_RETIRED, llc_misses: L2D_CACHE_REFILL}' >>"$tmp/coloc.yaml"
start_colocd "$tmp/coloc.yaml" "$socket"
counters=$(ctl counters)
diag "$counters"
like "$counters" 'instructions_per_s +yes +papi +PAPI_TOT_INS' "what the site does not name is PAPI's preset"
like "$counters" 'loads_per_s +yes +papi +INST_RETIRED +named in the configuration' "loads are by the site's event"
like "$counters" 'llc_misses_per_s +no .*not counting: L2D_CACHE_REFILL .* reads 0' "an event that stays at 0 is not used, and why"

diag "$SECONDS s: job steps"
# Without --coloc: the service would put a step back that somebody else moved. And an emulated core
# also counts what the other cores execute meanwhile (icount is one for all): daemons stand still,
# and pmu_step sleeps until the loop is done. What is left over is the kernel's own work on them
# (the loop's core counts user mode only): after a step's start it still frees what srun and slurmd
# left, 2.7 to 4.8 million of 4,000 in eight counts. So it is let come to rest, and its housekeeping by
# the second waits: 1.1 to 3.4 million in 16 counts (0.06 % on average).
daemons() { pgrep -x 'slurmctld|slurmd|slurmstepd|srun|munged|colocd' | xargs kill "-$1"; }
echo 0 >/proc/sys/vm/compaction_proactiveness
# khugepaged wakes every 10 s: it ran for 13 ms beside a count that had 5.4 million too many.
echo never >/sys/kernel/mm/transparent_hugepage/enabled
echo 600 >/proc/sys/vm/stat_interval
turns=2000000000
want=$((2 * turns))
for source in papi perf; do
  rm -f "$tmp"/{go,done}
  srun -J "c$source" -n1 "$pmu/pmu_loop" "$tmp/go" "$tmp/done" $turns >"$tmp/srun.out" 2>&1 &
  started_pids+=("$!")
  step_pid() { pgrep -f "^$pmu/pmu_loop $tmp/go"; }
  ok "$source: the step runs" wait_for 30 step_pid
  dir=$(step_dir "$(job_id "c$source")" 0)
  like "$(cat "$dir/cpuset.cpus.effective")" '^0-7$' "$source: on the whole node"
  echo 0-3 >"$dir/cpuset.cpus"
  by=-
  [ $source = papi ] || by=$dir
  step=$(step_pid)
  daemons STOP
  sleep 3
  run "$pmu/pmu_step" $source "$step" "$by" "$tmp/go" "$tmp/done" "$dir/cpuset.cpus" 4-7
  daemons CONT
  diag "$source: $out $err"
  is "$rc" 0 "$source counts"
  instructions=0 provides=0 before='' after=''
  eval "${out// /;}"
  ok "$source: the step ran on socket 0, then on socket 1 (CPU ${before:-?}, ${after:-?})" \
    test "${before:-9}" -lt 4 -a "${after:-0}" -ge 4
  off=$((instructions - want))
  ok "$source: $instructions instructions of $want known ($off more): within 0.1 %" \
    test "${off#-}" -le $((want / 1000))
  is "$((provides & 3))" 3 "$source provides instructions and cycles"
  scancel "$(job_id "c$source")"
  wait_for 20 no_jobs
done

diag "$SECONDS s: rates in the service"
rm -f "$tmp"/{go,done}
touch "$tmp/go"
srun -J rate -n1 --coloc=on "$pmu/pmu_loop" "$tmp/go" "$tmp/done" 1000000000000000 >"$tmp/srun.out" 2>&1 &
started_pids+=("$!")
# Of the step as it is read now: a tick that changes nothing makes no view.
has_rate() {
  ctl --json explain "$(job_id rate)" | tr -d ' \n' |
    grep -q "\"${1:-instructions_per_s}\":{\"value\":[1-9]"
}
ok "a step's instructions per second are known" wait_for 30 has_rate
ok "and its loads, by the site's event" wait_for 30 has_rate loads_per_s
stop_steps
done_testing
