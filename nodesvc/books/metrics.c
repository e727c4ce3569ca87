/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/books/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "nodesvc/base/log.h"

/* Decisions take microseconds; a millisecond is a bad one. */
const double METRICS_BOUNDS[METRICS_BUCKETS] = {1e-5, 3e-5, 1e-4, 1e-3, 1e-2, 0.1, 1};

void metrics_note(struct metrics_times *t, int64_t elapsed_ns)
{
	double s = (double)elapsed_ns / 1e9;
	int i = 0;

	while (i < METRICS_BUCKETS && s > METRICS_BOUNDS[i])
		i++;
	t->bucket[i]++;
	t->sum_s += s;
}

static void head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value: users choose job names. */
static void value(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", f);
		else if (*text == '"' || *text == '\\')
			fprintf(f, "\\%c", *text);
		else
			fputc((unsigned char)*text < 0x20 ? ' ' : *text, f);
	}
	fputc('"', f);
}

static void step_labels(FILE *f, const char *name, const struct step *s)
{
	fprintf(f, "%s{step=", name);
	value(f, s->id);
	/* Several slurmd may share the kernel and the step. */
	fputs(",node=", f);
	value(f, s->cgroup.node);
	fputs(",user=", f);
	value(f, s->user);
	fputs(",type=", f);
	value(f, s->type);
	fputs("} ", f);
}

static void write_steps(FILE *f, const struct books *b)
{
	int count[STATUS_COUNT] = {0};

	for (int i = 0; i < b->use.jobs->n; i++)
		count[b->use.jobs->step[i]->status]++;
	head(f, "coloc_steps", "gauge", "Job steps that are registered, by what becomes of them.");
	for (int i = 0; i < STATUS_COUNT; i++)
		fprintf(f, "coloc_steps{status=\"%s\"} %d\n", step_status_name((enum step_status)i),
			count[i]);
	head(f, "coloc_step_cores", "gauge", "Cores that a step has now.");
	for (int i = 0; i < b->use.jobs->n; i++) {
		const struct step *s = b->use.jobs->step[i];

		if (coreset_is_empty(&s->coreset) || s->status == STATUS_SUSPENDED)
			continue;
		step_labels(f, "coloc_step_cores", s);
		fprintf(f, "%d\n", topo_count_cores(b->use.node->topo, &s->coreset));
	}
	head(f, "coloc_step_utilization_ratio", "gauge",
		"Share of its cores' time that a step ran or waited to run.");
	for (int i = 0; i < b->use.jobs->n; i++) {
		const struct step *s = b->use.jobs->step[i];

		if (s->signal[SIGNAL_UTILIZATION].provenance == PROVENANCE_NONE)
			continue; /* unknown is absent, not 0 */
		step_labels(f, "coloc_step_utilization_ratio", s);
		fprintf(f, "%.6g\n", s->signal[SIGNAL_UTILIZATION].value);
	}
}

static void write_decisions(FILE *f, const struct metrics_figures *now)
{
	uint64_t n = 0;

	head(f, "coloc_decisions_total", "counter", "Decisions of the policy.");
	fprintf(f, "coloc_decisions_total %llu\n", (unsigned long long)now->decisions);
	head(f, "coloc_moves_total", "counter", "Changes of a step's placement after its first.");
	fprintf(f, "coloc_moves_total %llu\n", (unsigned long long)now->moves);
	head(f, "coloc_decision_seconds", "histogram", "Time that the engine took to decide.");
	for (int i = 0; i < METRICS_BUCKETS; i++) {
		n += now->decided.bucket[i];
		fprintf(f, "coloc_decision_seconds_bucket{le=\"%g\"} %llu\n", METRICS_BOUNDS[i],
			(unsigned long long)n);
	}
	n += now->decided.bucket[METRICS_BUCKETS];
	fprintf(f, "coloc_decision_seconds_bucket{le=\"+Inf\"} %llu\n", (unsigned long long)n);
	fprintf(f, "coloc_decision_seconds_sum %.9g\n", now->decided.sum_s);
	fprintf(f, "coloc_decision_seconds_count %llu\n", (unsigned long long)n);
}

/* The guard over policies. */
static void write_guard(FILE *f, const struct books *b, const struct metrics_figures *now)
{
	int held = 0;

	for (int i = 0; i < b->use.jobs->n; i++)
		held += b->use.jobs->step[i]->held;
	head(f, "coloc_guard_quarantined_sets", "gauge",
		"Sets of programs that a policy is kept away from.");
	fprintf(f, "coloc_guard_quarantined_sets %d\n", now->quarantined);
	head(f, "coloc_guard_held_steps", "gauge",
		"Steps that are left to Slurm's placement for that.");
	fprintf(f, "coloc_guard_held_steps %d\n", held);
	head(f, "coloc_guard_quarantines_total", "counter", "Quarantines that began.");
	fprintf(f, "coloc_guard_quarantines_total %llu\n", (unsigned long long)now->quarantines);
	head(f, "coloc_guard_windows_total", "counter",
		"Windows in which a set of programs was judged.");
	fprintf(f, "coloc_guard_windows_total %llu\n", (unsigned long long)now->windows);
}

void metrics_write(FILE *f, const struct books *b)
{
	int64_t size = b->use.record ? record_size_bytes(b->use.record, NULL) : -1;
	struct metrics_figures now = {.policy = ""};

	if (b->tell.figures)
		b->tell.figures(b->tell.arg, &now);

	head(f, "coloc_info", "gauge", "Version and ruling policy of colocd.");
	fprintf(f, "coloc_info{version=\"%s\",policy=", PACKAGE_VERSION);
	value(f, now.policy);
	fputs("} 1\n", f);
	head(f, "coloc_draining", "gauge", "1 while no new steps are taken.");
	fprintf(f, "coloc_draining %d\n", now.draining);
	head(f, "coloc_uptime_seconds", "gauge", "Time since colocd started.");
	fprintf(f, "coloc_uptime_seconds %.3f\n", now.up_s);
	head(f, "coloc_restores_owed", "gauge",
		"Changes that could not be put back yet; tried again at each tick.");
	fprintf(f, "coloc_restores_owed %d\n", now.owed);
	write_steps(f, b);
	write_decisions(f, &now);
	write_guard(f, b, &now);
	if (size >= 0) {
		head(f, "coloc_store_bytes", "gauge", "Accounting store in use.");
		fprintf(f, "coloc_store_bytes %lld\n", (long long)size);
	}
}

int metrics_write_file(const struct books *b, struct errbuf *err)
{
	const char *path = b->use.conf->metrics_file;
	char tmp[CONF_TEXT_MAX + 8];
	FILE *f;
	int fd, rc = 0;

	/* The collector reads *.prom only. */
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	unlink(tmp);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!f) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return err_set(err, rc, "metrics_file: %s: %s", tmp, strerror(-rc));
	}
	metrics_write(f, b);
	if (fchmod(fd, 0644) < 0 || ferror(f))
		rc = -EIO;
	if (fclose(f) != 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(tmp, path) < 0)
		rc = -errno;
	if (rc < 0) {
		unlink(tmp);
		return err_set(err, rc, "metrics_file: %s: %s", path, strerror(-rc));
	}
	return 0;
}

static void on_timer(void *arg)
{
	struct books *b = arg;
	struct errbuf err;

	if (metrics_write_file(b, &err) == 0) {
		b->metrics_failed = false;
		return;
	}
	if (!b->metrics_failed)
		log_warning("%s", err.text);
	b->metrics_failed = true;
	health_error("%.250s", err.text);
}

int metrics_open(struct books *b, struct errbuf *err)
{
	return loop_add_timer(b->use.loop, on_timer, b, &b->metrics, err);
}

void metrics_reconfigure(struct books *b)
{
	int ms = b->use.conf->metrics_interval_s * 1000;

	if (!b->metrics)
		return;
	/* Not configured: an idle node costs no wake-ups. */
	if (*b->use.conf->metrics_file)
		loop_set_timer(b->metrics, 1, ms);
	else
		loop_set_timer(b->metrics, 0, 0);
}
