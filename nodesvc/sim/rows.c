/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/sim/rows.h"

#include "common/csv.h"

void rows_csv_head(FILE *f, const char *const *const names[ROWS_PARTS])
{
	bool first = true;

	for (int part = 0; part < ROWS_PARTS; part++)
		for (const char *const *name = names[part]; name && *name; name++) {
			csv_text(f, first, *name);
			first = false;
		}
	csv_end(f);
}

void rows_csv(FILE *f, const char *const *const names[ROWS_PARTS], json_object *of[ROWS_PARTS])
{
	bool first = true;

	for (int part = 0; part < ROWS_PARTS; part++)
		for (const char *const *name = names[part]; name && *name; name++) {
			json_object *value = NULL;

			json_object_object_get_ex(of[part], *name, &value);
			if (json_object_is_type(value, json_type_double))
				csv_number(f, first, json_object_get_double(value));
			else
				csv_text(f, first, value ? json_object_get_string(value) : NULL);
			first = false;
		}
	csv_end(f);
}
