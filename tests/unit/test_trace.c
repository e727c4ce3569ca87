/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/trace/trace.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodesvc/engine/engine.h"
#include "tests/unit/cli.h"
#include "tests/unit/tmpdir.h"

#define JOBS 3

static struct tmpdir dir;
static char path[96];
static struct topo *topo;
static struct engine *engine, *fallback;
static struct plan plan;
static struct trace_head head;
static struct recent *recent;

static void setup(void)
{
	struct policy_cfg cfg = {.max_jobs = JOBS};

	tmpdir_create(&dir);
	snprintf(path, sizeof(path), "%s/trace", dir.dir);
	ck_assert_int_eq(topo_load(&topo, "pack:2 core:4", NULL), 0);
	cfg.topo = topo;
	ck_assert_int_eq(engine_create(&engine, "lira", &cfg, NULL), 0);
	ck_assert_int_eq(engine_create(&fallback, "fair", &cfg, NULL), 0);
	ck_assert_int_eq(plan_init(&plan, JOBS, NULL), 0);
	head = (struct trace_head){
		.recorder = "test",
		.topo = topo,
		.max_jobs = JOBS,
		.ruling = {.policy = "lira", .n_options = 1, .option = {{"lira.h", "0.05"}}},
		.fallback = {.policy = "fair"},
	};
	ck_assert_int_eq(recent_create(&recent, 1 << 20, NULL), 0);
	recent_engine(recent, false, &head.ruling);
	recent_engine(recent, true, &head.fallback);
}

static void teardown(void)
{
	engine_free(engine);
	engine_free(fallback);
	plan_done(&plan);
	topo_free(topo);
	recent_free(recent);
	tmpdir_remove(&dir);
}

/* A view with every member set, and numbers that decimal text holds badly. */
static struct view full_view(struct view_job *jobs, struct event *events)
{
	static const struct speed_point speed[] = {{1, 0.1}, {4, 1 / 3.0}};
	static const struct ptt_entry ptt[] = {{"t", 0, 1, 2.5e-3, 1001}};
	static const int capacity[] = {3, 2};
	static struct coreset fast, reserved;

	memset(jobs, 0, JOBS * sizeof(*jobs));
	for (int i = 0; i < JOBS; i++) {
		static const char *const id[] = {"1.0", "2.0", "3.0"};

		jobs[i] = (struct view_job){
			.id = id[i],
			.type = i ? "swim" : NULL,
			.owner = i * INT64_C(1000),
			.order = i * 1000000007LL,
			.threads = i,
			.cores = i,
			.min_cores = i,
			.sample_no = 41 + (uint64_t)i,
			.home_numa = i - 1,
			.rss_bytes = i ? 1e9 / 3 : -1,
			.has_priority = i == 1,
			.core = -1,
			.qos = i ? 0.85 : 0,
			.nodes = 1 + i,
			.polling = i,
			.yielding = 2 * i,
			.bursty = i == 1,
			.in_turns = i > 0,
			.wanted_s = i / 3.0,
			.served_s = i / 7.0,
			.coupled = i == 0,
			.has_executed = i > 0,
			.executed = i / 3.0,
			.borrows = i == 0,
			.excluded = i == 2,
			.speed = i == 1 ? speed : NULL,
			.n_speed = i == 1 ? 2 : 0,
		};
		coreset_add_range(&jobs[i].envelope, 0, 3);
		coreset_add_range(&jobs[i].current, (unsigned int)i, 3);
		for (int s = 0; s < SIGNAL_COUNT; s++) {
			jobs[i].signal[s].value = 1 / (3.0 + s);
			jobs[i].signal[s].provenance = (enum provenance)((s + i) % 5);
		}
	}
	events[0] = (struct event){.type = EVENT_END, .job = "9.0", .core = -1};
	events[1] = (struct event){
		.type = EVENT_EXPERIMENT_RESULT, .job = "1.0", .cores = 3, .speed = 1e9 / 7};
	events[2] = (struct event){.type = EVENT_TASK_DONE,
		.task_type = "t",
		.owner = 1002,
		.core = 2,
		.width = 2,
		.seconds = 0.1 + 0.2};
	events[3] = (struct event){.type = EVENT_TICK};
	coreset_zero(&fast);
	coreset_add_range(&fast, 0, 1);
	coreset_zero(&reserved);
	coreset_add(&reserved, 7);
	return (struct view){
		.now_s = 12345.678901234567,
		.seed = UINT64_MAX,
		.cache_ways = 11,
		.event = events,
		.n_events = 4,
		.job = jobs,
		.n_jobs = JOBS,
		.capacity = capacity,
		.n_capacity = 2,
		.fast_cores = &fast,
		.reserved = &reserved,
		.ptt = ptt,
		.n_ptt = 1,
	};
}

static void assert_same_job(const struct view_job *a, const struct view_job *b)
{
	ck_assert_str_eq(a->id, b->id);
	ck_assert_pstr_eq(a->type, b->type);
	ck_assert_int_eq(a->owner, b->owner);
	ck_assert_int_eq(a->order, b->order);
	ck_assert_int_eq(a->threads, b->threads);
	ck_assert_int_eq(a->cores, b->cores);
	ck_assert_int_eq(a->min_cores, b->min_cores);
	ck_assert(coreset_is_equal(&a->envelope, &b->envelope));
	ck_assert(coreset_is_equal(&a->current, &b->current));
	ck_assert_uint_eq(a->sample_no, b->sample_no);
	ck_assert_int_eq(a->home_numa, b->home_numa);
	ck_assert(a->rss_bytes == b->rss_bytes);
	ck_assert_int_eq(a->has_priority, b->has_priority);
	ck_assert_int_eq(a->priority_high, b->priority_high);
	ck_assert_int_eq(a->core, b->core);
	ck_assert(a->qos == b->qos);
	ck_assert_int_eq(a->nodes, b->nodes);
	ck_assert_int_eq(a->polling, b->polling);
	ck_assert_int_eq(a->yielding, b->yielding);
	ck_assert_int_eq(a->bursty, b->bursty);
	ck_assert_int_eq(a->in_turns, b->in_turns);
	ck_assert(a->wanted_s == b->wanted_s);
	ck_assert(a->served_s == b->served_s);
	ck_assert_int_eq(a->coupled, b->coupled);
	ck_assert_int_eq(a->has_executed, b->has_executed);
	ck_assert(a->executed == b->executed);
	ck_assert_int_eq(a->borrows, b->borrows);
	ck_assert_int_eq(a->excluded, b->excluded);
	ck_assert_int_eq(a->n_speed, b->n_speed);
	for (int k = 0; k < a->n_speed; k++) {
		ck_assert_int_eq(a->speed[k].cores, b->speed[k].cores);
		ck_assert(a->speed[k].speed == b->speed[k].speed);
	}
	for (int s = 0; s < SIGNAL_COUNT; s++) {
		ck_assert_int_eq(a->signal[s].provenance, b->signal[s].provenance);
		if (a->signal[s].provenance != PROVENANCE_NONE)
			ck_assert(a->signal[s].value == b->signal[s].value);
	}
}

START_TEST(view_written_reads_back_to_the_bit)
{
	struct view_job jobs[JOBS];
	struct event events[4];
	struct view v = full_view(jobs, events);
	json_object *o = view_to_json(&v);
	struct view_file *f = NULL;
	struct errbuf err = {""};
	const struct view *b;
	char text[16384];
	int rc;

	snprintf(text, sizeof(text), "%s", json_object_to_json_string(o));
	json_object_put(o);
	rc = view_file_parse(&f, text, strlen(text), &err);
	ck_assert_msg(rc == 0, "%s in %s", err.text, text);
	b = view_file_view(f, 0);
	ck_assert(v.now_s == b->now_s);
	ck_assert_uint_eq(v.seed, b->seed);
	ck_assert_int_eq(b->cache_ways, 11);
	ck_assert_int_eq(b->n_events, 4);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(v.event[i].type, b->event[i].type);
		ck_assert_pstr_eq(v.event[i].job, b->event[i].job);
		ck_assert_pstr_eq(v.event[i].task_type, b->event[i].task_type);
		ck_assert_int_eq(v.event[i].owner, b->event[i].owner);
		ck_assert_int_eq(v.event[i].cores, b->event[i].cores);
		ck_assert(v.event[i].speed == b->event[i].speed);
		ck_assert(v.event[i].seconds == b->event[i].seconds);
		ck_assert_int_eq(v.event[i].width, b->event[i].width);
	}
	ck_assert_int_eq(b->n_capacity, 2);
	ck_assert_int_eq(b->capacity[1], 2);
	ck_assert(coreset_is_equal(v.fast_cores, b->fast_cores));
	ck_assert(coreset_is_equal(v.reserved, b->reserved));
	ck_assert_int_eq(b->n_ptt, 1);
	ck_assert(b->ptt[0].seconds == 2.5e-3);
	ck_assert_int_eq(b->ptt[0].owner, 1001);
	ck_assert_int_eq(b->n_jobs, JOBS);
	for (int i = 0; i < JOBS; i++)
		assert_same_job(&v.job[i], &b->job[i]);
	view_file_free(f);
}
END_TEST

/* The view of decision @k: two jobs, later three; signals from the fourth decision on. */
static struct view small_view(struct view_job *jobs, int k)
{
	static const char *const id[] = {"A", "B", "C"};
	int n = k < 2 ? 2 : 3;

	memset(jobs, 0, JOBS * sizeof(*jobs));
	for (int i = 0; i < n; i++) {
		jobs[i] = (struct view_job){.id = id[i],
			.order = i,
			.home_numa = -1,
			.rss_bytes = -1,
			.core = -1,
			.nodes = 1,
			.sample_no = (uint64_t)k};
		for (int p = 0; k > 0 && p < plan.n_jobs; p++)
			if (strcmp(plan.job[p].id, id[i]) == 0)
				jobs[i].current = plan.job[p].coreset;
		if (k >= 3) {
			jobs[i].signal[SIGNAL_LOADS] =
				(struct signal){1e9 / (3 + i * k), PROVENANCE_HW};
			jobs[i].signal[SIGNAL_UTILIZATION] = (struct signal){0.9, PROVENANCE_OS};
		}
	}
	return (struct view){.now_s = k, .seed = 1, .job = jobs, .n_jobs = n};
}

static void record(int decisions, uint64_t max_bytes)
{
	struct trace_writer *w = NULL;
	struct errbuf err = {""};

	ck_assert_msg(trace_writer_open(&w, path, &head, max_bytes, &err) == 0, "%s", err.text);
	for (int k = 0; k < decisions; k++) {
		struct view_job jobs[JOBS];
		struct view v = small_view(jobs, k);
		struct errbuf why = {""};
		int rc = engine_decide(engine, &v, &plan, &why);

		trace_begin(w, &v);
		recent_begin(recent, &v);
		trace_ruling(w, rc ? NULL : &plan, why.text);
		recent_answer(recent, false, rc ? NULL : &plan, why.text);
		if (rc) {
			ck_assert_int_eq(engine_decide(fallback, &v, &plan, NULL), 0);
			trace_fallback(w, &plan, NULL);
			recent_answer(recent, true, &plan, NULL);
		}
		trace_end(w);
		recent_end(recent);
	}
	if (max_bytes) {
		ck_assert_int_eq(trace_writer_failed(w), -EFBIG);
		ck_assert_uint_le(trace_writer_bytes(w), max_bytes);
		ck_assert_int_eq(trace_writer_close(w, &err), -EFBIG);
	} else {
		ck_assert_uint_eq(trace_writer_decisions(w), (unsigned int)decisions);
		ck_assert_int_eq(trace_writer_close(w, &err), 0);
	}
}

/* Output of colocsim replay with @args on the trace; its exit status. */
static int replay(const char *args)
{
	char line[512];

	snprintf(line, sizeof(line), "replay %s %s", args, path);
	return cli_run("colocsim", line);
}

static void assert_output(const char *text)
{
	ck_assert_msg(strstr(cli_output, text) != NULL, "'%s' is not in: %s", text, cli_output);
}

START_TEST(recorded_decisions_replay_identically)
{
	record(8, 0);
	ck_assert_int_eq(replay(""), 0);
	assert_output("replay: 8 decisions, 8 identical\n");
	ck_assert_int_eq(replay("--json"), 0);
	assert_output("\"provenance\":\"replayed\"");
	assert_output("\"identical\":8");
	assert_output("\"refused\":3");
}
END_TEST

START_TEST(other_policy_is_asked_and_labelled)
{
	record(8, 0);
	ck_assert_int_eq(replay("--policy=spread"), 0);
	assert_output("replayed: 8 decisions by spread, recorded with lira:");
	ck_assert_int_eq(replay("--policy=nobody"), 2);
	assert_output("unknown policy 'nobody'");
}
END_TEST

/* `colocsim plan` of a trace goes the way of replay, and speaks for itself. */
START_TEST(plan_of_a_trace_names_itself)
{
	char line[256];

	record(8, 0);
	snprintf(line, sizeof(line), "plan --policy=nobody --jobs=%s", path);
	ck_assert_int_eq(cli_run("colocsim", line), 2);
	assert_output("colocsim plan: unknown policy 'nobody'");
	snprintf(line, sizeof(line), "{ head -n 3 %s; echo x; } >%s.cut", path, path);
	ck_assert_int_eq(cli_shell(line), 0);
	snprintf(line, sizeof(line), "plan --jobs=%s.cut", path);
	ck_assert_int_eq(cli_run("colocsim", line), 1);
	assert_output("colocsim plan: ");
	assert_output(".cut:4: ");
	ck_assert_ptr_null(strstr(cli_output, "replay"));
	snprintf(line, sizeof(line), "rm %s.cut", path);
	ck_assert_int_eq(cli_shell(line), 0);
}
END_TEST

/* The lines of the recent decisions up to decision @to, in pages of @bytes, as text; the number of
 * pages. */
static int recent_text(uint64_t to, size_t bytes, char *ret, size_t size)
{
	struct errbuf err = {""};
	uint64_t from = 0;
	size_t len = 0;
	int pages = 0;

	do {
		json_object *lines = NULL;
		int rc = recent_page(recent, &head, from, to, bytes, &lines, &from, &err);

		ck_assert_msg(rc == 0, "%s", err.text);
		for (size_t i = 0; i < json_object_array_length(lines); i++)
			len += (size_t)snprintf(ret + len, size - len, "%s\n",
				json_object_to_json_string_ext(json_object_array_get_idx(lines, i),
					JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
		json_object_put(lines);
		pages++;
	} while (from);
	return pages;
}

static void read_trace(char *ret, size_t size)
{
	FILE *f = fopen(path, "r");

	ck_assert_ptr_nonnull(f);
	ret[fread(ret, 1, size - 1, f)] = '\0';
	fclose(f);
}

START_TEST(recent_has_the_lines_of_the_trace)
{
	static char file[131072], kept[131072];

	record(8, 0);
	read_trace(file, sizeof(file));
	ck_assert_int_eq(recent_text(8, 1 << 20, kept, sizeof(kept)), 1);
	ck_assert_str_eq(kept, file);
	ck_assert_int_gt(recent_text(8, 1500, kept, sizeof(kept)), 3);
	ck_assert_str_eq(kept, file);
}
END_TEST

START_TEST(recent_ends_with_the_decision_asked_for)
{
	static char kept[131072];
	FILE *f;

	record(8, 0);
	recent_text(5, 1 << 20, kept, sizeof(kept));
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(kept, f);
	fclose(f);
	ck_assert_int_eq(replay(""), 0);
	assert_output("replay: 5 decisions, 5 identical\n");
}
END_TEST

START_TEST(recent_keeps_a_full_view_to_the_bit)
{
	static char kept[131072];
	struct view_job jobs[JOBS];
	struct event events[4];

	for (int k = 0; k < 3; k++) {
		struct view v = full_view(jobs, events);
		json_object *o;

		/* Its parts change in number, so that nothing stays at its place. */
		v.n_jobs = k == 1 ? 1 : JOBS;
		v.n_events = k == 2 ? 1 : 4;
		v.now_s += k;
		recent_begin(recent, &v);
		recent_answer(recent, false, NULL, "no");
		recent_end(recent);
		recent_text(recent_number(recent), 1 << 20, kept, sizeof(kept));
		o = view_to_json(&v);
		ck_assert_ptr_nonnull(strstr(
			kept, json_object_to_json_string_ext(
				      o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)));
		json_object_put(o);
	}
}
END_TEST

START_TEST(recent_begins_anew_with_new_engines)
{
	static char kept[131072];

	record(3, 0);
	/* One of them alone is a line in between. */
	recent_engine(recent, true, &head.fallback);
	remove(path);
	record(2, 0);
	ck_assert_uint_eq(recent_first(recent), 1);
	recent_text(5, 1 << 20, kept, sizeof(kept));
	ck_assert_ptr_nonnull(strstr(kept, "\n{\"fallback_engine\":{\"policy\":\"fair\""));
	recent_engine(recent, false, &head.ruling);
	recent_engine(recent, true, &head.fallback);
	ck_assert_uint_eq(recent_first(recent), 0);
	remove(path);
	record(2, 0);
	ck_assert_uint_eq(recent_first(recent), 6);
	recent_text(7, 1 << 20, kept, sizeof(kept));
	ck_assert_ptr_null(strstr(kept, "fallback_engine"));
	ck_assert_ptr_nonnull(strstr(kept, "\"decisions\":2"));
}
END_TEST

START_TEST(full_room_drops_the_oldest_and_says_so)
{
	static char kept[131072];
	struct errbuf err = {""};
	json_object *lines;
	uint64_t next;

	recent_free(recent);
	ck_assert_int_eq(recent_create(&recent, 1000, NULL), 0);
	recent_engine(recent, false, &head.ruling);
	recent_engine(recent, true, &head.fallback);
	record(200, 0);
	ck_assert_uint_le(recent_bytes(recent), 3000);
	ck_assert_uint_gt(recent_first(recent), 1);
	ck_assert_int_eq(recent_page(recent, &head, 0, 1, 1000, &lines, &next, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "decision 1 is not kept: "));
	recent_text(200, 1 << 20, kept, sizeof(kept));
	ck_assert_ptr_nonnull(strstr(kept, "\"cut\":true"));
	ck_assert_int_eq(recent_page(recent, &head, 0, 201, 1000, &lines, &next, &err), -ENOENT);
}
END_TEST

static void edit(const char *sed)
{
	char line[300];

	snprintf(line, sizeof(line), "sed -i '%s' %s", sed, path);
	ck_assert_int_eq(system(line), 0);
}

START_TEST(changed_plan_is_found_with_line_and_field)
{
	record(8, 0);
	edit("6s/\"domains\":\\[1\\],\"coreset\":\"4-7\"/\"domains\":[1],\"coreset\":\"4-6\"/");
	ck_assert_int_eq(replay(""), 1);
	assert_output("replay: 8 decisions, 7 identical");
	assert_output("trace:6: ruling: jobs[");
	assert_output(".coreset: recorded \"4-6\", replayed \"4-7\"");
}
END_TEST

START_TEST(changed_bit_of_a_score_is_found)
{
	char before[64] = "", *at;
	FILE *f;
	static char text[65536];
	size_t n;

	record(8, 0);
	f = fopen(path, "r+");
	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	at = strstr(text, "\"score\":");
	while (at && sscanf(at, "\"score\":%60[0-9.]", before) != 1)
		at = strstr(at + 1, "\"score\":");
	ck_assert_msg(at && strlen(before) > 9, "no score with many digits");
	/* Not the last digit: 17 of them are one more than a double holds. */
	at += strlen("\"score\":") + strlen(before) - 2;
	*at = (char)(*at == '0' ? '1' : *at - 1);
	ck_assert_int_eq(fseek(f, at - text, SEEK_SET), 0);
	ck_assert_int_eq(fputc(*at, f), *at);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(replay(""), 1);
	assert_output(": score: recorded ");
}
END_TEST

static const struct {
	const char *sed, *text;
} bad[] = {
	{"1s/\"coloc_trace\":1/\"coloc_trace\":2/", "trace:1: coloc_trace: version 2"},
	{"1s/\"coloc_trace\":1,//", "trace:1: coloc_trace is missing"},
	{"1s/pack:2 core:4/pack:x/", "trace:1: topology 'pack:x'"},
	{"1s/\"domain\":\"package\"/\"domain\":\"die\"/", "trace:1: domain: \"die\""},
	{"1s/\"lira\"/\"nobody\"/", "trace:1: unknown policy 'nobody'"},
	{"1s/0.05/often/", "trace:1: "},
	{"1s/\"share_smt\":false/\"share_smt\":7/", "trace:1: share_smt: 7: true or false"},
	{"1s/\"max_jobs\":3/\"max_jobs\":2/", "trace:4: view: one, with no more"},
	{"1s/\"recorder\"/\"recordre\"/", "trace:1: recorder is missing"},
	{"3s/\"now_s\"/\"nows\"/", "trace:3: unknown key 'nows'"},
	{"5s/\"loads_per_s\":[0-9.e+]*/\"loads_per_s\":-1/", "trace:5: job A: loads_per_s: -1"},
	{"5s/\"ruling\":{/\"rule\":{/", "trace:5: ruling is missing"},
	{"5s/^.*$/[1]/", "trace:5: a JSON object expected"},
	{"5s/^.*$/{\"view\"/", "trace:5: a JSON object expected"},
};

START_TEST(bad_trace_is_refused_with_line_and_field)
{
	record(8, 0);
	edit(bad[_i].sed);
	ck_assert_msg(replay("") == 1, "%s: %s", bad[_i].sed, cli_output);
	assert_output(bad[_i].text);
}
END_TEST

START_TEST(killed_recorders_trace_replays_up_to_the_cut)
{
	struct stat st;

	record(8, 0);
	edit("$d");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(truncate(path, st.st_size - 5), 0);
	ck_assert_int_eq(replay(""), 0);
	assert_output("replay: 7 decisions, 7 identical (the recording was cut off)");
}
END_TEST

START_TEST(full_trace_ends_with_a_word_on_it)
{
	record(8, 4000);
	ck_assert_int_eq(replay(""), 0);
	assert_output(" identical\n");
}
END_TEST

START_TEST(existing_file_or_link_is_not_written)
{
	struct trace_writer *w = NULL;
	struct errbuf err = {""};
	char link[128];

	record(1, 0);
	ck_assert_int_eq(trace_writer_open(&w, path, &head, 0, &err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, path));
	snprintf(link, sizeof(link), "%s/link", dir.dir);
	ck_assert_int_eq(symlink("/dev/null", link), 0);
	ck_assert_int_ne(trace_writer_open(&w, link, &head, 0, &err), 0);
}
END_TEST

START_TEST(new_engine_in_the_middle_is_made_again)
{
	struct trace_writer *w = NULL;
	struct policy_cfg cfg = {.topo = topo, .max_jobs = JOBS};
	struct trace_engine next = {.policy = "spread"};

	ck_assert_int_eq(trace_writer_open(&w, path, &head, 0, NULL), 0);
	for (int k = 3; k < 7; k++) {
		struct view_job jobs[JOBS];
		struct view v = small_view(jobs, k);

		if (k == 5) {
			engine_free(engine);
			ck_assert_int_eq(engine_create(&engine, "spread", &cfg, NULL), 0);
			trace_write_engine(w, false, &next);
		}
		ck_assert_int_eq(engine_decide(engine, &v, &plan, NULL), 0);
		trace_begin(w, &v);
		trace_ruling(w, &plan, NULL);
		trace_end(w);
	}
	ck_assert_int_eq(trace_writer_close(w, NULL), 0);
	ck_assert_int_eq(replay(""), 0);
	assert_output("replay: 4 decisions, 4 identical\n");
}
END_TEST

static const struct {
	const char *a, *b;
	bool differ;
} pairs[] = {
	{"{\"x\":1}", "{\"x\":1,\"y\":null}", false}, /* null: as if it were not there */
	{"{\"x\":1}", "{\"x\":1,\"y\":0}", true},
	{"{\"x\":{\"y\":1}}", "{\"x\":[1,2]}", true},
	{"{\"x\":{}}", "{\"x\":0}", true},
	{"{\"x\":true}", "{\"x\":1}", true},
	{"{\"x\":3}", "{\"x\":3.0}", false},
	{"{\"x\":\"3\"}", "{\"x\":3}", true},
};

START_TEST(plans_differ_both_ways_round)
{
	json_object *a = json_tokener_parse(pairs[_i].a), *b = json_tokener_parse(pairs[_i].b);
	char where[160];

	ck_assert_int_eq(plan_json_diff(a, b, where, sizeof(where)), pairs[_i].differ);
	ck_assert_int_eq(plan_json_diff(b, a, where, sizeof(where)), pairs[_i].differ);
	json_object_put(a);
	json_object_put(b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trace");
	TCase *t;
	SRunner *r;
	int failed;

	t = tcase_create("what is written reads back");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, view_written_reads_back_to_the_bit);
	suite_add_tcase(s, t);

	t = tcase_create("replay decides the same");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, recorded_decisions_replay_identically);
	tcase_add_test(t, other_policy_is_asked_and_labelled);
	tcase_add_test(t, plan_of_a_trace_names_itself);
	tcase_add_test(t, new_engine_in_the_middle_is_made_again);
	suite_add_tcase(s, t);

	t = tcase_create("what differs or is broken is named");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, changed_plan_is_found_with_line_and_field);
	tcase_add_test(t, changed_bit_of_a_score_is_found);
	tcase_add_loop_test(t, bad_trace_is_refused_with_line_and_field, 0,
		(int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_loop_test(
		t, plans_differ_both_ways_round, 0, (int)(sizeof(pairs) / sizeof(pairs[0])));
	suite_add_tcase(s, t);

	t = tcase_create("recordings end well");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, killed_recorders_trace_replays_up_to_the_cut);
	tcase_add_test(t, full_trace_ends_with_a_word_on_it);
	tcase_add_test(t, existing_file_or_link_is_not_written);
	suite_add_tcase(s, t);

	t = tcase_create("recent decisions are kept in memory as a trace would hold them");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, recent_has_the_lines_of_the_trace);
	tcase_add_test(t, recent_ends_with_the_decision_asked_for);
	tcase_add_test(t, recent_keeps_a_full_view_to_the_bit);
	tcase_add_test(t, recent_begins_anew_with_new_engines);
	tcase_add_test(t, full_room_drops_the_oldest_and_says_so);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
