/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/engine/waits.h"

#include <math.h>
#include <stdio.h>

#define WORTH_TELLING 0.01

static bool is_sound(const struct waits_span *f)
{
	const double v[] = {f->wall_s, f->frozen_s, f->ran_s, f->held_s, f->most_ran_s,
		f->most_wanted_s, f->neighbours_s, f->outside_s, f->stolen_s,
		isnan(f->stalled_s) ? 0 : f->stalled_s};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (!(v[i] >= 0) || !isfinite(v[i]))
			return false;
	return f->wall_s > 0;
}

static double within(double v, double most)
{
	return fmin(fmax(v, 0), fmax(most, 0));
}

/* What threads waited for cores, by whoever had them. */
static void split_contention(
	struct waits *w, const struct waits_span *f, double lost, int lanes, double free_s)
{
	double others = f->neighbours_s + f->outside_s;
	/* A thread that waits for one whose CPU is stolen waits for the hypervisor. */
	double stolen = f->stolen_s > 0 ? lost * f->stolen_s / (f->held_s + f->stolen_s) : 0;
	double narrowed;

	w->s[WAIT_STOLEN] += stolen;
	lost -= stolen;
	/* Cores of its own that it was kept off, for others. */
	narrowed = within((lanes - f->placed) * free_s, lost);
	w->s[WAIT_NEIGHBOUR] += narrowed;
	lost -= narrowed;
	if (others > 0) {
		w->s[WAIT_NEIGHBOUR] += lost * f->neighbours_s / others;
		w->s[WAIT_OUTSIDE] += lost * f->outside_s / others;
	} else {
		/* Nobody but its own threads was there. */
		w->s[WAIT_OWN] += lost;
	}
}

void waits_add(struct waits *w, const struct waits_span *f)
{
	int most = f->envelope > 1 ? f->envelope : 1, lanes = f->threads < most ? f->threads : most;
	double frozen, free_s, ran, awake, asleep, own, idle, stalled = 0;

	if (!is_sound(f))
		return;
	if (lanes < 1)
		lanes = 1;
	frozen = within(f->frozen_s, f->wall_s);
	free_s = f->wall_s - frozen;
	/* Where the kernel counts what was stolen as run, it is not what it ran. */
	ran = within(f->ran_s, lanes * free_s);
	ran = within(ran, lanes * free_s - f->stolen_s);
	/* So long somebody of it wanted to run, at least: as the thread did that wanted most. */
	awake = fmax(within(f->most_wanted_s + f->stolen_s, free_s), ran / lanes);
	/* What the others slept meanwhile: they waited for that one, as far as it ran longer than
	 * they did. As far as it was held up itself, they waited for what held it up. */
	asleep = within(lanes * awake - ran - f->held_s - f->stolen_s, lanes * awake);
	own = within(lanes * f->most_ran_s - ran, asleep);
	idle = fmax(lanes * (free_s - awake), 0);
	if (!isnan(f->stalled_s)) {
		stalled = within(lanes * f->stalled_s, idle);
		w->stalls = true;
	}
	w->s[WAIT_RAN] += ran;
	w->s[WAIT_OWN] += own;
	w->s[WAIT_TURNS] += lanes * frozen;
	w->s[WAIT_STALLED] += stalled;
	w->s[WAIT_IDLE] += idle - stalled;
	split_contention(w, f, fmax(lanes * awake - ran - own, 0), lanes, free_s);
}

static double sum(const struct waits *w)
{
	double s = 0;

	for (int i = 0; i < WAIT_CAUSES; i++)
		s += w->s[i];
	return s;
}

double waits_share(const struct waits *w, enum wait_cause cause)
{
	double all = sum(w);

	return all > 0 ? w->s[cause] / all : NAN;
}

/* The largest of those not in @told. */
static enum wait_cause largest(const struct waits *w, unsigned int told)
{
	enum wait_cause c = WAIT_RAN;

	for (int i = WAIT_RAN + 1; i < WAIT_CAUSES; i++)
		if (!(told & (1u << i)) && (c == WAIT_RAN || w->s[i] > w->s[c]))
			c = (enum wait_cause)i;
	return c;
}

enum wait_cause waits_largest(const struct waits *w)
{
	enum wait_cause c = largest(w, 0);

	if (!(sum(w) > 0))
		return WAIT_CAUSES;
	return waits_share(w, c) >= WORTH_TELLING ? c : WAIT_RAN;
}

const char *waits_name(enum wait_cause cause)
{
	static const char *const name[WAIT_CAUSES] = {
		[WAIT_RAN] = "none",
		[WAIT_OWN] = "own threads",
		[WAIT_NEIGHBOUR] = "neighbour",
		[WAIT_TURNS] = "turns",
		[WAIT_OUTSIDE] = "outside",
		[WAIT_STOLEN] = "stolen",
		[WAIT_STALLED] = "stalled",
		[WAIT_IDLE] = "idle",
	};

	return (unsigned int)cause < WAIT_CAUSES ? name[cause] : "";
}

const char *waits_key(enum wait_cause cause)
{
	static const char *const key[WAIT_CAUSES] = {
		"ran", "own_threads", "neighbour", "turns", "outside", "stolen", "stalled", "idle"};

	return (unsigned int)cause < WAIT_CAUSES ? key[cause] : "";
}

char *waits_text(const struct waits *w, char *buf, size_t size)
{
	unsigned int told = 0;
	size_t len = 0;

	buf[0] = '\0';
	if (!(sum(w) > 0))
		return buf;
	for (int i = WAIT_RAN + 1; i < WAIT_CAUSES && len < size; i++) {
		enum wait_cause c = largest(w, told);
		double share = waits_share(w, c);

		if (share < WORTH_TELLING)
			break;
		told |= 1u << c;
		len += (size_t)snprintf(buf + len, size - len, "%s%s %.0f%%", len ? ", " : "",
			waits_name(c), 100 * share);
	}
	if (!*buf)
		snprintf(buf, size, "%s", waits_name(WAIT_RAN));
	return buf;
}
