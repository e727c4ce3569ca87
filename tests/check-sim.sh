#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check-sim.sh - colocsim eval and run as users and scripts see them: fields, the word simulated,
# same seed same bytes, exit statuses, and the options in colocsim(1).
set -eu

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
sim=${COLOC_BUILDDIR:-$top}/nodesvc/colocsim
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

complain() {
  echo "check-sim: $*" >&2
  failed=1
}

# status EXPECTED ARGUMENT...
status() {
  expected=$1
  shift
  rc=0
  "$sim" "$@" >"$dir/out" 2>"$dir/err" || rc=$?
  [ "$rc" = "$expected" ] || complain "colocsim $*: exit status $rc, $expected expected: $(cat "$dir/err")"
}

eval_it() {
  "$sim" eval --population=lira --seed=3 --combos=3 --seconds=60 \
    --policies=linux,lira,lira:tie=first:h=0,best-static "$@"
}

eval_it --json --workers=1 >"$dir/one"
eval_it --json --workers=3 >"$dir/three"
cmp "$dir/one" "$dir/three" >&2 || complain "the same seed gave other bytes with three workers"
for field in bench schema provenance results policy stp stp_lo stp_hi antt worst_ntt moves_per_s \
  stp_full antt_full stp_share antt_share antt_best qos_violations worst_of_fair; do
  grep -q "\"$field\":" "$dir/one" || complain "eval --json has no field $field"
done
grep -q '"provenance":"simulated"' "$dir/one" || complain "eval --json does not say simulated"
grep -q '"policy":"lira,tie=first,h=0"' "$dir/one" || complain "options of a policy are lost"
! grep -qiE ': *-?(nan|inf|null)' "$dir/one" || complain "eval --json has a figure that is none"
eval_it | grep -q '^simulated:' || complain "eval does not say simulated"

# What is known beforehand, who stands in until more is, and the paper's own settings.
eval_it --json --strangers | cmp -s - "$dir/one" && complain "eval --strangers changes nothing"
eval_it --json --strangers >"$dir/1"
eval_it --json --strangers --fallback=callisto,threads=yes | cmp -s - "$dir/1" &&
  complain "eval --fallback changes nothing"
status 2 eval --population=lira --policies=lira --fallback=linux
grep -q 'fallback=linux: a policy of the engine expected' "$dir/err" || complain "--fallback=linux: $(cat "$dir/err")"
status 2 eval --population=parsec --policies=lira --paper
grep -q -- '--paper: not with --population=parsec' "$dir/err" || complain "--paper: $(cat "$dir/err")"
status 0 eval --population=lira --policies=lira --combos=1 --paper --runs=1 --json

# CSV: a record for each policy, the same figures as in JSON; the same columns whatever is asked.
eval_it --csv >"$dir/csv"
[ "$(wc -l <"$dir/csv")" = 5 ] || complain "eval --csv: not a heading and four records"
[ "$(grep -c "$(printf '\r')\$" "$dir/csv")" = 5 ] || complain "eval --csv: lines do not end in CR LF"
# column FILE NAME: its values; a field in quotes counts as one.
column() { awk -F, -v c="$2" '{ sub(/\r$/, ""); gsub(/"[^"]*"/, "Q") } NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) n = i } NR > 1 { print $n }' "$1"; }
column "$dir/csv" stp | sort -g >"$dir/1"
sed -n 's/^ *"stp":\([0-9.]*\),*$/\1/p' "$dir/one" | sort -g >"$dir/2"
paste "$dir/1" "$dir/2" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-12) exit 1 } END { if (NR != 4) exit 1 }' ||
  complain "eval --csv: other figures than --json: $(cat "$dir/1" "$dir/2")"

# Sweeps: the cross product, each point as an eval of its own, the same bytes with other workers.
sweep_it() {
  "$sim" eval --population=lira --combos=2 --seconds=20 --policies=fair,lira "$@" \
    --sweep=lira.h=0:0.1:0.05 --sweep=jobs=2,3
}
sweep_it --csv --workers=1 >"$dir/csv"
sweep_it --csv --workers=3 | cmp - "$dir/csv" >&2 || complain "a sweep gave other bytes with three workers"
[ "$(wc -l <"$dir/csv")" = 13 ] || complain "eval --sweep --csv: not 12 records"
column "$dir/csv" lira.h | sort -u | paste -sd' ' >"$dir/1"
[ "$(cat "$dir/1")" = "0 0.05 0.1" ] || complain "eval --sweep: values $(cat "$dir/1")"
"$sim" eval --population=lira --combos=2 --seconds=20 --policies=fair,lira:h=0.05 --jobs=3 --csv >"$dir/2"
[ "$(awk -F, '$6 == 3 && $8 == "0.05" && $9 == "lira" { print $11 }' "$dir/csv")" = \
  "$(awk -F'"' '/lira,h/ { print $3 }' "$dir/2" | cut -d, -f3)" ] || complain "a point of a sweep is not what eval says alone"
sweep_it --json >"$dir/json"
grep -q '"bench":"sweep"' "$dir/json" || complain "eval --sweep --json says no bench"
[ "$(sweep_it | grep -c '^0')" = 12 ] || complain "eval --sweep prints no table of 12"
for factor in machine.latency penalty.wake program.mlp; do
  status 0 eval --population=lira --combos=1 --seconds=10 --policies=linux,fair --sweep=$factor=1,3 --csv
  [ "$(column "$dir/out" stp | sort -u | wc -l)" -gt 2 ] || complain "--sweep=$factor changes nothing"
done
while read -r bad why; do
  status 2 eval --population=lira --policies=lira --combos=1 --seconds=5 "--sweep=$bad"
  grep -q -e "$why" "$dir/err" || complain "--sweep=$bad: $(cat "$dir/err")"
done <<'END'
jobs=0,4 jobs: '0': whole number
jobs=4,x jobs: 'x': whole
jops=1 jops: '1': no such key
workers=1 workers: '1': no such key
dio.h=1 dio.h: '1': no such policy
lira.h=0,x h=x
lira.colour=1 colour
machine.colour=1 no such constant
machine.latency=0 latency: '0': a factor
numa=near --numa=near
phases=moon phases: 'moon'
seconds=3:1:1 FROM:TO:STEP
END
status 2 eval --population=lira --policies=lira --csv --json
status 2 eval --population=lira --policies=lira --sensitivity=0.1 --csv

# Every population: whole figures, and the same bytes with other workers.
for population in lira parsec latent adversarial measured spec-wl mapper; do
  for workers in 1 4; do
    "$sim" eval --population=$population --seed=4711 --combos=2 --seconds=40 --json \
      --workers=$workers --policies=linux,alternate,best-static,oracle >"$dir/p$workers"
  done
  cmp "$dir/p1" "$dir/p4" >&2 || complain "$population: other bytes with four workers"
  ! grep -qiE ': *-?(nan|inf|null)' "$dir/p1" || complain "$population: a figure that is none"
  [ "$(grep -c '"policy":' "$dir/p1")" = 4 ] || complain "$population: results are missing"
done

# Models of one's own, good and bad.
mkdir "$dir/models"
cp "$top/nodesvc/sim/models/stream.yaml" "$dir/models"
"$sim" eval --population=measured --models="$dir/models" --policies=linux --combos=1 --seconds=20 \
  --per-combo --json | grep -q '"stream"' || complain "--models is not used"
sed 's/^  mlp:.*/  mlp: {value: 0, from: assumed}/' "$dir/models/stream.yaml" >"$dir/models/b.yaml"
line=$(grep -n '^  mlp:' "$dir/models/b.yaml" | cut -d: -f1)
status 1 eval --population=measured --models="$dir/models" --policies=linux
grep -q "models/b.yaml:$line: value: '0'" "$dir/err" ||
  complain "a bad model is not named with its line: $(cat "$dir/err")"
status 1 eval --population=measured --models="$dir/nowhere" --policies=linux
status 2 eval --population=lira --models="$dir/models" --policies=linux

# Sensitivity: a row for nothing changed, two for each parameter, of the programs too.
status 0 eval --population=lira --policies=mean-static,best-static --combos=2 --seconds=20 \
  --sensitivity=0.3 --json
grep -q '"bench":"sensitivity"' "$dir/out" || complain "--sensitivity --json says no bench"
grep -q '"provenance":"simulated"' "$dir/out" || complain "--sensitivity does not say simulated"
for field in 'nothing' 'machine: bandwidth' 'penalty: wake' 'program: mlp' 'program: alpha'; do
  grep -q "\"parameter\":\"$field\"" "$dir/out" || complain "--sensitivity has no row $field"
done
[ "$(grep -c '"tau":' "$dir/out")" = 53 ] || complain "--sensitivity: not 53 rows"
status 2 eval --population=lira --policies=linux --sensitivity=1

cat >"$dir/w.yaml" <<'END'
policies: [linux, fair]
seconds: 50
programs:
  - {name: a, from: lira/swim}
  - {name: b, from: lira/md}
jobs:
  - {program: a}
  - {program: b, arrival_s: 5}
END
"$sim" run "$dir/w.yaml" | grep -q '^simulated:' || complain "run does not say simulated"
"$sim" run --json "$dir/w.yaml" | grep -q '"provenance":"simulated"' ||
  complain "run --json does not say simulated"

"$sim" run --csv "$dir/w.yaml" >"$dir/csv"
[ "$(wc -l <"$dir/csv")" = 5 ] || complain "run --csv: not two records for each of two policies"
[ "$(column "$dir/csv" program | paste -sd' ')" = "a b a b" ] || complain "run --csv: $(cat "$dir/csv")"
status 2 run --csv --json "$dir/w.yaml"

# What every policy decides over a run is decided again in replay, bit for bit.
for policy in lira lira-static callisto callisto,threads=yes sbmp sbmp-pp sbmp-cd mapper dio dio,clusters=2 llc-complex gang hillclimb auto; do
  rm -f "$dir/trace"
  status 0 run --policy="$policy" --record="$dir/trace" "$dir/w.yaml"
  status 0 replay "$dir/trace"
  grep -qE '^replay: ([0-9]+) decisions, \1 identical' "$dir/out" ||
    complain "replay of $policy: $(cat "$dir/out")"
  grep -q 'simulated' "$dir/out" || complain "replay of a simulated trace does not say so"
done
status 0 replay --policy=fair "$dir/trace"
grep -q '^replayed:' "$dir/out" || complain "another policy's replay is not labelled"
status 1 run --policy=lira --record="$dir/trace" "$dir/w.yaml" # there is one already
status 2 run --policy=linux --record="$dir/other" "$dir/w.yaml"
status 1 replay "$dir/w.yaml"
status 1 replay "$dir/missing"
status 2 replay

# What doc/policies.md calls a paper's system is a policy with options that there are (2: there are none).
echo '{"jobs": [{"id": "A"}, {"id": "B"}]}' >"$dir/views"
# shellcheck disable=SC2016 # quoted names of a page
sed -n '/^## What of the papers is exact$/,/^## none$/s/^|[^|]*|\([^|]*\)|.*/\1/p' "$top/doc/policies.md" |
  grep -o '`[a-z][^`]*`' | tr -d '`' >"$dir/specs"
[ "$(wc -l <"$dir/specs")" -ge 15 ] || complain "the papers' systems are not found in doc/policies.md"
while read -r spec; do
  rc=0
  "$sim" plan --policy="$spec" --topology="pack:2 core:4 pu:1" --jobs="$dir/views" >"$dir/out" 2>&1 || rc=$?
  [ "$rc" != 2 ] || complain "doc/policies.md: $spec: $(cat "$dir/out")"
done <"$dir/specs"

# Workloads of kind tasks: the examples, shortened.
for file in "$top"/contrib/workloads/*.yaml "$top/contrib/workloads/das-interference.yaml"; do
  sed -e 's/^runs: .*/runs: 2/' -e 's/tasks: [0-9]*000,/tasks: 300,/' \
    -e 's/iterations: [0-9]*/iterations: 10/' "$file" >"$dir/tasks.yaml"
  "$sim" run --json "$dir/tasks.yaml" >"$dir/one" || complain "$file: does not run"
  "$sim" run --json "$dir/tasks.yaml" >"$dir/three"
  cmp "$dir/one" "$dir/three" >&2 || complain "$file: the same seed gave other bytes"
  ! grep -qiE ': *-?(nan|inf|null)' "$dir/one" || complain "$file: a figure that is none"
done
for field in schema provenance kind ratio_to policy seconds tasks_per_s ratio ratio_lo ratio_hi steals \
  places core width tasks critical critical_on_core busy_s; do
  grep -q "\"$field\":" "$dir/one" || complain "run --json of tasks has no field $field"
done
grep -q '"provenance":"simulated"' "$dir/one" || complain "run --json of tasks does not say simulated"
[ "$("$sim" run "$dir/tasks.yaml" | grep -c '^simulated:')" = 7 ] ||
  complain "run of tasks does not say simulated in each line"
"$sim" run --csv "$dir/tasks.yaml" >"$dir/csv"
[ "$(wc -l <"$dir/csv")" = 8 ] || complain "run --csv of tasks: not a heading and seven records"
column "$dir/csv" provenance | grep -qv simulated && complain "run --csv of tasks does not say simulated"
status 1 run --policy=lira "$dir/tasks.yaml"
grep -q "policy 'lira': tasks are placed by das-\* only" "$dir/err" || complain "no reason for lira"
status 1 run --policy=das-dam-c,weight=9 "$dir/tasks.yaml"
echo 'kind: tasks
types: [{from: matmull}]' >"$dir/bad.yaml"
status 1 run "$dir/bad.yaml"
grep -q "bad.yaml:2: from: 'matmull'" "$dir/err" || complain "a bad preset is not named with its line"
sed -n 's/^[[:space:]]*\(NUMBER\|INT\|BOOL\|TEXT\|CUSTOM\)("\([a-z_]*\)".*/\2/p' \
  "$top/nodesvc/sim/task_workload.c" | sort -u >"$dir/keys"
[ "$(wc -l <"$dir/keys")" -gt 40 ] || complain "keys of task_workload.c are not found"
while read -r key; do
  grep -qwF -- "$key" "$top/nodesvc/sim/colocsim.1" || complain "colocsim(1) does not name the key $key"
done <"$dir/keys"

# A plan's clusters of cache ways and bandwidth reach the machine, and the trace has them exactly.
cat >"$dir/clusters.yaml" <<'X'
schema: 1
machine: {topology: "pack:2 core:4 pu:1"}
seconds: 30
programs:
  - {name: swim, from: lira/swim}
  - {name: ammp, from: lira/ammp}
jobs:
  - {program: swim, count: 2, runs: 2}
  - {program: ammp, count: 3, arrival_s: 3}
policies: fair
X
"$sim" run --policy=llc-complex,clusters=2,bandwidth=yes --record="$dir/clusters" --json \
  "$dir/clusters.yaml" >"$dir/with" || complain "a run with clusters"
"$sim" run --policy=llc-complex --json "$dir/clusters.yaml" >"$dir/without" || complain "a run without"
! cmp -s "$dir/with" "$dir/without" || complain "clusters change nothing"
[ "$(grep -c '"clusters":\[{"ways"' "$dir/clusters")" -gt 100 ] || complain "no clusters in the trace"
"$sim" replay "$dir/clusters" >"$dir/out" || complain "replay with clusters: $(cat "$dir/out")"

status 2 eval
status 2 eval --population=lira
status 2 eval --population=nobody --policies=lira
status 2 eval --population=lira --policies=nobody
status 2 eval --population=lira --policies=lira:tie=never
status 2 eval --population=lira --policies=lira --combos=0
status 2 eval --population=lira --policies=lira --numa=near
status 2 eval --population=lira --policies=lira,,dio
status 1 eval --population=lira --policies=lira --topology=nonsense:0
status 1 eval --population=lira --policies=best-static --topology=pack:2 --jobs=40
status 2 run
status 1 run "$dir/missing.yaml"
echo 'jops: 1' >"$dir/bad.yaml"
status 1 run "$dir/bad.yaml"
grep -q "bad.yaml:1: unknown key 'jops'" "$dir/err" || complain "a bad key is not named with its line"

# The manual page names every option.
for command in plan replay run eval; do
  "$sim" "$command" --help | grep -o -- '^  --[a-z-]*' | while read -r option; do
    sed -e 's/\\-/-/g' "$top/nodesvc/sim/colocsim.1" | grep -q -- "$option" ||
      echo "$command $option"
  done
done >"$dir/unnamed"
[ ! -s "$dir/unnamed" ] || complain "colocsim(1) does not name: $(tr '\n' ';' <"$dir/unnamed")"

[ "$failed" = 0 ] && echo "check-sim: ok"
exit "$failed"
