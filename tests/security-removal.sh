#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# security-removal.sh - does the test of each threat of doc/security.md notice when its check is
# gone? In a scratch copy of source and build folder one check after the other is removed, what it
# belongs to is built, and the test is run on it: it must fail, and in the checks of that threat.
#
#   tests/security-removal.sh [REMOVAL...]     all of them; --list prints them
#
# Root; most take a minute each. Exit 0: each removal was noticed.
set -euo pipefail

srcdir=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
builddir=${COLOC_BUILDDIR:-$srcdir/build}

# NAME THREAT TEST FILE SED: the check of THREAT is removed from FILE; TEST is a program of
# tests/unit, with the program that it runs, if any, after a comma; or "live": tests/live/security.sh.
removals() {
  cat <<'REMOVALS'
peer S1 live nodesvc/socket/server.c s/if (c->uid != 0) {/if (0) {/
command S2 live nodesvc/socket/ctl.c s/if (commands\[i\].root && uid != 0) {/if (0) {/
service S3 live nodesvc/socket/ctl.c s/if (commands\[i\].root && uid != 0) {/if (0) {/
see S4 live nodesvc/socket/ctl.c s/return r->uid == 0 || r->uid == s->uid;/return s != NULL;/
attach S5 live nodesvc/socket/attach.c s/if (s && s->uid != uid)/if (0)/
cgroup S6 live nodesvc/lifecycle.c s/if (cg.job_id != s->job_id || cg.step_id != s->step_id)/if (0)/
form S7 live nodesvc/socket/server.c s/rc = msg_check(&s->in, &err);/rc = 0;/
message S7 live nodesvc/socket/server.c s/else if (n > 0) {/else if (n > 100000) {/
connections S8 live nodesvc/socket/server.c s/count_uid(s, cred.uid) >= CONNS_PER_UID/0/
share S9 test_server nodesvc/socket/server.c s/return uid == 0 ? 0 : later(.*/return 0;/
quota S10 live nodesvc/socket/ctl.c s/if (rc < 0 || c.n < KEPT_PER_USER)/if (rc <= 0)/
conf S11 live nodesvc/conf/conf.c s/if (st.st_mode & (S_IWGRP | S_IWOTH))/if (0)/
store S11 live nodesvc/daemon/main.c s/if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))/if (0)/
socketdir S11 live nodesvc/socket/listener.c s/if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))/if (0)/
setuid S12 live - -
dotdot S13 test_fsroot common/fsroot.c s/^\t\t\treturn NULL;/\t\t\tcontinue;/
lists S14 test_lifecycle nodesvc/lifecycle.c s/int rc = check_allowed(&d->conf, s, err);/int rc = 0;/
escape S14 test_colocacct,nodesvc/colocacct nodesvc/report/acct_html.c s/fputs("&lt;", f);/fputs("<", f);/
userenv S15 test_spank_launch spank/launch.c s/if (io->get(io->env, name, seen, sizeof(seen)) != -ENOENT)/if (0)/
REMOVALS
}

case ${1:-} in
--list)
  removals | cut -d' ' -f1-3
  exit 0
  ;;
esac
[ "$(id -u)" = 0 ] || {
  echo "security-removal: needs root"
  exit 77
}
for name; do
  removals | grep -q "^$name " || {
    echo "security-removal: unknown '$name' (--list)" >&2
    exit 2
  }
done
scratch=$(mktemp -d "${TMPDIR:-/tmp}/coloc-removal.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
src=$scratch/src build=$scratch/src/build
mkdir "$src"
(cd "$srcdir" && tar cf - --exclude='./build*' --exclude=.git .) | tar xf - -C "$src"
cp -a "$builddir" "$build"
export COLOC_SRCDIR=$src COLOC_BUILDDIR=$build
live_programs=(tests/live/live_client tests/live/live_msgdump)

# A build that is as it should be, but for what a removal changes, and again before the next one.
make_quietly() {
  make -C "$build" "$@" CFLAGS="-g -O1 -w" >"$scratch/make.log" 2>&1 && return
  tail -20 "$scratch/make.log"
  return 1
}

# try NAME THREAT TEST FILE SED
try() {
  local name=$1 threat=$2 test=$3 file=$4 edit=$5 rc=0 failing program also
  if [ "$file" = - ]; then
    chmod u+s "$build/nodesvc/colocd"
  else
    cp -p "$src/$file" "$scratch/original"
    sed -i "$edit" "$src/$file"
    if cmp -s "$src/$file" "$scratch/original"; then
      echo "not ok $name: nothing was removed: the check in $file reads otherwise now"
      return 1
    fi
  fi
  if [ "$test" = live ]; then
    make_quietly nodesvc/colocd "${live_programs[@]}" && bash "$src/tests/live/security.sh" >"$scratch/out" 2>&1 || rc=$?
    failing="^not ok .* - $threat "
  else
    program=${test%%,*} also=()
    [ "$program" = "$test" ] || also=("${test#*,}")
    make_quietly "tests/unit/$program" "${also[@]+"${also[@]}"}" &&
      (cd "$build" && "tests/unit/$program") >"$scratch/out" 2>&1 || rc=$?
    failing=':[FE]:'
  fi
  if [ "$file" = - ]; then
    chmod u-s "$build/nodesvc/colocd"
  else
    cp "$scratch/original" "$src/$file" # newer: built again
  fi
  if [ $rc != 0 ] && grep -qE "$failing" "$scratch/out"; then
    echo "ok $name: without the check $(grep -cE "$failing" "$scratch/out") checks of $threat fail: $(grep -m1 -E "$failing" "$scratch/out" | cut -c1-150)"
    return
  fi
  grep -E '^(not ok|1\.\.|Bail)' "$scratch/out" || tail -n 3 "$scratch/out" "$scratch/make.log"
  echo "not ok $name: nobody noticed (status $rc)"
  return 1
}

bad=0
while read -r name threat test file edit; do
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  try "$name" "$threat" "$test" "$file" "$edit" </dev/null || bad=1
done < <(removals)
exit $bad
