/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accounting store of a service: limits, damage, and the metrics file.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nodesvc/books/internal.h"
#include "nodesvc/choose/internal.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/base/log.h"
#include "tests/unit/levers_of.h"
#include "tests/unit/tmpdir.h"

#define S   INT64_C(1000000000)
#define DAY (86400 * S)

static struct daemon d;
static struct tmpdir tmp;
static struct errbuf err;

static int open_store(void)
{
	int rc = store_open(&d.record, d.conf, &err);

	return rc < 0 ? rc : daemon_open_rooms(&d, &err);
}

static void close_store(void)
{
	daemon_close_rooms(&d);
	record_close(d.record);
	d.record = NULL;
}

static void setup(void)
{
	daemon_init(&d);
	memset(&err, 0, sizeof(err));
	log_init(LOG_LEVEL_ERROR);
	tmpdir_create(&tmp);
	conf_defaults(d.conf);
	snprintf(d.conf->store, sizeof(d.conf->store), "%s", tmp.dir);
	ck_assert_int_eq(topo_load(&d.node->topo, "core:2 pu:1", &err), 0);
	ck_assert_int_eq(loop_create(&d.loop, &err), 0);
	levers_of(&d);
	ck_assert_msg(open_store() == 0, "%s", err.text);
	ck_assert_msg(daemon_open_choose(&d, &err) == 0, "%s", err.text);
}

static void teardown(void)
{
	jobs_done(d.jobs);
	daemon_close_choose(&d);
	close_store();
	free(d.levers);
	loop_free(d.loop);
	topo_free(d.node->topo);
	tmpdir_remove(&tmp);
}

static int64_t now_ns(void)
{
	return time(NULL) * S;
}

static void put(uint32_t job, int64_t age_days, bool running)
{
	static char why[4000];
	struct step_row row = {.job_id = job,
		.array_task_id = 0xfffffffe,
		.start_ns = now_ns() - age_days * DAY,
		.end_ns = running ? 0 : now_ns() - age_days * DAY + S,
		.reason = why,
		.exit_code = -1,
		.state = running ? STEP_RUNNING : STEP_COMPLETED};

	memset(why, 'x', sizeof(why) - 1);
	ck_assert_int_eq(record_step_put(d.record, &row, &err), 0);
}

static int note(const struct step_row *row, void *arg)
{
	char *text = arg;

	sprintf(text + strlen(text), "%u ", row->job_id);
	return 0;
}

static const char *jobs(void)
{
	static char text[65536];
	struct step_filter all = {0};

	*text = '\0';
	ck_assert_int_eq(record_step_list(d.record, &all, note, text, &err), 0);
	return text;
}

static void stop_when_retained(void *loop)
{
	if (!d.books->retaining)
		loop_stop(loop);
}

/* The loop with the retention's timer, until the run of slices is over: how long each of them
 * takes is the disk's business. */
static void retain(void)
{
	struct loop_source *look;

	store_retain_now(d.books);
	ck_assert_int_eq(loop_add_timer(d.loop, stop_when_retained, d.loop, &look, &err), 0);
	loop_set_timer(look, 5, 5);
	ck_assert_int_eq(loop_run(d.loop), 0);
	loop_remove(d.loop, look);
}

START_TEST(old_steps_go_and_running_ones_stay)
{
	put(1, 400, false);
	put(2, 400, true);
	put(3, 364, false);
	retain();
	ck_assert_str_eq(jobs(), "2 3 ");
}
END_TEST

START_TEST(keep_days_0_keeps_all)
{
	d.conf->keep_days = 0;
	put(1, 4000, false);
	retain();
	ck_assert_str_eq(jobs(), "1 ");
}
END_TEST

/* 2 MiB of rows of 4 KB in a store of 1 MiB: the oldest go until it fits, in slices. */
START_TEST(size_limit_drops_the_oldest)
{
	struct store_look look;
	const char *left;

	d.conf->store_limit_mib = 1;
	for (int i = 0; i < 500; i++)
		put((uint32_t)i + 1, 100 - i / 10, false);
	ck_assert_int_eq(store_retain_look(d.books, &look, &err), 0);
	ck_assert_int_gt(look.bytes, 2000000);
	ck_assert_int_eq(look.limit_bytes, 1 << 20);
	retain();
	ck_assert_int_eq(store_retain_look(d.books, &look, &err), 0);
	ck_assert_int_le(look.bytes, 1 << 20);
	ck_assert_int_gt(look.bytes, 500000); /* no more than needed */
	left = jobs();
	ck_assert_ptr_nonnull(strstr(left, " 500 "));
	ck_assert(strncmp(left, "1 ", 2) != 0);
}
END_TEST

static long file_size(const char *name)
{
	struct stat st;

	return stat(tmpdir_path(&tmp, name), &st) == 0 ? (long)st.st_size : -1;
}

START_TEST(compact_shrinks_the_file)
{
	for (int i = 0; i < 300; i++)
		put((uint32_t)i + 1, 400, false);
	ck_assert_int_eq(record_compact(d.record, &err), 0);
	ck_assert_int_gt(file_size("coloc.db"), 1000000);
	ck_assert_int_eq(record_step_prune(d.record, now_ns(), &err), 300);
	ck_assert_msg(record_compact(d.record, &err) == 0, "%s", err.text);
	ck_assert_int_lt(file_size("coloc.db"), 300000);
}
END_TEST

/* How many files begin so. */
static int count_files(const char *prefix)
{
	DIR *dir = opendir(tmp.dir);
	struct dirent *e;
	int n = 0;

	while ((e = readdir(dir)))
		n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
	closedir(dir);
	return n;
}

static void scribble(const char *name, long from)
{
	FILE *f = fopen(tmpdir_path(&tmp, name), "r+");
	int rc;

	ck_assert_ptr_nonnull(f);
	rc = fseek(f, from, SEEK_SET);
	ck_assert_int_eq(rc, 0);
	for (int i = 0; i < 20000; i++)
		fputc(i * 7 & 0xff, f);
	fclose(f);
}

START_TEST(damaged_store_is_moved_aside_at_the_start)
{
	put(1, 0, false);
	close_store();
	scribble("coloc.db", 0);
	log_init(LOG_LEVEL_ERROR);
	ck_assert_msg(open_store() == 0, "%s", err.text);
	ck_assert_str_eq(jobs(), "");
	ck_assert_int_eq(count_files("coloc.db.damaged-"), 1);
	ck_assert_ptr_nonnull(strstr(health_last_error(), "accounting began anew"));
	put(2, 0, false);
	ck_assert_str_eq(jobs(), "2 ");
}
END_TEST

/* A newer Coloc's store is no damage: it stays where it is, and the service does not start. */
START_TEST(newer_store_is_not_moved)
{
	close_store();
	{
		char command[400];

		snprintf(command, sizeof(command),
			"printf '\\0\\0\\0\\143' | dd of=%s/coloc.db bs=1 seek=60 conv=notrunc "
			"2>/dev/null",
			tmp.dir);
		ck_assert_int_eq(system(command), 0);
	}
	ck_assert_int_eq(open_store(), -EPROTONOSUPPORT);
	ck_assert_ptr_nonnull(strstr(err.text, "schema 99 is newer than this program's"));
	ck_assert_int_eq(count_files("coloc.db.damaged-"), 0);
	ck_assert_int_eq(record_open(&d.record, ":memory:", false, &err), 0);
}
END_TEST

/* Wherever the first page is overwritten, header or tables: the service starts and keeps books. */
START_TEST(first_page_overwritten_anywhere_still_starts)
{
	static const char garbage[] = "this was a page of SQLite, once";
	struct step_row row = {
		.job_id = 9, .array_task_id = 0xfffffffe, .start_ns = 5 * S, .exit_code = -1};
	char path[128];

	snprintf(path, sizeof(path), "%s/coloc.db", tmp.dir);
	for (off_t at = 0; at < 4096; at += 11) {
		int fd, rc;

		put(1, 0, false);
		close_store();
		fd = open(path, O_WRONLY);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_gt(pwrite(fd, garbage, sizeof(garbage) - 1, at), 0);
		close(fd);
		ck_assert_msg(open_store() == 0, "at %ld: %s", (long)at, err.text);
		row.row_id = 0;
		rc = record_step_put(d.record, &row, &err);
		if (rc < 0) {
			ck_assert_msg(store_recover(d.books, rc), "at %ld: %s", (long)at, err.text);
			rc = record_step_put(d.record, &row, &err);
		}
		ck_assert_msg(rc == 0, "at %ld: %s", (long)at, err.text);
		close_store();
		ck_assert_int_eq(unlink(path), 0);
		ck_assert_int_eq(open_store(), 0);
	}
}
END_TEST

START_TEST(damage_found_later_begins_anew_for_live_steps)
{
	struct step *s = jobs_add(d.jobs, 5, 0, 0);

	ck_assert_ptr_nonnull(s);
	s->row_id = 3;
	s->kept = true;
	ck_assert(!store_recover(d.books, -EIO));
	ck_assert(store_recover(d.books, -EBADMSG));
	ck_assert_int_eq(count_files("coloc.db.damaged-") >= 0, 1);
	ck_assert_int_eq(s->row_id, 0);
	ck_assert(!s->kept && s->dirty);
	put(2, 0, false);
	ck_assert_str_eq(jobs(), "2 ");
}
END_TEST

/* ---- metrics ---- */

static char text[65536];

static void read_metrics(void)
{
	FILE *f = fopen(d.conf->metrics_file, "r");
	size_t n;

	ck_assert_ptr_nonnull(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
}

static void two_steps(void)
{
	struct step *s = jobs_add(d.jobs, 12, 0, 0);

	ck_assert_ptr_nonnull(s);
	strcpy(s->user, "ada");
	strcpy(s->type, "a\"b\\c\nd");
	strcpy(s->cgroup.node, "n1");
	s->status = STATUS_PLACED;
	coreset_add(&s->coreset, 1);
	s->signal[SIGNAL_UTILIZATION] = (struct signal){0.25, PROVENANCE_OS};
	s = jobs_add(d.jobs, 13, 0, 0);
	ck_assert_ptr_nonnull(s);
	s->status = STATUS_PENDING;
	strcpy(d.choose->ruling, "lira");
	d.choose->n_decisions = 4;
	d.choose->n_rebinds = 2;
	metrics_note(&d.choose->decision_times, 5000);
	metrics_note(&d.choose->decision_times, 10000);
	metrics_note(&d.choose->decision_times, 2000000);
	metrics_note(&d.choose->decision_times, INT64_C(3000000000));
}

static void assert_line(const char *line)
{
	const char *p = strstr(text, line);

	ck_assert_msg(p && (p == text || p[-1] == '\n') && p[strlen(line)] == '\n',
		"no '%s' in:\n%s", line, text);
}

START_TEST(metrics_say_what_is_known)
{
	struct stat st;

	two_steps();
	snprintf(d.conf->metrics_file, sizeof(d.conf->metrics_file), "%s",
		tmpdir_path(&tmp, "coloc.prom"));
	ck_assert_msg(metrics_write_file(d.books, &err) == 0, "%s", err.text);
	read_metrics();
	assert_line("coloc_steps{status=\"placed\"} 1");
	assert_line("coloc_steps{status=\"pending\"} 1");
	assert_line("coloc_steps{status=\"released\"} 0");
	assert_line("coloc_step_cores{step=\"12.0\",node=\"n1\",user=\"ada\","
		    "type=\"a\\\"b\\\\c\\nd\"} 1");
	assert_line("coloc_step_utilization_ratio{step=\"12.0\",node=\"n1\",user=\"ada\","
		    "type=\"a\\\"b\\\\c\\nd\"} 0.25");
	/* Unknown is absent. */
	ck_assert_ptr_null(strstr(text, "coloc_step_utilization_ratio{step=\"13.0\""));
	assert_line("coloc_decisions_total 4");
	assert_line("coloc_moves_total 2");
	assert_line("coloc_decision_seconds_bucket{le=\"1e-05\"} 2");
	assert_line("coloc_decision_seconds_bucket{le=\"0.01\"} 3");
	assert_line("coloc_decision_seconds_bucket{le=\"+Inf\"} 4");
	assert_line("coloc_decision_seconds_count 4");
	assert_line("coloc_decision_seconds_sum 3.002015");
	ck_assert_int_eq(stat(d.conf->metrics_file, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0644);
	ck_assert_int_eq(count_files("coloc.prom"), 1);
}
END_TEST

/* Every sample belongs to a metric that HELP and TYPE introduced, in that order, once. */
START_TEST(metrics_keep_the_format)
{
	char name[64] = "", *save = NULL;

	two_steps();
	snprintf(d.conf->metrics_file, sizeof(d.conf->metrics_file), "%s",
		tmpdir_path(&tmp, "coloc.prom"));
	ck_assert_int_eq(metrics_write_file(d.books, &err), 0);
	read_metrics();
	ck_assert(text[strlen(text) - 1] == '\n');
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char type[16], *end;
		size_t len;

		if (strncmp(line, "# HELP ", 7) == 0) {
			ck_assert_int_eq(sscanf(line, "# HELP %63s", name), 1);
			ck_assert(strncmp(name, "coloc_", 6) == 0);
			len = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
			ck_assert_uint_eq(len, strlen(name));
			continue;
		}
		if (strncmp(line, "# TYPE ", 7) == 0) {
			char of[64];

			ck_assert_int_eq(sscanf(line, "# TYPE %63s %15s", of, type), 2);
			ck_assert_str_eq(of, name);
			ck_assert_int_eq(strcmp(type, "counter") == 0,
				strlen(name) > 6 && !strcmp(name + strlen(name) - 6, "_total"));
			continue;
		}
		len = strcspn(line, "{ ");
		ck_assert_msg(strncmp(line, name, strlen(name)) == 0, "'%s' after %s", line, name);
		ck_assert_msg(len == strlen(name) || strcmp(type, "histogram") == 0, "%s", line);
		(void)strtod(strrchr(line, ' ') + 1, &end);
		ck_assert_msg(*end == '\0', "%s", line);
	}
	/* Prometheus' own judge where it is installed. */
	if (system("command -v promtool >/dev/null 2>&1") == 0) {
		char command[400];

		snprintf(command, sizeof(command), "promtool check metrics <%s >%s/said 2>&1",
			d.conf->metrics_file, tmp.dir);
		ck_assert_msg(system(command) == 0, "promtool complains");
		ck_assert_int_eq(file_size("said"), 0);
	}
}
END_TEST

/* The dashboard asks for metrics that are there. */
START_TEST(dashboard_knows_the_metrics)
{
	const char *src = getenv("COLOC_SRCDIR");
	static char board[65536];
	char path[512];
	FILE *f;
	size_t n;
	int found = 0;

	two_steps();
	snprintf(d.conf->metrics_file, sizeof(d.conf->metrics_file), "%s",
		tmpdir_path(&tmp, "coloc.prom"));
	ck_assert_int_eq(metrics_write_file(d.books, &err), 0);
	read_metrics();
	snprintf(path, sizeof(path), "%s/contrib/grafana/coloc.json", src ? src : ".");
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	n = fread(board, 1, sizeof(board) - 1, f);
	board[n] = '\0';
	fclose(f);
	for (const char *p = board; (p = strstr(p, "coloc_")); p += 6, found++) {
		char name[64];

		snprintf(name, sizeof(name), "\n%.*s",
			(int)strspn(p, "abcdefghijklmnopqrstuvwxyz_"), p);
		ck_assert_msg(strstr(text, name) != NULL, "no metric %s", name + 1);
	}
	ck_assert_int_ge(found, 8);
}
END_TEST

START_TEST(metrics_that_cannot_be_written_are_told)
{
	snprintf(d.conf->metrics_file, sizeof(d.conf->metrics_file), "/no/such/coloc.prom");
	ck_assert_int_eq(metrics_write_file(d.books, &err), -ENOENT);
	ck_assert_str_eq(
		err.text, "metrics_file: /no/such/coloc.prom.tmp: No such file or directory");
	/* A directory of that name: nothing half written stays. */
	snprintf(d.conf->metrics_file, sizeof(d.conf->metrics_file), "%s",
		tmpdir_path(&tmp, "coloc.prom"));
	ck_assert_int_eq(mkdir(d.conf->metrics_file, 0755), 0);
	ck_assert_int_lt(metrics_write_file(d.books, &err), 0);
	ck_assert_int_eq(count_files("coloc.prom.tmp"), 0);
}
END_TEST

static TCase *tcase(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return t;
}

int main(void)
{
	Suite *s = suite_create("store");
	SRunner *r;
	TCase *t;
	int failed;

	t = tcase(s, "the store stays within its limits");
	tcase_add_test(t, old_steps_go_and_running_ones_stay);
	tcase_add_test(t, keep_days_0_keeps_all);
	tcase_add_test(t, size_limit_drops_the_oldest);
	tcase_add_test(t, compact_shrinks_the_file);
	t = tcase(s, "a damaged store is moved aside and the service goes on");
	tcase_add_test(t, damaged_store_is_moved_aside_at_the_start);
	tcase_add_test(t, first_page_overwritten_anywhere_still_starts);
	tcase_add_test(t, newer_store_is_not_moved);
	tcase_add_test(t, damage_found_later_begins_anew_for_live_steps);
	t = tcase(s, "metrics follow Prometheus' conventions");
	tcase_add_test(t, metrics_say_what_is_known);
	tcase_add_test(t, metrics_keep_the_format);
	tcase_add_test(t, dashboard_knows_the_metrics);
	tcase_add_test(t, metrics_that_cannot_be_written_are_told);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
