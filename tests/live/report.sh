#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# report.sh - what colocacct and colocctl say of real steps is what happened.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
start_spine 'policy: fair'

# field JOB[.STEP] FIELD: of one step.
field() { acct -n -P -j "$1" -o "$2" 2>&1; }
field_is() { [ "$(field "$1" "$2")" = "$3" ]; }

# --- how a step ends ---
run srun -J good --coloc=on true
run srun -J bad --coloc=on bash -c 'exit 3'
run srun -J hit --coloc=on bash -c 'kill -9 $$'
ok "an exit status of 0 is COMPLETED" wait_for 5 field_is 1.0 State,ExitCode 'COMPLETED|0:0'
ok "another is FAILED, with the status" wait_for 5 field_is 2.0 State,ExitCode 'FAILED|3:0'
ok "a signal is FAILED, with the signal" wait_for 5 field_is 3.0 State,ExitCode 'FAILED|0:9'
is "$(field 1.0 JobName,User,Policy,NodeList)" "good|root|fair|$node" "name, user, policy, node"
is "$(field 1.0 Program)" true "the program is argv[0]'s name"
run srun --coloc=on --coloc-type=matmul true
ok "or --coloc-type" wait_for 5 field_is 4.0 Program matmul

# --- who was beside whom ---
spawn a --coloc=on
spawn b --coloc=on
is_running() { [ "$(field 5.0 State,End)" = 'RUNNING|' ]; }
ok "a step that runs has no end" wait_for 5 is_running
like "$(ctl explain 5.0 2>&1)" '^Cores +[01] of 0-1 \(Slurm gave 0-1\)$' "explain tells its cores"
like "$(ctl jobs 2>&1)" '^5\.0 +root ' "jobs lists it"
run setpriv --reuid=65534 --regid=65534 --clear-groups "$colocacct" --socket="$socket" -n -P
is "$rc:$out" "0:" "a user sees nothing of root's steps"
run setpriv --reuid=65534 --regid=65534 --clear-groups "$colocctl" --socket="$socket" release 5
is "$rc" 1 "and may not release them"
like "$err" 'only root' "which he is told"
run setpriv --reuid=65534 --regid=65534 --clear-groups "$colocacct" --store="$tmp/store" -n -P
like "$rc:$err" '^1:.*coloc.db: cannot open: Permission denied' "nor read the store"
has_sample() { acct --json --history -j "$1" | grep -q '"samples":\[{"unix_s"'; }
ok "its signals are recorded as it runs" wait_for 20 has_sample 5.0
ctl release 5.0 >/dev/null
ok "released, a step has Slurm's cores" cpuset_is a 0-1
stop_steps
ok "the partner is noted" wait_for 5 field_is 5.0 Partners 6.0
ok "on both sides" wait_for 5 field_is 6.0 Partners 5.0
like "$(field 5.0 CoresetHistory,Rebinds)" '^0-1;[01](;.*)?\|[1-9]' "with every coreset"

# --- batch and arrays ---
sbatch_wait --coloc=on --wrap 'srun true'
ok "a batch script is JOB.batch" wait_for 5 field_is 7.batch JobID 7.batch
ok "its step has the job's options" wait_for 5 field_is 7.0 State COMPLETED
sbatch_wait --coloc=on --array=3-4 --wrap 'srun true'
ok "an array's step is ARRAYJOB_TASK.STEP" wait_for 20 field_is 8_3.0 State COMPLETED
ok "and the other" wait_for 20 field_is 8_4.0 State COMPLETED
is "$(field 8 JobID | grep -c '^8_[34]\.0$')" 2 "the array's job stands for all its tasks"

# --- as a page, and as an ordinary user ---
as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
acct --html -j 5,6 >"$tmp/page.html"
is "$?" 0 "the report is made of real steps"
like "$(cat "$tmp/page.html")" '<div class=lab>core 0</div>.*<div class=lab>core 1</div>' "both cores have their lane"
like "$(cat "$tmp/page.html")" 'class=sig.*<path .*source: os|source: os.*class=sig.*<path ' "with utilisation under it"
like "$(acct --json --history -j 5.0)" '"coreset_changes":\[\{"unix_s":[0-9.]+,"coreset":"0-1","why":"[^"]+"\},\{' "with when and why"
chmod 777 "$tmp"
run as_user srun -D / -J users --coloc=on true
is "$rc" 0 "a user's step"
users_row() { [ "$(as_user "$colocacct" --socket="$socket" -n -P -o JobName,User,State 2>&1)" = "users|nobody|COMPLETED" ]; }
ok "is what he sees, and nothing else" wait_for 5 users_row
run as_user "$colocacct" --socket="$socket" -a
is "$rc" 2 "asking for all users is refused"
like "$(as_user "$colocacct" --socket="$socket" --html)" 'users</td>' "his page is of his steps"
is "$(as_user "$colocacct" --socket="$socket" --html | grep -c '>good<')" 0 "and of no other's"
is "$(acct -n -P -o JobName --name=users)" users "root finds it by name"
is "$(acct -n -P -o JobName -N "$node" --name=good,bad | paste -sd' ')" "good bad" "and by node"
is "$(acct -n -P -X -j 7 -o JobID,State)" "7|COMPLETED" "-X makes one line of a job"

# --- the store keeps to its limits ---
run ctl vacuum
like "$out" '^Removing 0 steps that are too old; [0-9.]+ MiB in use of 1024 MiB' "vacuum says what it will do"
run ctl vacuum --store="$tmp/store"
is "$rc" 1 "a store in use is not worked on"
like "$err" 'colocd runs on this store' "and why"

# --- the same from every side ---
is "$("$colocacct" --socket="$socket" -S now-1hour -P -o ALL 2>&1 | cut -d'|' -f1-18)" \
  "$(acct -P -o ALL | cut -d'|' -f1-18)" "the daemon gives root what is in the store"
is "$(acct --json | grep -c '^{"id":')" \
  "$(acct -n -P | wc -l)" "JSON has as many steps as there are lines"
run ctl check
like "$out" '^ok +partition ' "check finds the partition"
like "$out" '^ok +plugin +.*spank_coloc.so loads$' "and the plugin loads"
like "$out" '^ok +colocd ' "and colocd answers"
is "$rc" 0 "a node that is set up passes"
run ctl bundle
like "$out" '"policy": ?"fair"' "bundle has it all"
done_testing
