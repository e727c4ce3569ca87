/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * topo.c - hwloc to plain arrays. The only file that includes hwloc.h.
 *
 * Locality counts, not object kinds: two NUMA nodes with the same CPUs (KNL's DDR and MCDRAM)
 * are one index, a NUMA node without CPUs is none.
 */
#include "common/topo.h"

#include <ctype.h>
#include <errno.h>
#include <hwloc.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/infile.h"

static const char *const level_name[] = {
	[TOPO_AUTO] = "auto",
	[TOPO_PACKAGE] = "package",
	[TOPO_NUMA] = "numa",
	[TOPO_L3] = "l3",
	[TOPO_L2] = "l2",
	[TOPO_CORE] = "core",
};

static void topology_destroy_p(hwloc_topology_t *h)
{
	if (*h)
		hwloc_topology_destroy(*h);
}
#define cleanup_topology __attribute__((cleanup(topology_destroy_p)))

static void topo_free_p(struct topo **t)
{
	topo_free(*t);
}
#define cleanup_topo __attribute__((cleanup(topo_free_p)))

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && strcmp(s + n - m, suffix) == 0;
}

enum source_kind { THIS_MACHINE, XML_FILE, XML_TEXT, SYNTHETIC };

static enum source_kind source_kind(const char *source)
{
	if (!source)
		return THIS_MACHINE;
	if (*source == '<')
		return XML_TEXT;
	return has_suffix(source, ".xml") || strchr(source, '/') ? XML_FILE : SYNTHETIC;
}

/*
 * hwloc takes what it is given at its word: a PU without a number, or with a huge one, and it
 * fills gigabytes of bit map before it fails; so does a description of a million cores. Found by
 * tests/fuzz/fuzz_topo.c with hwloc 2.9; so numbers are looked at before.
 */
static int check_number(const char *text, struct errbuf *err)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = text ? strtoul(text, &end, 10) : 0;
	if (!text || *text < '0' || *text > '9' || (*end != '"' && *end != '\''))
		return err_set(err, -EINVAL, "a PU or NUMA node without a number (os_index)");
	if (errno || n >= CORESET_MAX)
		return err_set(err, -E2BIG, "has a PU or NUMA node above %d", CORESET_MAX - 1);
	return 0;
}

/* hwloc says of XML that is newer than itself only that it cannot load it. */
static int check_version(const char *text, struct errbuf *err)
{
	const char *p = strstr(text, "<topology"), *end = p ? strchr(p, '>') : NULL;
	unsigned int newest = hwloc_get_api_version() >> 16, major, minor = 0;

	p = end ? strstr(p, "version=") : NULL; /* hwloc 1.x wrote none */
	if (!p || p > end || sscanf(p, "version=%*[\"']%u.%u", &major, &minor) < 1 ||
		major <= newest)
		return 0;
	return err_set(err, -EINVAL, "is XML of version %u.%u; this hwloc reads up to version %u",
		major, minor, newest);
}

/* Each <object> of type PU or NUMANode; attribute values may hold anything but their quotes. */
static int check_objects(const char *text, struct errbuf *err)
{
	for (const char *p = text; (p = strstr(p, "<object"));) {
		const char *os_index = NULL;
		bool counts = false;
		int rc;

		for (p += strlen("<object"); *p && *p != '>';) {
			size_t n = strcspn(p, "=>");
			const char *value = p[n] == '=' ? p + n + 2 : NULL, *end;

			if (!value || (value[-1] != '"' && value[-1] != '\'') ||
				!(end = strchr(value, value[-1]))) {
				p += n + (p[n] == '=');
				continue;
			}
			p += strspn(p, " \t\r\n");
			if (strncmp(p, "type=", 5) == 0)
				counts = (end - value == 2 && memcmp(value, "PU", 2) == 0) ||
					 (end - value == 8 && memcmp(value, "NUMANode", 8) == 0);
			else if (strncmp(p, "os_index=", 9) == 0)
				os_index = value;
			p = end + 1;
		}
		rc = counts ? check_number(os_index, err) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

/* The whole text, once: it may be a pipe. */
static int read_xml(const char *path, char **ret, struct errbuf *err)
{
	cleanup_file FILE *f = infile_open(path);
	size_t size = 0;

	errno = f ? 0 : errno;
	/* To the first NUL, as XML has none. */
	if (!f || getdelim(ret, &size, '\0', f) < 0)
		return err_set(err, errno ? -errno : -EINVAL, "topology '%.160s': %s", path,
			errno ? strerror(errno) : "is empty");
	return 0;
}

static int load_once(hwloc_topology_t *ret, enum source_kind kind, const char *source)
{
	cleanup_topology hwloc_topology_t h = NULL;

	if (hwloc_topology_init(&h) < 0)
		return -ENOMEM;
	/* Inputs are shape only; I/O devices cost time and tell the engine nothing. */
	hwloc_topology_set_io_types_filter(h, HWLOC_TYPE_FILTER_KEEP_NONE);
	if (kind == XML_TEXT &&
		hwloc_topology_set_xmlbuffer(h, source, (int)strlen(source) + 1) < 0)
		return -EINVAL;
	if (kind == SYNTHETIC && hwloc_topology_set_synthetic(h, source) < 0)
		return -EINVAL;
	if (hwloc_topology_load(h) < 0)
		return -EINVAL;
	*ret = take_ptr(h);
	return 0;
}

/* @name: of the text, for errors. */
static int load_xml(hwloc_topology_t *ret, const char *name, const char *text, struct errbuf *err)
{
	int rc = check_version(text, err);

	if (!rc)
		rc = check_objects(text, err);
	if (rc)
		return err_wrap(err, rc, "%s", name);
	rc = load_once(ret, XML_TEXT, text);
	return rc ? err_set(err, rc, "%s: not hwloc's XML", name) : 0;
}

/* Past what the bracket at @p holds; NULL: it is not closed, or no count comes before '('. */
static const char *skip_bracket(const char *text, const char *p)
{
	size_t close = strcspn(p, ")]");

	if (!p[close] || (*p == '(' && (p == text || p[-1] < '0' || p[-1] > '9')))
		return NULL;
	return p + close + 1;
}

/*
 * "pack:2 l3:1 core:4(indexes=...) [numa] 2": how many PUs its numbers make. A number counts
 * wherever hwloc may take it for one, also where nothing stands between it and the next level
 * ("l3:501l3:50"); not in a type's name. What brackets hold is no level, unless they are not
 * closed, or nothing is counted before '(': hwloc looks for one beyond them then.
 */
static int check_synthetic(const char *text, struct errbuf *err)
{
	unsigned long n_pus = 1;
	char *end = NULL; /* of the last number: "049" is 4 and 9 */

	for (const char *p = text, *next; *p; p = next) {
		unsigned long n = 1;

		next = p + 1;
		if (*p == '(' || *p == '[') {
			next = skip_bracket(text, p);
			if (!next)
				return err_set(err, -EINVAL,
					"topology '%.160s': '%.20s' is not closed, or has no count "
					"before it",
					text, p);
		} else if (*p >= '0' && *p <= '9' &&
			   (p == text || p == end || !isalnum((unsigned char)p[-1]))) {
			n = strtoul(p, &end, 0);
			next = end;
			/* -1 is a number, too, for those who ask strtoul(). */
			if (p > text && p[-1] == '-')
				n = ULONG_MAX;
		}
		if (n > CORESET_MAX || (n_pus *= n ? n : 1) > CORESET_MAX)
			return err_set(err, -E2BIG, "topology '%.160s': more than %d PUs", text,
				CORESET_MAX);
	}
	return 0;
}

static int load_hwloc(hwloc_topology_t *ret, const char *source, struct errbuf *err)
{
	enum source_kind kind = source_kind(source);
	char longer[512];
	int rc;

	if (kind == THIS_MACHINE) {
		rc = load_once(ret, kind, NULL);
		return rc ? err_set(err, rc, "hwloc cannot read this machine") : 0;
	}
	if (kind == XML_TEXT)
		return load_xml(ret, "topology", source, err);
	if (kind == XML_FILE) {
		cleanup_free char *text = NULL;
		char name[192];

		rc = read_xml(source, &text, err);
		snprintf(name, sizeof(name), "topology '%.160s'", source);
		return rc ? rc : load_xml(ret, name, text, err);
	}
	rc = check_synthetic(source, err);
	if (rc)
		return rc;
	rc = load_once(ret, kind, source);
	if (rc == -EINVAL && strlen(source) < sizeof(longer) - 8) {
		/* "pack:2 core:4" is what people write; hwloc wants the last level to be PUs. */
		snprintf(longer, sizeof(longer), "%s pu:1", source);
		rc = load_once(ret, kind, longer);
	}
	return rc ? err_set(err, rc,
			    "topology '%.160s': neither a synthetic description "
			    "(\"pack:2 core:4 pu:1\") nor a file ending in .xml",
			    source)
		  : 0;
}

static int set_from_bitmap(struct coreset *ret, hwloc_const_bitmap_t b)
{
	int pu;

	coreset_zero(ret);
	if (!b)
		return 0;
	for (pu = hwloc_bitmap_first(b); pu >= 0; pu = hwloc_bitmap_next(b, pu)) {
		if (pu >= CORESET_MAX)
			return -E2BIG;
		coreset_add(ret, (unsigned int)pu);
	}
	return 0;
}

/* Copies the cores; on machines where hwloc knows none, every PU is one. */
static int copy_cores(struct topo *t, hwloc_topology_t h, struct errbuf *err)
{
	int depth = hwloc_get_type_depth(h, HWLOC_OBJ_CORE);
	hwloc_obj_t o = NULL;
	int n;

	if (depth < 0)
		depth = hwloc_get_type_depth(h, HWLOC_OBJ_PU);
	n = (int)hwloc_get_nbobjs_by_depth(h, depth);
	if (n <= 0)
		return err_set(err, -EINVAL, "topology has no cores");
	t->core = calloc((size_t)n, sizeof(*t->core));
	t->domain_core = calloc((size_t)n, sizeof(*t->domain_core));
	if (!t->core || !t->domain_core)
		return err_set(err, -ENOMEM, "out of memory");
	for (int pu = 0; pu < CORESET_MAX; pu++)
		t->pu_core[pu] = -1;
	while ((o = hwloc_get_next_obj_by_depth(h, depth, o))) {
		struct topo_core *c = &t->core[t->n_cores];

		if (set_from_bitmap(&c->pus, o->cpuset))
			return err_set(err, -E2BIG, "topology has a PU above %d", CORESET_MAX - 1);
		if (coreset_is_empty(&c->pus))
			continue;
		if (coreset_intersects(&c->pus, &t->all))
			return err_set(err, -EINVAL, "topology has a PU in two cores");
		c->package = c->numa = c->l3 = c->l2 = c->domain = -1;
		coreset_for_each (pu, &c->pus)
			t->pu_core[pu] = (int16_t)t->n_cores;
		coreset_or(&t->all, &t->all, &c->pus);
		t->n_cores++;
	}
	t->n_pus = coreset_count(&t->all);
	t->pu_is_core = t->n_pus == t->n_cores;
	t->n_words = CORESET_WORDS;
	while (t->n_words > 1 && !t->all.w[t->n_words - 1])
		t->n_words--;
	return 0;
}

static int *level_field(struct topo_core *c, enum topo_level level)
{
	switch (level) {
	case TOPO_PACKAGE:
		return &c->package;
	case TOPO_NUMA:
		return &c->numa;
	case TOPO_L3:
		return &c->l3;
	case TOPO_L2:
		return &c->l2;
	default:
		return NULL;
	}
}

/* Numbers the objects of one type that have cores nobody numbered yet; returns how many. */
static int number_level(struct topo *t, hwloc_topology_t h, hwloc_obj_type_t type,
	enum topo_level level, uint64_t *max_bytes)
{
	hwloc_obj_t o = NULL;
	int n = 0;

	while ((o = hwloc_get_next_obj_by_type(h, type, o))) {
		struct coreset pus;
		bool used = false;

		if (set_from_bitmap(&pus, o->cpuset))
			continue;
		for (int i = 0; i < t->n_cores; i++) {
			int *field = level_field(&t->core[i], level);

			if (*field < 0 && coreset_intersects(&t->core[i].pus, &pus)) {
				*field = n;
				used = true;
			}
		}
		if (used)
			n++;
		if (max_bytes && o->attr && o->attr->cache.size > *max_bytes)
			*max_bytes = o->attr->cache.size;
	}
	return n;
}

static int level_count(const struct topo *t, enum topo_level level)
{
	switch (level) {
	case TOPO_PACKAGE:
		return t->n_packages;
	case TOPO_NUMA:
		return t->n_numa;
	case TOPO_L3:
		return t->n_l3;
	case TOPO_L2:
		return t->n_l2;
	default:
		return t->n_cores;
	}
}

/* At least two members with more than one core, and every core in one. */
static bool level_groups(struct topo *t, enum topo_level level)
{
	int big = 0;

	for (int d = 0; d < level_count(t, level); d++) {
		int n = 0;

		for (int i = 0; i < t->n_cores; i++)
			n += *level_field(&t->core[i], level) == d;
		big += n > 1;
	}
	for (int i = 0; i < t->n_cores; i++)
		if (*level_field(&t->core[i], level) < 0)
			return false;
	return big >= 2;
}

int topo_set_domains(struct topo *t, enum topo_level level, struct errbuf *err)
{
	struct topo_domain *domain;
	int n, filled = 0;

	if (level == TOPO_AUTO) {
		level = TOPO_PACKAGE;
		while (level < TOPO_CORE && !level_groups(t, level))
			level++;
	}
	n = level_count(t, level);
	for (int i = 0; i < t->n_cores && level < TOPO_CORE; i++)
		if (*level_field(&t->core[i], level) < 0)
			n = 0;
	if (n == 0)
		return err_set(err, -EINVAL, "this node has no level '%s' that holds every core",
			topo_level_name(level));
	domain = calloc((size_t)n, sizeof(*domain));
	if (!domain)
		return err_set(err, -ENOMEM, "out of memory");
	for (int d = 0; d < n; d++) {
		domain[d].first_core = filled;
		for (int i = 0; i < t->n_cores; i++) {
			struct topo_core *c = &t->core[i];

			if ((level == TOPO_CORE ? i : *level_field(c, level)) != d)
				continue;
			c->domain = d;
			t->domain_core[filled++] = i;
			coreset_or(&domain[d].pus, &domain[d].pus, &c->pus);
		}
		domain[d].n_cores = filled - domain[d].first_core;
		domain[d].numa = t->core[t->domain_core[domain[d].first_core]].numa;
	}
	free(t->domain);
	t->domain = domain;
	t->n_domains = n;
	t->domain_level = level;
	return 0;
}

/* What loads the same again, wherever it came from. */
static int keep_source(struct topo *t, hwloc_topology_t h, const char *source, struct errbuf *err)
{
	enum source_kind kind = source_kind(source);
	char *xml;
	int len;

	if (kind == SYNTHETIC || kind == XML_TEXT) {
		t->source = strdup(source);
	} else if (hwloc_topology_export_xmlbuffer(h, &xml, &len, 0) == 0) {
		t->source = strdup(xml);
		hwloc_free_xmlbuffer(h, xml);
	} else {
		return err_set(err, -EINVAL, "hwloc cannot write this topology as XML");
	}
	return t->source ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int topo_load(struct topo **ret, const char *source, struct errbuf *err)
{
	cleanup_topology hwloc_topology_t h = NULL;
	cleanup_topo struct topo *t = NULL;
	uint64_t l2_bytes = 0, l3_bytes = 0;
	int rc = load_hwloc(&h, source, err);

	if (rc)
		return rc;
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	rc = copy_cores(t, h, err);
	if (rc)
		return rc;
	t->n_packages = number_level(t, h, HWLOC_OBJ_PACKAGE, TOPO_PACKAGE, NULL);
	t->n_numa = number_level(t, h, HWLOC_OBJ_NUMANODE, TOPO_NUMA, NULL);
	t->n_l3 = number_level(t, h, HWLOC_OBJ_L3CACHE, TOPO_L3, &l3_bytes);
	t->n_l2 = number_level(t, h, HWLOC_OBJ_L2CACHE, TOPO_L2, &l2_bytes);
	t->llc_bytes = l3_bytes ? l3_bytes : l2_bytes;
	rc = topo_set_domains(t, TOPO_AUTO, err);
	if (!rc)
		rc = keep_source(t, h, source, err);
	if (rc)
		return rc;
	*ret = take_ptr(t);
	return 0;
}

void topo_free(struct topo *t)
{
	if (!t)
		return;
	free(t->core);
	free(t->domain);
	free(t->domain_core);
	free(t->source);
	free(t);
}

int topo_level_parse(const char *name, enum topo_level *ret)
{
	for (int i = 0; i < (int)(sizeof(level_name) / sizeof(level_name[0])); i++)
		if (strcmp(name, level_name[i]) == 0) {
			*ret = (enum topo_level)i;
			return 0;
		}
	return -EINVAL;
}

const char *topo_level_name(enum topo_level level)
{
	return level_name[level];
}

void topo_whole_cores(const struct topo *t, const struct coreset *pus, struct coreset *ret)
{
	struct coreset out;

	coreset_zero(&out);
	/* Every decision asks for each job: words by hand here, too. */
	for (int i = 0; i < t->n_words; i++) {
		uint64_t left = pus->w[i] & t->all.w[i];

		if (t->pu_is_core) {
			out.w[i] = left;
			continue;
		}
		for (left &= ~out.w[i]; left; left = left & (left - 1) & ~out.w[i]) {
			int c = t->pu_core[i * 64 + __builtin_ctzll(left)];

			for (int k = 0; c >= 0 && k < t->n_words; k++)
				out.w[k] |= t->core[c].pus.w[k];
		}
	}
	*ret = out;
}

int topo_count_cores(const struct topo *t, const struct coreset *pus)
{
	uint64_t seen[CORESET_WORDS];
	int n = 0;

	/* Every decision counts many sets: words by hand, not one call for each PU. */
	if (t->pu_is_core) {
		for (int i = 0; i < t->n_words; i++)
			n += __builtin_popcountll(pus->w[i] & t->all.w[i]);
		return n;
	}
	for (int i = 0; i < t->n_words; i++)
		seen[i] = 0;
	for (int i = 0; i < t->n_words; i++)
		for (uint64_t w = pus->w[i]; w; w &= w - 1) {
			int c = t->pu_core[i * 64 + __builtin_ctzll(w)];

			if (c >= 0 && !(seen[c / 64] >> (c % 64) & 1)) {
				seen[c / 64] |= UINT64_C(1) << (c % 64);
				n++;
			}
		}
	return n;
}
