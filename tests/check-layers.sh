#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Which room may use what, by the includes and by the symbols of a build's objects: no room uses what
# does not stand below it, no files use each other in a circle, each library has one home, the engine
# is pure. tests/layers.rooms has the rooms. tests/layers.known has what is wrong today: it may only
# shrink.
# Usage: check-layers.sh [--shrink] [SRCDIR [BUILDDIR]]
# --shrink takes out of layers.known what is true no more. Without BUILDDIR, or COLOC_BUILDDIR, only
# includes are looked at.
set -eu
shrink=0
[ "${1-}" != --shrink ] || {
  shrink=1
  shift
}
build=${2:-${COLOC_BUILDDIR:-}}
cd "${1:-${COLOC_SRCDIR:-$(dirname "$0")/..}}"
bad=0

complain() {
  echo "check-layers: $*" >&2
  bad=1
}

sources() {
  find common spank nodesvc -name '*.[ch]' -o -name '*.def' | sort
}

facts() {
  cat tests/layers.rooms tests/layers.known
  sources | sed 's/^/F /'
  # shellcheck disable=SC2016 # awk's own
  find doc -name '*.walk' -exec awk '!/^(#|title|room)/ && NF > 3 { print "W", $1, $2, $3, FILENAME }' {} +
  sources | xargs grep -HE '^[ 	]*#[ 	]*include[ 	]' |
    sed -n -e 's/^\([^:]*\):[^"<]*"\([^"]*\)".*/I \1 \2/p' -e 's/^\([^:]*\):[^"<]*<\([^>]*\)>.*/L \1 \2/p'
  [ -z "$build" ] || {
    # shellcheck disable=SC2046
    find $(sources | grep '\.c$') -printf 'T %p %T@\n'
    cd "$build"
    find common spank nodesvc -name '*.o' -printf 'T %p %T@\n'
    find common spank nodesvc -name '*.o' -exec "${NM:-nm}" -A -P -g {} +
  }
}

layers() {
  facts | awk -v shrink="$shrink" -v known_file=tests/layers.known -f tests/layers.awk
}

if [ "$shrink" = 1 ]; then
  left=$(layers)
  printf '%s\n' "$left" >tests/layers.known
  exit
fi
found=$(layers) || {
  printf '%s\n' "$found" | sort >&2
  bad=1
}

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

if [ -n "$build" ]; then
  looked="$(grep -cE '^(up|circle) ' tests/layers.known || :) known arrows left"
else
  looked="by includes alone: no build was given"
fi
[ "$bad" = 0 ] && echo "check-layers: ok, $looked"
exit "$bad"
