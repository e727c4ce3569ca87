#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# chaos.sh - a slice of the campaign of faults; COLOC_CHAOS_FAULTS=1000 is all of it (runtests --full).
exec "$(dirname "$0")/../chaos/chaos" --seed="${COLOC_CHAOS_SEED:-1}" --faults="${COLOC_CHAOS_FAULTS:-25}"
