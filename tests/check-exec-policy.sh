#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check-exec-policy.sh - contrib/examples/equal_split.py says what policy fair says: over random
# views (plan), on the simulated machine (run, eval), and over a recorded trace (replay).
set -eu

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
sim=${COLOC_BUILDDIR:-$top}/nodesvc/colocsim
command -v python3 >/dev/null || {
  echo "1..0 # SKIP no python3"
  exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
# The sanitizers' tests run at the lowest priority beside others: an answer may be long in coming.
patience=--policy-timeout=300
example="exec:python3 $top/contrib/examples/equal_split.py"

complain() {
  echo "check-exec-policy: $*" >&2
  failed=1
}

# views SEED: a life of up to 14 jobs that come and go, 25 views of it. By a generator of its own: what rand()
# gives is each awk's own, and here mawk's made too few jobs.
views() {
  awk -v x="$1" 'function rnd() { x = x * 48271 % 2147483647; return x / 2147483647 }
  BEGIN {
    rnd(); printf "{\"views\": ["
    for (v = 0; v < 25; v++) {
      while (n && rnd() < 0.3) { i = int(rnd() * n); job[i] = job[--n] }
      while (n < 14 && rnd() < 0.5) job[n++] = born++
      printf "%s{\"jobs\": [", v ? ", " : ""
      for (i = 0; i < n; i++)
        printf "%s{\"id\": \"j%d\", \"order\": %d}", i ? ", " : "", job[i], job[i]
      printf "]}"
    }
    print "]}" }'
}

coresets() {
  "$sim" plan $patience --policy="$1" --topology="$2" --jobs="$dir/views" --json >"$dir/plans" || complain "$1"
  grep -oE '"(id|coreset)": "[^"]*"' "$dir/plans"
}

compared=0
for topology in "pack:2 core:4" "pack:4 core:3 pu:2" core:2 "pack:2 core:1" "pack:3 core:2 pu:2"; do
  for seed in 1 2; do
    views $seed >"$dir/views"
    coresets fair "$topology" >"$dir/fair"
    coresets "$example" "$topology" >"$dir/example"
    compared=$((compared + $(wc -l <"$dir/fair")))
    cmp "$dir/fair" "$dir/example" >&2 || complain "other plans on $topology, seed $seed"
  done
done
[ $compared -gt 2000 ] || complain "only $compared lines were compared"

cat >"$dir/w.yaml" <<X
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
# Figures only: names of policies differ.
figures() { grep -v '"policy":' "$1"; }
"$sim" run $patience --record="$dir/trace" --json "$dir/w.yaml" >"$dir/fair" || complain "run"
"$sim" run $patience --policy="$example" --record="$dir/trace2" --json "$dir/w.yaml" >"$dir/example" ||
  complain "run with the example"
figures "$dir/fair" >"$dir/1"
figures "$dir/example" | cmp - "$dir/1" >&2 || complain "run: other figures"
"$sim" replay $patience --policy="$example" "$dir/trace" >"$dir/out" || complain "replay"
n=$(sed -n 's/^replayed: \([0-9]*\) decisions .*: \([0-9]*\) on the same cores.*/\1 \2/p' "$dir/out")
if [ -z "$n" ] || [ "${n% *}" != "${n#* }" ] || [ "${n% *}" -lt 50 ]; then
  complain "replay: $(cat "$dir/out")"
fi
"$sim" replay $patience "$dir/trace2" >"$dir/out" || complain "replay of its own trace: $(cat "$dir/out")"
"$sim" eval $patience --population=lira --combos=2 --seconds=15 --jobs=3 --json --policies=fair >"$dir/fair"
"$sim" eval $patience --population=lira --combos=2 --seconds=15 --jobs=3 --json --policies="$example" >"$dir/example"
figures "$dir/fair" | grep -v stp_gain_against >"$dir/1"
figures "$dir/example" | grep -v stp_gain_against | cmp - "$dir/1" >&2 || complain "eval: other figures"

# Clusters of a program's own, the first and the last too small for a way: each gets one.
cat >"$dir/clusters.py" <<'X'
import json, sys
parts = [float(x) for x in sys.argv[1].split(",")]
sys.stdin.readline()
for line in sys.stdin:
    jobs = sorted(j["id"] for j in json.loads(line)["jobs"])
    plan = {"jobs": [{"id": j, "coreset": str(i), "cluster": i} for i, j in enumerate(jobs)]}
    plan["clusters"] = [{"ways": x} for x in parts]
    print(json.dumps(plan), flush=True)
X
cat >"$dir/three.yaml" <<'X'
schema: 1
machine: {topology: "core:4 pu:1"}
seconds: 10
programs:
  - {name: swim, from: lira/swim}
jobs:
  - {program: swim, count: 3}
policies: fair
X
for parts in 0.001,0.998,0.001 0.4,0.3,0.3; do
  "$sim" run $patience --policy="exec:python3 $dir/clusters.py $parts" --json "$dir/three.yaml" >"$dir/$parts" ||
    complain "run with clusters $parts"
done
! cmp -s "$dir/0.001,0.998,0.001" "$dir/0.4,0.3,0.3" || complain "a program's clusters change nothing"
exit $failed
