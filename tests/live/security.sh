#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# security.sh - what an ordinary user may not do to colocd, and to others through it: each threat of
# doc/security.md is tried as uid 65534 beside jobs of root on a real Slurm, refused, and logged.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
need ROOT SLURM PLUGIN COLOCD MSGDUMP
client=$builddir/tests/live/live_client
user=65534
start_spine 'policy: fair' 'metrics_file: none'

say() { "$client" "$socket" "$user" say "$@" 2>&1; }
root_says() { "$client" "$socket" 0 say "$@" 2>&1; }
as_user() { setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; }
logged() { grep -qE -- "$1" "$tmp/colocd.out"; }
known() { ctl --json jobs | grep -c '"program"'; }
# Of what users do wrong five lines are logged in 10 s; a new count begins after.
quiet_since=$SECONDS
quiet() { [ $((SECONDS - quiet_since)) -ge 11 ]; }
fresh_log() {
  quiet_since=$SECONDS
  wait_for 20 quiet
}

spawn victim --coloc=on -n1
job=$(job_id victim)
before=$(kernel_state)

# S1: register, end or take over steps.
like "$(say step_start job=900 step=0 uid=$user ntasks=1 name=x)" '^closed$' "S1 a user registers no step"
ok "S1 logged" logged "uid $user sent 'step_start': only root registers steps"
like "$(say task_start job="$job" step=0 nodeid=0 task=7 pid=1)" '^closed$' "S1 nor a task of another's step"
like "$(say task_exit job="$job" step=0 nodeid=0 task=0 pid=1 status=0)" '^closed$' "S1 nor ends one"
like "$(say step_end job="$job" step=0 nodeid=0)" '^closed$' "S1 nor ends a step"
is "$(known)" 1 "S1 the step of root goes on"

# S2: move, freeze, release; S3: change the service.
for cmd in release reload drain resume record vacuum quarantine_list quarantine_rm; do
  if [ $cmd = release ]; then threat=S2; else threat=S3; fi
  like "$(say ctl cmd=$cmd job="$job" tag=/tmp/x)" "only root may" "$threat a user may not $cmd"
  ok "$threat logged" logged "uid $user asked for '$cmd'"
done
is "$(kernel_state)" "$before" "S2 cpusets and masks are as before"

# S4: read others' jobs.
unlike "$(say ctl cmd=jobs)" "\"$job" "S4 jobs shows no job of another user"
like "$(say ctl cmd=explain job="$job")" "no step '$job' runs under coloc" "S4 explain does not even say it is there"
say ctl cmd=explain job="$job" >"$tmp/there"
say ctl cmd=explain job=99999 | sed "s/99999/$job/" >"$tmp/not-there"
ok "S4 the same answer as for a job that is not" cmp -s "$tmp/there" "$tmp/not-there"
unlike "$(say ctl cmd=acct 'json={"all":true}')" "\"job_id\": *$job" "S4 acct has no row of another user"
run as_user cat "$tmp/store/coloc.db"
ok "S4 nor is the store readable" test "$rc" != 0
run as_user cat "$tmp/store/ledger.db"
ok "S4 nor the ledger" test "$rc" != 0

# S6: a root client that lies about a pid moves nobody: the kernel says whose cgroup it is.
root_says step_start job=901 step=0 nodeid=0 uid=0 nnodes=1 ntasks=1 name=x >/dev/null
like "$(root_says task_start job=901 step=0 nodeid=0 task=0 pid=$$)" 'task_refused' "S6 a process outside of Slurm is not placed"
pid=$(step_threads "$(step_dir "$job" 0)" | tail -1)
like "$(root_says task_start job=901 step=0 nodeid=0 task=0 pid="$pid")" "is in step $job" "S6 nor one of another step"
root_says step_end job=901 step=0 nodeid=0 >/dev/null

# S7: messages that are none.
fresh_log
like "$("$client" "$socket" $user raw 100)" '^closed$' "S7 bytes without sense end the connection"
ok "S7 logged" logged "uid $user: "
like "$("$client" "$socket" $user raw 60000)" '^closed$' "S7 and so does a packet over the limit"
ok "S7 logged" logged 'message of 60000 bytes, limit'
like "$(say ctl cmd=nonsense)" 'unknown command' "S7 an unknown command is an error"
like "$(say nonsense)" '^closed$' "S7 an unknown type ends the connection"
is "$(known)" 1 "S7 the daemon has what it had"

# S5: the pages of another's step.
like "$(say attach)" 'attach_refused' "S5 a process outside of the step gets no pages"
ok "S5 logged" logged "warning: process [0-9]+ of uid $user: no pages"
# Where its task is: cgroup v2 lets nobody, root neither, into a level that has others below it.
tasks=$(find "$(step_dir "$job" 0)" -name "$threads_file" -exec grep -lx "$pid" {} + | head -1)
tasks=${tasks%/*}/cgroup.procs
run as_user sh -c "echo \$\$ >$tasks"
ok "S5 nor gets into it" test "$rc" != 0
like "$(sh -c "echo \$\$ >$tasks && exec '$client' '$socket' $user say attach")" "another user's" "S5 nor there, put in by root"
ok "S5 logged" logged "of uid $user: no pages: step $job.0 is another user's"
for _ in {1..20}; do say attach; done >"$tmp/attached"
is "$(grep -c '^type=attach_refused' "$tmp/attached")" 20 "S5 however often"
at_most "$(grep -c "uid $user: no pages" "$tmp/colocd.out")" 12 "S5 but they fill no log"

# S8: connections without end, or ones that say nothing.
"$client" "$socket" $user hold 200 3 >"$tmp/held" &
started_pids+=("$!")
sleep 1
run timeout 5 "$colocctl" --socket="$socket" ping
is "$rc" 0 "S8 root is answered beside 200 connections that say nothing"
wait_for 10 test -s "$tmp/held"
is "$(cat "$tmp/held")" "16 open" "S8 a user holds 16"
ok "S8 logged" logged "uid $user: too many connections"

# S9: questions without end. Registrations have to be answered all the while: each takes less than
# timeout_ms by far (slack of 5 for a busy machine). That the flood has its share and no more
# test_server counts.
"$client" "$socket" $user flood 3 policies >"$tmp/flood" &
started_pids+=("$!")
worst=0
for _ in 1 2 3 4 5; do
  run root_says step_start job=902 step=0 nodeid=0 uid=0 nnodes=1 ntasks=1 name=x
  [ "$ms" -le "$worst" ] || worst=$ms
  root_says step_end job=902 step=0 nodeid=0 >/dev/null &
  sleep 0.3
done
wait_for 20 test -s "$tmp/flood"
diag "$(cat "$tmp/flood")"
at_most "$worst" 1250 "S9 ms, the slowest registration while a user floods"

# S10: the store filled by profiles.
profile() {
  printf '{"schema":1,"type":"%s","threads":1,"solo_s":1.0,"utilization":1.0,"source":"cachegrind","count":1,"signals":{"loads_per_s":1.0}}' "$1"
}
like "$(say ctl cmd=profile_put "json=$(profile p0)")" '^rc=0$' "S10 a user keeps a profile"
for i in $(seq 510); do say ctl cmd=profile_put "json=$(profile "p$i")"; done >"$tmp/puts"
like "$(cat "$tmp/puts")" 'are kept for you already' "S10 but not without end"
ok "S10 logged" logged "uid $user: no more than"

# S11: files in the daemon's way: it does not start with what others may write.
stop "$colocd_pid"
refuses() { # NAME REGEX
  run timeout 10 "$builddir/nodesvc/colocd" --config="$tmp/coloc.yaml"
  is "$rc" 1 "S11 $1: does not start"
  like "$err$out" "$2" "S11 $1: says why"
}
chmod 666 "$tmp/coloc.yaml"
refuses "others may write the configuration" 'lets others write'
chmod 644 "$tmp/coloc.yaml" && chown $user "$tmp/coloc.yaml"
refuses "the configuration is another's" "must be root's"
chown 0 "$tmp/coloc.yaml" && chmod 777 "$tmp/store"
refuses "others may write the store" 'owner or mode lets others write'
chmod 700 "$tmp/store" && mv "$tmp/store" "$tmp/store2" && ln -s "$tmp/store2" "$tmp/store"
refuses "the store is a link" 'is no directory'
rm "$tmp/store" && mv "$tmp/store2" "$tmp/store"
chmod 777 "$tmp"
refuses "others may write the socket's directory" "key 'socket'.*owner or mode lets others write"
chmod 755 "$tmp" && rm -f "$socket" && touch "$socket"
refuses "a file is where the socket goes" 'is there and no socket'
rm -f "$socket"
is "$(find "$builddir" "$srcdir" -path '*/.git' -prune -o -type f -perm /6000 -print | head -3)" "" "S12 nothing is setuid or setgid"
start_colocd "$tmp/coloc.yaml" "$socket"
stop_steps
done_testing
