#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# affinity.sh - for any system call of a user's program, success with Slurm alone means success under
# any policy. One program makes the calls by which programs bind themselves, and those that a
# placement might be in the way of (live_affinity.c): alone, beside a neighbour that came, when it has
# gone, beside two, and while neighbours come and go; by itself, in a thread, in children, by taskset,
# numactl, hwloc-bind and stress-ng, also from the shell that began the step and through wrappers, and
# by the OpenMP runtimes of GNU and LLVM under each variable that binds, begun before a neighbour comes
# and used after. What it says under a policy is what it says without Coloc, line by line. Steps are of
# a user without rights.
#
# A policy that needs what such programs do not tell (sbmp: their speed) falls back; who decides is
# said.
#
#   AFFINITY_POLICIES   others than the five (words)
: "${COLOC_LIVE_UID:=65534}"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
calls=$builddir/tests/live/live_affinity
[ -x "$calls" ] || skip_all "PROGRAMS: tests/live/live_affinity was not built"
# A step that is registered too late is not placed, and nothing is tried.
spine_timeout_ms=5000
start_spine 'policy: fair' 'min_dwell_s: 0' 'max_moves_per_min: 0'

# What lira and sbmp decide by.
for t in "affine 9e8 5e6 2e6" "neighbour 1e8 1e5 1e4"; do
  read -r type loads refs misses <<<"$t"
  for threads in $(seq "$(nproc)"); do
    printf '{"schema":1,"type":"%s","user":"%s","node_type":"","source":"cachegrind","threads":%s,"solo_s":1,"utilization":1,"signals":{"instructions_per_s":2e9,"loads_per_s":%s,"llc_refs_per_s":%s,"llc_misses_per_s":%s},"ll_bytes":1048576,"count":1}\n' \
      "$type" "$(id -un "$COLOC_LIVE_UID")" "$threads" "$loads" "$refs" "$misses" >>"$tmp/profiles"
  done
done
ok "profiles of the program and its neighbour" ctl profile import "$tmp/profiles"

# The runtimes of OpenMP that can be had here.
runtimes=()
for cc in gcc clang; do
  $cc -fopenmp -O1 -o "$tmp/regions.$cc" "$srcdir/tests/live/live_regions.c" 2>"$tmp/cc.$cc" &&
    "$tmp/regions.$cc" 2>/dev/null && runtimes+=("$cc")
done
# LLVM's runtime is there more often than its compiler, and has the calls that GCC makes.
omp=$(echo /usr/lib/llvm-*/lib/libomp.so)
if [[ " ${runtimes[*]} " != *' clang '* ]] && [ -e "${omp##* }" ] &&
  gcc -fopenmp -O1 -c -o "$tmp/regions.o" "$srcdir/tests/live/live_regions.c" 2>"$tmp/cc.clang" &&
  gcc -o "$tmp/regions.clang" "$tmp/regions.o" "${omp##* }" -Wl,-rpath,"${omp%/*}" 2>>"$tmp/cc.clang" &&
  "$tmp/regions.clang" 2>/dev/null; then
  runtimes+=(clang)
fi
diag "OpenMP of: ${runtimes[*]:-none}"
# Where a tool is not there, what it would do is not tried.
for tool in taskset numactl hwloc-bind stress-ng python3; do
  command -v "$tool" >/dev/null || diag "$tool is not here"
done

# Run in every stage, in the step: $1 the stage.
given=$(srun --coloc=off bash -c "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status")
cat >"$tmp/stage.sh" <<STAGE
given=$given runtimes='${runtimes[*]}' tmp=$tmp stage=\$1 next=\$((\$1 + 1))
STAGE
cat >>"$tmp/stage.sh" <<'STAGE'
try() {
  command -v "$1" >/dev/null || return
  "$@" </dev/null >/dev/null 2>&1
  echo "$stage shell $*: $?"
}
cpus=$(for part in $(echo "$given" | tr , ' '); do seq "${part%-*}" "${part#*-}"; done)
all=$(echo $cpus)
for c in $cpus; do
  try taskset -c "$c" true
  taskset -cp "$c" $$ >/dev/null 2>&1
  echo "$stage shell taskset -p $c: $?"
  # Without --all libnuma refuses, by itself, what is not in the mask that it was born with. Here
  # that is one of a program that runs.
  try numactl --all -C "$c" true
  try numactl --all --physcpubind="$c" --localalloc true
  try hwloc-bind "os=pu:$c" -- true
  try hwloc-bind --strict "pu:$c" -- true
  try stress-ng -q --taskset "$c" --cpu 1 --cpu-ops 1
done
taskset -cp "$given" $$ >/dev/null 2>&1
echo "$stage shell taskset -p $given: $?"
try taskset -c "$given" true
try taskset 0xffffffff true
try numactl --all -C "$given" true
try numactl --interleave=all true
try hwloc-bind all -- true
try nice -n 1 true
try chrt -o 0 true
try chrt -b 0 true
try chrt -i 0 true
[ "$stage" = 3 ] && next=race
for cc in $runtimes; do
  n=0
  {
    echo NOTHING=1
    for v in true close spread master; do echo OMP_PROC_BIND=$v; done
    for v in threads cores sockets "{$(echo $all | sed 's/ /},{/g')}"; do echo "OMP_PLACES=$v"; done
    echo "GOMP_CPU_AFFINITY=$all"
    for v in compact scatter granularity=fine,balanced "explicit,proclist=[$(echo $all | tr ' ' ,)]"; do
      echo "KMP_AFFINITY=$v"
    done
  } >"$tmp/$COLOC_AFFINITY/variables"
  while read -r v; do
    n=$((n + 1))
    env "$v" "$tmp/regions.$cc" </dev/null >/dev/null 2>&1
    echo "$stage $cc $v: $?"
    # Begun now, its first region in the next stage.
    {
      env "$v" "$tmp/regions.$cc" "$tmp/$COLOC_AFFINITY/go.$next" </dev/null >/dev/null 2>&1
      echo "$stage $cc $v, later: $?" >"$tmp/$COLOC_AFFINITY/omp.part.$stage.$cc.$n"
      mv "$tmp/$COLOC_AFFINITY/omp.part.$stage.$cc.$n" "$tmp/$COLOC_AFFINITY/omp.$stage.$cc.$n"
    } >/dev/null 2>&1 &
  done <"$tmp/$COLOC_AFFINITY/variables"
done
STAGE

# What the step is begun by: a shell, which waits. It runs the program; after each stage of that, here
# too, what begins now, in nested shells and other wrappers, finds what Slurm gave, as what was there
# before.
cat >"$tmp/outer.sh" <<OUTER
tmp=$tmp
"\$1" "\$2" "\$3" "\$4" "\$5" &
OUTER
cat >>"$tmp/outer.sh" <<'OUTER'
calls=$! dir=$2
for stage in $(seq 0 $(($4 - 1))); do
  until [ -e "$dir/done.$stage" ] || [ ! -e "/proc/$calls" ]; do sleep 0.05; done
  sh "$tmp/wrapped.sh" "$stage" >>"$dir/wrapped" 2>&1
  touch "$dir/wrapped.$stage"
done
wait "$calls"
OUTER
cat >"$tmp/wrapped.sh" <<STAGE
given=$given runtimes='${runtimes[*]}' tmp=$tmp stage=\$1
STAGE
cat >>"$tmp/wrapped.sh" <<'STAGE'
try() {
  command -v "$1" >/dev/null || return
  "$@" </dev/null >/dev/null 2>&1
  echo "$stage wrapped $*: $?"
}
says() { echo "$stage wrapped $*: $("$@" </dev/null 2>&1)"; }
says nproc
# A shell that reads lines, not bytes: who has computed for a second when it reads is moved, and on a
# slow machine that is a sed, or a dash that has the whole file to go through.
says bash -c 'while read -r name list; do [ "$name" != Cpus_allowed_list: ] || echo "$list"; done </proc/self/status'
says sh -c 'bash -c "env nice -n 0 timeout 60 nproc"'
says python3 -S -E -c 'import os, subprocess; print(os.sched_getaffinity(0), subprocess.check_output("nproc"))'
all=$(for part in $(echo "$given" | tr , ' '); do seq "${part%-*}" "${part#*-}"; done)
for c in $all; do
  try numactl -C "$c" true
  try numactl --physcpubind="$c" true
  try hwloc-bind --strict "pu:$c" -- true
  command -v numactl >/dev/null || continue
  try sh -c "bash -c 'exec numactl -C $c true'"
  try env X=1 nice -n 0 timeout 60 numactl -C "$c" sh -c 'true; true'
  try taskset -c "$c" numactl -C "$c" true
  echo "$c" | xargs -n1 -I{} sh -c 'numactl -C {} true'
  echo "$stage wrapped xargs numactl $c: $?"
done
try numactl -C "$given" true
try numactl -C all true
# What they say of places that they cannot have is a difference, too.
for cc in $runtimes; do
  for v in "OMP_PLACES={$(echo $all | sed 's/ /},{/g')}" "GOMP_CPU_AFFINITY=$(echo $all)" \
    "KMP_AFFINITY=explicit,proclist=[$(echo $all | tr ' ' ,)]" OMP_PLACES=threads; do
    said=$(env OMP_PROC_BIND=true "$v" "$tmp/regions.$cc" 2>&1 >/dev/null </dev/null)
    echo "$stage wrapped $cc $v: $? $said" | tr '\n' ' '
    echo
  done
done
STAGE

late_done() { [ "$(find "$dir" -name 'omp.[0-9]*' | wc -l)" = $((4 * ${#runtimes[@]} * $(wc -l <"$dir/variables"))) ]; }
stage_done() { [ -e "$dir/wrapped.$1" ] || process_gone "$step"; }
stage() {
  touch "$dir/go.$1"
  wait_for 240 stage_done "$1" || diag "$run_as: stage $1 does not end"
  [ -e "$dir/wrapped.$1" ] || diag "$run_as: the program ended in stage $1"
}

# run_under NAME SRUN-OPTION...: what the program said is in $tmp/NAME/said then.
run_under() {
  run_as=$1 dir=$tmp/$1
  shift
  mkdir "$dir"
  chmod 1777 "$dir"
  COLOC_AFFINITY=$run_as srun -J affine --coloc-type=affine "$@" \
    bash "$tmp/outer.sh" "$calls" "$dir" "$given" 4 "$tmp/stage.sh" \
    >"$dir/out" 2>"$dir/err" &
  step=$!
  started_pids+=("$step")
  stage 0
  policy=$(ctl --json jobs | tr -d ' \n' | sed -n 's/.*"type":"affine","policy":"\([^"]*\)".*/\1/p')
  spawn one --coloc-type=neighbour "$@"
  stage 1
  end_job one
  stage 2
  spawn one --coloc-type=neighbour "$@"
  spawn two --coloc-type=neighbour "$@"
  stage 3
  wait_for 30 test -e "$dir/done.race" || diag "$run_as: no race"
  touch "$dir/go.race"
  for _ in 1 2 3; do
    end_job two
    spawn two --coloc-type=neighbour "$@"
  done
  end_job one
  end_job two
  spawn one --coloc-type=neighbour "$@"
  [ "$run_as" != callisto ] || wait_for 20 lent || diag "callisto: nothing was lent"
  wait_for 240 late_done || diag "$run_as: OpenMP programs do not end"
  touch "$dir/stop.race"
  wait "$step"
  status=$?
  stop_steps
  # What fails alone may succeed: the way back from SCHED_IDLE and from a higher nice is open to steps
  # that may be lent cores (spank_coloc(8)).
  sort "$dir/out" "$dir/wrapped" "$dir"/omp.[0-9]* 2>/dev/null |
    sed -E '/ class (setpriority 0 from 1|SCHED_[A-Z]+ from SCHED_IDLE): /d' >"$dir/said"
}
# Or refused: who binds its threads itself borrows nothing.
lent() { log | grep -Eq 'borrows ([0-9]|no cores)'; }

run_under plain --coloc=off
is "$status" 0 "with Slurm alone the program ends well"
n=$(wc -l <"$tmp/plain/said")
ok "... and says of its calls how they fared ($n)" [ "$n" -gt 300 ]
unlike "$(cat "$tmp/plain/said")" '(gcc|clang) .*: [1-9]' "... no OpenMP program failed"
unlike "$(cat "$tmp/plain/said")" 'wrapped .*(numactl|hwloc-bind|taskset) .*: [1-9]' "... nor what a shell bound"
for policy_asked in ${AFFINITY_POLICIES:-auto fair lira gang callisto sbmp}; do
  run_under "$policy_asked" --coloc-policy="$policy_asked"
  is "$status" 0 "$policy_asked: the program ends as well"
  diag "$policy_asked: decided by ${policy:-?}"
  changed=$(diff "$tmp/plain/said" "$dir/said")
  is "$(grep -c '^[<>]' <<<"$changed")" 0 "$policy_asked: no call fared otherwise"
  [ -z "$changed" ] || diag "$(head -60 <<<"$changed")"
done
moves=$(acct -n -P -o JobName,Rebinds | grep -c '^affine|[1-9]')
ok "the steps were moved meanwhile ($moves of them)" [ "$moves" -ge 1 ]
stop "$colocd_pid"
done_testing
