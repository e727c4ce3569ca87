/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/record/record.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sums {
	const char *node;
	uint32_t job_id, uid;
	int n_steps, rebinds, moves, phases, windows, failed, lost;
	char policy[64], coreset[160], partners[160], basis[24], unit[32];
	int64_t start_ns, end_ns;
	struct step_figures figures; /* of the only step; several: blank */
};

/* Several values are none. */
static void note_text(char *buf, size_t size, const char *text, bool first)
{
	if (first)
		snprintf(buf, size, "%s", text ? text : "");
	else if (strcmp(buf, text ? text : "") != 0)
		*buf = '\0';
}

static int sum_of(int a, int b)
{
	return a < 0 || b < 0 ? -1 : a + b;
}

static int add_row(const struct step_row *row, void *arg)
{
	const struct step_figures *f = row->figures;
	struct sums *s = arg;
	bool first;

	/* Of an array the job that has its number is one, and the others are not that one. */
	if (row->job_id != s->job_id || (row->node && strcmp(row->node, s->node) != 0))
		return 0;
	/* Slurm begins its numbers anew some day: what another had before is not told. */
	if (s->n_steps && row->uid != s->uid)
		*s = (struct sums){
			.node = s->node, .job_id = s->job_id, .figures = STEP_FIGURES_NONE};
	s->uid = row->uid;
	first = s->n_steps == 0;
	note_text(s->policy, sizeof(s->policy), row->policy, first);
	note_text(s->coreset, sizeof(s->coreset), row->coreset, first);
	note_text(s->partners, sizeof(s->partners), row->partners, first);
	if (first) {
		s->figures = *f;
		note_text(s->basis, sizeof(s->basis), f->gain_basis, true);
		note_text(s->unit, sizeof(s->unit), f->speed_unit, true);
		s->moves = f->moves;
		s->phases = f->phases;
		s->windows = f->windows;
	} else {
		s->figures = (struct step_figures)STEP_FIGURES_NONE;
		*s->basis = *s->unit = '\0';
		s->moves = sum_of(s->moves, f->moves);
		s->phases = sum_of(s->phases, f->phases);
		s->windows = sum_of(s->windows, f->windows);
	}
	if (first || row->start_ns < s->start_ns)
		s->start_ns = row->start_ns;
	if (row->end_ns > s->end_ns)
		s->end_ns = row->end_ns;
	s->rebinds += row->rebinds;
	s->failed += row->state == STEP_FAILED;
	s->lost += row->state == STEP_UNKNOWN;
	s->n_steps++;
	return 0;
}

/* Appends ";key=value", the value without anything that a reader or sacctmgr would take amiss. */
__attribute__((format(printf, 4, 5))) static void put(
	char *buf, size_t size, const char *key, const char *fmt, ...)
{
	size_t len = strlen(buf);
	char value[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	if (!*value || len + strlen(key) + strlen(value) + 4 > size)
		return;
	for (char *p = value; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr(".,:+-/_@", *p))
			*p = '_';
	}
	snprintf(buf + len, size - len, "%s%s=%s", len > 1 ? ";" : "", key, value);
}

static void put_ratio(char *buf, size_t size, const char *key, double value)
{
	if (isfinite(value))
		put(buf, size, key, "%.4g", value);
}

static void put_count(char *buf, size_t size, const char *key, int value)
{
	if (value >= 0)
		put(buf, size, key, "%d", value);
}

int summary_of_job(struct record *r, uint32_t job_id, const char *node, char ret[SUMMARY_PART_MAX],
	struct errbuf *err)
{
	const uint32_t job[1][2] = {{job_id, STEP_ID_ALL}};
	const struct step_filter filter = {.job_step = job, .n_job_steps = 1, .duplicates = true};
	struct sums s = {.node = node, .job_id = job_id, .figures = STEP_FIGURES_NONE};
	const size_t size = SUMMARY_PART_MAX - 1; /* for the brace */
	int rc = record_step_list(r, &filter, add_row, &s, err);

	if (rc < 0)
		return rc;
	if (s.n_steps == 0)
		return err_set(err, -ENOENT, "job %u: no step of it on %s", job_id, node);
	strcpy(ret, "{");
	put(ret, size, "node", "%s", node);
	put(ret, size, "policy", "%s", s.policy);
	put(ret, size, "steps", "%d", s.n_steps);
	if (s.failed)
		put(ret, size, "failed", "%d", s.failed);
	if (s.lost)
		put(ret, size, "lost", "%d", s.lost);
	put(ret, size, "start", "%lld", (long long)(s.start_ns / 1000000000));
	if (s.end_ns)
		put(ret, size, "end", "%lld", (long long)(s.end_ns / 1000000000));
	put(ret, size, "rebinds", "%d", s.rebinds);
	put_count(ret, size, "moves", s.moves);
	put_count(ret, size, "phases", s.phases);
	put_ratio(ret, size, "ntt", s.figures.ntt_full);
	put_ratio(ret, size, "stp", s.figures.stp_full);
	put_ratio(ret, size, "antt", s.figures.antt_full);
	put_ratio(ret, size, "gain", s.figures.gain_placement);
	put_ratio(ret, size, "gain_lo", s.figures.gain_placement_lo);
	put_ratio(ret, size, "gain_hi", s.figures.gain_placement_hi);
	put_ratio(ret, size, "launch", s.figures.gain_launch);
	put_ratio(ret, size, "launch_lo", s.figures.gain_launch_lo);
	put_ratio(ret, size, "launch_hi", s.figures.gain_launch_hi);
	put(ret, size, "basis", "%s", s.basis);
	put_ratio(ret, size, "solo", s.figures.solo_speed);
	put_ratio(ret, size, "shared", s.figures.shared_speed);
	put(ret, size, "unit", "%s", s.unit);
	put(ret, size, "coreset", "%s", s.coreset);
	put(ret, size, "partners", "%s", s.partners);
	strcat(ret, "}");
	return 0;
}

/*
 * Ours in @comment: from the mark to behind the last brace; NULL none. A part holds no brace: of a
 * comment that was cut and went on, the broken part is another's text, not the rest's beginning.
 */
static const char *find_ours(const char *comment, const char **ret_end)
{
	const char *p = comment;

	while ((p = strstr(p, SUMMARY_MARK "{"))) {
		const char *end = p + strlen(SUMMARY_MARK);

		while (*end == '{') {
			const char *close = strpbrk(end + 1, "{}");

			if (!close || *close != '}')
				break;
			end = close + 1;
		}
		/* A word of its own, not the end of another. */
		if ((p == comment || p[-1] == ' ') && end[-1] == '}') {
			*ret_end = end;
			return p;
		}
		p = end;
	}
	return NULL;
}

/* "node=n1" of a part. */
static size_t node_of(const char *part, const char **ret)
{
	*ret = part + 1;
	return strcspn(part + 1, ";}");
}

int summary_merge(const char *comment, const char *part, char **ret, struct errbuf *err)
{
	const char *end = NULL, *ours, *node, *other;
	size_t node_len = node_of(part, &node), size, len;
	char *text;

	if (!comment)
		comment = "";
	if (strpbrk(comment, "\"`'\\\n\r|"))
		return err_set(err, -EBADMSG,
			"another's AdminComment holds quotes, bars or lines, which sacctmgr "
			"would change");
	size = strlen(comment) + strlen(part) + sizeof(SUMMARY_MARK) + 2;
	if (size > SUMMARY_COMMENT_MAX)
		return err_set(err, -E2BIG, "AdminComment would be longer than %d bytes",
			SUMMARY_COMMENT_MAX);
	text = malloc(size);
	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	ours = find_ours(comment, &end);
	if (!ours) {
		snprintf(text, size, "%s%s%s%s", comment, *comment ? " " : "", SUMMARY_MARK, part);
		*ret = text;
		return 0;
	}
	len = (size_t)(ours - comment) + strlen(SUMMARY_MARK);
	memcpy(text, comment, len);
	for (const char *p = ours + strlen(SUMMARY_MARK); p < end;) {
		size_t n = strcspn(p, "}") + 1;
		size_t other_len = node_of(p, &other);

		if (other_len != node_len || memcmp(other, node, node_len) != 0) {
			memcpy(text + len, p, n);
			len += n;
		}
		p += n;
	}
	snprintf(text + len, size - len, "%s%s", part, end);
	*ret = text;
	return 0;
}

int summary_parse(const char *comment,
	int (*fn)(int part, const char *key, const char *value, void *arg), void *arg)
{
	const char *end, *p = comment ? find_ours(comment, &end) : NULL;
	int part = 0, rc;

	if (!p)
		return 0;
	for (p += strlen(SUMMARY_MARK); p < end; p++, part++) {
		for (p++; *p != '}';) {
			size_t n = strcspn(p, ";}");
			const char *eq = memchr(p, '=', n);
			char key[32], value[256];

			if (eq) {
				snprintf(key, sizeof(key), "%.*s", (int)(eq - p), p);
				snprintf(value, sizeof(value), "%.*s", (int)(p + n - eq - 1),
					eq + 1);
				rc = fn(part, key, value, arg);
				if (rc)
					return rc;
			}
			p += n + (p[n] == ';');
		}
	}
	return 0;
}
