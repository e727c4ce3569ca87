/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/ctl.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static char *say(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static char *say(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return buf;
}

static char *say_nothing(char *buf)
{
	*buf = '\0';
	return buf;
}

char *say_percent(struct json_object *step, const char *signal, char *buf, size_t size)
{
	double value = show_double(show_get(show_get(step, "signals"), signal), "value");

	return isnan(value) ? say_nothing(buf) : say(buf, size, "%.0f%%", value * 100);
}

char *say_rate(struct json_object *step, const char *signal, char *buf, size_t size)
{
	struct json_object *s = show_get(show_get(step, "signals"), signal);
	char value[32];

	if (!*show_si(show_double(s, "value"), value, sizeof(value)))
		return say_nothing(buf);
	return say(buf, size, "%s %s", value, show_text(s, "provenance"));
}

char *say_policy(struct json_object *step, char *buf, size_t size)
{
	const char *ruling = show_text(step, "policy"), *asked = show_text(step, "req_policy");

	return say(buf, size, *asked ? "%s (asked %s)" : "%s", ruling, asked);
}

char *say_clock(double t_unix, char *buf, size_t size)
{
	time_t t = t_unix > 0 && t_unix < 1e12 ? (time_t)t_unix : 0;
	struct tm tm;

	if (!t || !localtime_r(&t, &tm) || strftime(buf, size, "%H:%M:%S", &tm) == 0)
		*buf = '\0';
	return buf;
}

char *say_decision(struct json_object *d, char *buf, size_t size)
{
	const char *from = show_text(d, "from"), *to = show_text(d, "to"),
		   *why = show_text(d, "why");
	char score[48] = "", shares[256];

	if (*show_text(d, "score"))
		snprintf(score, sizeof(score), ", score %.4g", show_double(d, "score"));
	show_list(d, "shares", shares, sizeof(shares));
	if (!show_bool(d, "moved"))
		from = "stays on ";
	else if (!*from)
		from = "none";
	return say(buf, size, "%-8s %s: %s%s%s%s%s%s%s%s", show_text(d, "event"),
		show_text(d, "policy"), from, show_bool(d, "moved") ? " -> " : "", to, score,
		*shares ? ", with " : "", shares, *why ? ": " : "", why);
}

char *say_phase(struct json_object *phase, const char *now, char *buf, size_t size)
{
	const char *no = show_text(phase, "phase");
	char rate[32] = "";

	show_si(show_double(phase, "units_per_cpu_s"), rate, sizeof(rate));
	return say(buf, size, "%s%s: %.0f s on %s cores, busy %.0f%%%s%s%s", no,
		strcmp(no, now) ? "" : "*", show_double(phase, "seconds"),
		show_text(phase, "cores"), 100 * show_double(phase, "utilization"),
		*rate ? ", " : "", rate, *rate ? " units per cpu second" : "");
}

char *say_speed(struct json_object *f, char *buf, size_t size)
{
	const char *unit = show_text(f, "speed_unit"), *basis = show_text(f, "solo_basis");
	char number[32], company[96] = "", alone[128] = "";

	if (*show_si(show_double(f, "shared_speed"), number, sizeof(number)))
		snprintf(company, sizeof(company), "%s %s/s in company", number, unit);
	if (*show_si(show_double(f, "solo_speed"), number, sizeof(number)))
		snprintf(alone, sizeof(alone), "%s%s %s/s alone%s%s%s", *company ? ", " : "",
			number, unit, *basis ? " (" : "", basis, *basis ? ")" : "");
	return say(buf, size, "%s%s", company, alone);
}

char *say_slowdown(struct json_object *f, char *buf, size_t size)
{
	if (!*show_text(f, "ntt_full"))
		return say_nothing(buf);
	return say(buf, size, "%.3f of the whole node alone", show_double(f, "ntt_full"));
}

char *say_corun(struct json_object *f, char *buf, size_t size)
{
	if (!*show_text(f, "stp_full"))
		return say_nothing(buf);
	return say(buf, size, "STP %.3f, ANTT %.3f", show_double(f, "stp_full"),
		show_double(f, "antt_full"));
}

/* The largest part. */
char *say_waits(struct json_object *step, char *buf, size_t size)
{
	const char *text = show_text(show_get(step, "waits"), "text");

	return say(buf, size, "%.*s", (int)strcspn(text, ","), text);
}

char *say_turn(struct json_object *step, char *buf, size_t size)
{
	struct json_object *t = show_get(step, "turn");

	if (!t)
		return say_nothing(buf);
	return say(buf, size, "%s; next slice of %s ms in %s ms, one of %s",
		show_bool(t, "runs") ? "runs" : "waits", show_text(t, "slice_ms"),
		show_text(t, "next_ms"), show_text(t, "of"));
}

char *say_gain(struct json_object *f, char *buf, size_t size)
{
	if (!*show_text(f, "gain_placement"))
		return say_nothing(buf);
	return say(buf, size, "%.3f (%.3f to %.3f) by placement, %s windows, by %s",
		show_double(f, "gain_placement"), show_double(f, "gain_placement_lo"),
		show_double(f, "gain_placement_hi"), show_text(f, "windows"),
		show_text(f, "gain_basis"));
}
