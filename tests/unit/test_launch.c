/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/msg.h"
#include "common/runtimes.h"
#include "nodesvc/conf/conf.h"
#include "nodesvc/launch/launch.h"
#include "nodesvc/launch/spin.h"

static struct conf conf;
static struct step step;
static struct msg msg;

static void setup(void)
{
	conf_defaults(&conf);
	memset(&step, 0, sizeof(step));
	step.ntasks = 1;
	msg_init(&msg, "step_start");
}

/* The value that is set for @name; NULL not set. */
static const char *value_of(const char *name)
{
	for (int i = 0; i < step.n_env; i++)
		if (strcmp(step.env[i].name, name) == 0 && !*step.env[i].why)
			return step.env[i].value;
	return NULL;
}

/* As many spins as take @us here. */
static const char *spins(int us)
{
	static char text[24];

	snprintf(text, sizeof(text), "%ld", spin_count(us));
	return text;
}

START_TEST(defaults_spin_shortly_and_name_the_envelope)
{
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(25));
	ck_assert_ptr_nonnull(value_of("KMP_BLOCKTIME"));
	ck_assert_str_eq(value_of("OMP_WAIT_POLICY"), "active");
	ck_assert_str_eq(value_of("OMPI_MCA_mpi_yield_when_idle"), "1");
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "8");
}
END_TEST

START_TEST(who_takes_turns_spins_longer_than_who_shares)
{
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_IN_TURNS);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(50));
	ck_assert_str_ne(value_of("GOMP_SPINCOUNT"), spins(25));
	ck_assert_str_eq(value_of("OMP_WAIT_POLICY"), "active");
	/* What the site wrote holds everywhere. */
	strcpy(conf.launch_env.openmp.pair[0].value, "13us");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_IN_TURNS);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(13));
	/* The word is ours for this variable only. */
	strcpy(conf.launch_env.openmp.pair[1].value, "auto");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_IN_TURNS);
	ck_assert_str_eq(value_of("KMP_BLOCKTIME"), "auto");
}
END_TEST

/* A sleep costs little there, whoever has the core. */
START_TEST(short_spins_do_where_idle_cpus_poll)
{
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_POLLED);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(6));
	ck_assert(step.short_spins);
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert(!step.short_spins);
	/* The site's own time; CPUs poll for it as well. */
	strcpy(conf.launch_env.openmp.pair[0].value, "13us");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_POLLED);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(13));
	ck_assert(step.short_spins);
}
END_TEST

START_TEST(nobody_counts_on_polling_cpus_whose_spins_are_not_ours)
{
	switch (_i) {
	case 0: /* the user's */
		msg_put(&msg, "set", "GOMP_SPINCOUNT");
		break;
	case 1: /* another runtime */
		step.links = RUNTIME_LIBOMP;
		break;
	case 2: /* nobody spins who has no core */
		step.omp = true;
		strcpy(conf.launch_env.omp_library, "/bin/sh");
		break;
	}
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_POLLED);
	ck_assert(!step.short_spins);
}
END_TEST

/* It has them spin only where each has a core. */
START_TEST(who_gets_the_library_spins_longer_than_who_shares)
{
	step.omp = true;
	strcpy(conf.launch_env.omp_library, "/bin/sh");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(50));
	/* Nobody does where it is asked for and not to be had. */
	strcpy(conf.launch_env.omp_library, "/nonexistent");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(25));
}
END_TEST

START_TEST(a_count_is_set_as_it_is)
{
	strcpy(conf.launch_env.openmp.pair[0].value, "infinite");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), "infinite");
	strcpy(conf.launch_env.openmp.pair[0].value, "0us");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), "0");
	/* Times are ours for this variable only. */
	strcpy(conf.launch_env.openmp.pair[1].value, "200us");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("KMP_BLOCKTIME"), "200us");
}
END_TEST

/* libgomp's threads go on spinning as shortly as they were told, on however few CPUs it began:
 * libcoloc_omp says better when they may not. */
START_TEST(waiting_is_active_where_nobody_tells_libgomp_of_its_cpus)
{
	step.links = RUNTIME_LIBGOMP;
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_WAIT_POLICY"), "active");
	step.omp = true;
	strcpy(conf.launch_env.omp_library, "/bin/sh");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_WAIT_POLICY"), "passive");
	/* Nobody does where the library is asked for and not to be had. */
	strcpy(conf.launch_env.omp_library, "/nonexistent");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_WAIT_POLICY"), "active");
	/* LLVM's goes by its own. */
	step.omp = false;
	step.links = RUNTIME_LIBOMP;
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_ptr_null(value_of("OMP_WAIT_POLICY"));
	ck_assert_ptr_nonnull(value_of("KMP_BLOCKTIME"));
	/* What the site wrote is for all of them. */
	strcpy(conf.launch_env.openmp.pair[2].value, "passive");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_WAIT_POLICY"), "passive");
}
END_TEST

START_TEST(waiting_is_never_active_without_an_end)
{
	for (int i = 0; i < 2; i++) {
		conf_defaults(&conf);
		strcpy(conf.launch_env.openmp.pair[i].key, "OMP_MAX_ACTIVE_LEVELS");
		strcpy(conf.launch_env.openmp.pair[i].value, "1");
		launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
		ck_assert_str_eq(value_of("OMP_MAX_ACTIVE_LEVELS"), "1");
		ck_assert_ptr_null(value_of("OMP_WAIT_POLICY"));
	}
}
END_TEST

static const struct {
	const char *text;
	int us;
} times[] = {
	{"13us", 13},
	{"0us", 0},
	{"100000us", 100000},
	{"100001us", -1},
	{"99999999999999999999us", -1},
	{"13", -1},
	{"us", -1},
	{"", -1},
	{"-1us", -1},
	{" 1us", -1},
	{"13us ", -1},
	{"13ms", -1},
	{"1.5us", -1},
};

START_TEST(times_are_whole_microseconds)
{
	ck_assert_int_eq(conf_spin_us(times[_i].text), times[_i].us);
}
END_TEST

START_TEST(a_longer_time_is_more_spins_two_digits_of_them)
{
	long few = spin_count(13), many = spin_count(1300), unit = 1;

	ck_assert_int_eq(spin_count(0), 0);
	ck_assert_int_ge(few, 1);
	ck_assert_int_ge(spin_count(1), 1);
	while (many / unit >= 100)
		unit *= 10;
	ck_assert_int_eq(many % unit, 0);
	/* Each is off by a twentieth at most where it has two digits. */
	if (few >= 10)
		ck_assert(many >= 89 * few && many <= 111 * few);
	ck_assert_int_eq(spin_count(13), few);
}
END_TEST

START_TEST(what_is_linked_decides)
{
	step.links = RUNTIME_LIBGOMP;
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(25));
	ck_assert_ptr_null(value_of("KMP_BLOCKTIME"));
	ck_assert_ptr_null(value_of("OMPI_MCA_mpi_yield_when_idle"));
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "8");
	for (int i = 0; i < step.n_env; i++)
		if (strcmp(step.env[i].name, "KMP_BLOCKTIME") == 0)
			ck_assert_str_eq(step.env[i].why, "the program links libgomp");
	step.links = RUNTIME_LIBOMP | RUNTIME_OPENMPI;
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_ptr_null(value_of("GOMP_SPINCOUNT"));
	ck_assert_str_eq(value_of("KMP_BLOCKTIME"), "1");
	ck_assert_str_eq(value_of("OMPI_MCA_mpi_yield_when_idle"), "1");
	step.links = RUNTIME_MPICH;
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_ptr_null(value_of("GOMP_SPINCOUNT"));
	ck_assert_ptr_null(value_of("OMPI_MCA_mpi_yield_when_idle"));
}
END_TEST

START_TEST(omp_library_is_for_those_who_ask)
{
	strcpy(conf.launch_env.omp_library, "/bin/sh");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_ptr_null(value_of("LD_PRELOAD"));
	step.omp = true;
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("LD_PRELOAD"), "/bin/sh");
	strcpy(conf.launch_env.omp_library, "/nonexistent");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_ptr_null(value_of("LD_PRELOAD"));
	strcpy(conf.launch_env.omp_library, "/bin/sh");
	msg_put(&msg, "set", "LD_PRELOAD");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_ptr_null(value_of("LD_PRELOAD"));
	ck_assert_str_eq(value_of("OMP_WAIT_POLICY"), "active");
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(25));
}
END_TEST

static const char *const openmp[] = {
	"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_NUM_THREADS"};

START_TEST(one_member_of_the_users_keeps_the_family_off)
{
	msg_put(&msg, "set", "SOME_OTHER");
	msg_put(&msg, "set", openmp[_i]);
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	for (size_t i = 0; i < 4; i++)
		ck_assert_ptr_null(value_of(openmp[i]));
	ck_assert_str_eq(value_of("OMPI_MCA_mpi_yield_when_idle"), "1");
	for (int i = 0; i < step.n_env; i++)
		if (strcmp(step.env[i].name, "GOMP_SPINCOUNT") == 0)
			ck_assert_ptr_nonnull(strstr(step.env[i].why, openmp[_i]));
}
END_TEST

START_TEST(openmpi_of_the_user_leaves_openmp_on)
{
	msg_put(&msg, "set", "OMPI_MCA_mpi_yield_when_idle");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_ptr_null(value_of("OMPI_MCA_mpi_yield_when_idle"));
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(25));
}
END_TEST

static const char *const bind_to[] = {
	"PRTE_MCA_bindto", "PRTE_MCA_bind_to", "PRTE_MCA_hwloc_default_binding_policy"};

START_TEST(where_the_user_has_mpirun_bind_stays_his)
{
	step.batch = true;
	msg_put(&msg, "set", bind_to[_i]);
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_int_eq(step.n_env, 1);
	ck_assert_ptr_null(value_of("PRTE_MCA_bindto"));
	ck_assert_ptr_nonnull(strstr(step.env[0].why, bind_to[_i]));
}
END_TEST

START_TEST(ranks_under_srun_need_nothing_of_mpirun)
{
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	for (int i = 0; i < step.n_env; i++)
		ck_assert_str_ne(step.env[i].name, "PRTE_MCA_bindto");
}
END_TEST

START_TEST(threads_follow_the_configuration_and_the_ranks)
{
	step.ntasks = 2;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "4");
	conf.launch_env.threads = THREADS_PLACEMENT;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	conf.launch_env.threads = THREADS_LEAVE;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_ptr_null(value_of("OMP_NUM_THREADS"));
	ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(25));
}
END_TEST

START_TEST(threads_are_never_more_than_asked_nor_less_than_one)
{
	step.cpus_per_task = 3;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "3");
	step.cpus_per_task = 0;
	step.ntasks = 16;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "1");
}
END_TEST

/* Libraries of linear algebra have counts of their own. */
static const char *const blas[] = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"};

/* Slurm's count for each rank (-c; 0 none), ranks, cores of the envelope, granted, the mean of
 * earlier runs; threads. */
static const struct {
	int asked, ranks, envelope, granted;
	double usual;
	int threads;
} grants[] = {
	{0, 1, 8, 2, 0, 2},
	{0, 1, 8, 8, 0, 8},
	{8, 1, 8, 3, 0, 3},
	{2, 1, 8, 3, 0, 2}, /* never more than Slurm's */
	{0, 2, 8, 4, 0, 2},
	{0, 2, 8, 3, 0, 1},
	{4, 2, 8, 1, 0, 1},  /* nor less than one */
	{16, 1, 8, 4, 0, 8}, /* two hardware threads a core */
	{16, 1, 8, 8, 0, 16},
	{0, 1, 8, 2, 6.6, 7}, /* those before got more later */
	{0, 1, 8, 2, 9.9, 8},
	{0, 1, 8, 4, 3.0, 4}, /* nobody is held to what those before had */
	{0, 1, 8, 4, 4.3, 4},
	{0, 2147483647, 8, 4, 0, 1},
};

START_TEST(threads_go_by_the_cores_granted)
{
	char threads[16];

	conf.launch_env.threads = THREADS_GRANTED;
	step.cpus_per_task = grants[_i].asked;
	step.ntasks = grants[_i].ranks;
	step.granted = grants[_i].granted;
	step.usual_cores = grants[_i].usual;
	launch_decide(&conf, &step, &msg, grants[_i].envelope, grants[_i].granted, LAUNCH_SHARES);
	snprintf(threads, sizeof(threads), "%d", grants[_i].threads);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), threads);
	for (int i = 0; i < 3; i++)
		ck_assert_str_eq(value_of(blas[i]), threads);
	ck_assert_ptr_nonnull(strstr(step.threads_why, "cores granted"));
	ck_assert_int_eq(strstr(step.threads_why, "in the mean") != NULL,
		grants[_i].usual > grants[_i].granted);
}
END_TEST

/* Another grant before the program begins, and what that would have been at first. */
START_TEST(threads_go_by_the_cores_granted_at_last)
{
	static struct step at_first;

	conf.launch_env.threads = THREADS_GRANTED;
	msg_put(&msg, "set", "MKL_NUM_THREADS");
	step.cpus_per_task = grants[_i].asked;
	step.ntasks = grants[_i].ranks;
	step.granted = grants[_i].granted;
	step.usual_cores = grants[_i].usual;
	launch_decide(&conf, &step, &msg, grants[_i].envelope, step.granted, LAUNCH_SHARES);
	at_first = step;
	for (int granted = 1; granted <= grants[_i].envelope; granted++) {
		step.granted = granted;
		launch_decide(&conf, &step, &msg, grants[_i].envelope, granted, LAUNCH_SHARES);
		launch_regrant(&at_first, granted, grants[_i].envelope);
		ck_assert_int_eq(at_first.n_env, step.n_env);
		for (int i = 0; i < step.n_env; i++)
			if (!*step.env[i].why)
				ck_assert_str_eq(at_first.env[i].value, step.env[i].value);
		ck_assert_str_eq(at_first.threads_why, step.threads_why);
		ck_assert_int_eq(at_first.narrow, step.narrow);
		ck_assert_int_eq(at_first.granted, granted);
	}
}
END_TEST

START_TEST(who_is_not_counted_by_the_grant_is_not_counted_anew)
{
	static struct step before;

	/* As Slurm has it. */
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	before = step;
	launch_regrant(&step, 2, 8);
	ck_assert_mem_eq(&step, &before, sizeof(step));
	/* As its user has it. */
	msg_put(&msg, "set", "OMP_NUM_THREADS");
	step.granted = 4;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	before = step;
	launch_regrant(&step, 2, 8);
	ck_assert_mem_eq(&step, &before, sizeof(step));
	/* By the library, but for what does not go by OpenMP. */
	msg_init(&msg, "step_start");
	step.omp = true;
	strcpy(conf.launch_env.omp_library, "/bin/sh");
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	launch_regrant(&step, 2, 8);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "8");
	ck_assert_str_eq(value_of("OPENBLAS_NUM_THREADS"), "2");
}
END_TEST

START_TEST(who_began_narrow_is_known)
{
	step.granted = 8;
	launch_decide(&conf, &step, &msg, 8, 8, LAUNCH_SHARES);
	ck_assert(!step.narrow);
	step.granted = 4;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert(step.narrow);
	/* Nothing is set for it that would be. */
	step.links = RUNTIME_LIBGOMP;
	msg_put(&msg, "set", "OMP_NUM_THREADS");
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert(!step.narrow);
	ck_assert_str_eq(step.threads_why, "");
	/* No plan says a number: as ever. */
	msg_init(&msg, "step_start");
	step.granted = 0;
	step.usual_cores = 2;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "8");
	ck_assert_str_eq(step.threads_why, "");
}
END_TEST

/* libcoloc_omp has its regions grow; what does not go by OpenMP stays as it began. */
START_TEST(who_grows_later_begins_with_all)
{
	step.granted = 2;
	step.omp = true;
	strcpy(conf.launch_env.omp_library, "/bin/sh");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "8");
	ck_assert_str_eq(value_of("OPENBLAS_NUM_THREADS"), "2");
	ck_assert_ptr_nonnull(strstr(step.threads_why, "libcoloc_omp"));
	step.links = RUNTIME_LIBGOMP;
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert(!step.narrow);
	/* Who does not get it does not. */
	strcpy(conf.launch_env.omp_library, "/nonexistent");
	launch_decide(&conf, &step, &msg, 8, 2, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "2");
	ck_assert(step.narrow);
}
END_TEST

/* GROMACS would end, whatever the number. */
START_TEST(a_count_on_the_command_line_is_the_only_one)
{
	msg_put(&msg, "threads_by", "-ntomp");
	for (step.granted = 0; step.granted < 3; step.granted++) {
		launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
		ck_assert_ptr_null(value_of("OMP_NUM_THREADS"));
		for (int i = 0; i < 3; i++)
			ck_assert_ptr_null(value_of(blas[i]));
		ck_assert_str_eq(value_of("GOMP_SPINCOUNT"), spins(25));
		ck_assert(!step.narrow);
	}
	for (int i = 0; i < step.n_env; i++)
		if (strcmp(step.env[i].name, "OMP_NUM_THREADS") == 0)
			ck_assert_str_eq(step.env[i].why, "the user set -ntomp");
}
END_TEST

START_TEST(batch_shells_get_only_what_mpirun_reads_unless_configured)
{
	step.batch = true;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_int_eq(step.n_env, 1);
	ck_assert_str_eq(value_of("PRTE_MCA_bindto"), "none");
	conf.launch_env.mpirun.n = 0;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_int_eq(step.n_env, 0);
	conf_defaults(&conf);
	conf.launch_env.batch = true;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_int_gt(step.n_env, 1);
	conf.launch_env.enabled = false;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_int_eq(step.n_env, 0);
}
END_TEST

START_TEST(threads_of_linear_algebra_follow_those_of_openmp)
{
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	for (int i = 0; i < 3; i++)
		ck_assert_str_eq(value_of(blas[i]), "8");
	conf.launch_env.threads = THREADS_PLACEMENT;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	for (int i = 0; i < 3; i++)
		ck_assert_str_eq(value_of(blas[i]), "4");
	conf.launch_env.threads = THREADS_LEAVE;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	for (int i = 0; i < 3; i++)
		ck_assert_ptr_null(value_of(blas[i]));
}
END_TEST

START_TEST(who_chooses_threads_chooses_them_for_linear_algebra)
{
	/* They listen to OMP_NUM_THREADS where they have no count of their own. */
	msg_put(&msg, "set", "OMP_NUM_THREADS");
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	for (int i = 0; i < 3; i++)
		ck_assert_ptr_null(value_of(blas[i]));
	/* A count for one of them says nothing of the others. */
	msg_init(&msg, "step_start");
	msg_put(&msg, "set", "MKL_DYNAMIC");
	msg_put(&msg, "set", "BLIS_JC_NT");
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_str_eq(value_of("OPENBLAS_NUM_THREADS"), "8");
	ck_assert_ptr_null(value_of("MKL_NUM_THREADS"));
	ck_assert_ptr_null(value_of("BLIS_NUM_THREADS"));
	ck_assert_str_eq(value_of("OMP_NUM_THREADS"), "8");
}
END_TEST

START_TEST(what_an_earlier_run_loaded_decides)
{
	step.links = RUNTIME_LIBGOMP | RUNTIME_OPENBLAS;
	step.links_learned = true;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_ptr_nonnull(value_of("GOMP_SPINCOUNT"));
	ck_assert_str_eq(value_of("OPENBLAS_NUM_THREADS"), "8");
	ck_assert_ptr_null(value_of("MKL_NUM_THREADS"));
	ck_assert_ptr_null(value_of("OMPI_MCA_mpi_yield_when_idle"));
	for (int i = 0; i < step.n_env; i++)
		if (strcmp(step.env[i].name, "KMP_BLOCKTIME") == 0)
			ck_assert_str_eq(
				step.env[i].why, "the program was seen to load libgomp, OpenBLAS");
	/* One that starts others may start another next. */
	step.runs_any = true;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_ptr_nonnull(value_of("KMP_BLOCKTIME"));
	ck_assert_ptr_nonnull(value_of("MKL_NUM_THREADS"));
	ck_assert_ptr_nonnull(value_of("OMPI_MCA_mpi_yield_when_idle"));
	step.runs_any = false;
	/* Threads of its own: what else there may be is as unknown as before. */
	step.links = RUNTIME_OPENBLAS;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_ptr_nonnull(value_of("GOMP_SPINCOUNT"));
	ck_assert_ptr_nonnull(value_of("KMP_BLOCKTIME"));
	ck_assert_str_eq(value_of("OPENBLAS_NUM_THREADS"), "8");
	ck_assert_ptr_null(value_of("MKL_NUM_THREADS"));
	/* And one without any has no count for it. */
	step.links = RUNTIME_LIBOMP;
	launch_decide(&conf, &step, &msg, 8, 4, LAUNCH_SHARES);
	ck_assert_ptr_null(value_of("OPENBLAS_NUM_THREADS"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("launch");
	SRunner *sr = srunner_create(s);
	TCase *tc;
	int failed;

	tc = tcase_create("steps under a policy wait shortly and keep their width");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, what_is_linked_decides);
	tcase_add_test(tc, what_an_earlier_run_loaded_decides);
	tcase_add_test(tc, threads_of_linear_algebra_follow_those_of_openmp);
	tcase_add_test(tc, who_chooses_threads_chooses_them_for_linear_algebra);
	tcase_add_test(tc, who_takes_turns_spins_longer_than_who_shares);
	tcase_add_test(tc, who_gets_the_library_spins_longer_than_who_shares);
	tcase_add_test(tc, short_spins_do_where_idle_cpus_poll);
	tcase_add_loop_test(tc, nobody_counts_on_polling_cpus_whose_spins_are_not_ours, 0, 3);
	tcase_add_test(tc, a_count_is_set_as_it_is);
	tcase_add_test(tc, waiting_is_active_where_nobody_tells_libgomp_of_its_cpus);
	tcase_add_test(tc, waiting_is_never_active_without_an_end);
	tcase_add_loop_test(tc, times_are_whole_microseconds, 0, 13);
	tcase_add_test(tc, a_longer_time_is_more_spins_two_digits_of_them);
	tcase_add_test(tc, omp_library_is_for_those_who_ask);
	tcase_add_test(tc, defaults_spin_shortly_and_name_the_envelope);
	tcase_add_test(tc, threads_follow_the_configuration_and_the_ranks);
	tcase_add_test(tc, threads_are_never_more_than_asked_nor_less_than_one);
	tcase_add_loop_test(tc, threads_go_by_the_cores_granted, 0, 14);
	tcase_add_loop_test(tc, threads_go_by_the_cores_granted_at_last, 0, 14);
	tcase_add_test(tc, who_is_not_counted_by_the_grant_is_not_counted_anew);
	tcase_add_test(tc, who_began_narrow_is_known);
	tcase_add_test(tc, who_grows_later_begins_with_all);
	tcase_add_test(tc, a_count_on_the_command_line_is_the_only_one);
	suite_add_tcase(s, tc);
	tc = tcase_create("the user's own settings win for the whole family");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, one_member_of_the_users_keeps_the_family_off, 0, 4);
	tcase_add_test(tc, openmpi_of_the_user_leaves_openmp_on);
	tcase_add_loop_test(tc, where_the_user_has_mpirun_bind_stays_his, 0, 3);
	suite_add_tcase(s, tc);
	tc = tcase_create("shells are left as they are");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, ranks_under_srun_need_nothing_of_mpirun);
	tcase_add_test(tc, batch_shells_get_only_what_mpirun_reads_unless_configured);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
