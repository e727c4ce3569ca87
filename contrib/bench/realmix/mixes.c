/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/mixes.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SI_STEPS     "20" /* 4.5 s of processor time */

#define ALL_CORES (-1) /* a rank for each */

/*
 * In arguments: {programs}, {inputs}, {tmp} a folder for files it writes, {i} its number in the
 * mix; {work:N} N on two cores, on others as much for each; {edge:N} of a cube whose volume is
 * so. About 5 s alone on two cores; mixed and openmp, the
 * quickstart's, less, mpi-long three times that. first-waits: who comes first is no chance there.
 */
#define OWN(what)                                                                                  \
	{                                                                                          \
		what, {"{programs}/" what}, 0                                                      \
	}
/* A grid of 2.9 MB, and a parallel region every quarter of a millisecond. */
#define STENCIL_LONG                                                                               \
	{                                                                                          \
		"stencil-long", {"{programs}/stencil", "--size=600", "--work=30000"}, 0            \
	}
/* Lennard-Jones melt of 32 000 atoms. */
#define LAMMPS_OF(what, steps)                                                                     \
	{                                                                                          \
		what,                                                                              \
			{"/usr/bin/lmp", "-in", "{tmp}/melt.in", "-log", "none", "-screen",        \
				"none", "-var", "steps", "{work:" steps "}"},                      \
			ALL_CORES                                                                  \
	}
#define LAMMPS LAMMPS_OF("lmp", "560")
/* Three slices of Slurm's gang scheduling, which are of 5 s at least. */
#define LAMMPS_LONG LAMMPS_OF("lmp-long", "1680")
/* 884 waters, PME; its threads meet some hundred times a step. As many as OMP_NUM_THREADS says,
 * else as it finds CPUs: a count of its own (-ntomp) would make it fail where the variable has
 * another. */
#define GROMACS(what, steps)                                                                       \
	{                                                                                          \
		what,                                                                              \
			{"/usr/bin/gmx", "-quiet", "mdrun", "-s", "{inputs}/water.tpr", "-ntmpi",  \
				"1", "-pin", "off", "-nobackup", "-noconfout", "-deffnm",          \
				"{tmp}/gmx{i}", "-nsteps", steps},                                 \
			0                                                                          \
	}

/* Products of matrices, each a parallel region of a few milliseconds: python3 links neither
 * OpenBLAS nor its OpenMP. */
#define NUMPY                                                                                      \
	{                                                                                          \
		"numpy",                                                                           \
			{"/usr/bin/python3", "-c",                                                 \
				"import numpy\n"                                                   \
				"n = {edge:400}\n"                                                 \
				"a = numpy.random.default_rng(1).random((n, n))\n"                 \
				"for i in range(1000):\n"                                          \
				"    a = a @ a\n"                                                  \
				"    a /= a.max()\n"},                                             \
			0                                                                          \
	}

/* Silicon that moves; its ranks send each other plane waves, thousands of times a second. */
#define ESPRESSO                                                                                   \
	{                                                                                          \
		"espresso", {"/usr/bin/pw.x", "-in", "{tmp}/si{i}.in"}, ALL_CORES                  \
	}

/* Processes, as many as the node has CPUs, that share nothing. */
#define POOL                                                                                       \
	{                                                                                          \
		"pool",                                                                            \
			{"/usr/bin/python3", "-c",                                                 \
				"import multiprocessing\n"                                         \
				"def part(n):\n"                                                   \
				"    return sum(i * i for i in range(n))\n"                        \
				"with multiprocessing.Pool() as pool:\n"                           \
				"    pool.map(part, [100000] * {work:800}, 1)\n"},                 \
			0                                                                          \
	}

/* It waits for most of its time: on cores of its own it would leave them idle. */
#define BURSTY                                                                                     \
	{                                                                                          \
		"bursty", {"{programs}/bursty", "--work=6", "--steps=200", "--wait=600"}, 0        \
	}

/* Short bursts, short waits, for some seconds. */
#define BURSTY_OFTEN                                                                               \
	{                                                                                          \
		"bursty-often", {"{programs}/bursty", "--work=18", "--steps=200", "--wait=110"}, 0 \
	}

/* A long program in bursts of 0.17 s, and behind it two short ones in one piece. */
#define BURSTS(name, wait)                                                                         \
	{                                                                                          \
		name, {"{programs}/bursty", "--work=25", "--steps=200", "--wait=" wait}, 0         \
	}
#define STENCIL_SHORT                                                                              \
	{                                                                                          \
		"stencil-short", {"{programs}/stencil", "--size=600", "--work=15000"}, 0           \
	}

#define MIX(what, apart_ms, ...)                                                                   \
	{                                                                                          \
		.name = (what), .program = {__VA_ARGS__},                                          \
		.n = (int)COUNT(((const struct program[]){__VA_ARGS__})), .stagger_ms = (apart_ms) \
	}
static const struct mix mixes[] = {
	MIX("mixed", 0, OWN("spin"), OWN("cachehog"), OWN("pagerank"), OWN("stencil")),
	MIX("openmp", 0, OWN("stencil"), OWN("stencil"), OWN("stencil"), OWN("stencil")),
	MIX("openmp-long", 0, STENCIL_LONG, STENCIL_LONG, STENCIL_LONG, STENCIL_LONG),
	MIX("gromacs", 0, GROMACS("gromacs", "4000"), GROMACS("gromacs", "4000"),
		GROMACS("gromacs", "4000"), GROMACS("gromacs", "4000")),
	MIX("mpi", 0, LAMMPS, LAMMPS, LAMMPS, LAMMPS),
	MIX("mpi-long", 0, LAMMPS_LONG, LAMMPS_LONG, LAMMPS_LONG, LAMMPS_LONG),
	MIX("both", 0, GROMACS("gromacs", "4000"), GROMACS("gromacs", "4000"), LAMMPS, LAMMPS),
	MIX("numpy", 0, NUMPY, NUMPY, NUMPY, NUMPY),
	MIX("espresso", 0, ESPRESSO, ESPRESSO, ESPRESSO, ESPRESSO),
	MIX("four", 0, GROMACS("gromacs", "4000"), LAMMPS, NUMPY, ESPRESSO),
	MIX("four-pool", 0, GROMACS("gromacs", "4000"), POOL, NUMPY, ESPRESSO),
	MIX("lammps-numpy", 0, LAMMPS, LAMMPS, NUMPY, NUMPY),
	MIX("pools", 0, POOL, POOL, POOL, POOL),
	MIX("bursty", 0, BURSTY, BURSTY, BURSTY, BURSTY),
	MIX("waits", 0, BURSTY_OFTEN, STENCIL_LONG, STENCIL_LONG, STENCIL_LONG),
	MIX("first-waits-40", 300, BURSTS("bursts-40", "40"), STENCIL_SHORT, STENCIL_SHORT),
	MIX("first-waits-110", 300, BURSTS("bursts-110", "110"), STENCIL_SHORT, STENCIL_SHORT),
	MIX("first-waits-200", 300, BURSTS("bursts-200", "200"), STENCIL_SHORT, STENCIL_SHORT),
	MIX("unequal", 0, GROMACS("gromacs-short", "2000"), GROMACS("gromacs", "4000"), LAMMPS,
		GROMACS("gromacs-long", "8000")),
};

#define POLICY(policy, what)                                                                       \
	{                                                                                          \
		.name = (policy), .option = { "--coloc-policy=" what }                             \
	}
static const struct arm arms[] = {
	{.name = "plain", .kind = ARM_PEER},
	/* Else srun binds each rank to a core (task/affinity); where Slurm has no such plugin, all
	 * share all. */
	{.name = "unbound", .kind = ARM_PEER, .option = {"--cpu-bind=none"}},
	/* What an administrator may set for all, and what costs a job alone dearly. */
	{.name = "tuned",
		.kind = ARM_PEER,
		.env = {"GOMP_SPINCOUNT=1000", "OMPI_MCA_mpi_yield_when_idle=1"}},
	{.name = "tuned-unbound",
		.kind = ARM_PEER,
		.env = {"GOMP_SPINCOUNT=1000", "OMPI_MCA_mpi_yield_when_idle=1"},
		.option = {"--cpu-bind=none"}},
	{.name = "passive",
		.kind = ARM_PEER,
		.env = {"OMP_WAIT_POLICY=passive", "OMPI_MCA_mpi_yield_when_idle=1"}},
	{.name = "serial", .kind = ARM_PEER, .mode = MODE_SERIAL},
	{.name = "slurmgang", .kind = ARM_PEER, .mode = MODE_BATCH},
	{.name = "numad", .kind = ARM_PEER, .helper = "numad"},
	/* What a user may do by hand who knows how many cores he will be granted. */
	{.name = "one",
		.kind = ARM_PEER,
		.env = {"OMP_NUM_THREADS={share}", "OPENBLAS_NUM_THREADS={share}"},
		.option = {"--coloc-policy=fair"}},
	POLICY("coloc", "auto"), /* the quickstart's name for it */
	POLICY("fair", "fair"),  /* two on a core: one at a time where they are coupled */
	POLICY("fair-turns", "fair,turns=all,turns_ms=50"), /* ... always */
	POLICY("fair-apart", "fair,turns=no"),              /* ... never, also who is coupled */
	{.name = "granted", .option = {"--coloc-policy=fair"}, .conf = "granted"},
	POLICY("auto", "auto"),
	POLICY("none", "none"), /* Slurm's own placement, observed */
	POLICY("spread", "spread"),
	POLICY("callisto", "callisto"),
	POLICY("lira", "lira"),
	POLICY("lira-static", "lira-static"), /* by profiles: --profile */
	POLICY("llc-complex", "llc-complex"),
	POLICY("dio", "dio"),
	POLICY("sbmp", "sbmp"),
	POLICY("sbmp-pp", "sbmp-pp"),
	POLICY("sbmp-cd", "sbmp-cd"),
	POLICY("gang", "gang"),
	POLICY("gang-rr", "gang,foreground_ms=0"), /* equal turns from the first moment */
	POLICY("mapper", "mapper"),
	POLICY("hillclimb", "hillclimb"),
	POLICY("das-rws", "das-rws"),
	POLICY("das-rwsm-c", "das-rwsm-c"),
	POLICY("das-fa", "das-fa"),
	POLICY("das-fam-c", "das-fam-c"),
	POLICY("das-da", "das-da"),
	POLICY("das-dam-c", "das-dam-c"),
	POLICY("das-dam-p", "das-dam-p"),
	{.name = "omp", .option = {"--coloc-policy=fair", "--coloc-omp"}},
	/* GROMACS asks once how many threads there may be. */
	{.name = "omp-keep",
		.option = {"--coloc-policy=fair", "--coloc-omp"},
		.env = {"COLOC_OMP_KEEP_THREADS=1"}},
};

const struct mix *mixes_get(size_t n)
{
	return n < COUNT(mixes) ? &mixes[n] : NULL;
}

const struct arm *arms_get(size_t n)
{
	return n < COUNT(arms) ? &arms[n] : NULL;
}

const struct mix *mixes_find(const char *name)
{
	for (size_t i = 0; i < COUNT(mixes); i++)
		if (!strcmp(mixes[i].name, name))
			return &mixes[i];
	return NULL;
}

const struct arm *arms_find(const char *name)
{
	for (size_t i = 0; i < COUNT(arms); i++)
		if (!strcmp(arms[i].name, name))
			return &arms[i];
	return NULL;
}

static char work_dir[] = "/tmp/realmix-XXXXXX";
static bool has_work_dir;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void remove_work_dir(void)
{
	nftw(work_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int write_file(const char *path, const char *text, struct errbuf *err)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) || chmod(path, 0644))
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

/* Quantum ESPRESSO's, each with a folder of its own to write to. */
static int write_silicon(int i, struct errbuf *err)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "%s/si%d.in", work_dir, i);
	snprintf(text, sizeof(text),
		"&control\n calculation='md', prefix='si', outdir='%s/si%d', nstep=" SI_STEPS ",\n"
		" pseudo_dir='/usr/share/espresso/pseudo', dt=20, disk_io='none'\n/\n"
		"&system\n ibrav=2, celldm(1)=10.2, nat=2, ntyp=1, ecutwfc=20, nosym=.true.\n/\n"
		"&electrons\n conv_thr=1e-8\n/\n&ions\n/\n"
		"ATOMIC_SPECIES\n Si 28.086 Si.pz-vbc.UPF\n"
		"ATOMIC_POSITIONS alat\n Si 0.0 0.0 0.0\n Si 0.26 0.25 0.25\n"
		"K_POINTS automatic\n 3 3 3 0 0 0\n",
		work_dir, i);
	return write_file(path, text, err);
}

/* Made once, with the inputs of LAMMPS and Quantum ESPRESSO in it. */
static int make_work_dir(struct errbuf *err)
{
	static const char text[] =
		"units lj\natom_style atomic\nlattice fcc 0.8442\n"
		"region box block 0 20 0 20 0 20\ncreate_box 1 box\ncreate_atoms 1 box\n"
		"mass 1 1.0\nvelocity all create 3.0 87287 loop geom\npair_style lj/cut 2.5\n"
		"pair_coeff 1 1 1.0 1.0 2.5\nneighbor 0.3 bin\n"
		"neigh_modify every 20 delay 0 check no\nfix 1 all nve\nrun ${steps}\n";
	char path[64];
	int rc;

	if (has_work_dir)
		return 0;
	if (!mkdtemp(work_dir))
		return err_set(err, -errno, "%s: %s", work_dir, strerror(errno));
	has_work_dir = true;
	atexit(remove_work_dir);
	if (chmod(work_dir, 0755))
		return err_set(err, -errno, "%s: %s", work_dir, strerror(errno));
	snprintf(path, sizeof(path), "%s/melt.in", work_dir);
	rc = write_file(path, text, err);
	for (int i = 0; i < PROGRAMS_MAX && !rc; i++)
		rc = write_silicon(i, err);
	return rc;
}

/* "{NAME:N}" at @text: N made for a node of @cpus; how long it is. 0: it is none of these. */
static size_t scaled(const char *text, int cpus, char *ret, size_t size)
{
	double per_core = cpus / 2.0;
	int n, len = 0;

	if (sscanf(text, "{work:%d}%n", &n, &len) == 1 && len)
		snprintf(ret, size, "%.0f", n * per_core);
	else if (sscanf(text, "{edge:%d}%n", &n, &len) == 1 && len)
		snprintf(ret, size, "%.0f", n * cbrt(per_core));
	return (size_t)len;
}

/* @text with its {names} replaced. */
static void fill(const char *text, const struct mix_paths *p, int i, char *ret, size_t size)
{
	char number[16];
	const struct {
		const char *name, *value;
	} name[] = {
		{"{programs}", p->programs},
		{"{inputs}", p->inputs ? p->inputs : "(--inputs)"},
		{"{tmp}", work_dir},
		{"{i}", number},
	};
	size_t len = 0;

	snprintf(number, sizeof(number), "%d", i);
	while (*text && len + 1 < size) {
		size_t k = 0, taken = scaled(text, p->cpus, ret + len, size - len);

		if (taken) {
			text += taken;
			len += strlen(ret + len);
			continue;
		}
		while (k < COUNT(name) && strncmp(text, name[k].name, strlen(name[k].name)) != 0)
			k++;
		if (k == COUNT(name)) {
			ret[len++] = *text++;
			continue;
		}
		text += strlen(name[k].name);
		snprintf(ret + len, size - len, "%s", name[k].value);
		len += strlen(ret + len);
	}
	ret[len] = '\0';
}

int mix_prepare(
	const struct mix *base, const struct mix_paths *paths, struct mix *ret, struct errbuf *err)
{
	static char arg[PROGRAMS_MAX][ARGV_MAX][512];
	int rc = make_work_dir(err);

	*ret = *base;
	for (int p = 0; p < base->n && !rc; p++) {
		struct program *prog = &ret->program[p];

		if (prog->ranks == ALL_CORES)
			prog->ranks = paths->cpus;
		for (int a = 0; prog->argv[a]; a++) {
			fill(base->program[p].argv[a], paths, p, arg[p][a], sizeof(arg[p][a]));
			prog->argv[a] = arg[p][a];
			if (strstr(base->program[p].argv[a], "{inputs}") && access(arg[p][a], R_OK))
				rc = err_set(err, -errno, "%s: %s", arg[p][a], strerror(errno));
		}
		if (!rc && prog->argv[0] && access(prog->argv[0], X_OK))
			rc = err_set(err, -errno, "%s: %s", prog->argv[0], strerror(errno));
	}
	return rc;
}
