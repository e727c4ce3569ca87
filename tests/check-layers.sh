#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Which room may include what: dependencies point towards common, each library has one home, the
# engine is pure, and the plugin brings nothing but libc into Slurm's processes.
# Usage: check-layers.sh [SRCDIR]
set -eu
cd "${1:-${COLOC_SRCDIR:-$(dirname "$0")/..}}"
bad=0

complain() {
  echo "check-layers: $*" >&2
  bad=1
}

# room, then what its files may include of ours: a folder ("x/") or a single header. A room that
# is not listed is refused: add its line. nodesvc itself (main.c and its neighbours) knows everyone.
rooms='
common: common/
spank: spank/ common/ nodesvc/engine/registry.def
nodesvc/engine: nodesvc/engine/ common/
nodesvc/counters: nodesvc/counters/ common/ nodesvc/engine/view.h nodesvc/runtime/page.h
nodesvc/actuate: nodesvc/actuate/ common/ nodesvc/record/ledger.h
nodesvc/record: nodesvc/record/ common/ nodesvc/counters/counters.h
nodesvc/report: nodesvc/report/ common/ nodesvc/record/ nodesvc/ctl/client.h
nodesvc/ctl: nodesvc/ctl/ common/ nodesvc/counters/ nodesvc/engine/ nodesvc/record/ nodesvc/report/ nodesvc/conf
nodesvc/trace: nodesvc/trace/ common/ nodesvc/engine/
nodesvc/sim: nodesvc/sim/ common/ nodesvc/counters/counters.h nodesvc/engine/ nodesvc/record/ nodesvc/trace/ nodesvc/runtime/task_
nodesvc/runtime: nodesvc/runtime/ common/ nodesvc/engine/
nodesvc/base: nodesvc/base/ nodesvc/loop.h common/
nodesvc/node: nodesvc/node/ common/
nodesvc/books: nodesvc/books/ nodesvc/measure/measure.h nodesvc/steps/ nodesvc/node/ nodesvc/base/ nodesvc/carry.h nodesvc/jobs.h nodesvc/conf.h nodesvc/loop.h nodesvc/log.h nodesvc/record/ common/ nodesvc/engine/
nodesvc/levers: nodesvc/levers/ common/ nodesvc/base/ nodesvc/engine/ nodesvc/counters/ nodesvc/actuate/ nodesvc/record/ nodesvc/conf.h nodesvc/node/ nodesvc/steps/ nodesvc/jobs.h nodesvc/log.h nodesvc/loop.h nodesvc/measure/
nodesvc/choose: nodesvc/ common/
nodesvc/socket: nodesvc/ common/
nodesvc/daemon: nodesvc/ common/
nodesvc/steps: nodesvc/steps/ nodesvc/base/ nodesvc/jobs.h nodesvc/loop.h nodesvc/log.h common/ nodesvc/actuate/ nodesvc/counters/ nodesvc/engine/
nodesvc/measure: nodesvc/measure/ nodesvc/counters/ nodesvc/steps/ nodesvc/node/ nodesvc/base/ nodesvc/jobs.h nodesvc/conf.h nodesvc/loop.h nodesvc/log.h nodesvc/work.h nodesvc/runtime/sleeper.h common/ nodesvc/engine/
nodesvc: nodesvc/ common/ spank/
'

# Libraries: header, then the files that may include it.
homes='
sqlite3.h nodesvc/record/
papi.h nodesvc/counters/papi.c
yaml.h nodesvc/conf nodesvc/sim/
hwloc.h common/topo.c
hwloc/ common/topo.c
slurm/ spank/
libsmartcols nodesvc/report/ nodesvc/ctl/
curses.h nodesvc/ctl/top_term.c
ncurses nodesvc/ctl/top_term.c
term.h nodesvc/ctl/top_term.c
json-c/ nodesvc/
json.h nodesvc/
pthread.h nodesvc/
linux/perf_event.h nodesvc/counters/
'

sources() {
  find common spank nodesvc -name '*.[ch]' -o -name '*.def' | sort
}

room_of() {
  case $1 in
  nodesvc/*/*) echo "$1" | cut -d/ -f1,2 ;;
  *) echo "$1" | cut -d/ -f1 ;;
  esac
}

starts_with_one_of() {
  name=$1
  shift
  for prefix; do
    case $name in "$prefix"*) return 0 ;; esac
  done
  return 1
}

for file in $(sources); do
  room=$(room_of "$file")
  allowed=$(echo "$rooms" | sed -n "s|^$room: ||p")
  if [ -z "$allowed" ]; then
    complain "$file: the room $room has no line in tests/check-layers.sh"
    continue
  fi
  # shellcheck disable=SC2013 # names of headers have no blanks
  for header in $(sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$file"); do
    case $header in
    config.h | *.inc) continue ;;
    */*) ;;
    *) # beside the file, or generated there
      [ -e "$(dirname "$file")/$header" ] || [ ! -e "$header" ] || complain "$file: $header"
      continue
      ;;
    esac
    # shellcheck disable=SC2086 # a list of prefixes
    starts_with_one_of "$header" $allowed || complain "$file: $room may not include $header"
  done
  # shellcheck disable=SC2013 # names of headers have no blanks
  for header in $(sed -n 's/^[ \t]*#[ \t]*include[ \t]*<\([^>]*\)>.*/\1/p' "$file"); do
    while read -r lib places; do
      [ -n "$lib" ] || continue
      case $header in
      "$lib"*)
        # shellcheck disable=SC2086
        starts_with_one_of "$file" $places || complain "$file: <$header> belongs to $places"
        ;;
      esac
    done <<END
$homes
END
  done
done

# The engine: no clock, descriptor, log, environment, thread or randomness of its own.
impure='clock_gettime|gettimeofday|time|clock|nanosleep|usleep|sleep|rand|random|srand|drand48|getrandom|getenv|secure_getenv|setenv|open|openat|fopen|fdopen|socket|popen|system|fork|read|write|printf|vprintf|fprintf|vfprintf|puts|fputs|perror|syslog|abort|exit|_exit|getpid|gettid|sysconf|pthread_[a-z_]*'
for file in $(sources | grep '^nodesvc/engine/'); do
  hits=$(sed -e 's|//.*||' -e 's|/\*.*\*/||g' -e '/^[ \t]*\/\?\*/d' -e 's/"[^"]*"/""/g' "$file" |
    grep -nE "(^|[^A-Za-z0-9_>.])($impure)[ ]*\(" || :)
  [ -z "$hits" ] || complain "$file: impure call in the engine: $hits"
  hits=$(grep -nE '^[ \t]*#[ \t]*include[ \t]*<(unistd|fcntl|time|signal|poll|pthread|sys/(socket|stat|time|wait|mman|epoll|syscall))\.h>' \
    "$file" || :)
  [ -z "$hits" ] || complain "$file: impure header in the engine: $hits"
done

# /proc/PID/stat adds up all threads of the process at each read, in one go: its user chooses how
# long that takes. A thread's own, proc/PID/task/TID/stat, does not. (A run of our own is no user's.)
# shellcheck disable=SC2046
hits=$(grep -nE 'proc/%[du]/stat"' $(sources | grep -v '^nodesvc/counters/cachegrind\.c$') || :)
[ -z "$hits" ] || complain "the whole process's stat is read: $hits"

# An assignment that a lost backslash, or one too many, made part of the one before: only `make
# distcheck' would tell.
for file in Makefile.am $(find . -path './build*' -prune -o -name local.mk -print) tests/live/actuate.mk; do
  hits=$(awk 'goes_on && /^[A-Za-z_]+ *[+:]?= / { print NR ": " $0 } { goes_on = /\\$/ }' "$file")
  [ -z "$hits" ] || complain "$file: an assignment within another: $hits"
done

[ "$bad" = 0 ] && echo "check-layers: ok"
exit "$bad"
