/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctx_stepd.c - in slurmstepd, as root: tell the node's service about one step and its tasks.
 *
 * init_post_opt is the last hook from which the environment reaches the tasks and the first with
 * all options known; in task_post_fork the task sits in its cgroup, with its mask set, and has not
 * exec'ed; task_init, in the task and as its user, puts in what the answer to that changed of the
 * environment (late.h). Whatever goes wrong the step runs as without us: nothing here fails, and
 * waiting ends with the step's budget.
 */
#include "spank/ctx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/command.h"
#include "common/msg.h"
#include "common/starters.h"
#include "spank/client.h"
#include "spank/late.h"
#include "spank/launch.h"

/* Slurm's special steps (slurm.h has them under names that differ between releases). */
#define STEP_BATCH       UINT32_C(0xfffffffb)
#define STEP_EXTERN      UINT32_C(0xfffffffc)
#define STEP_INTERACTIVE UINT32_C(0xfffffffa)
/* First of the reserved range. */
#define STEP_RESERVED UINT32_C(0xfffffff0)
/* RLIMIT_NICE counts from nice 20 down. */
#define NICE_0_LIMIT      20
#define NICE_0_LIMIT_TEXT "20"
/* A longer PATH, or working directory, is not told. */
#define PATH_TEXT_MAX 4096

/* One slurmstepd serves one step, so there is one of each. */
static struct args args;
static struct opts from_line;
static struct opts from_env;
static struct client client;

static struct {
	uint32_t job, step, nodeid;
	char name[40];   /* "12.0", "12.batch" */
	char policy[64]; /* the ruling one, as the daemon said */
	bool started;    /* the daemon has, or may have, step_start: owed step_end */
	bool asking;     /* accepted, and no error since */
	bool may_idle;   /* its threads may be SCHED_IDLE for a while */
	int verbose;
	bool said;         /* the user's line is out */
	struct errbuf err; /* why not; for the user's line */
} step;

/* Too large for a stack that is not ours. */
static struct msg out, in;

void ctx_stepd_init(spank_t sp, const struct args *a)
{
	(void)sp;
	args = *a;
}

void ctx_stepd_option(enum opt_id id, const char *text)
{
	struct errbuf err;

	/* Called twice with the same by Slurm before 24.05. */
	if (opts_set(&from_line, id, text, &err) < 0)
		slurm_info("coloc: --%s: %s, ignoring", opt_descs[id].name, err.text);
}

/* The step's environment behind launch.h's calls. */
static int step_getenv(void *env, const char *name, char *buf, int size)
{
	spank_err_t rc = spank_getenv(env, name, buf, size);

	if (rc == ESPANK_ENV_NOEXIST)
		return -ENOENT;
	if (rc == ESPANK_NOSPACE)
		return -ENOSPC;
	return rc == ESPANK_SUCCESS ? 0 : -EIO;
}

static int step_setenv(void *env, const char *name, const char *value)
{
	return spank_setenv(env, name, value, 1) == ESPANK_SUCCESS ? 0 : -EIO;
}

static int step_unsetenv(void *env, const char *name)
{
	return spank_unsetenv(env, name) == ESPANK_SUCCESS ? 0 : -EIO;
}

static void read_env_options(spank_t sp)
{
	for (int id = 0; id < OPT_COUNT; id++) {
		const char *name = opt_descs[id].env;
		char text[OPT_VALUE_MAX];
		struct errbuf err;
		int rc = step_getenv(sp, name, text, sizeof(text));

		if (from_line.set[id] || rc == -ENOENT || (rc == 0 && !*text))
			continue;
		if (rc == 0)
			rc = opts_set(&from_env, (enum opt_id)id, text, &err);
		else
			rc = err_set(&err, rc, "longer than %d characters", OPT_VALUE_MAX - 1);
		if (rc < 0)
			slurm_info("coloc: environment %s: %s, ignoring", name, err.text);
	}
}

static void name_step(void)
{
	const char *word = step.step == STEP_BATCH         ? "batch"
			   : step.step == STEP_INTERACTIVE ? "interactive"
							   : NULL;

	if (word)
		snprintf(step.name, sizeof(step.name), "%u.%s", step.job, word);
	else
		snprintf(step.name, sizeof(step.name), "%u.%u", step.job, step.step);
}

static bool get_u32(spank_t sp, spank_item_t item, uint32_t *ret)
{
	return spank_get_item(sp, item, ret) == ESPANK_SUCCESS;
}

static void put_u32(spank_t sp, spank_item_t item, const char *key)
{
	uint32_t v;

	if (get_u32(sp, item, &v))
		msg_putf(&out, key, "%u", v);
}

static void put_text(spank_t sp, spank_item_t item, const char *key)
{
	char *text = NULL;

	if (spank_get_item(sp, item, &text) == ESPANK_SUCCESS)
		msg_put(&out, key, text);
}

static void put_env(spank_t sp, const char *name, const char *key)
{
	char text[1024];

	if (step_getenv(sp, name, text, sizeof(text)) == 0)
		msg_put(&out, key, text);
}

static void put_array(spank_t sp)
{
	uint32_t array, task;

	/* Without an array the id is 0 or the job's, and the task the largest numbers. */
	if (!get_u32(sp, S_JOB_ARRAY_ID, &array) || !get_u32(sp, S_JOB_ARRAY_TASK_ID, &task) ||
		array == 0 || task >= STEP_RESERVED)
		return;
	msg_putf(&out, "array_job", "%u", array);
	msg_putf(&out, "array_task", "%u", task);
}

static void put_name(spank_t sp)
{
	char **argv = NULL;
	int argc = 0;

	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc > 0 && argv[0]) {
		msg_put(&out, "name", argv[0]);
		msg_putf(&out, "args", "%08x", command_arguments(argc, argv));
		msg_put(&out, "threads_by", command_threads_by(argc, argv));
	}
}

static void put_if_short(spank_t sp, const char *name, const char *key)
{
	char text[PATH_TEXT_MAX];

	/* What it is for is worth less than the message. */
	if (step_getenv(sp, name, text, sizeof(text)) == 0 &&
		strlen(key) + strlen(text) + 2 <= sizeof(out.buf) - out.len)
		msg_put(&out, key, text);
}

/* What a name stands for that is not absolute: the service looks, with the user's rights. */
static void put_whereabouts(spank_t sp)
{
	const char *name = msg_get(&out, "name");

	if (!name || *name == '/' || step.step >= STEP_RESERVED)
		return;
	if (*name == '.')
		put_if_short(sp, SRUN_CWD_ENV, "cwd");
	else
		put_if_short(sp, "PATH", "path");
}

/* What an interpreter or a launcher is told to run, as a number: nobody needs to know the text. */
static void put_script(spank_t sp)
{
	char **argv = NULL, cwd[PATH_TEXT_MAX];
	int argc = 0;

	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc > 0 && argv[0] &&
		starter_of(argv[0]) != STARTER_NONE)
		msg_putf(&out, "script", "%016llx",
			(unsigned long long)starter_script(argc, argv,
				step_getenv(sp, SRUN_CWD_ENV, cwd, sizeof(cwd)) == 0 ? cwd : NULL));
}

/* Without srun's word the binding counts as the user's: then nothing is moved. */
static void put_bind(spank_t sp)
{
	char type[64], asked[4];

	if (step_getenv(sp, "SLURM_CPU_BIND_TYPE", type, sizeof(type)) < 0)
		return;
	msg_put(&out, "bind_type", type);
	if (step_getenv(sp, BIND_ASKED_ENV, asked, sizeof(asked)) == 0 && !strcmp(asked, "no"))
		msg_put(&out, "bind_unasked", "1");
}

static void put_options(void)
{
	for (int id = 0; id < OPT_COUNT; id++) {
		const char *text = opts_get(&from_line, &from_env, (enum opt_id)id);
		bool is_switch = id == OPT_OMP || id == OPT_EXCLUDE;

		if (opt_descs[id].msg_key && text && !(is_switch && *text == '0'))
			msg_put(&out, opt_descs[id].msg_key, text);
	}
	if (opts_dry_run(&from_line, &from_env))
		msg_put(&out, "dry_run", "1");
}

static void build_step_start(spank_t sp, uid_t uid, const struct launch_io *io)
{
	uint32_t nnodes;

	msg_init(&out, "step_start");
	msg_putf(&out, "job", "%u", step.job);
	msg_putf(&out, "step", "%u", step.step);
	msg_putf(&out, "uid", "%u", (unsigned int)uid);
	/* Slurm says 0 for a batch script, which runs on one. */
	msg_putf(&out, "nnodes", "%u", get_u32(sp, S_JOB_NNODES, &nnodes) && nnodes ? nnodes : 1);
	msg_putf(&out, "nodeid", "%u", step.nodeid);
	put_u32(sp, S_JOB_LOCAL_TASK_COUNT, "ntasks");
	put_u32(sp, S_STEP_CPUS_PER_TASK, "cpus_per_task");
	put_env(sp, "SLURM_CPUS_PER_TASK", "cpus_asked");
	put_name(sp);
	put_script(sp);
	put_text(sp, S_JOB_ALLOC_CORES, "job_cores");
	put_text(sp, S_STEP_ALLOC_CORES, "step_cores");
	msg_putf(&out, "timeout_ms", "%d", args.timeout_ms);
	msg_putf(&out, "pid", "%d", (int)getpid());
	if (step.step == STEP_BATCH || step.step == STEP_INTERACTIVE)
		msg_put(&out, "batch", "1");
	put_array(sp);
	put_options();
	put_env(sp, "SLURM_JOB_PARTITION", "partition");
	put_env(sp, "SLURM_JOB_ACCOUNT", "account");
	put_env(sp, "SLURM_JOB_NAME", "jobname");
	put_env(sp, "SLURM_JOB_USER", "user");
	if (!msg_get(&out, "user"))
		put_env(sp, "USER", "user");
	put_bind(sp);
	launch_report(io, &out);
	put_whereabouts(sp);
}

/*
 * sbatch and salloc hand their options down in these variables; srun does not, so that an srun
 * inside its tasks would not be co-located. The nearest command line replaces what came from
 * further out.
 */
static void hand_down(spank_t sp)
{
	for (int id = 0; id < OPT_COUNT; id++) {
		char name[80], value[OPT_VALUE_MAX + sizeof(",dry_run=yes")];

		if (!from_line.set[id])
			continue;
		snprintf(name, sizeof(name), "SLURM_SPANK__SLURM_SPANK_OPTION_coloc_%s",
			opt_descs[id].name);
		for (char *p = name; *p; p++)
			if (*p == '-')
				*p = '_';
		snprintf(value, sizeof(value), "%s%s", from_line.value[id],
			id == OPT_POLICY && from_line.dry_run ? ",dry_run=yes" : "");
		spank_setenv(sp, name, value, 1);
	}
}

/* Once per step, to the user's stderr from the first node, and only if he asked. */
static void say(const char *what, const char *why)
{
	if (step.said || step.verbose < 1 || step.nodeid != 0)
		return;
	step.said = true;
	slurm_spank_log("coloc: step %s: %s%s", step.name, what, why);
}

static void give_up(void)
{
	step.asking = false;
	slurm_info("coloc: step %s: %s, ignoring", step.name, step.err.text);
}

/* Is this a step to tell the service about at all? */
static bool identify(spank_t sp, uid_t *ret_uid)
{
	if (!get_u32(sp, S_JOB_ID, &step.job) || !get_u32(sp, S_JOB_STEPID, &step.step) ||
		spank_get_item(sp, S_JOB_UID, ret_uid) != ESPANK_SUCCESS)
		return false;
	if (step.step >= STEP_RESERVED && step.step != STEP_BATCH && step.step != STEP_INTERACTIVE)
		return false;
	if (!get_u32(sp, S_JOB_NODEID, &step.nodeid))
		step.nodeid = 0;
	name_step();
	return *ret_uid >= args.minimum_uid;
}

/* libcoloc knows the usual place; the user's own word (an outer step's is the same) stands. */
static void tell_socket(const struct launch_io *io)
{
	struct args usual;
	char seen[2];

	args_init(&usual);
	if (strcmp(args.socket, usual.socket) != 0 &&
		io->get(io->env, "COLOC_SOCKET", seen, sizeof(seen)) == -ENOENT)
		io->set(io->env, "COLOC_SOCKET", args.socket);
}

/*
 * The kernel lets only root, and who could have nice 0 anyway, leave SCHED_IDLE: without this limit
 * a program that asks for SCHED_OTHER, in which it believes itself, would be refused. Never above
 * what is usual, and gone with the task. Just before exec slurmstepd sets the limit that srun had,
 * which is in this variable; the task does not see it.
 */
static void expect_usual_nice(const struct launch_io *io)
{
	char text[24];

	step.may_idle = true;
	if (io->get(io->env, "SLURM_RLIMIT_NICE", text, sizeof(text)) == 0 &&
		strtoul(text + (*text == 'U'), NULL, 10) < NICE_0_LIMIT)
		io->set(io->env, "SLURM_RLIMIT_NICE", NICE_0_LIMIT_TEXT);
}

static void start_step(const struct launch_io *io)
{
	const char *type;
	int rc;

	client_init(&client, args.socket, args.timeout_ms);
	rc = client_ask(&client, &out, &in, &step.err);
	/* A timeout says nothing about what the daemon has read or is going to read. */
	step.started = rc == 0 || rc == -ETIMEDOUT || rc == -ECONNRESET;
	if (rc < 0) {
		launch_apply(io, NULL);
		give_up();
		return;
	}
	type = msg_get(&in, "type");
	if (strcmp(type, "step_ok") != 0) {
		const char *why = msg_get(&in, "reason");

		step.started = false;
		client_done(&client);
		launch_apply(io, NULL);
		err_set(&step.err, 0, "%s%s%s", strcmp(type, "step_refused") ? type : "refused",
			why ? ": " : "", why ? why : "");
		give_up();
		return;
	}
	step.asking = true;
	snprintf(step.policy, sizeof(step.policy), "%s",
		msg_get(&in, "policy") ? msg_get(&in, "policy") : "?");
	if (msg_get(&in, "may_idle"))
		expect_usual_nice(io);
	if (msg_get(&in, "env"))
		late_open();
	launch_apply(io, &in);
	tell_socket(io);
}

void ctx_stepd_post_opt(spank_t sp)
{
	struct launch_io io = {sp, step_getenv, step_setenv, step_unsetenv};
	uid_t uid;

	if (!identify(sp, &uid))
		return;
	read_env_options(sp);
	if (opts_on(&from_line, &from_env, args.default_on)) {
		step.verbose = opts_verbose(&from_line, &from_env);
		build_step_start(sp, uid, &io);
		start_step(&io);
	} else {
		launch_apply(&io, NULL);
	}
	hand_down(sp);
	/* Between srun and us only. */
	spank_unsetenv(sp, BIND_ASKED_ENV);
	spank_unsetenv(sp, SRUN_CWD_ENV);
}

static bool get_task(spank_t sp, int *ret_lid, pid_t *ret_pid)
{
	return spank_get_item(sp, S_TASK_ID, ret_lid) == ESPANK_SUCCESS &&
	       spank_get_item(sp, S_TASK_PID, ret_pid) == ESPANK_SUCCESS;
}

static void put_head(const char *type)
{
	msg_init(&out, type);
	msg_putf(&out, "job", "%u", step.job);
	msg_putf(&out, "step", "%u", step.step);
	msg_putf(&out, "nodeid", "%u", step.nodeid);
}

static void say_placed(void)
{
	const char *cores = msg_get(&in, "coreset");
	const char *why = msg_get(&in, "reason");
	/* Who was kept out until slurmctld had said whose job it is has another by now. */
	const char *policy = msg_get(&in, "policy");
	char text[512];

	snprintf(text, sizeof(text), "policy %s, cores %s%s%s%s", policy ? policy : step.policy,
		cores && *cores ? cores : "as Slurm set them", why && *why ? " (" : "",
		why ? why : "", why && *why ? ")" : "");
	say(text, "");
}

/* Refused in a container: the service lends only to those who have it. */
static void allow_usual_nice(pid_t pid)
{
	struct rlimit l;

	if (prlimit(pid, RLIMIT_NICE, NULL, &l) < 0 || l.rlim_cur >= NICE_0_LIMIT)
		return;
	l.rlim_cur = NICE_0_LIMIT;
	if (l.rlim_max < NICE_0_LIMIT)
		l.rlim_max = NICE_0_LIMIT;
	prlimit(pid, RLIMIT_NICE, &l, NULL);
}

void ctx_stepd_task_post_fork(spank_t sp)
{
	pid_t pid;
	int lid;

	if (step.asking && get_task(sp, &lid, &pid)) {
		if (step.may_idle)
			allow_usual_nice(pid);
		put_head("task_start");
		msg_putf(&out, "task", "%d", lid);
		msg_putf(&out, "pid", "%d", (int)pid);
		if (client_ask(&client, &out, &in, &step.err) < 0) {
			give_up();
		} else {
			late_put(&in);
			say_placed();
		}
	}
	/* Held back until here: in init_post_opt the user's stderr is not connected yet. */
	if (step.err.text[0])
		say(step.err.text, ", ignoring");
}

void ctx_stepd_task_init(spank_t sp)
{
	const struct launch_io io = {sp, step_getenv, step_setenv, step_unsetenv};

	late_apply(&io);
}

void ctx_stepd_task_exit(spank_t sp)
{
	int lid, status = 0;
	pid_t pid;

	if (!step.started || !get_task(sp, &lid, &pid))
		return;
	put_head("task_exit");
	msg_putf(&out, "task", "%d", lid);
	msg_putf(&out, "pid", "%d", (int)pid);
	if (spank_get_item(sp, S_TASK_EXIT_STATUS, &status) == ESPANK_SUCCESS)
		msg_putf(&out, "status", "%d", status);
	client_tell(&client, &out, NULL);
}

void ctx_stepd_exit(void)
{
	if (!step.started)
		return;
	put_head("step_end");
	client_tell(&client, &out, NULL);
	client_done(&client);
	step.started = step.asking = false;
}
