/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * say.h - what colocd says of a step, as people read it: one line of text each, for explain, jobs
 * and top. Every function writes into @buf (cut to @size), returns it, and leaves "" where nobody
 * knows. The objects are parts of the daemon's answers; NULL is fine.
 */
#ifndef COLOC_CTL_SAY_H
#define COLOC_CTL_SAY_H

#include <json-c/json.h>
#include <stddef.h>

/* Of an entry of "steps". "98%"; "415k profile"; "lira (asked fair)". */
char *say_percent(struct json_object *step, const char *signal, char *buf, size_t size);
char *say_rate(struct json_object *step, const char *signal, char *buf, size_t size);
char *say_waits(struct json_object *step, char *buf, size_t size); /* "neighbour 43%" */
char *say_policy(struct json_object *step, char *buf, size_t size);

/* Unix time as HH:MM:SS here; NAN and 0: "". */
char *say_clock(double t_unix, char *buf, size_t size);

/* An entry of "decisions": "arrival  lira: 0-1 -> 0, score 11, with 13.0: best pair". */
char *say_decision(struct json_object *decision, char *buf, size_t size);
/* One of "phases": "2*: 12 s on 2 cores, busy 98%, 1.2k units per cpu second"; * marks @now. */
char *say_phase(struct json_object *phase, const char *now, char *buf, size_t size);

/* Of "figures". */
char *say_speed(struct json_object *figures, char *buf, size_t size);
char *say_slowdown(struct json_object *figures, char *buf, size_t size);
char *say_corun(struct json_object *figures, char *buf, size_t size);
char *say_gain(struct json_object *figures, char *buf, size_t size);

#endif
