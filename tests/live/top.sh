#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# top.sh - colocctl top on a terminal (tmux's) beside real steps: who is where, windows that change
# their size, a service that goes away, and a terminal that is as before whatever ends it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/spine.sh"
need TMUX
start_spine 'policy: fair' 'interval_ms: 200'

export LC_ALL=C.UTF-8 HISTFILE=/dev/null
tm() { tmux -u -S "$tmp/tmux" -f /dev/null "$@"; }
page() { tm capture-pane -p -t top; }
shows() { page | grep -qE -- "$1"; }
hides() { ! shows "$1"; }
type_line() { tm send-keys -t top "$@" Enter; }
state() { tm display-message -p -t top "#{alternate_on} #{cursor_flag}"; }
state_is() { [ "$(state)" = "$1" ]; }
top_pid() { pgrep -P "$(tm display-message -p -t top '#{pane_pid}')" -x colocctl; }
top_runs() { [ -n "$(top_pid)" ]; }
top_ended() { ! top_runs; }
modes() {
  type_line "stty -a >$tmp/modes.new; mv $tmp/modes.new $tmp/modes"
  wait_for 10 test -s "$tmp/modes"
  cat "$tmp/modes"
  rm "$tmp/modes"
}
start_top() {
  type_line "clear; $colocctl --socket=$socket top -d 0.5 $*"
  wait_for 20 shows '^coloc top '
}
as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

run "$colocctl" --socket="$socket" top
like "$rc:$err" '^1:.*; -b prints plain text' "without a terminal it says what to do"

spawn a --coloc=on
spawn b --coloc=on
a=$(job_id a).0 b=$(job_id b).0

# --- batch ---
run ctl top -b -n 1
is "$rc" 0 "batch needs no terminal"
like "$out" "^ a +${a/./\\.} +root +.* $(cpuset_of a) .* fair .* placed " "a step and where it is"
like "$out" "^ b +${b/./\\.} +root +.* $(cpuset_of b) .* fair .* placed " "and the other"
like "$out" '^CPU 0 [ab. ]*[ab]' "the map has their letters"
like "$out" ' [0-9][0-9]:[0-9][0-9]:[0-9][0-9] (arrival|tick|end) ' "with the time and event of the last decision"

run as_user "$colocctl" --socket="$socket" top -b -n 1
is "$rc" 0 "a user may look, too"
like "$out" '0 of 2 steps are yours' "and sees that there are others' steps"
unlike "$out" "${a/./\\.}|root" "but not whose"
like "$out" '^CPU 0 [. ]*$' "nor where"
run ctl top -b -n 2 -d 0.1 -w 40
is "$(wc -L <<<"$out")" 40 "no line is wider than -w"
is "$(grep -c '^coloc top' <<<"$out")" 2 "and -n counts"

if "$colocctl" top </dev/null 2>&1 | grep -q 'built without ncurses'; then
  diag "the live view is not there: built without ncurses"
  done_testing
fi

# --- a terminal ---
tm new-session -d -s top -x 150 -y 30 "exec bash --norc"
started_pids+=("$(tm display-message -p '#{pid}')")
type_line "ulimit -c 0"
before=$(modes)
start_top
ok "the live view shows a step" wait_for 20 shows "^>a +${a/./\\.} +root "
ok "and the other" wait_for 20 shows "^ b +${b/./\\.} +root "
like "$(page)" " $(cpuset_of a) +[0-9]+ " "with its cores"
like "$(page | head -8)" '^CPU 0 [ab. ]*[ab]' "and the map"
ok "below are the decisions on the step that is selected" wait_for 20 shows '^Decisions [0-9:]{8} [a-z]+ +fair: '
is "$(state)" "1 0" "it has a screen of its own, and no cursor"
spawn late --coloc=on
ok "a step that comes is shown" wait_for 20 shows "^ c +$(job_id late)\.0 "
late=$(job_id late)
end_job late
ok "and leaves when it ends" wait_for 20 hides "^ c +$late\.0 "

# --- only what changed is sent ---
tm pipe-pane -t top -O "cat >>$tmp/raw"
bytes() { stat -c %s "$tmp/raw" 2>/dev/null || echo 0; }
bytes_more() { [ "$(bytes)" -gt "$1" ]; }
seconds() { page | sed -n '1s/.*\(..\)$/\1/p'; }
second_is_not() { [ "$(seconds)" != "$1" ]; }
tm send-keys -t top C-l
wait_for 10 bytes_more 1000
sleep_to_next() { wait_for 10 second_is_not "$(seconds)"; }
sleep_to_next
full=$(bytes)
sleep_to_next
sleep_to_next
changed=$(($(bytes) - full))
tm pipe-pane -t top
ok "it goes on drawing" test "$changed" -gt 0
at_most "$changed" "$full" "bytes sent in two seconds, of some four looks; a page"

# --- keys and windows ---
tm send-keys -t top Down
ok "the arrows select" wait_for 10 shows "^>b +${b/./\\.} "
ok "whose details are shown" wait_for 10 shows "^ b ${b/./\\.} of root"
tm send-keys -t top s
ok "s sorts" wait_for 10 shows 'sort: user'
tm send-keys -t top h
ok "h helps" wait_for 10 shows 'any key: back'
tm send-keys -t top x
ok "any key goes back" wait_for 10 shows 'q quit'
foot_is_last() { page | tail -1 | grep -q 'q quit'; }
tm resize-window -t top -x 60 -y 12
ok "a smaller window has all of the page" wait_for 10 foot_is_last
like "$(page)" "^>b +${b/./\\.} " "and what was selected"
tm resize-window -t top -x 9 -y 2
ok "a tiny one something" wait_for 10 shows '^coloc to'
tm resize-window -t top -x 150 -y 30
ok "the old one all of it again" wait_for 10 shows '^Decisions '

# --- the service goes and comes ---
stop "$colocd_pid"
ok "a service that is away is told" wait_for 20 shows '^No answer since [0-9:]{8}; this is of [0-9:]{8}: '
like "$(page)" "${a/./\\.} +root" "beside what was known"
tm send-keys -t top Up
ok "keys are heard meanwhile" wait_for 10 shows "^>a +${a/./\\.} "
start_colocd "$tmp/coloc.yaml" "$socket"
colocd_pid=$pid
ok "and so is its return" wait_for 20 hides '^No answer'
like "$(page)" "^>a +${a/./\\.} +root" "with the steps that still run"
kill -STOP "$colocd_pid"
tm send-keys -t top h
ok "keys are heard while it hangs" wait_for 4 shows 'any key: back'
kill -CONT "$colocd_pid"
tm send-keys -t top x
ok "and it goes on with it" wait_for 20 shows "^>a +${a/./\\.} +root"

# --- the terminal is as before ---
tm send-keys -t top q
ok "q ends it" wait_for 10 top_ended
ok "the screen and the cursor are back" wait_for 10 state_is "0 1"
is "$(modes)" "$before" "and the terminal's modes"
for signal in TERM SEGV; do
  start_top
  kill "-$signal" "$(top_pid)"
  ok "SIG$signal ends it" wait_for 10 top_ended
  ok "with the screen back" wait_for 10 state_is "0 1"
  is "$(modes)" "$before" "and the modes"
done
type_line "clear; TERM=dumb $colocctl --socket=$socket top"
ok "a terminal that cannot do it is refused" wait_for 10 shows "type 'dumb' is not known or cannot move its cursor"
type_line "clear; TERM=no-such $colocctl --socket=$socket top"
ok "and one that nobody knows" wait_for 10 shows "type 'no-such' is not known"
start_top -n 2
ok "-n ends it, too" wait_for 20 top_ended
start_top
gone=$(top_pid)
tm kill-window -t top
ok "it does not outlive its terminal" wait_for 10 process_gone "$gone"

stop_steps
done_testing
