/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/top.h"

#include <curses.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* What tigetstr() returns for the name of no string; NULL is for one that this terminal lacks. */
/* NOLINTNEXTLINE(performance-no-int-to-ptr): terminfo's */
#define NO_STRING ((char *)-1)

static SCREEN *screen;
static attr_t looks[LOOK_COUNT];

/* For a crash, when curses cannot be trusted any more. */
static struct {
	char text[256]; /* what makes the terminal a plain one again */
	size_t len;
	struct termios modes;
} restore;

static const int CRASHES[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define N_CRASHES (sizeof(CRASHES) / sizeof(CRASHES[0]))
static struct sigaction before[N_CRASHES];

static void on_crash(int sig)
{
	ssize_t n = write(STDOUT_FILENO, restore.text, restore.len);

	(void)n; /* there is nobody to tell */
	tcsetattr(STDIN_FILENO, TCSANOW, &restore.modes);
	for (size_t i = 0; i < N_CRASHES; i++)
		if (CRASHES[i] == sig)
			sigaction(sig, &before[i], NULL);
	raise(sig);
}

static void watch_crashes(bool on)
{
	struct sigaction sa = {.sa_handler = on_crash};

	for (size_t i = 0; i < N_CRASHES; i++) {
		if (on)
			sigaction(CRASHES[i], &sa, &before[i]);
		else
			sigaction(CRASHES[i], &before[i], NULL);
	}
}

/* A capability without its padding, "$<5>", which only tputs() can make. */
static void remember(const char *capability)
{
	const char *s = tigetstr((char *)capability);

	if (!s || s == NO_STRING)
		return;
	while (*s && restore.len < sizeof(restore.text)) {
		if (s[0] == '$' && s[1] == '<' && strchr(s, '>'))
			s = strchr(s, '>') + 1;
		else
			restore.text[restore.len++] = *s++;
	}
}

static void choose_looks(void)
{
	static const short COLOURS[LOOK_KEYS] = {
		COLOR_GREEN, COLOR_CYAN, COLOR_YELLOW, COLOR_MAGENTA, COLOR_BLUE, COLOR_RED};
	const char *no_color = getenv("NO_COLOR");

	looks[LOOK_PLAIN] = A_NORMAL;
	looks[LOOK_BOLD] = A_BOLD;
	looks[LOOK_HEAD] = A_BOLD | A_UNDERLINE;
	looks[LOOK_BAR] = A_REVERSE;
	looks[LOOK_DIM] = A_DIM;
	looks[LOOK_WARN] = A_BOLD;
	for (int i = 0; i < LOOK_KEYS; i++)
		looks[LOOK_KEY + i] = A_BOLD;
	if ((no_color && *no_color) || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	for (int i = 0; i < LOOK_KEYS; i++) {
		if (init_pair((short)(i + 1), COLOURS[i], -1) == OK)
			looks[LOOK_KEY + i] = (attr_t)COLOR_PAIR(i + 1) | A_BOLD;
		if (COLOURS[i] == COLOR_RED)
			looks[LOOK_WARN] = looks[LOOK_KEY + i];
	}
}

int top_term_open(struct errbuf *err)
{
	const char *type = getenv("TERM"), *cup;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
		tcgetattr(STDIN_FILENO, &restore.modes) < 0)
		return err_set(err, -ENOTTY,
			"the live view needs a terminal on standard input and output; -b prints "
			"plain text");
	screen = newterm(NULL, stdout, stdin);
	cup = screen ? tigetstr((char *)"cup") : NULL;
	if (!cup || cup == NO_STRING) {
		if (screen)
			top_term_close();
		return err_set(err, -EINVAL,
			"a terminal of type '%.40s' is not known or cannot move its cursor "
			"($TERM); -b prints plain text",
			type ? type : "");
	}
	restore.len = 0;
	remember("sgr0");
	remember("rmkx");
	remember("cnorm");
	remember("rmcup");
	watch_crashes(true);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	choose_looks();
	return 0;
}

void top_term_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
	if (restore.len)
		watch_crashes(false);
}

void top_term_resize(void)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 && w.ws_col > 0)
		resizeterm(w.ws_row, w.ws_col);
}

void top_term_size(int *ret_rows, int *ret_cols)
{
	getmaxyx(stdscr, *ret_rows, *ret_cols);
}

static void draw_row(struct canvas *c, int row)
{
	for (int col = 0; col < c->cols;) {
		const struct canvas_cell *first = canvas_at(c, row, col);
		int from = col;
		char text[1024];
		size_t len = 0;

		for (; col < c->cols; col++) {
			const struct canvas_cell *cell = canvas_at(c, row, col);
			size_t n = strlen(cell->text);

			if (cell->look != first->look || len + n >= sizeof(text))
				break;
			memcpy(text + len, cell->text, n);
			len += n;
		}
		text[len] = '\0';
		attrset((int)looks[first->look]);
		mvaddstr(row, from, text);
	}
	attrset(A_NORMAL);
}

void top_term_draw(struct canvas *c, bool anew)
{
	erase();
	for (int row = 0; row < c->rows; row++)
		draw_row(c, row);
	if (anew)
		clearok(curscr, TRUE);
	refresh();
}

int top_term_key(void)
{
	static const int KEYS[][2] = {{KEY_UP, TOP_KEY_UP}, {KEY_DOWN, TOP_KEY_DOWN},
		{KEY_LEFT, TOP_KEY_LEFT}, {KEY_RIGHT, TOP_KEY_RIGHT}, {KEY_PPAGE, TOP_KEY_PAGE_UP},
		{KEY_NPAGE, TOP_KEY_PAGE_DOWN}, {KEY_HOME, TOP_KEY_HOME}, {KEY_END, TOP_KEY_END}};
	int key = getch();

	if (key == ERR)
		return TOP_KEY_NONE;
	if (key < KEY_MIN)
		return key;
	for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++)
		if (KEYS[i][0] == key)
			return KEYS[i][1];
	return TOP_KEY_OTHER; /* KEY_RESIZE too */
}
