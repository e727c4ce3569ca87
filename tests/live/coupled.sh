#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# coupled.sh - OpenMP programs of short regions that share a core take turns there without being
# asked to, under whichever policy placed them, and say why; gang_coupled: no ends that; programs
# that only compute take none. How much it gains is contrib/bench's to measure (rebind, realmix).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
. "$(dirname "$0")/turns.sh"
need_spin
stencil=$builddir/contrib/programs/bin/stencil
# Not "| grep -q": it ends at the first line, and what ldd then dies of would count (pipefail).
[[ $(ldd "$stencil") =~ lib(gomp|omp) ]] || skip_all "OPENMP: stencil was built without"
[ "$(nproc)" = 2 ] || skip_all "CPUS: four programs are to share two, here are $(nproc)"
# What comes with Coloc: no counters here, so that lira's fallback decides.
conf=('policy: lira' 'counters:' '  source: none' 'min_dwell_s: 0' 'max_moves_per_min: 0')
start_spine "${conf[@]}"

names=(c1 c2 c3 c4)
# start PROGRAM ARG...: four of it, c1 before the others, who come in any order.
start() {
  local name
  start_one c1 "$@"
  wait_placed c1
  for name in c2 c3 c4; do start_one "$name" "$@"; done
  for name in c2 c3 c4; do wait_placed "$name"; done
}
start_one() {
  srun -J "$1" -n1 -c2 --coloc=on "${@:2}" >"$tmp/srun.$1" 2>&1 &
  started_pids+=("$!")
}
wait_placed() { wait_for 30 placed "$1" || diag "$1 did not start: $(cat "$tmp/srun.$1")"; }
placed() { [ -n "$(job_id "$1")" ] && [ -n "$(cpuset_of "$1")" ]; }
why() { ctl explain "$(job_id "$1")" | sed -n '/newest first/{n;p}'; }
n_turning() {
  local name n=0
  for name in "${names[@]}"; do ! why "$name" | grep -q 'in turns' || n=$((n + 1)); done
  echo $n
}
turning_are() { [ "$(n_turning)" = "$1" ]; }
n_seen() { log | grep -c 'wait for one another often'; }
set_conf() {
  printf 'store: %s\nsocket: %s\nlog: debug\n' "$tmp/store" "$socket" >"$tmp/coloc.yaml"
  printf '%s\n' "${conf[@]}" "$@" >>"$tmp/coloc.yaml"
  ctl reload >"$tmp/reload.out" 2>&1 || diag "$(cat "$tmp/reload.out")"
}

# An emulated machine takes too long for a region of the usual size.
start "$stencil" ${emulated:+--size=128} --work=1000000000
ok "four programs of short regions, two to a core: all take turns" wait_for 30 turning_are 4
like "$(log)" 'step .*: its threads wait for one another often' "the log says what was seen"
like "$(why c1)" 'threads wait for one another: shares 1 with 1 others, in turns of 100 ms' \
  "explain says why"
for name in "${names[@]}"; do
  ok "step $(job_id "$name").0 is frozen and thawed" wait_for 10 is_frozen "$(job_id "$name")"
done
set_conf 'gang_coupled: no'
ok "gang_coupled: no: none does" wait_for 10 turning_are 0
ok "... all are thawed" wait_for 5 all_thawed
set_conf 'gang_slice_ms: 50'
ok "gang_coupled as it comes: all do again" wait_for 20 turning_are 4
like "$(why c1)" 'in turns of 50 ms' "... with the slice of gang_slice_ms"
for name in c2 c3 c4; do end_job $name; done
ok "one alone takes no turns" wait_for 10 turning_are 0
stop_steps

# Each with as many threads as there are cores: in turns, too, but who came first goes first.
conf[0]='policy: auto'
set_conf
# Who that is, by explain.
look_who_is_first() {
  local name
  first=()
  for name in "${names[@]}"; do
    ! why "$name" | grep -q 'its cores before the others until it has had them for 20000 ms' ||
      first+=("$name")
  done
}
two_are_first() { look_who_is_first && [ "${#first[@]}" = 2 ]; }
OMP_NUM_THREADS=2 start "$stencil" ${emulated:+--size=128} --work=1000000000
ok "auto: two go first" wait_for 30 two_are_first
is "${first[0]}" c1 "... of whom one is who came first"
is "$(for name in "${first[@]}"; do cpuset_of "$name"; done | sort | paste -sd' ')" "0 1" \
  "... each on a core of its own"
for name in "${names[@]}"; do
  [[ " ${first[*]} " = *" $name "* ]] ||
    ok "step $(job_id "$name").0 waits, frozen" wait_for 10 is_frozen "$(job_id "$name")"
done
stop_steps
conf[0]='policy: lira'
set_conf

before=$(n_seen)
start "$spin" --work=100000000000
sleep 5
is "$(n_turning)" 0 "who only computes takes none"
is "$(n_seen)" "$before" "... and was not taken for one who waits"
stop_steps
stop "$colocd_pid"
done_testing
