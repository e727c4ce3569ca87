#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# das.sh - steps as tasks: each of a program tries a place that none of it was at, then the place of
# least time x width; the trace table outlives steps, other policies and the daemon, a damaged one
# is put aside. das-fa needs fast_cores.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
spin=$builddir/contrib/programs/bin/spin
[ -x "$spin" ] || skip_all "PROGRAMS: contrib/programs was not built"
start_spine 'policy: das-dam-c' 'min_dwell_s: 0'
table=$tmp/store/trace-table.json

# task TYPE [option...]: a step that does a little work; prints the CPUs that it was on in the end.
task() {
  local type=$1
  shift
  srun -n1 -c2 --coloc=on --coloc-type="$type" "$@" bash "$tmp/task.sh" 2>"$tmp/err" || diag "$(cat "$tmp/err")"
  wait_for 10 no_jobs
}
cat >"$tmp/task.sh" <<X
'$spin' --work=300 >/dev/null &
while sleep 0.02; do
  was=\${cpus:-}
  while read -r key value more; do
    [ "\$key" != Cpus_allowed_list: ] || cpus=\$value
  done </proc/\$!/status || break
done 2>/dev/null
echo "\$was"
X
# entries TYPE: "CORE WIDTH SECONDS" of the file, by core and width.
entries() {
  python3 - "$table" "$1" <<'P'
import json, os, sys
try: t = json.load(open(sys.argv[1]))["owners"].get(str(os.getuid()), {}).get(sys.argv[2], [])
except OSError: t = []
for e in sorted(t, key=lambda e: (e["core"], e["width"])): print(e["core"], e["width"], e["seconds"])
P
}
n_entries() { [ "$(entries "$1" | wc -l)" = "$2" ]; }
# best TYPE: CPUs of the place of least time x width.
best() { entries "$1" | awk '{ c = $3 * $2; if (!n++ || c < m) { m = c; at = $2 == 2 ? "0-1" : $1 } } END { print at }'; }

[ "$(nproc)" = 2 ] || skip_all "CPUS: the places in this test are those of two cores that share a cache"
is "$(task a)" 0 "the first of a program: core 0, width 1"
wait_for 5 n_entries a 1
if [ "$(task a --coloc-priority=high)" != 0-1 ]; then
  # Two cores of a machine that says they share no cache: two places only.
  skip_all "CACHE: the cores share no cache"
fi
is "$(task a --coloc-priority=low)" "$(best a)" "one of low priority: the best it knows, it tries nothing"
is "$(task a --coloc-priority=high)" 1 "a critical one tries the last: core 1"
ok "the table has the three" wait_for 5 n_entries a 3
diag "table: $(entries a | paste -sd';')"
want=$(best a)
is "$(task a --coloc-priority=high)" "$want" "the next critical one: the place of least time x width"
is "$(task b)" 0 "another program begins at core 0"
wait_for 5 n_entries b 1

# --- kept ------------------------------------------------------------------------------------
srun -n1 -c2 --coloc=on --coloc-policy=fair true
want=$(best a)
is "$(task a --coloc-priority=high)" "$want" "after another policy has ruled the table is there"
stop "$colocd_pid" KILL
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
want=$(best a)
is "$(task a --coloc-priority=high)" "$want" "after kill -9 too"
before=$(entries a)
srun -n1 -c2 --coloc=on --coloc-type=a false 2>/dev/null
wait_for 10 no_jobs
sleep 0.3
is "$(entries a)" "$before" "a step that failed is no sample"

stop "$colocd_pid"
echo '{"version": 1, "types": {"a": [{"core": 0' >"$table"
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
like "$(log)" 'trace-table.json: not the JSON of a trace table; the das policies begin with an empty' \
  "a damaged table is said"
ok "... and put aside" test -e "$table.unread"
is "$(task a)" 0 "... and the program begins anew"
wait_for 5 n_entries a 1
stop "$colocd_pid"
sed 's/"node_type":"[^"]*"/"node_type":"another machine"/' "$table" >"$tmp/t" && cp "$tmp/t" "$table"
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
like "$(log)" "measured on 'another machine'" "another machine's table is said, and not used"
is "$(task a)" 0 "... the program begins anew"

# --- the interfering program ---------------------------------------------------------------------
taskset -c 0 "$spin" --work=100000000 >/dev/null 2>&1 &
started_pids+=("$!")
for _ in 1 2 3 4; do task c --coloc-priority=high >/dev/null; done
diag "with another program on core 0: $(entries c | paste -sd';'), chosen $(best c)"

# --- fast cores ------------------------------------------------------------------------------------
srun -J fa -n1 -c2 --coloc=on --coloc-policy=das-fa --coloc-priority=high sleep 3 2>/dev/null &
started_pids+=("$!")
refused() { ctl explain "$(job_id fa)" | grep -q 'fast_cores is missing'; }
ok "das-fa without fast_cores: the fallback, and why" wait_for 10 refused
wait_for 10 no_jobs
echo 'fast_cores: "1"' >>"$tmp/coloc.yaml"
ctl reload >/dev/null
is "$(task d --coloc-policy=das-fa --coloc-priority=high)" 1 "with them: a fast core"
stop "$colocd_pid"
done_testing
