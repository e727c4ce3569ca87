#!/bin/sh
# Generates configure from configure.ac; needs autoconf, automake, libtool and pkg-config.
set -eu
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize pkg-config; do
  command -v "$tool" >/dev/null || {
    echo "autogen.sh: $tool not found: apt install autoconf automake libtool pkg-config" >&2
    exit 1
  }
done
exec autoreconf --force --install --warnings=all,no-obsolete
