/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/top.h"

#include <string.h>

#include "nodesvc/ctl/ctl.h"

static bool read_set(struct coreset *ret, struct json_object *text)
{
	coreset_zero(ret);
	return json_object_is_type(text, json_type_string) &&
	       coreset_parse(ret, json_object_get_string(text), NULL) == 0;
}

static void add_core(struct top_map *m, const struct coreset *pus, int domain)
{
	if (m->n_cores >= CORESET_MAX || coreset_is_empty(pus))
		return;
	if (m->n_cores && m->core[m->n_cores - 1].domain == domain)
		m->has_gaps = true;
	m->core[m->n_cores].pus = *pus;
	m->core[m->n_cores++].domain = domain;
}

static void read_domains(struct top_map *m, struct json_object *domains)
{
	struct coreset pus;
	int n = 0;

	for (size_t i = 0; i < json_object_array_length(domains); i++) {
		struct json_object *cores = json_object_array_get_idx(domains, i);

		if (!json_object_is_type(cores, json_type_array))
			continue;
		for (size_t k = 0; k < json_object_array_length(cores); k++)
			if (read_set(&pus, json_object_array_get_idx(cores, k)))
				add_core(m, &pus, n);
		n++;
	}
}

void top_map_read(struct top_map *ret, struct json_object *status)
{
	struct json_object *domains = show_get(status, "domain_cores");
	struct coreset all, reserved;

	memset(ret, 0, sizeof(*ret));
	read_set(&all, show_get(status, "pus"));
	read_set(&reserved, show_get(status, "reserved"));
	if (json_object_is_type(domains, json_type_array))
		read_domains(ret, domains);
	if (ret->n_cores == 0) {
		coreset_for_each (pu, &all) {
			struct coreset one;

			coreset_zero(&one);
			coreset_add(&one, (unsigned int)pu);
			add_core(ret, &one, 0);
		}
	}
	for (int i = 0; i < ret->n_cores; i++)
		ret->core[i].reserved = coreset_is_subset(&ret->core[i].pus, &reserved);
}

static bool gap_before(const struct top_map *m, int i)
{
	return m->has_gaps && i > 0 && i < m->n_cores && m->core[i].domain != m->core[i - 1].domain;
}

int top_map_width(const struct top_map *m)
{
	int width = m->n_cores;

	for (int i = 1; i < m->n_cores; i++)
		width += gap_before(m, i);
	return width;
}

char *top_map_row(const struct top_map *m, const struct coreset *cores, char *buf, size_t size)
{
	size_t used = 0;

	for (int i = 0; i < m->n_cores && used + 2 < size; i++) {
		const struct coreset *pus = &m->core[i].pus;

		if (gap_before(m, i))
			buf[used++] = ' ';
		buf[used++] = (char)(coreset_is_subset(pus, cores)    ? '#'
				     : coreset_intersects(pus, cores) ? '+'
								      : '.');
	}
	buf[used] = '\0';
	return buf;
}
