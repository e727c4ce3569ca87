#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check-pictures.sh - check-pictures.py, where there is a Python.
command -v python3 >/dev/null || {
  echo "SKIP: no python3"
  exit 77
}
exec python3 "$(dirname "$0")/check-pictures.py"
