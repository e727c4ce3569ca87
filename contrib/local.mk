# contrib: nothing depends on it.
EXTRA_DIST += contrib/cluster/minislurm
