/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launch.c - the launch environment: short spins and yielding, set before exec.
 *
 * What the executable links (linkage.h), or an earlier run of the program was seen to load
 * (learned.h), decides what is set; what each setting is worth is
 * measured by contrib/bench/waitpolicy.
 *
 * One family per runtime; if the user set one member, none of that family is set. The plugin
 * reports the user's own settings as "set=NAME" records.
 */
#include "nodesvc/launch/launch.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/launch_family.h"
#include "common/runtimes.h"
#include "nodesvc/launch/spin.h"

static const char *users_own(const struct msg *m, enum launch_family family)
{
	for (const char *name = msg_get(m, "set"); name; name = msg_get_next(m, "set", name))
		if (launch_family(name) == family)
			return name;
	return NULL;
}

/* By what the user has chosen OpenMP's threads; NULL nothing. GROMACS takes no count from its
 * environment beside another on its command line: it ends. */
static const char *users_threads(const struct msg *m)
{
	for (const char *set = msg_get(m, "set"); set; set = msg_get_next(m, "set", set))
		if (strcmp(set, "OMP_NUM_THREADS") == 0)
			return set;
	return msg_get(m, "threads_by");
}

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a term */
#define ONE_MORE(family, name) +1
/* No configuration names a variable twice, or one that is not of its family. */
_Static_assert(0 LAUNCH_VARS(ONE_MORE) <= STEP_ENV_MAX, "room for each variable there is");

static struct launch_var *add(struct step *s, const char *name, const char *value)
{
	struct launch_var *v = &s->env[s->n_env++];

	memset(v, 0, sizeof(*v));
	snprintf(v->name, sizeof(v->name), "%s", name);
	snprintf(v->value, sizeof(v->value), "%s", value);
	return v;
}

static struct launch_var *add_number(struct step *s, const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	return add(s, name, text);
}

static bool has_variable(const struct conf_family *f, const char *name)
{
	for (int i = 0; i < f->n; i++)
		if (strcmp(f->pair[i].key, name) == 0)
			return true;
	return false;
}

static bool is_auto_wait(const char *name, const char *value)
{
	return strcmp(name, "OMP_WAIT_POLICY") == 0 && strcmp(value, "auto") == 0;
}

/*
 * OMP_WAIT_POLICY=auto. libgomp counts the CPUs once; where a program has more threads than it had
 * CPUs then, it spins no more under `passive', and for the rest of its life: GROMACS has 0.58 of
 * its speed when it is alone again. `active' lets the spin count hold always; it costs less while
 * cores are shared than the other does after. libcoloc_omp tells libgomp what holds now; a step
 * that asked for it and does not get it is as any other.
 */
static const char *auto_wait(bool library)
{
	return library ? "passive" : "active";
}

/*
 * GOMP_SPINCOUNT=auto: how long, in microseconds. Whoever shares cores spins while others could
 * compute; a program that is alone wants long spins, for it pays for each sleep what it takes to
 * wake a CPU. SPIN_SHARED_US is between. Where CPUs poll a sleep costs little, and short spins do
 * for both. Where jobs take turns nobody waits for the core meanwhile, and under libcoloc_omp
 * threads that have too few cores do not spin at all. Not longer than 50 us there, because turns
 * may end (the site changes its policy, the service is killed), and threads that spin for a
 * millisecond then have 0.07 of their speed. Measured: doc/results/waitpolicy.md.
 */
#define SPIN_POLLED_US 6
#define SPIN_SHARED_US 25
#define SPIN_ALONE_US  50

static bool is_spin(const char *name)
{
	return strcmp(name, "GOMP_SPINCOUNT") == 0;
}

static bool is_auto_spin(const char *name, const char *value)
{
	return is_spin(name) && strcmp(value, "auto") == 0;
}

/* What hangs on the step, not only on the node. */
struct situation {
	bool library; /* libcoloc_omp is preloaded */
	enum launch_around around;
};

static int auto_spin_us(struct situation where)
{
	if (where.library || where.around == LAUNCH_IN_TURNS)
		return SPIN_ALONE_US;
	return where.around == LAUNCH_POLLED ? SPIN_POLLED_US : SPIN_SHARED_US;
}

/* Without a count, active threads spin for minutes. */
static bool has_spin_counts(const struct conf_family *f)
{
	return has_variable(f, "GOMP_SPINCOUNT") && has_variable(f, "KMP_BLOCKTIME");
}

/*
 * Which runtime listens to a variable; 0: all of a family. A program that links, or was seen to
 * load, one it is not for needs none of it. A program that is not known to have any may load or
 * start anything (an interpreter, a script): it gets them all. So does one that starts others,
 * whatever was seen: its next command may bring another.
 */
static uint32_t listeners(enum launch_family family, const char *name, const char *value)
{
	if (family == LAUNCH_openmpi || family == LAUNCH_mpirun)
		return RUNTIME_OPENMPI;
	/* LLVM's runtime goes by KMP_BLOCKTIME. */
	if (strncmp(name, "GOMP_", 5) == 0 || is_auto_wait(name, value))
		return RUNTIME_LIBGOMP;
	return strncmp(name, "KMP_", 4) == 0 ? RUNTIME_LIBOMP : RUNTIME_LIBGOMP | RUNTIME_LIBOMP;
}

static void say_linked(const struct step *s, struct launch_var *v)
{
	char text[64];

	snprintf(v->why, sizeof(v->why), "the program %s %.60s",
		s->links_learned ? "was seen to load" : "links",
		runtimes_text(s->links, text, sizeof(text)));
}

/* What is set on this machine for what the site wrote; a time becomes a count, in @count. */
static const char *value_here(
	const struct conf_pair *p, struct situation where, char count[static 24])
{
	int us = is_spin(p->key) ? conf_spin_us(p->value) : -1;

	if (is_auto_wait(p->key, p->value))
		return auto_wait(where.library);
	if (is_auto_spin(p->key, p->value))
		us = auto_spin_us(where);
	if (us < 0)
		return p->value;
	snprintf(count, 24, "%ld", spin_count(us));
	return count;
}

static void add_family(struct step *s, const struct msg *m, enum launch_family family,
	const struct conf_family *f, struct situation where)
{
	const char *own = users_own(m, family);

	for (int i = 0; i < f->n; i++) {
		const struct conf_pair *p = &f->pair[i];
		char count[24];
		struct launch_var *v = add(s, p->key, value_here(p, where, count));

		if (own)
			snprintf(v->why, sizeof(v->why), "the user set %.60s", own);
		/* Linear algebra alone says nothing of what else there is. */
		else if (!s->runs_any && s->links & ~(uint32_t)RUNTIMES_BLAS &&
			 !(s->links & listeners(family, p->key, p->value)))
			say_linked(s, v);
		else if (is_auto_wait(p->key, p->value) && !where.library && !has_spin_counts(f))
			snprintf(v->why, sizeof(v->why), "nothing beside it limits the spinning");
		else if (is_spin(p->key))
			s->short_spins = where.around == LAUNCH_POLLED && !where.library;
	}
}

/* Why a step with --coloc-omp does not get the library; false: it does. */
static bool omp_is_refused(const struct msg *m, const char *path, char *ret, size_t size)
{
	const char *own = users_own(m, LAUNCH_preload);

	*ret = '\0';
	if (own)
		snprintf(ret, size, "the user set %.60s", own);
	else if (strlen(path) >= sizeof(((struct launch_var *)0)->value)) /* a deep installation */
		snprintf(ret, size, "its path is longer than %zu bytes",
			sizeof(((struct launch_var *)0)->value) - 1);
	/* The loader would say so on every program's stderr. */
	else if (access(path, R_OK) < 0)
		snprintf(ret, size, "it is not there");
	return *ret != '\0';
}

/* These libraries count CPUs themselves where nothing tells them (and of OMP_NUM_THREADS only
 * builds that listen to it): a program born on few of its cores would keep few threads in them. */
static bool add_blas(struct step *s, const struct msg *m, int threads)
{
	static const struct {
		const char *name;
		enum launch_family family;
		uint32_t runtime;
	} of[] = {
		{"OPENBLAS_NUM_THREADS", LAUNCH_openblas, RUNTIME_OPENBLAS},
		{"MKL_NUM_THREADS", LAUNCH_mkl, RUNTIME_MKL},
		{"BLIS_NUM_THREADS", LAUNCH_blis, RUNTIME_BLIS},
	};

	bool any = false;

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct launch_var *v = add_number(s, of[i].name, threads);
		const char *own = users_own(m, of[i].family);

		if (!own)
			own = users_threads(m);
		if (own)
			snprintf(v->why, sizeof(v->why), "the user set %.60s", own);
		else if (!s->runs_any && s->links && !(s->links & of[i].runtime))
			say_linked(s, v);
		any |= !*v->why;
	}
	return any;
}

/* Threads that Slurm's count has of a core: more than one where it counts hardware threads. */
static int64_t threads_of_core(int count, int ranks, int envelope_cores)
{
	int64_t all = (int64_t)count * ranks;

	return envelope_cores > 0 && all > envelope_cores
		       ? (all + envelope_cores - 1) / envelope_cores
		       : 1;
}

/*
 * Threads of each rank on the cores that its plan gives it, or that earlier runs which began so had
 * in the mean, if those are more: they were born narrow on a node that emptied. At most @count,
 * which is Slurm's.
 */
static int granted_threads(const struct step *s, int count, int ranks, int envelope_cores)
{
	int64_t n = s->granted;

	if (s->takes_all)
		return count;
	if (s->usual_cores > s->granted)
		n = lrint(s->usual_cores);
	n = n * threads_of_core(count, ranks, envelope_cores) / ranks;
	return n >= count ? count : n > 1 ? (int)n : 1;
}

static int width_of(int threads, int count, int ranks, int envelope_cores)
{
	int64_t cores = (int64_t)threads * ranks / threads_of_core(count, ranks, envelope_cores);

	return cores > 1 ? (int)(cores < INT_MAX ? cores : INT_MAX) : 1;
}

static void say_granted(struct step *s, int envelope_cores, bool follows)
{
	size_t size = sizeof(s->threads_why), len;

	len = (size_t)snprintf(
		s->threads_why, size, "%d of %d cores granted", s->granted, envelope_cores);
	if (follows)
		snprintf(s->threads_why + len, size - len,
			"; libcoloc_omp starts as many threads of OpenMP as that is now");
	else if (s->usual_cores > s->granted)
		snprintf(s->threads_why + len, size - len,
			"; runs that began so had %.1f in the mean%s", s->usual_cores,
			s->takes_all ? ": begins with all threads" : "");
}

static void add_threads(
	struct step *s, const struct msg *m, int count, int ranks, int envelope_cores, bool follows)
{
	/* Who can have more later starts with the most: libcoloc_omp has each region take what is
	 * granted then. Of linear algebra not all goes by OpenMP. */
	int blas = s->granted > 0 ? granted_threads(s, count, ranks, envelope_cores) : count;
	int omp = follows ? count : blas;
	struct launch_var *v = add_number(s, "OMP_NUM_THREADS", omp);
	const char *own = users_own(m, LAUNCH_openmp);
	bool sets, sets_blas;

	if (!own)
		own = users_threads(m);
	if (own)
		snprintf(v->why, sizeof(v->why), "the user set %.60s", own);
	sets = !*v->why;
	sets_blas = add_blas(s, m, blas);
	if (s->granted > 0 && (sets || sets_blas))
		say_granted(s, envelope_cores, follows && sets);
	s->counts_granted = s->granted > 0 && ((sets && !follows) || sets_blas);
	s->narrow = s->counts_granted && blas < count;
	s->width = s->counts_granted ? width_of(blas, count, ranks, envelope_cores) : 0;
}

static int count_ranks(const struct step *s)
{
	return s->ntasks > 0 ? s->ntasks : 1;
}

/* Threads of each rank, as far as these cores go. */
static int count_threads(const struct step *s, int cores)
{
	int threads = s->cpus_per_task > 0 ? s->cpus_per_task : cores / count_ranks(s);

	return threads > 0 ? threads : 1;
}

/* A step that follows what is granted does so by its library. */
static bool has_library(const struct step *s)
{
	for (int i = 0; i < s->n_env; i++)
		if (launch_family(s->env[i].name) == LAUNCH_preload)
			return !*s->env[i].why;
	return false;
}

bool launch_counts_threads(const struct step *s, const struct launch_var *v)
{
	enum launch_family family = launch_family(v->name);

	if (*v->why || !s->counts_granted)
		return false;
	if (strcmp(v->name, "OMP_NUM_THREADS") == 0)
		return !has_library(s);
	return family == LAUNCH_openblas || family == LAUNCH_mkl || family == LAUNCH_blis;
}

void launch_regrant(struct step *s, int granted, int envelope_cores)
{
	int count = count_threads(s, envelope_cores), n;

	if (!s->counts_granted)
		return;
	s->granted = granted;
	n = granted_threads(s, count, count_ranks(s), envelope_cores);
	s->narrow = n < count;
	s->width = width_of(n, count, count_ranks(s), envelope_cores);
	for (int i = 0; i < s->n_env; i++)
		if (launch_counts_threads(s, &s->env[i]))
			snprintf(s->env[i].value, sizeof(s->env[i].value), "%d", n);
	if (*s->threads_why)
		say_granted(s, envelope_cores, has_library(s));
}

void launch_decide(const struct conf *c, struct step *s, const struct msg *m, int envelope_cores,
	int placed_cores, enum launch_around around)
{
	int threads = c->launch_env.threads == THREADS_PLACEMENT ? placed_cores : envelope_cores;
	const char *omp_path = strcmp(c->launch_env.omp_library, "auto") == 0
				       ? COLOC_LIBDIR "/libcoloc_omp.so"
				       : c->launch_env.omp_library;
	struct launch_var *v;
	char refused[sizeof(v->why)];
	struct situation where = {.around = around};

	_Static_assert(sizeof(c->launch_env.omp_library) <= sizeof(v->value), "it fits");
	s->n_env = 0;
	s->short_spins = s->narrow = s->counts_granted = s->takes_all = false;
	s->width = 0;
	*s->threads_why = '\0';
	if (!c->launch_env.enabled)
		return;
	where.library = s->omp && !omp_is_refused(m, omp_path, refused, sizeof(refused));
	/* Shells are where mpirun runs; under srun ranks are started without it. */
	if (s->batch)
		add_family(s, m, LAUNCH_mpirun, &c->launch_env.mpirun, where);
	if (s->batch && !c->launch_env.batch)
		return;
	add_family(s, m, LAUNCH_openmp, &c->launch_env.openmp, where);
	add_family(s, m, LAUNCH_openmpi, &c->launch_env.openmpi, where);
	/* Only there; the loader itself ignores it for setuid programs. */
	if (s->omp) {
		v = add(s, "LD_PRELOAD", omp_path);
		memcpy(v->why, refused, sizeof(refused));
	}
	if (c->launch_env.threads == THREADS_LEAVE ||
		has_variable(&c->launch_env.openmp, "OMP_NUM_THREADS"))
		return;
	/* Not only when this placement is narrow: between this answer and exec another step may
	 * arrive, and a program born narrow stays so. Where the placement is the whole envelope
	 * the value is what the runtime would have chosen. */
	add_threads(s, m, count_threads(s, threads), count_ranks(s), envelope_cores, where.library);
}
