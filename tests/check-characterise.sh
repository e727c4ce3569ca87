#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check-characterise.sh - a model made of a real, tiny program: counted, timed, read back by
# colocsim; and what is refused. 77 where valgrind is missing.
set -eu

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
build=${COLOC_BUILDDIR:-$top}
command -v valgrind >/dev/null || {
  echo "check-characterise: valgrind is not installed"
  exit 77
}
# A sanitizer's runtime does not run under valgrind; the program counted here is not built with one.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

complain() {
  echo "check-characterise: $*" >&2
  failed=1
}

characterise() {
  "$top/contrib/bench/characterise" --build "$build" "$@"
}

program="$build/contrib/programs/bin/stencil --size=200"
# Two arrays of 320 kB: they miss 256 kB of private cache and fit a last level of 1 MB.
# Timed once, and its start-up once: beside other work that may take a tenth of a second more, so the
# program takes several.
# shellcheck disable=SC2086 # words
characterise --out="$dir/small.yaml" --name=small --widths=1,2 --runs=1 --tries=1 --llc=512k,4M \
  --baseline="$program --work=1" --count="$program --work=11" \
  --count-baseline="$program --work=1" --count-scale=300 --assume=mlp=6 \
  $program --work=20001 2>"$dir/log" || {
  cat "$dir/log" >&2
  exit 1
}
value() {
  sed -n "s/^ *$1: {value: \([^,]*\), from: $2}$/\1/p" "$dir/small.yaml"
}
# holds EXPRESSION: of awk
holds() {
  awk "BEGIN { exit !($1) }" || complain "not so: $1; $(cat "$dir/small.yaml")"
}
# Four loads and three times around them a point: 10 sweeps of 198*198 points.
loads=$(sed -n 's/^  loads: \([0-9]*\)$/\1/p' "$dir/small.yaml")
holds "$loads >= 3 * 10 * 198 * 198 && $loads <= 8 * 10 * 198 * 198"
misses() {
  sed -n "s/.*llc_bytes: $1, misses: \([0-9]*\).*/\1/p" "$dir/small.yaml"
}
# A line of eight points of each array a sweep, in 512 kB that do not hold them; none in 4 MB.
holds "$(misses 524288) >= 0.8 * 2 * 10 * 198 * 198 / 8"
holds "$(misses 4194304) <= 0.05 * $(misses 524288)"
holds "$(value cpi measured) > 0.05 && $(value cpi measured) < 20"
[ "$(value mlp assumed)" = 6 ] || complain "--assume is not kept"
grep -q '^measured_widths: \[1, 2\]$' "$dir/small.yaml" || complain "measured_widths is missing"
if grep -q 'disturbed: yes' "$dir/small.yaml"; then
  [ -n "$(value alpha assumed)" ] || complain "disturbed times became a speedup"
else
  [ -n "$(value alpha extrapolated)" ] || complain "the speedup is not marked extrapolated"
fi
"$build/nodesvc/colocsim" eval --population=measured --models="$dir" --jobs=2 --combos=1 \
  --seconds=20 --policies=linux,best-static >/dev/null || complain "colocsim does not take it"

cp "$dir/small.yaml" "$dir/before"
characterise --native-only --widths=1,2 --runs=1 --tries=1 "$dir/small.yaml" 2>>"$dir/log" ||
  complain "--native-only failed"
grep -v -e '^ *- {threads' -e '^residual' -e clock_ghz -e 'from: measured' -e 'from: extra' \
  -e '^  alpha' -e '^  wait' "$dir/before" >"$dir/a"
grep -v -e '^ *- {threads' -e '^residual' -e clock_ghz -e 'from: measured' -e 'from: extra' \
  -e '^  alpha' -e '^  wait' "$dir/small.yaml" >"$dir/b"
cmp "$dir/a" "$dir/b" >&2 || complain "--native-only changed more than the times"

# Counting again changes counts only; a file that fails does not keep the next from its turn.
cp "$dir/small.yaml" "$dir/before"
sed 's/^count: .*/count: "false"/' "$dir/before" >"$dir/broken"
cp "$dir/broken" "$dir/broken.yaml"
sed 's/^  loads: [0-9]*$/  loads: 1/; s/misses: [0-9]*/misses: 7/' "$dir/before" >"$dir/small.yaml"
rc=0
characterise --counts-only --llc=512k,4M "$dir/broken.yaml" "$dir/small.yaml" 2>"$dir/out" || rc=$?
[ "$rc" = 1 ] || complain "a count that fails: exit status $rc, not 1"
cmp "$dir/broken" "$dir/broken.yaml" >&2 || complain "a count that fails changed the model"
again=$(sed -n 's/^  loads: \([0-9]*\)$/\1/p' "$dir/small.yaml")
holds "$again >= 0.95 * $loads && $again <= 1.05 * $loads"
holds "$(misses 524288) >= 0.8 * 2 * 10 * 198 * 198 / 8"
for f in before small.yaml; do
  sed -n '1,/^counts:/p; /^native:/,/^residual/p' "$dir/$f" | grep -v '^residual' >"$dir/$f.rest"
done
cmp "$dir/before.rest" "$dir/small.yaml.rest" >&2 || complain "--counts-only changed the times"
cp "$dir/before" "$dir/small.yaml"
rc=0
characterise --native-only --widths=1,2 --runs=1 --tries=1 "$dir/none.yaml" "$dir/small.yaml" 2>"$dir/out" ||
  rc=$?
[ "$rc" = 1 ] || complain "no such model: exit status $rc, not 1"
grep -q 'small: native, 1 thread' "$dir/out" || complain "one missing file stopped the next"
rm "$dir/broken.yaml"

# So does contrib/bench/models, which says at the end what it has not made.
if command -v dpkg-query >/dev/null && command -v bash >/dev/null; then
  mkdir -p "$dir/fake/contrib/bench/bin" "$dir/fake/contrib/programs/bin"
  cat >"$dir/fake/contrib/bench/bin/characterise" <<'EOT'
#!/bin/sh
for last; do :; done
echo "$*" >>"$(dirname "$0")/calls"
case $last in *stencil*) echo "stencil: too short to tell" >&2; exit 1 ;; esac
EOT
  chmod +x "$dir/fake/contrib/bench/bin/characterise"
  models() {
    "$top/contrib/bench/models" --build "$dir/fake" --work "$dir/work" --out "$dir/fake" "$@"
  }
  rc=0
  models --native-only --tries 2 stencil pagerank >"$dir/out" 2>&1 || rc=$?
  [ "$rc" = 1 ] || complain "models with one that fails: exit status $rc, not 1"
  grep -q 'not made.*: stencil$' "$dir/out" || complain "models does not say: $(cat "$dir/out")"
  printf '%s\n' "--native-only --tries=2 $dir/fake/stencil.yaml" \
    "--native-only --tries=2 $dir/fake/pagerank.yaml" >"$dir/expected"
  cmp "$dir/expected" "$dir/fake/contrib/bench/bin/calls" >&2 || complain "models stopped early"
  rc=0
  models --tries none stencil >"$dir/out" 2>&1 || rc=$?
  [ "$rc" = 1 ] || complain "models takes --tries none: exit status $rc"
  grep -q "'none'" "$dir/out" || complain "--tries none is not named: $(cat "$dir/out")"
fi

# What a command leaves running when it ends is counted, too.
characterise --counts-only --out="$dir/behind.yaml" --llc=1M \
  sh -c "$build/contrib/programs/bin/stencil --size=200 --work=400 >/dev/null 2>&1 &" \
  2>>"$dir/log" || complain "a command with a process left behind: $(tail -3 "$dir/log")"
behind=$(sed -n 's/^  loads: \([0-9]*\)$/\1/p' "$dir/behind.yaml")
holds "${behind:-0} >= 3 * 400 * 198 * 198"
rm -f "$dir/behind.yaml"

# refuses STATUS ARGUMENT...: and leaves nothing behind.
refuses() {
  expected=$1
  shift
  rc=0
  characterise --out="$dir/none.yaml" "$@" >"$dir/out" 2>&1 || rc=$?
  [ "$rc" = "$expected" ] || complain "$*: exit status $rc, not $expected: $(cat "$dir/out")"
  [ ! -e "$dir/none.yaml" ] || complain "$*: left a model"
}
refuses 2
refuses 2 --native-only --counts-only true
refuses 2 --llc=1M,1M true
refuses 2 --widths=2 true
refuses 2 --assume=mlp=0 true
refuses 2 --name=Bad/Name true
refuses 1 --llc=1M --counts-only "$dir/there/is/no/such/program"
refuses 1 --llc=1M --counts-only false
# Nothing is left of it without its start-up: what was counted stays, no time is made up.
rc=0
characterise --out="$dir/none.yaml" --llc=1M --runs=1 --tries=1 --widths=1 --count=true \
  --baseline='sleep 3' true >"$dir/out" 2>&1 || rc=$?
[ "$rc" = 1 ] || complain "a program shorter than its start-up: exit status $rc"
grep -q 'too short' "$dir/out" || complain "a short program is not called short: $(cat "$dir/out")"
if grep -q native "$dir/none.yaml"; then complain "a model with times that there are not"; fi

[ "$failed" = 0 ] && echo "check-characterise: ok"
exit "$failed"
