#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# packages.sh - the packages on a clean root: both kinds build, the Debian ones are installed into a
# fresh Debian 12 with nothing but Slurm in it, the service is started with its unit's command line,
# a co-located job runs and is accounted, and after a purge no file differs from before. The Ansible
# role and the OpenHPC recipe do the same once more. The RPMs
# are installed into an empty RPM database (their dependencies are another distribution's) and
# erased again.
#
# COLOC_PACKAGES=DIR takes packages that contrib/packages made before.
set -euo pipefail

top=${COLOC_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
skip() {
  echo "1..0 # SKIP $*"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "needs root"
for tool in mmdebstrap dpkg-buildpackage dh rpmbuild lintian; do
  command -v $tool >/dev/null || skip "no $tool (Debian: mmdebstrap debhelper rpm lintian)"
done
# Mounts of ours end with us.
if [ -z "${COLOC_UNSHARED:-}" ]; then
  COLOC_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi

work=$(mktemp -d)
root=$work/root
colocd_pid='' count=0 failed=0
finish() {
  [ -z "$colocd_pid" ] || kill "$colocd_pid" 2>/dev/null || true
  [ ! -x "$root/tmp/minislurm" ] || in_root /tmp/minislurm down /tmp/cluster --quiet >/dev/null 2>&1 || true
  umount -R "$root/sys" "$root/proc" "$root/dev" 2>/dev/null || true
  # Never through a mount that would not go.
  grep -q " $root/" /proc/self/mounts || rm -rf --one-file-system "$work"
}
trap finish EXIT

# check WHAT COMMAND...: one line of the protocol; the command's output follows a failure.
check() {
  local what=$1
  shift
  count=$((count + 1))
  if "$@" >"$work/out" 2>&1; then
    echo "ok $count - $what"
  else
    echo "not ok $count - $what"
    sed 's/^/# /' "$work/out" | tail -20
    failed=1
  fi
}
in_root() { chroot "$root" env LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
apt_in_root() {
  in_root env DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends \
    -o Acquire::Check-Valid-Until=false -o Dpkg::Use-Pty=0 "$@"
}

# --- build ------------------------------------------------------------------------------------

debs=${COLOC_PACKAGES:-$work/packages}
for kind in deb rpm; do
  [ -n "${COLOC_PACKAGES:-}" ] || check "packages build: $kind" "$top/contrib/packages" "--$kind" "$debs"
done
version=$(sed -n 's/^AC_INIT(\[coloc\], \[\([^]]*\)\].*/\1/p' "$top/configure.ac")
names=(slurm-spank-coloc colocd coloc-tools libcoloc0 libcoloc-dev)
files=()
for n in "${names[@]}"; do files+=("$(echo "$debs/${n}_$version"_*.deb)"); done
check "five Debian packages" ls "${files[@]}"
check "lintian finds no error" lintian --fail-on error --suppress-tags bad-distribution-in-changes-file \
  "${files[@]}"

# --- a clean root with Slurm ------------------------------------------------------------------

# What our packages depend on is Debian's and not ours to remove: it is there before, as is Slurm.
check "a clean Debian 12 with Slurm" mmdebstrap --quiet --mode=root --variant=apt \
  --include=slurm-wlm,slurm-client,munge,libhwloc15,libjson-c5,libpapi7.0,libsmartcols1,libncursesw6,libsqlite3-0,libyaml-0-2,libc6-dev \
  --aptopt='Acquire::Check-Valid-Until "false"' bookworm "$root" http://deb.debian.org/debian
[ "$failed" = 0 ] || exit 1
mount --rbind /sys "$root/sys"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp /etc/hosts "$root/etc/"
# No daemon of a package starts in here.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
cp "$top/contrib/cluster/minislurm" "$root/tmp/minislurm"
mkdir "$root/tmp/debs"
cp "${files[@]}" "$root/tmp/debs/"

# Every file with its contents, without the package managers' own books and without mounts.
listing() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp \
    -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \) -prune \
    -o -printf '%p %y %m %s %l\n' | sort)
}
listing >"$work/before"

# --- install, run -----------------------------------------------------------------------------

check "the packages install" apt_in_root install "${files[@]/#*\//\/tmp/debs/}"
[ "$failed" = 0 ] || exit 1
libraries() {
  in_root ldd /usr/sbin/colocd /usr/bin/colocctl /usr/bin/colocacct /usr/bin/colocsim >"$work/ldd" &&
    ! grep 'not found' "$work/ldd"
}
check "every library is found" libraries
check "the configuration that was installed is accepted" in_root colocd -t
check "the unit is installed, not enabled" sh -c "[ -f '$root/lib/systemd/system/colocd.service' ] &&
  [ ! -e '$root/etc/systemd/system/multi-user.target.wants/colocd.service' ]"
check "manual pages" ls "$root"/usr/share/man/man1/colocacct.1.gz "$root"/usr/share/man/man7/coloc.7.gz \
  "$root"/usr/share/man/man8/spank_coloc.8.gz "$root"/usr/share/man/man5/coloc.yaml.5.gz

# The unit's command line; what systemd makes (RuntimeDirectory, StateDirectory) is made here.
start=$(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/colocd.service")
mkdir -p "$root/run/coloc" "$root/var/lib/coloc"
chmod 0700 "$root/var/lib/coloc"
# shellcheck disable=SC2086 # a command line
chroot "$root" env LC_ALL=C.UTF-8 $start >"$work/colocd.out" 2>&1 &
colocd_pid=$!
answers() { for _ in $(seq 100); do in_root colocctl ping && return; sleep 0.1; done; cat "$work/colocd.out"; return 1; }
check "the service answers" answers
plugin=$(in_root sh -c 'ls /usr/lib/*/slurm-wlm/spank_coloc.so')
fragment=$(sed -n 's/^optional \([^ ]*\).*/\1/p' "$root/usr/share/coloc/coloc-plugstack.conf")
check "the fragment for plugstack.conf names the plugin" test "$plugin" = "$fragment"
check "a private Slurm with the plugin" in_root /tmp/minislurm up /tmp/cluster --plugin "$plugin" --quiet
srun_in_root() { in_root env SLURM_CONF=/tmp/cluster/etc/slurm.conf srun "$@"; }
colocated() {
  srun_in_root --coloc=on sh -c 'sleep 2' &
  local one=$!
  srun_in_root --coloc=on sh -c 'sleep 1; grep Cpus_allowed_list /proc/self/status'
  wait "$one"
}
check "two co-located job steps" colocated
accounted() {
  local n
  for _ in $(seq 50); do
    n=$(in_root colocacct -n -P -S today -o JobID,State | tee /dev/stderr | grep -c COMPLETED) || true
    [ "$n" = 2 ] && return
    sleep 0.1
  done
  return 1
}
check "both in the report" accounted
check "the cluster ends" in_root /tmp/minislurm down /tmp/cluster --quiet
kill -TERM "$colocd_pid"
stopped() { wait "$colocd_pid"; }
check "the service ends by itself when told to" stopped
colocd_pid=''

# --- purge ------------------------------------------------------------------------------------

check "the packages are purged" apt_in_root purge "${names[@]}"
listing >"$work/after"
check "nothing is left" diff "$work/before" "$work/after"
check "dpkg knows nothing of them" sh -c "! chroot '$root' dpkg -l '*coloc*' 2>/dev/null | grep -E '^[^D|+]'"

# --- by the Ansible role, by the OpenHPC recipe ------------------------------------------------

# The same machine as controller, compute node and, in a copy, as image.
check "package lists" apt_in_root update
check "Ansible" apt_in_root install ansible-core python3-apt systemd
cp -a "$top/contrib/ansible" "$root/tmp/ansible"
printf '[compute]\nlocalhost ansible_connection=local\n[login]\n' >"$root/tmp/hosts"
mkdir -p "$root/etc/slurm"
echo "# a line of the site's" >"$root/etc/slurm/plugstack.conf"
listing >"$work/before"
# README's commands; a chroot has no systemd that runs, and no Slurm yet.
play() {
  in_root sh -c 'cd /tmp/ansible && exec ansible-playbook -i /tmp/hosts site.yml "$@"' sh \
    -e coloc_packages=/tmp/debs -e coloc_check=false "$@"
}
check "the role installs" play -e '{"coloc_config": {"policy": "fair"}}'
check "the configuration is what was asked for" grep -qx 'policy: fair' "$root/etc/coloc/coloc.yaml"
check "the line is there, behind another" sh -c "sed -n 2p '$root/etc/slurm/plugstack.conf' | grep -q 'optional $plugin default=off'"
unchanged() {
  [ "$(play -e '{"coloc_config": {"policy": "fair"}}' | tee /dev/stderr | grep -c 'changed=0 .*failed=0')" = 1 ]
}
check "run again it changes nothing" unchanged
refused() { ! play -e '{"coloc_config": {"policy": "no-such"}}' && grep -qx 'policy: fair' "$root/etc/coloc/coloc.yaml"; }
check "a configuration that colocd refuses is not installed" refused
mkdir -p "$root/run/coloc" "$root/var/lib/coloc"
chmod 0700 "$root/var/lib/coloc"
# shellcheck disable=SC2086 # a command line
chroot "$root" env LC_ALL=C.UTF-8 $start >"$work/colocd.out" 2>&1 &
colocd_pid=$!
check "the service answers" answers
check "a private Slurm with the role's plugstack.conf" in_root /tmp/minislurm up /tmp/cluster --quiet \
  --conf PlugStackConfig=/etc/slurm/plugstack.conf
check "two steps are co-located by it" colocated
check "colocctl check" in_root env SLURM_CONF=/tmp/cluster/etc/slurm.conf colocctl check
check "the cluster ends" in_root /tmp/minislurm down /tmp/cluster --quiet
kill -TERM "$colocd_pid"
check "the service ends" stopped
colocd_pid=''
check "the role takes it away" play -e coloc_state=purged
rm -rf "$root/root/.ansible"
listing >"$work/after"
check "nothing is left" diff "$work/before" "$work/after"

check "an image" cp -a --one-file-system "$root" "$work/image"
mkdir "$root/tmp/image" "$root/tmp/contrib"
mount --bind "$work/image" "$root/tmp/image"
cp -a "$top/contrib/openhpc" "$root/tmp/contrib/"
recipe() { in_root env CHROOT=/tmp/image coloc_packages=/tmp/debs /tmp/contrib/openhpc/recipe.sh; }
check "the OpenHPC recipe" recipe
check "run again" recipe
check "the image has all of it, enabled" sh -c "cd '$work/image' && ls usr/sbin/colocd usr/bin/colocctl usr/lib/*/slurm-wlm/spank_coloc.so &&
  [ -L etc/systemd/system/multi-user.target.wants/colocd.service ] && grep -qx 'policy: none' etc/coloc/coloc.yaml"
check "the head node has the plugin alone, and one line" sh -c "ls '$root'/usr/lib/*/slurm-wlm/spank_coloc.so && [ ! -e '$root/usr/sbin/colocd' ] &&
  [ \$(grep -c spank_coloc '$root/etc/slurm/plugstack.conf') = 1 ]"
umount "$root/tmp/image"

# --- RPMs -------------------------------------------------------------------------------------

rpms=("$debs"/*.rpm)
rpm_names=(slurm-spank-coloc colocd coloc-tools libcoloc libcoloc-devel)
for n in "${rpm_names[@]}"; do
  check "RPM $n" sh -c "rpm -qp --qf '%{NAME}\n' $debs/*.rpm | grep -qx $n"
done
db=$work/rpmroot
mkdir "$db"
check "the RPMs install into an empty root" rpm --root "$db" --nodeps --noscripts -i "${rpms[@]}"
check "they hold the service, the plugin and the tools" sh -c "cd '$db' && ls usr/sbin/colocd usr/bin/colocctl \
  usr/bin/colocacct usr/bin/colocsim etc/coloc/coloc.yaml && find . -name spank_coloc.so | grep -q . &&
  find . -name colocd.service | grep -q ."
check "the RPMs are erased" rpm --root "$db" --nodeps --noscripts -e "${rpm_names[@]}"
check "no file of theirs is left" sh -c "! find '$db' -path '*rpm*' -prune -o -name '*coloc*' -print | grep ."

echo "1..$count"
exit $failed
