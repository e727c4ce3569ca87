/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch_names.h - the environment variables of parallel runtimes that decide how a program waits
 * and how many threads it starts: what the plugin looks for in a step's environment, and what the
 * daemon may have it set.
 *
 * LAUNCH_VAR(family, "NAME"). One family per runtime: if the user set one member himself, no
 * member of that family is set for him.
 *
 * openmp: the variables that choose waiting (OMP_WAIT_POLICY; GOMP_SPINCOUNT of libgomp;
 * KMP_BLOCKTIME, KMP_LIBRARY and KMP_USE_YIELD of the LLVM and Intel runtimes) and the team size.
 * OMP_DYNAMIC and OMP_THREAD_LIMIT stay out on purpose: they only allow or cap and go on doing so
 * beside ours, and OMP_DYNAMIC=false is a habit that says nothing about waiting.
 * mpirun: where Open MPI's mpirun (PRRTE) binds ranks if its command line does not say: one
 * parameter and its older names.
 * openblas, mkl, blis: how many threads those libraries start. Each follows OMP_NUM_THREADS where
 * nothing of its own is set, so whoever sets that has chosen for all of them.
 * preload: libcoloc_omp.so for steps with --coloc-omp; whose user preloads something himself gets
 * none of ours.
 * openmp_bind: never set by us; a user who pins his OpenMP threads is worth knowing about.
 */
#ifndef COLOC_COMMON_LAUNCH_NAMES_H
#define COLOC_COMMON_LAUNCH_NAMES_H

#define LAUNCH_FAMILIES(FAMILY)                                                                    \
	FAMILY(openmp)                                                                             \
	FAMILY(openmp_bind)                                                                        \
	FAMILY(openmpi)                                                                            \
	FAMILY(mpirun)                                                                             \
	FAMILY(openblas)                                                                           \
	FAMILY(mkl)                                                                                \
	FAMILY(blis)                                                                               \
	FAMILY(preload)

#define LAUNCH_VARS(LAUNCH_VAR)                                                                    \
	LAUNCH_VAR(openmp, "OMP_WAIT_POLICY")                                                      \
	LAUNCH_VAR(openmp, "GOMP_SPINCOUNT")                                                       \
	LAUNCH_VAR(openmp, "KMP_BLOCKTIME")                                                        \
	LAUNCH_VAR(openmp, "KMP_LIBRARY")                                                          \
	LAUNCH_VAR(openmp, "KMP_USE_YIELD")                                                        \
	LAUNCH_VAR(openmp, "OMP_NUM_THREADS")                                                      \
	LAUNCH_VAR(openmp_bind, "OMP_PROC_BIND")                                                   \
	LAUNCH_VAR(openmp_bind, "OMP_PLACES")                                                      \
	LAUNCH_VAR(openmp_bind, "GOMP_CPU_AFFINITY")                                               \
	LAUNCH_VAR(openmp_bind, "KMP_AFFINITY")                                                    \
	LAUNCH_VAR(openmpi, "OMPI_MCA_mpi_yield_when_idle")                                        \
	LAUNCH_VAR(mpirun, "PRTE_MCA_bindto")                                                      \
	LAUNCH_VAR(mpirun, "PRTE_MCA_bind_to")                                                     \
	LAUNCH_VAR(mpirun, "PRTE_MCA_hwloc_default_binding_policy")                                \
	LAUNCH_VAR(openblas, "OPENBLAS_NUM_THREADS")                                               \
	LAUNCH_VAR(openblas, "OPENBLAS_DEFAULT_NUM_THREADS")                                       \
	LAUNCH_VAR(openblas, "GOTO_NUM_THREADS")                                                   \
	LAUNCH_VAR(mkl, "MKL_NUM_THREADS")                                                         \
	LAUNCH_VAR(mkl, "MKL_DOMAIN_NUM_THREADS")                                                  \
	LAUNCH_VAR(mkl, "MKL_DYNAMIC")                                                             \
	LAUNCH_VAR(blis, "BLIS_NUM_THREADS")                                                       \
	LAUNCH_VAR(blis, "BLIS_JC_NT")                                                             \
	LAUNCH_VAR(blis, "BLIS_PC_NT")                                                             \
	LAUNCH_VAR(blis, "BLIS_IC_NT")                                                             \
	LAUNCH_VAR(blis, "BLIS_JR_NT")                                                             \
	LAUNCH_VAR(blis, "BLIS_IR_NT")                                                             \
	LAUNCH_VAR(preload, "LD_PRELOAD")

/* In a step's environment: the variables we set, comma separated, and a check sum of each value,
 * by which a value that the user changed since is recognised as his. */
#define LAUNCH_ENV_NAMES "COLOC_LAUNCH_ENV"
#define LAUNCH_ENV_SUMS  "COLOC_LAUNCH_SUMS"

#endif
