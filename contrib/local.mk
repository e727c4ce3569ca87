# contrib: example programs, benchmarks, packaging, and the two commands of the README
EXTRA_DIST += contrib/lib.sh contrib/runtests contrib/cluster/minislurm
include contrib/programs/local.mk
