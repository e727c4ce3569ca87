/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on colocd's socket, one after the other ("\n===\n" between them, "\n" for the NUL at
 * the end of each record, "uid=N" as the peer's): what users ask and what the plugin registers,
 * on a whole daemon that has a file tree for a kernel. Every answer is a message that fits, its
 * JSON is JSON, and a user neither sees nor changes what is not his.
 */
#include "common/msg.h"
#include "nodesvc/books/books.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/levers/internal.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/socket/socket.h"
#include "tests/fuzz/fuzz.h"

#define OTHER_UID 4711

static struct topo *topo;

/* Twenty of the twenty-one milliseconds that a new daemon takes: the store stays open, and what
 * an input left there is taken out. */
static struct record *store(void)
{
	static struct record *r;

	FUZZ_ASSERT(r || record_open(&r, ":memory:", false, NULL) == 0);
	return r;
}

static int note_type(const char *type, char *ret)
{
	snprintf(ret, JOB_TYPE_MAX, "%s", type);
	return 1;
}

static int first_profile(const struct profile *p, void *arg)
{
	return note_type(p->type, arg);
}

static int first_measurement(const struct measurement *m, void *arg)
{
	return note_type(m->type, arg);
}

static int first_registration(const struct registration *reg, void *arg)
{
	*(struct registration *)arg = *reg;
	return 1;
}

static void empty_store(struct record *r)
{
	struct registration reg;
	char type[JOB_TYPE_MAX];

	record_step_close_lost(r, NULL, 0, 1, NULL);
	record_step_prune(r, INT64_MAX, NULL);
	while (record_profile_list(r, first_profile, type, NULL) == 1)
		FUZZ_ASSERT(record_profile_rm(r, type, NULL, NULL) > 0);
	while (record_measurement_list(r, NULL, NULL, first_measurement, type, NULL) == 1)
		FUZZ_ASSERT(record_measurement_rm(r, type, NULL, NULL) > 0);
	while (record_registration_list(r, first_registration, &reg, NULL) == 1)
		FUZZ_ASSERT(
			record_registration_rm(r, reg.job_id, reg.step_id, reg.nodeid, NULL) == 0);
}

static void open_daemon(struct daemon *d)
{
	struct errbuf err = {""};

	daemon_init(d);
	log_init(LOG_LEVEL_ERROR);
	conf_defaults(d->conf);
	d->conf->launch_env.enabled = true;
	snprintf(d->conf->store, sizeof(d->conf->store), "%s", fuzz_dir());
	snprintf(d->conf->policy, sizeof(d->conf->policy), "fair");
	d->course->conf_path = "/nonexistent/coloc.yaml";
	FUZZ_ASSERT(topo || topo_load(&topo, "core:4 pu:1", &err) == 0);
	d->node->topo = topo;
	d->node->usable = topo->all;
	FUZZ_ASSERT(fsroot_open(&d->node->root, fuzz_dir(), &err) == 0);
	FUZZ_ASSERT(loop_create(&d->loop, &err) == 0);
	FUZZ_ASSERT(ledger_open(&d->ledger, ":memory:", "boot", &err) == 0);
	d->record = store();
	FUZZ_ASSERT(actuate_open(&d->actuate, &d->node->root, d->ledger, &topo->all, &err) == 0);
	counters_choose(&d->node->counters, "none", NULL);
	FUZZ_ASSERT(daemon_create_levers(d) == 0);
	levers_attach(d->levers, d->loop, d->ledger, d->actuate);
	FUZZ_ASSERT(daemon_open_rooms(d, &err) == 0);
	FUZZ_ASSERT(daemon_open_choose(d, &err) == 0);
}

static void close_daemon(struct daemon *d)
{
	uint64_t n, bytes;
	char path[CONF_TEXT_MAX + 32];

	recording_stop(d->choose, &n, &bytes, NULL);
	account_flush(d->books);
	for (int i = 0; i < d->jobs->n; i++)
		reading_close(d->measure, d->jobs->step[i]);
	jobs_done(d->jobs);
	daemon_close_choose(d);
	daemon_close_rooms(d);
	free(d->levers);
	actuate_close(d->actuate);
	empty_store(d->record);
	ledger_close(d->ledger);
	loop_free(d->loop);
	fsroot_close(&d->node->root);
	snprintf(path, sizeof(path), "%s/trace-table.json", fuzz_dir());
	unlink(path);
}

static void check_ctl(struct daemon *d, uint32_t uid, const struct msg *in)
{
	struct errbuf err = {""};
	struct socket k;
	const char *cmd = msg_get(in, "cmd");
	bool draining = d->course->draining;
	int placed = jobs_count_managed(d->jobs), rc;
	char *json = NULL;

	/* Writes where it is told to: root's, and no input of ours. */
	if (cmd && (strcmp(cmd, "record") == 0 || strcmp(cmd, "vacuum") == 0) && uid == 0)
		return;
	daemon_fill_socket(d, &k);
	rc = ctl_run(&k, uid, in, &json, &err);
	FUZZ_ASSERT_RESULT(rc, err);
	if (json) {
		struct json_object *o = json_tokener_parse(json);

		FUZZ_ASSERT(o);
		json_object_put(o);
	}
	if (uid != 0)
		FUZZ_ASSERT(
			d->course->draining == draining && jobs_count_managed(d->jobs) == placed);
	/* The only steps are root's. */
	if (uid == OTHER_UID && rc == 0 && cmd && strcmp(cmd, "jobs") == 0)
		FUZZ_ASSERT(strstr(json, "[]") || strstr(json, "[ ]"));
	free(json);
}

static void take(struct daemon *d, const char *text, size_t len, int round)
{
	static struct msg in, out;
	struct errbuf err = {""};
	uint32_t uid = 0;
	const char *type, *peer;

	if (len + 1 > sizeof(in.buf))
		return;
	memset(&in, 0, sizeof(in));
	memcpy(in.buf, text, len);
	for (size_t i = 0; i < len; i++)
		if (in.buf[i] == '\n')
			in.buf[i] = '\0';
	in.len = len && in.buf[len - 1] == '\0' ? len : len + 1;
	if (msg_check(&in, &err) < 0)
		return;
	peer = msg_get(&in, "peer");
	if (peer)
		uid = strcmp(peer, "other") == 0 ? OTHER_UID : 1;
	type = msg_get(&in, "type");
	memset(&out, 0, sizeof(out));
	if (strcmp(type, "ctl") == 0) {
		check_ctl(d, uid, &in);
	} else if (uid != 0) { /* server.c hangs up */
		return;
	} else if (strcmp(type, "step_start") == 0) {
		arrival_step(d, &in, &out);
		FUZZ_ASSERT(!out.overflow && msg_check(&out, &err) == 0);
		arrival_after_answer(d);
	} else if (strcmp(type, "task_start") == 0) {
		arrival_task(d, &in, &out);
		FUZZ_ASSERT(!out.overflow && msg_check(&out, &err) == 0);
		arrival_after_answer(d);
	} else if (strcmp(type, "task_exit") == 0) {
		departure_task(d, &in);
	} else if (strcmp(type, "step_end") == 0) {
		departure_step(d, &in);
	}
	if (round % 4 == 3)
		daemon_tick(d);
	FUZZ_ASSERT(d->jobs->n >= 0 && d->jobs->n <= JOBS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct daemon d;
	char *text;

	open_daemon(&d);
	for (int i = 0; i < 16; i++) {
		size_t before = size;

		text = fuzz_part(&data, &size);
		if (!text)
			break;
		take(&d, text, data ? before - size - 5 : before, i);
		free(text);
	}
	close_daemon(&d);
	return 0;
}
