/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/csv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Spreadsheets run what begins so; a negative number is none. */
static bool is_formula(const char *text)
{
	char *end;

	if (!*text || !strchr("=+-@\t\r", *text))
		return false;
	(void)strtod(text, &end);
	return end == text || *end || text[strspn(text, "0123456789+-.eE")];
}

void csv_text(FILE *f, bool first, const char *text)
{
	if (!first)
		fputc(',', f);
	if (!text)
		return;
	if (is_formula(text)) {
		fputs("\"'", f);
	} else if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, f);
		return;
	} else {
		fputc('"', f);
	}
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', f);
		fputc(*text, f);
	}
	fputc('"', f);
}

void csv_number(FILE *f, bool first, double x)
{
	char text[40] = "";

	for (int digits = 15; isfinite(x) && digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	csv_text(f, first, *text ? text : NULL);
}

void csv_end(FILE *f)
{
	fputs("\r\n", f);
}
