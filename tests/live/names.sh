#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# names.sh - twenty names that a user may give to his programs and jobs (tests/hostile-names),
# through every way out: log, terminal, JSON, metrics, traces, accounting. Each is text there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
user=65534
# shellcheck disable=SC2034 # start_spine's
spine_cluster=(--conf "PartitionName=shared Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=FORCE:32")
start_spine 'policy: fair' "metrics_file: $tmp/coloc.prom" 'metrics_interval_s: 1'
as_user() { setpriv --reuid=$user --regid=$user --clear-groups "$@"; }
# clean WHAT FILE: whole lines of UTF-8 without control characters (CR LF ends one, too).
clean() {
  sed 's/\r$//' "$2" >"$tmp/seen"
  run iconv -f UTF-8 -t UTF-8 "$tmp/seen"
  is "$rc" 0 "$1 is UTF-8"
  is "$(LC_ALL=C grep -acP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]' "$tmp/seen")" 0 "$1 has no control characters"
}

ctl record start "$tmp/trace" >/dev/null
mkdir -m 777 "$tmp/u"
n=0
while IFS= read -r -u 9 line; do # not its standard input, of which srun reads
  [[ $line != \#* ]] || continue
  printf -v name %b "$line"
  # A program of that name, where a file may have it.
  program=$tmp/u/$name
  [[ $name != */* ]] || program=$tmp/u/plain
  cp "$(command -v sleep)" "$program" 2>/dev/null || cp "$(command -v sleep)" "${program:=$tmp/u/plain}"
  (cd "$tmp/u" && as_user srun -p shared -n1 -J "$name" --coloc=on "$program" 600) </dev/null >"$tmp/srun.$n" 2>&1 &
  started_pids+=("$!")
  n=$((n + 1))
done 9<"$srcdir/tests/hostile-names"
is "$n" 20 "twenty names"
all_known() { [ "$(ctl --json jobs | grep -o '"state":"placed"\|"state": "placed"' | wc -l)" = "$n" ]; }
ok "all steps are there" wait_for 60 all_known

for command in jobs status "top -b -n 1" bundle "--json jobs" "--json status"; do
  # shellcheck disable=SC2086 # words
  ctl $command >"$tmp/out" 2>&1
  clean "colocctl $command" "$tmp/out"
done
is "$(ctl jobs | wc -l)" $((n + 1)) "jobs has a line for each"
for job in $(squeue -h -o %i); do
  ctl explain "$job"
  ctl --json explain "$job"
done >"$tmp/out" 2>&1
clean "colocctl explain" "$tmp/out"
measured() { [ "$(grep -c '^coloc_step_cores{' "$tmp/coloc.prom")" = "$n" ]; }
ok "metrics have a sample for each" wait_for 20 measured
clean "metrics" "$tmp/coloc.prom"
is "$(grep -vcE '^(#|[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)*\})? [0-9.e+-]+$)' "$tmp/coloc.prom")" 0 "each of their lines is one of Prometheus' format"

# What an unprivileged peer sends is a line of the log, not two.
"$builddir/tests/live/live_client" "$socket" $user say $'x\n<2>colocd: forged\e[2J' >/dev/null 2>&1
stop_steps
ctl record stop >/dev/null
clean "the trace" "$tmp/trace"
clean "the log" "$tmp/colocd.out"
is "$(grep -c '^2026-01-01\|^<\|^colocd: forged\|^forged' "$tmp/colocd.out")" 0 "nobody forged a line of it"
for format in "" -l -P --csv --json "--json --history" --html; do
  # shellcheck disable=SC2086 # words
  acct $format >"$tmp/out" 2>&1
  clean "colocacct $format" "$tmp/out"
done
is "$(acct -P -n -o JobID,JobName,Program,Reason,State | grep -cE '^[0-9]+\.0\|[^|]*\|[^|]*\|[^|]*\|[A-Z]+$')" "$n" "-P has a line for each, of so many fields"
is "$(acct --csv | wc -l)" $((n + 1)) "--csv has, too"
is "$(acct --csv | grep -cE '(^|,)"?[=+@]')" 0 "and no field that a spreadsheet would run"
is "$(acct --html | grep -c '<img')" 0 "--html has no name that is markup"
done_testing
