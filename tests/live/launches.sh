#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# launches.sh - a launch setting that makes a program slower is found by the time that its launches
# take, without any speed, and taken away from it: spins of a second, on a core that is shared. It
# compares times: --full has it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
programs=$builddir/contrib/programs/bin
[ -x "$programs/spin" ] || skip_all "PROGRAMS: contrib/programs were not built"
# Two threads that meet again and again; it publishes nothing.
cat >"$tmp/meets.c" <<'C'
#include <stdlib.h>
int main(int argc, char **argv)
{
	for (long n = argc > 1 ? atol(argv[1]) : 1; n > 0; n--) {
#pragma omp parallel num_threads(2)
		for (volatile int i = 0; i < 50000; i++)
			;
	}
	return 0;
}
C
cc -O1 -fopenmp -o "$tmp/meets" "$tmp/meets.c" 2>/dev/null || skip_all "COMPILER: none with OpenMP"
chmod 755 "$tmp/meets"
# So many spins take about a second.
settings='launch_env: {idle: leave, openmp: {GOMP_SPINCOUNT: 50000000, OMP_WAIT_POLICY: active}}'
# No windows: nothing but launches is compared.
start_spine 'policy: fair' 'baseline_fraction: 0' "$settings" 'control_fraction: 0'
fraction() {
  sed -i "s/^control_fraction: .*/control_fraction: $1/" "$tmp/coloc.yaml"
  ctl reload >/dev/null
}
# As modules do it: a default of the program's own, where nothing is set.
launch() { # TYPE MEETINGS
  # shellcheck disable=SC2016 # the shell of the step
  srun -J "$1" --coloc=on --coloc-type="$1" sh -c 'GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-0} exec "$@"' \
    sh "$tmp/meets" "$2" >"$tmp/$1.out" 2>&1 || diag "$(cat "$tmp/$1.out")"
}
explained() { ctl explain "$(job_id "$1")" >/dev/null 2>&1; }
found() { grep -o 'guard: the launch environment makes.*' "$tmp/colocd.out"; }
# One that begins where it has one core has no more threads running than that, and libgomp then spins
# for less, whatever it is told: so company comes when it has begun.
accompany() {
  srun -J company --coloc=on "$programs/spin" --work=100000000000 >/dev/null 2>&1 &
  company_pid=$!
}
meetings=3000 # later as many digits: the same class of arguments
fraction 0.2
n=0
while [ "$n" -lt 30 ] && ! found >/dev/null; do
  launch victim "$meetings" &
  victim_pid=$!
  wait_for 20 explained victim
  accompany
  [ "$n" -gt 0 ] || ok "company runs" wait_for 20 job_known company
  wait "$victim_pid"
  scancel -n company
  wait "$company_pid" || true
  n=$((n + 1))
done
diag "$n launches of $meetings meetings: $(acct -n -P -S now-1hour -o JobName,Launch,ElapsedRaw | sed -n 's/^victim|//p' | paste -sd" ")"
like "$(found)" '^guard: the launch environment makes victim@[^ ]* slower: 0\.' \
  "the loss is noticed within 30 launches"
like "$(ctl quarantine)" ' launch +quarantined +0\.[0-9]+ .* elapsed .* victim@' "the operator sees it"
ok "the next launch runs" launch victim "$meetings"
victim=$(acct -n -P -S now-1hour -o JobName,JobID,Launch | sed -n 's/^victim|\([^|]*\)|withheld$/\1/p' | tail -1)
like "$victim" '^[0-9]+\.0$' "without the settings, and the accounting says so"
like "$(acct -n -P -j "$victim" -o GainLaunch,GainBasis)" '^0\.[0-9]+ \(.*\)\|elapsed$' \
  "with what they would cost it"
stop "$colocd_pid" KILL
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
launch victim 9999 &
started_pids+=("$!")
ok "after a restart it runs again" wait_for 20 explained victim
like "$(ctl explain "$(job_id victim)")" 'GOMP_SPINCOUNT: guard: with it the program was 0\.' \
  "still without them, and explain says why"
launch other 9999 &
started_pids+=("$!")
ok "another program starts" wait_for 20 explained other
like "$(ctl explain "$(job_id other)")" 'GOMP_SPINCOUNT=' "with the settings"
done_testing
