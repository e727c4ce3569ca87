/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top.h - what the files of colocctl top share. */
#ifndef COLOC_CTL_TOP_H
#define COLOC_CTL_TOP_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/coreset.h"
#include "common/err.h"
#include "nodesvc/ctl/client.h"

/*
 * canvas.c: a page of character cells: what `colocctl top` shows, before anybody knows what a
 * terminal is. Texts come from users (names of jobs and programs): what is no printable character
 * of the locale becomes '?', a wide character takes two cells, nothing is ever drawn outside.
 *
 * Not thread-safe (mbrtowc() and the locale).
 */

/* One character with what combines with it; longer ones lose their last marks. */
#define CANVAS_CELL_BYTES 14

enum canvas_look {
	LOOK_PLAIN,
	LOOK_BOLD,
	LOOK_HEAD, /* the names of columns */
	LOOK_BAR,  /* stands out: the selected step */
	LOOK_DIM,  /* old, or of little weight */
	LOOK_WARN,
	LOOK_KEY, /* and the LOOK_KEYS - 1 after it: a step's own colour */
};
#define LOOK_KEYS  6
#define LOOK_COUNT (LOOK_KEY + LOOK_KEYS)

struct canvas_cell {
	char text[CANVAS_CELL_BYTES]; /* "" in the right half of a wide character */
	uint8_t look;
	uint8_t width; /* 1 or 2; 0 the right half */
};

struct canvas {
	int rows, cols;
	struct canvas_cell cell[]; /* [rows * cols], row after row; blanks at first */
};

/* NULL: out of memory. free() it. Sizes below 0 count as 0. */
struct canvas *canvas_create(int rows, int cols);
struct canvas_cell *canvas_at(struct canvas *c, int row, int col); /* must be inside */

/* Columns that @text takes, as canvas_put() would draw it. */
int canvas_width(const char *text);
/*
 * canvas_put - draws @text from @col on, in at most @room columns and never beyond the row's end; a
 * text that is cut ends in '+'. Returns the column behind what was drawn. Outside: draws nothing.
 */
int canvas_put(
	struct canvas *c, int row, int col, int room, enum canvas_look look, const char *text);
/* The same with what is to be printed. */
int canvas_printf(struct canvas *c, int row, int col, int room, enum canvas_look look,
	const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Flush right in the @room columns from @col on. */
void canvas_put_right(
	struct canvas *c, int row, int col, int room, enum canvas_look look, const char *text);
/* Gives all cells of a row this look. */
void canvas_bar(struct canvas *c, int row, enum canvas_look look);

/* All rows as lines, without blanks at their ends. 0, or -errno of writing. */
int canvas_print(const struct canvas *c, FILE *f);

/*
 * top_map.c: the node's cores in the order in which people look at them: by grouping domain, and
 * within one by hwloc's order, hardware threads of a core together. From the daemon's "status".
 */

struct top_map {
	int n_cores;
	bool has_gaps; /* domains have more than one core: a blank stands between two domains */
	struct {
		struct coreset pus;
		int domain;
		bool reserved;
	} core[CORESET_MAX];
};

/*
 * top_map_read - the map of @status: its "domain_cores", of an older daemon without them each of
 * its "pus" as a core. What is no cpulist is left out; no core at all where the daemon told none.
 */
void top_map_read(struct top_map *ret, struct json_object *status);

/* Columns of a row that has them all. */
int top_map_width(const struct top_map *m);
/*
 * One step's cores, a character each: '#' it has the core, '+' some of its hardware threads, '.' it
 * has not; blanks between domains. Returns @buf, cut to @size.
 */
char *top_map_row(const struct top_map *m, const struct coreset *cores, char *buf, size_t size);

/*
 * top_model.c: what `colocctl top` knows of a node: the newest answers of the daemon, and of each
 * step what it said when it was asked to explain it. No terminal, no socket, no clock.
 */

#define TOP_ID_MAX 64
#define TOP_NO_KEY '*'

struct top_step {
	char id[TOP_ID_MAX];
	struct json_object *now;    /* its entry of "jobs" */
	struct json_object *detail; /* the answer to "explain"; NULL: not asked yet */
	uint64_t asked;             /* the round of that answer */
	bool wanted;                /* its details are to be shown: ask for them */
	int order;                  /* in the daemon's list: by arrival */
	char key;                   /* its letter in the map, as long as it lives */
	struct coreset cores;       /* where it is; empty: nowhere */
};

struct top_model {
	struct json_object *status; /* NULL: never had one */
	struct top_map map;
	struct top_step *step; /* as sorted last */
	int n;
	uint64_t round;      /* of answers, from 1 */
	double t_unix;       /* of the newest; NAN none */
	char error[256];     /* why there is no newer one; "" there is */
	double error_t_unix; /* since when */
	bool sees_all;       /* root: nobody's steps are kept from it */
};

void top_model_init(struct top_model *m, bool sees_all);
void top_model_done(struct top_model *m);

/*
 * The answers of one round, in this order; the texts are the daemon's JSON. Steps that are no
 * longer in "jobs" are forgotten, those that are keep key and details. Errors: -EPROTO the answer
 * is not what it should be, -ENOMEM; the model is as before.
 */
int top_model_status(struct top_model *m, const char *json, struct errbuf *err);
int top_model_jobs(struct top_model *m, const char *json, double t_unix, struct errbuf *err);
/* A step that is gone meanwhile: nothing happens. */
int top_model_detail(struct top_model *m, const char *id, const char *json, struct errbuf *err);
/* There is no answer since @t_unix (of the first such call in a row). */
void top_model_fail(struct top_model *m, const char *why, double t_unix);

/* The wanted step whose details are oldest and not of this round; NULL none. */
struct top_step *top_model_next_wanted(struct top_model *m);
/* Index in step[], -1 not there. */
int top_model_find(const struct top_model *m, const char *id);

/* Unknown values stand last, equals in order of arrival. */
enum top_sort {
	SORT_STEP,
	SORT_USER,
	SORT_PROGRAM,
	SORT_CORES,
	SORT_BUSY,
	SORT_PROGRESS,
	SORT_LOADS,
	SORT_NTT,
	SORT_GAIN,
	SORT_ELAPSED,
	SORT_COUNT,
};
const char *top_sort_name(enum top_sort s);               /* "step", "user", ... */
int top_sort_parse(const char *name, enum top_sort *ret); /* -EINVAL */
/* It is sorted by what only details tell: all steps' are wanted. */
bool top_sort_needs_details(enum top_sort s);
/* Texts and step ascending, figures descending; @reverse: the other way. */
void top_model_sort(struct top_model *m, enum top_sort by, bool reverse);

/* A figure of "explain"'s "figures"; NAN unknown. */
double top_step_figure(const struct top_step *s, const char *key);

/*
 * top_fetch.c: asks the daemon for what `colocctl top` shows, without ever waiting for it: a round
 * is "status", "jobs", then "explain" for each step that is wanted, one connection each. The
 * caller polls top_fetch_fd() until the deadline and calls top_fetch_go_on().
 *
 * A user's questions count against his share of the daemon's time (doc/security.md), so that a
 * round explains at most TOP_EXPLAINED steps, those that were asked for longest ago first.
 */

#define TOP_EXPLAINED 32

struct top_fetch {
	const char *socket;
	int timeout_ms; /* for each packet */
	int open_ms;    /* of them for connecting: nothing else is done meanwhile */
	int most;       /* steps that a round explains */
	struct top_model *m;
	/* After "jobs": marks the steps that are wanted. */
	void (*want)(struct top_model *m, void *arg);
	void *arg;

	enum { FETCH_IDLE, FETCH_STATUS, FETCH_JOBS, FETCH_EXPLAIN } stage;
	int fd, left;
	int64_t deadline_ns; /* CLOCK_MONOTONIC */
	struct ctl_text text;
	char id[TOP_ID_MAX];
};

/*
 * 1: going on; 0: the round is over, @m has all of it; else it is over with an error, @m has what
 * came before it, and @err says why.
 */
/* Begins a round; with @details_only just explains what is wanted and has not been. */
int top_fetch_begin(struct top_fetch *f, bool details_only, struct errbuf *err);
/* When the descriptor is readable, or the deadline has passed. */
int top_fetch_go_on(struct top_fetch *f, struct errbuf *err);
/* Waits for the whole round. 0 or an error. */
int top_fetch_all(struct top_fetch *f, struct errbuf *err);

/* -1: idle. */
int top_fetch_fd(const struct top_fetch *f);
bool top_fetch_is_idle(const struct top_fetch *f);
void top_fetch_done(struct top_fetch *f);

/* Now, Unix time in seconds. */
double top_unix_now(void);

/*
 * top_term.c: the terminal of `colocctl top`, by ncurses, which sends only the cells that changed.
 * top_term.c is the only file that knows curses; top_noterm.c stands in for it where it is not
 * there.
 *
 * One terminal at a time, the process's own. Whatever ends the process but SIGKILL, a crash too,
 * the terminal is as before.
 */

/* What top_term_key() returns besides characters. */
enum {
	TOP_KEY_NONE = -1,
	TOP_KEY_UP = 0x110000, /* beyond every character */
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_OTHER,
};

/*
 * Takes over standard input and output. Handlers of SIGINT, SIGTERM and SIGWINCH have to be there
 * before. Errors, nothing changed: -ENOTTY no terminal, -EINVAL its type is unknown or cannot do
 * it, -ENOTSUP built without ncurses.
 */
int top_term_open(struct errbuf *err);
void top_term_close(void);
/* The window's size has changed, or it may have. */
void top_term_resize(void);
void top_term_size(int *ret_rows, int *ret_cols);
/* Shows the page. @anew: sends all of it. */
void top_term_draw(struct canvas *c, bool anew);
/* The next key that was pressed, never waits. */
int top_term_key(void);

/*
 * top_layout.c: from what is known of a node and the size of a window to a page of text. Pure: the
 * same model and view give the same page; no terminal, no clock. Fits any size, down to nothing:
 * what matters least goes first.
 */

struct top_view {
	bool batch;     /* every step, as many rows as it takes, no keys */
	int rows, cols; /* of the window; batch: cols 0 is as wide as needed */
	enum top_sort sort;
	bool reverse, help;
	char selected[TOP_ID_MAX]; /* "" none: the first */
	int first;                 /* step in the first row of the table */
	int column;                /* so many columns of the table are out of sight to the left */

	/* What top_layout() made of it, for keys. */
	int page;     /* rows of the table */
	int at;       /* index of the selected step; -1 none */
	bool is_wide; /* columns are out of sight to the right */
};

/*
 * top_layout - sorts @m, settles @v (a selection that is gone goes to its neighbour, the selected
 * step is in sight) and draws. Errors: -ENOMEM.
 */
int top_layout(struct top_model *m, struct top_view *v, struct canvas **ret);
/* Marks the steps whose details @v shows. */
void top_layout_want(struct top_model *m, const struct top_view *v);

/* top_nodemap.c */
/*
 * Which step has which core, a character each: a step's key, the number of steps that share it (+
 * more than 9), x reserved, . none that is seen. Each row begins with the PU of its first core.
 * Returns the rows it takes, at most @max_rows; @c NULL: only counts them.
 */
int top_nodemap(
	struct canvas *c, int row, int max_rows, int cols, const struct top_model *m, bool stale);
/* The colour of a step's key. */
enum canvas_look top_key_look(char key);

/* top_table.c */
#define TOP_COLUMNS_MAX 24
struct top_table {
	int n, width; /* columns in use; their width with what is between them */
	int gap;
	bool is_wide;
	struct {
		int column, width;
	} use[TOP_COLUMNS_MAX];
};
/* Chooses columns for @cols (0: any number); @skip of those that may go are left out in front. */
void top_table_fit(struct top_table *t, const struct top_model *m, int cols, int skip);
/* As many may be left out. */
int top_table_skippable(void);
void top_table_head(const struct top_table *t, struct canvas *c, int row, enum top_sort by);
void top_table_row(const struct top_table *t, struct canvas *c, int row, const struct top_model *m,
	const struct top_step *s, bool selected);

/* top_detail.c: all about one step, in at most @rows rows. */
void top_detail(struct canvas *c, int row, int rows, const struct top_step *s, bool stale);
/* Keys, columns and signs. */
void top_help(struct canvas *c);

/* top_keys.c: what a key does to the view of `colocctl top`. */

enum top_action {
	ACTION_NONE,
	ACTION_DRAW,   /* the view has changed */
	ACTION_REDRAW, /* and send all of the page */
	ACTION_ASK,    /* do not wait for the next round */
	ACTION_QUIT,
};

/* @v as the last top_layout() of @m left it. */
enum top_action top_keys(struct top_view *v, const struct top_model *m, int key);

/*
 * top_live.c: `colocctl top` on a terminal: one loop over keys, signals, answers and the clock.
 */

/*
 * top_live - shows @v until somebody quits, @count rounds are over (0: no end), the terminal is
 * gone
 * (-EIO) or a signal comes, of which the process then ends. @f is idle, with everything set but
 * want. Errors: as top_term_open(), -ENOMEM.
 */
int top_live(struct top_fetch *f, struct top_view *v, int64_t delay_ns, int64_t count,
	struct errbuf *err);

#endif
