/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "nodesvc/ctl/ctl.h"
#include "nodesvc/ctl/top.h"

#define LABEL 10 /* columns */

/* Rows that are still free. */
struct pane {
	struct canvas *c;
	int row, end;
	enum canvas_look look;
};

/* Where the last word of @text begins, without the blanks in front of it. */
static size_t last_blank(const char *text)
{
	const char *at = strrchr(text, ' ');

	while (at && at > text && at[-1] == ' ')
		at--;
	return at ? (size_t)(at - text) : 0;
}

/* As many rows as it takes, broken at blanks; the last one that is free is cut. */
static void line(struct pane *p, const char *label, const char *text)
{
	const int room = p->c->cols - LABEL;
	char row[1100];

	while (*text && p->row < p->end) {
		size_t len = strlen(text), cut = len;

		snprintf(row, sizeof(row), "%s", text);
		while (cut && p->row + 1 < p->end && canvas_width(row) > room) {
			cut = last_blank(row);
			row[cut] = '\0';
		}
		if (cut == 0 || cut >= sizeof(row)) { /* a word that is too long */
			snprintf(row, sizeof(row), "%s", text);
			cut = len;
		}
		canvas_put(p->c, p->row, 0, LABEL - 1, LOOK_DIM, label);
		canvas_put(p->c, p->row, LABEL, p->c->cols, p->look, row);
		p->row++;
		label = "";
		text += cut + strspn(text + cut, " ");
	}
}

static void where(struct pane *p, struct json_object *now)
{
	char text[1024], elapsed[32];

	if (*show_text(now, "coreset"))
		snprintf(text, sizeof(text), "%s of %s", show_text(now, "coreset"),
			show_text(now, "envelope"));
	else
		snprintf(text, sizeof(text), "not placed");
	if (*show_text(now, "slurm_cpus"))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " (Slurm gave %s)",
			show_text(now, "slurm_cpus"));
	if (*show_text(now, "threads"))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %s thread%s",
			show_text(now, "threads"),
			strcmp(show_text(now, "threads"), "1") ? "s" : "");
	if (*show_elapsed(show_double(now, "elapsed_s"), elapsed, sizeof(elapsed)))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", %s for %s",
			show_text(now, "state"), elapsed);
	line(p, "Cores", text);
}

/* "utilization 0.98 (os), loads_per_s 1.23G (profile)", in as many rows as it takes. */
static void signals(struct pane *p, struct json_object *now)
{
	struct json_object *list = show_get(now, "signals");
	const char *label = "Signals";
	char text[1024] = "";

	if (!json_object_is_type(list, json_type_object))
		return;
	json_object_object_foreach(list, key, value)
	{
		char number[32], one[256];
		const char *unit =
			strcmp(key, "progress_per_s") == 0 ? show_text(now, "progress_unit") : "";

		if (!*show_si(show_double(value, "value"), number, sizeof(number)))
			continue;
		snprintf(one, sizeof(one), "%s %s%s%s (%s)", key, number, *unit ? " " : "", unit,
			show_text(value, "provenance"));
		if (*text && canvas_width(text) + canvas_width(one) + 3 > p->c->cols - LABEL) {
			strcat(text, ",");
			line(p, label, text);
			label = "";
			*text = '\0';
		}
		snprintf(text + strlen(text), sizeof(text) - strlen(text) - 1, "%s%s",
			*text ? ", " : "", one);
	}
	line(p, label, text);
}

static void phases(struct pane *p, struct json_object *phases)
{
	struct json_object *table = show_get(phases, "table");
	const char *now = show_text(phases, "now"), *label = "Phases";

	if (!*now || !json_object_is_type(table, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(table); i++) {
		char text[256];

		line(p, label,
			say_phase(json_object_array_get_idx(table, i), now, text, sizeof(text)));
		label = "";
	}
}

/* Newest first, as many as there is room for. */
static void decisions(struct pane *p, struct json_object *list)
{
	const char *label = "Decisions";

	if (!json_object_is_type(list, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *d = json_object_array_get_idx(list, i);
		char when[32], said[1024], text[1100];

		say_clock(show_double(d, "t_unix"), when, sizeof(when));
		say_decision(d, said, sizeof(said));
		snprintf(text, sizeof(text), "%s%s%s", when, *when ? " " : "", said);
		line(p, label, text);
		label = "";
	}
}

void top_detail(struct canvas *c, int row, int rows, const struct top_step *s, bool stale)
{
	struct pane p = {c, row + 1, row + rows, stale ? LOOK_DIM : LOOK_PLAIN};
	struct json_object *figures = show_get(s->detail, "figures");
	const char *name = show_text(s->now, "name");
	char text[1024];
	int at;

	if (rows <= 0)
		return;
	at = canvas_printf(c, row, 0, c->cols, LOOK_BAR, " %c %s of %s, %s%s%s, ", s->key, s->id,
		show_text(s->now, "user"), show_text(s->now, "program"), *name ? ", job " : "",
		name);
	canvas_put(c, row, at, c->cols, LOOK_BAR, say_policy(s->now, text, sizeof(text)));
	canvas_bar(c, row, LOOK_BAR);
	where(&p, s->now);
	line(&p, "Reason", show_text(s->now, "reason"));
	line(&p, "Turn", say_turn(s->now, text, sizeof(text)));
	signals(&p, s->now);
	line(&p, "Waits", show_text(show_get(s->now, "waits"), "text"));
	line(&p, "Speed", say_speed(figures, text, sizeof(text)));
	line(&p, "Slow-down", say_slowdown(figures, text, sizeof(text)));
	line(&p, "Co-run", say_corun(figures, text, sizeof(text)));
	line(&p, "Gain", say_gain(figures, text, sizeof(text)));
	phases(&p, show_get(s->detail, "phases"));
	decisions(&p, show_get(s->detail, "decisions"));
}

static const char *const HELP[] = {
	"colocctl top: who is where on this node, and why",
	"",
	"  up down PgUp PgDn Home End   select a step, scroll",
	"  left right                   columns that do not fit",
	"  s S r                        sort by the next or last column; reverse",
	"  space ctrl-L                 ask now; draw everything anew",
	"  h ?   q                      this help; quit",
	"",
	"Map     a letter: the step that has the core; 2-9, +: so many share it;",
	"        x: reserved; .: no step that you see",
	"CORES   the step's: # the core, + some of its hardware threads, . not",
	"BUSY    the share of its time in which it ran or wanted to",
	"PHASE   the one it is in / how many were seen",
	"TURN    runs, or when its next slice begins; others may wait, and it is sooner",
	"NTT     how much slower than alone on the whole node, and how that is known",
	"GAIN    by placement, with its 95 % interval and what speed is measured by",
	"DECIDED when it was last decided on, and at what event",
	"hw: hardware counters, app: the program itself, profile: a stored profile,",
	"os: the kernel's accounting. Blank: not known.",
};

void top_help(struct canvas *c)
{
	for (int i = 0; i < (int)(sizeof(HELP) / sizeof(HELP[0])); i++)
		canvas_put(c, i, 0, c->cols, i ? LOOK_PLAIN : LOOK_BOLD, HELP[i]);
	if (c->rows > (int)(sizeof(HELP) / sizeof(HELP[0])))
		canvas_put(c, c->rows - 1, 0, c->cols, LOOK_DIM, "any key: back");
}
