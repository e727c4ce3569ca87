/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "nodesvc/ctl/client.h"
#include "nodesvc/record/record.h"

int acct_source_store(const char *store, const char *filter,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err)
{
	struct record *r = NULL;
	char path[PATH_MAX];
	int rc;

	if (snprintf(path, sizeof(path), "%s/coloc.db", store) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "--store: '%.80s...' is too long", store);
	rc = record_open(&r, path, true, err);
	if (rc == 0)
		rc = acct_query_json(r, 0, filter, row, arg, err);
	record_close(r);
	return rc;
}

int acct_source_daemon(const char *socket_path, const char *filter,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err)
{
	struct ctl_request rq = {.cmd = "acct", .json = filter};
	cleanup_free char *text = NULL;
	struct json_object *root, *steps = NULL;
	int rc = client_call_text(socket_path, CTL_TIMEOUT_MS, &rq, &text, err);

	if (client_is_down(rc))
		err_wrap(err, rc, "colocd does not answer (users read their rows through it)");
	if (rc < 0)
		return rc;
	root = json_tokener_parse(text);
	if (!json_object_is_type(root, json_type_object) ||
		!json_object_object_get_ex(root, "steps", &steps) ||
		!json_object_is_type(steps, json_type_array))
		rc = err_set(err, -EPROTO, "%s: the answer has no 'steps'", socket_path);
	/* All first: half an answer is none. */
	for (size_t i = 0; rc == 0 && i < json_object_array_length(steps); i++) {
		rc = acct_row_check(json_object_array_get_idx(steps, i), err);
		if (rc < 0)
			err_wrap(err, rc, "%s: step %zu of the answer", socket_path, i + 1);
	}
	for (size_t i = 0; rc == 0 && i < json_object_array_length(steps); i++)
		rc = row(json_object_to_json_string_ext(json_object_array_get_idx(steps, i),
				 JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			arg);
	json_object_put(root);
	return rc;
}

struct json_object *acct_source_jobs(const char *socket_path)
{
	struct ctl_request rq = {.cmd = "jobs"};
	cleanup_free char *text = NULL;
	struct json_object *root, *steps;
	struct errbuf err;

	if (client_call_text(socket_path, CTL_TIMEOUT_MS, &rq, &text, &err) < 0)
		return NULL;
	root = json_tokener_parse(text);
	steps = json_object_get(html_get(root, "steps"));
	json_object_put(root);
	if (json_object_is_type(steps, json_type_array))
		return steps;
	json_object_put(steps);
	return NULL;
}
