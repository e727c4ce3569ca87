#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# recipe.sh - Coloc on an OpenHPC cluster, in the manner of OpenHPC's own recipe.sh: run on the head
# node (SMS), as root, after the recipe of OpenHPC with Slurm and Warewulf. It builds the packages for
# the Slurm that is there, installs them on the head node and into the image of the compute nodes,
# and prints what is left to do. README.md beside it has each step by itself.
#
# Variables, as in input.local, from the environment or from the file that $OHPC_INPUT_LOCAL names:
#   CHROOT             root of the compute nodes' image (default /opt/ohpc/admin/images/rocky9.4)
#   coloc_packages     folder of packages; what is missing there is built (default /root/coloc-packages)
#   coloc_config       a coloc.yaml for the nodes (default: one that observes and moves nothing)
#   coloc_plugin_args  for the line of plugstack.conf (default: default=off)
#   coloc_plugstack    plugstack.conf of the head node, which hands it out where Slurm is configless
#                      (default /etc/slurm/plugstack.conf)
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=/dev/null
[ -z "${OHPC_INPUT_LOCAL:-}" ] || . "$OHPC_INPUT_LOCAL"
CHROOT=${CHROOT:-/opt/ohpc/admin/images/rocky9.4}
coloc_packages=${coloc_packages:-/root/coloc-packages}
coloc_plugin_args=${coloc_plugin_args:-default=off}
coloc_plugstack=${coloc_plugstack:-/etc/slurm/plugstack.conf}

die() {
  echo "recipe.sh: $*" >&2
  exit 1
}
[ "$(id -u)" = 0 ] || die "must be root"
[ -d "$CHROOT/etc" ] || die "CHROOT: no image at $CHROOT"
[ -z "${coloc_config:-}" ] || [ -r "$coloc_config" ] || die "coloc_config: cannot read $coloc_config"

# --- packages: of Debian where the head node is one, else RPMs ---------------------------------

if command -v dpkg-query >/dev/null && [ -e /etc/debian_version ]; then kind=deb; else kind=rpm; fi
compgen -G "$coloc_packages/*.$kind" >/dev/null || "$top/contrib/packages" "--$kind" "$coloc_packages"
named() {
  local name files=()
  for name; do
    case $kind in
    deb) files+=("$coloc_packages/${name}"_[0-9]*.deb) ;;
    rpm) files+=("$coloc_packages/${name}"-[0-9]*.rpm) ;;
    esac
  done
  for name in "${files[@]}"; do [ -e "$name" ] || die "no package $name"; done
  printf '%s\n' "${files[@]}"
}
library=libcoloc
[ $kind = rpm ] || library=libcoloc0
mapfile -t head_node < <(named slurm-spank-coloc)
mapfile -t node < <(named slurm-spank-coloc colocd coloc-tools $library)
[ "${#head_node[@]} ${#node[@]}" = "1 4" ] || die "packages are missing in $coloc_packages"

# --- head node and image -----------------------------------------------------------------------

in_image() { chroot "$CHROOT" "$@"; }
case $kind in
rpm)
  dnf -y install "${head_node[@]}"
  dnf -y --installroot="$CHROOT" install "${node[@]}"
  ;;
deb)
  export DEBIAN_FRONTEND=noninteractive
  apt-get -y --no-install-recommends install "${head_node[@]}"
  mkdir -p "$CHROOT/root/coloc"
  cp "${node[@]}" "$CHROOT/root/coloc/"
  in_image sh -c 'apt-get -y --no-install-recommends install /root/coloc/*.deb'
  rm -r "$CHROOT/root/coloc"
  ;;
esac
if [ -n "${coloc_config:-}" ]; then
  install -m 0644 "$coloc_config" "$CHROOT/etc/coloc/coloc.yaml"
else
  printf 'policy: none\npolicy_lock: yes\n' >"$CHROOT/etc/coloc/coloc.yaml"
fi
in_image colocd -t
# The link that systemctl enable makes; an image has no systemd that runs.
in_image systemctl enable colocd

# --- the line of plugstack.conf ----------------------------------------------------------------

plugin=$(sed -n 's/^optional \([^ ]*\).*/\1/p' "$CHROOT/usr/share/coloc/coloc-plugstack.conf")
[ -n "$plugin" ] || die "no plugin in $CHROOT/usr/share/coloc/coloc-plugstack.conf"
touch "$coloc_plugstack"
sed -i '/^[[:space:]]*\(optional\|required\)[[:space:]].*spank_coloc\.so/d' "$coloc_plugstack"
echo "optional $plugin $coloc_plugin_args" >>"$coloc_plugstack"

cat <<EOF
Coloc is on the head node and in $CHROOT. Left to do:
  Slurm configless:   scontrol reconfigure
  else:               $coloc_plugstack goes to the nodes as slurm.conf does (wwsh file import; wwctl overlay)
  Warewulf 3:         wwvnfs --chroot $CHROOT
  Warewulf 4:         wwctl image build (or container build) IMAGE
  nodes:              boot them anew, then on one of them: colocctl check
EOF
