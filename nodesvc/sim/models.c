/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * models.c - the models of a folder, or those that the build took from nodesvc/sim/models/.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "nodesvc/sim/model.h"
#include "nodesvc/sim/models_builtin.h"

static int add(struct program *p, int *n, const char *path, const char *text, struct errbuf *err)
{
	struct model m;
	int rc;

	if (*n == MODELS_MAX)
		return err_set(err, -E2BIG, "%s: more than %d models", path, MODELS_MAX);
	rc = model_read(&m, path, text, err);
	if (rc)
		return rc;
	for (int i = 0; i < *n; i++)
		if (strcmp(p[i].name, m.name) == 0)
			return err_set(err, -EINVAL, "%s: a second model named '%s'", path, m.name);
	model_program(&m, &p[(*n)++]);
	return 0;
}

static int is_model(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 5 && e->d_name[0] != '.' && strcmp(e->d_name + n - 5, ".yaml") == 0;
}

int models_load(struct program ret[MODELS_MAX], int *ret_n, const char *dir, struct errbuf *err)
{
	cleanup_free struct program *p = calloc(MODELS_MAX, sizeof(*p));
	struct dirent **entry = NULL;
	int n = 0, rc = 0, found;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	for (const struct model_text *t = models_builtin; !dir && t->path && !rc; t++)
		rc = add(p, &n, t->path, t->text, err);
	found = dir ? scandir(dir, &entry, is_model, alphasort) : 0;
	if (found < 0)
		return err_set(err, -errno, "%s: %s", dir, strerror(errno));
	for (int i = 0; i < found; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", dir, entry[i]->d_name);
		if (!rc)
			rc = add(p, &n, path, NULL, err);
		free(entry[i]);
	}
	free(entry);
	if (!rc && n == 0)
		rc = err_set(
			err, -ENOENT, "%s: no model (NAME.yaml) there", dir ? dir : "built in");
	if (rc)
		return rc;
	memcpy(ret, p, (size_t)n * sizeof(*p));
	*ret_n = n;
	return 0;
}
