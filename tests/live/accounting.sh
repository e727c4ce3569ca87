#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# accounting.sh - summaries in Slurm's own accounting: MariaDB, slurmdbd, slurmctld and three
# slurmd, real ones, and a database that hangs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
need ROOT SLURM PLUGIN COLOCD
for tool in mariadbd slurmdbd sacct sacctmgr; do
  command -v "$tool" >/dev/null ||
    skip_all "SLURMDBD: $tool not found (Debian: mariadb-server slurmdbd)"
done

# sacct as colocd sees it: hangs while $tmp/hang is there.
mkdir "$tmp/bin"
printf '#!/bin/sh\n[ ! -e %s/hang ] || exec sleep 1000\nexec %s "$@"\n' \
  "$tmp" "$(command -v sacct)" >"$tmp/bin/sacct"
chmod 755 "$tmp" "$tmp/bin/sacct"
config() { printf 'store: %s\nsocket: %s\nlog: debug\npolicy: fair\n%s\n' "$tmp/store" "$socket" "$*" >"$tmp/coloc.yaml"; }
config

start_cluster --accounting --nodes 3 --plugin-args "socket=$socket timeout_ms=1000"
PATH=$tmp/bin:$PATH start_colocd "$tmp/coloc.yaml" "$socket"

comment() { sacct -X -n -P -j "$1" -o AdminComment 2>/dev/null; }
parts() { comment "$1" | grep -o '{node=' | wc -l; }
parts_are() { [ "$(parts "$1")" = "$2" ]; }
has_ended() { [ "$(sacct -X -n -P -j "$1" -o State 2>/dev/null)" = COMPLETED ]; }
has() { comment "$1" | grep -qE -- "$2"; }
logged() { grep -qE -- "$1" "$tmp/colocd.out"; }

# --- off by default ---
run srun -N1 --coloc=on true
is "$rc" 0 "a job while slurm_accounting is off"
ok "ends in Slurm's accounting" wait_for 30 has_ended 1

# --- one job, three nodes ---
config 'slurm_accounting: yes'
like "$(ctl reload 2>&1)" 'slurm_accounting' "reload takes slurm_accounting"
run srun -N3 -J three --coloc=on sleep 1
is "$rc" 0 "a job of three nodes"
ok "has a part of each node in AdminComment" wait_for 90 parts_are 2 3
like "$(comment 2)" '^coloc/1\{node=[a-z0-9]+n[123];policy=fair;steps=1;start=' "in the documented form"
is "$(comment 1)" "" "the job before has none"
like "$(sacct -X -n -P -j 2 -o JobID,AdminComment)" '^2\|coloc/1\{.*\}$' "sacct -o JobID,AdminComment shows it"
is "$("$colocacct" --cluster -S now-1hour -j 2 -n -P -o JobID,JobName,Policy,State,Rebinds | sort -u)" \
  "2|three|fair|COMPLETED|0" "colocacct --cluster reads it"
is "$("$colocacct" --cluster -S now-1hour -j 2 -n -P -o NodeList | sort | paste -sd' ')" \
  "${node}n1 ${node}n2 ${node}n3" "with a line per node"
is "$("$colocacct" --cluster -S now-1hour -N "${node}n[2-3]" -n -P -o NodeList | sort | paste -sd' ')" \
  "${node}n2 ${node}n3" "and picks nodes"
is "$("$colocacct" --cluster -S now-1hour -j 1 -n -P)" "" "and no job without a summary"
# The example of colocacct(1).
export PATH=$builddir/nodesvc:$PATH
run bash -o pipefail -c 'colocacct --cluster -S today -o JobID,NodeList,Policy,STP,Gain | cat'
is "$rc" 0 "the example of the manual page"
run "$colocacct" --cluster -j 2.0
is "$rc" 1 "a step cannot be named"

# --- other people's comments ---
sbatch -N1 -J noted --coloc=on -o /dev/null --wrap "srun true; srun true; while [ ! -e $tmp/go ]; do sleep 0.1; done" >/dev/null
is_running() { [ "$(squeue -h -j "$1" -t R -o %i 2>/dev/null)" = "$1" ]; }
ok "a batch job runs" wait_for 30 is_running 3
scontrol update job=3 AdminComment='site note=1;x'
sbatch -N1 -J quoted --coloc=on -o /dev/null --wrap "srun true; while [ ! -e $tmp/go ]; do sleep 0.1; done" >/dev/null
ok "another" wait_for 30 is_running 4
scontrol update job=4 AdminComment='{"other":"tool"}'
touch "$tmp/go"
ok "a site's note is kept beside the summary" wait_for 90 has 3 '^site note=1;x coloc/1\{node=.*steps=[23];'
ok "a comment with quotes is left" wait_for 90 logged "job 4: Slurm's accounting: another's AdminComment holds quotes"
is "$(comment 4)" '{"other":"tool"}' "byte for byte"

# --- an array: its tasks are jobs of their own, one of them by the array's own number ---
sbatch -N1 -J array --array=7-8 --coloc=on -o /dev/null --wrap 'srun true' >/dev/null
array_has() { [ "$(sacct -X -n -P -j "$1" -o AdminComment 2>/dev/null | grep -c '^coloc/1{node=[^{]*steps=[12];[^{]*}$')" = 1 ]; }
ok "a task of an array has its summary" wait_for 60 array_has 5_7
ok "and the other" wait_for 60 array_has 5_8

# --- a database that does not answer ---
touch "$tmp/hang"
run srun -N1 --coloc=on true
is "$rc" 0 "a job whose summary will hang"
wait_for 20 logged 'signals from' # the log is there at all
began=$(date +%s%N)
for _ in 1 2 3 4 5; do
  srun -N1 --coloc=on true || began=0
done
ctl ping >/dev/null || began=0
took=$((($(date +%s%N) - began) / 1000000))
# Five launches take about half a second; a hung summary would add its 20 s to one of them.
ok "no step waits for it ($took ms for five)" test "$took" -lt 10000
ok "the worker is ended at its deadline" wait_for 60 logged "did not answer within 20 s"
rm "$tmp/hang"
ok "and the summary comes later" wait_for 120 parts_are 7 1
done_testing
