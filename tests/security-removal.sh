#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# security-removal.sh - does tests/live/security.sh notice when a check is gone? Builds colocd in a
# scratch copy of source and build folder with one check removed, and runs the test on it: it must
# fail, and in the checks of that threat. For each of the removals below, or those named as
# arguments. Root; takes a minute each. Exit 0: each removal was noticed.
set -euo pipefail

srcdir=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
builddir=${COLOC_BUILDDIR:-$srcdir/build}
[ "$(id -u)" = 0 ] || {
  echo "security-removal: needs root"
  exit 77
}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/coloc-removal.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# remove NAME: edits the copy; prints the threat whose checks have to fail.
remove() {
  case $1 in
  peer) # anybody registers and ends steps
    sed -i 's/if (c->uid != 0) {/if (0) {/' nodesvc/server.c
    echo S1
    ;;
  command) # anybody releases and drains
    sed -i 's/if (commands\[i\].root && uid != 0) {/if (0) {/' nodesvc/ctl.c
    echo S2
    ;;
  see) # anybody sees all steps
    sed -i 's/return r->uid == 0 || r->uid == s->uid;/return s != NULL;/' nodesvc/ctl.c
    echo S4
    ;;
  attach) # another user's process gets a step's pages
    sed -i 's/if (s && s->uid != uid)/if (0)/' nodesvc/attach.c
    echo S5
    ;;
  cgroup) # the message's word for whose the pid is
    sed -i 's/if (cg.job_id != s->job_id || cg.step_id != s->step_id)/if (0)/' nodesvc/lifecycle.c
    echo S6
    ;;
  connections)
    sed -i 's/count_uid(s, cred.uid) >= CONNS_PER_UID/0/' nodesvc/server.c
    echo S8
    ;;
  quota)
    sed -i 's/if (rc < 0 || c.n < KEPT_PER_USER)/if (rc <= 0)/' nodesvc/ctl.c
    echo S10
    ;;
  socketdir)
    sed -i "s/if (st.st_uid != 0 || (st.st_mode \& (S_IWGRP | S_IWOTH)))/if (0)/" nodesvc/main.c
    echo S11
    ;;
  *)
    echo "security-removal: unknown '$1'" >&2
    return 2
    ;;
  esac
}

[ $# -gt 0 ] || set -- peer command see attach cgroup connections quota socketdir
bad=0
for name; do
  rm -rf "$scratch/src"
  mkdir "$scratch/src"
  (cd "$srcdir" && tar cf - --exclude=./build* --exclude=.git .) | tar xf - -C "$scratch/src"
  cp -a "$builddir" "$scratch/src/build"
  before=$(cat "$scratch"/src/nodesvc/{server,ctl,attach,lifecycle,main}.c | cksum)
  threat=$(cd "$scratch/src" && remove "$name")
  if [ "$before" = "$(cat "$scratch"/src/nodesvc/{server,ctl,attach,lifecycle,main}.c | cksum)" ]; then
    echo "not ok $name: nothing was removed: the check reads otherwise now"
    bad=1
    continue
  fi
  if ! make -C "$scratch/src/build" nodesvc/colocd CFLAGS="-g -O1 -w" >"$scratch/make.log" 2>&1; then
    tail -20 "$scratch/make.log"
    echo "not ok $name: does not build"
    bad=1
    continue
  fi
  COLOC_SRCDIR=$scratch/src COLOC_BUILDDIR=$scratch/src/build \
    bash "$scratch/src/tests/live/security.sh" >"$scratch/out" 2>&1 || true
  if grep -q "^not ok .* - $threat " "$scratch/out"; then
    echo "ok $name: without the check $(grep -c "^not ok .* - $threat " "$scratch/out") checks of $threat fail"
  else
    grep -E '^(not ok|1\.\.|Bail)' "$scratch/out" || tail -3 "$scratch/out"
    echo "not ok $name: nobody noticed"
    bad=1
  fi
done
exit $bad
