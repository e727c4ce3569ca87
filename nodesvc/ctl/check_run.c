/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check_run.c - gets what the checks look at, and runs them one after the other. */
#include <errno.h>
#include <stdio.h>

#include "common/cleanup.h"
#include "nodesvc/ctl/ctl.h"
#include "nodesvc/ctl/check.h"

/* Twice, where it takes long: to say in between what is being waited for. */
static void ask_status(struct check_env *e)
{
	struct ctl_request rq = {.cmd = "status"};
	cleanup_free char *text = NULL;
	struct errbuf err = {""};
	int left_ms = e->ctl->timeout_ms - CAPTURE_NOTICE_MS, rc;

	rc = client_call_text(e->ctl->socket, left_ms > 0 ? CAPTURE_NOTICE_MS : e->ctl->timeout_ms,
		&rq, &text, &err);
	if (rc == -ETIMEDOUT && left_ms > 0) {
		capture_notice("colocd", e->ctl->timeout_ms);
		rc = client_call_text(e->ctl->socket, left_ms, &rq, &text, &err);
	}
	if (rc == 0)
		e->status = json_tokener_parse(text);
	else
		snprintf(e->status_error, sizeof(e->status_error), "%s", err.text);
}

void check_run(struct check_list *l, const struct ctl *ctl, const char *tree)
{
	struct check_env e = {.ctl = ctl, .tree = tree ? tree : "", .root = {.fd = -1}};
	struct errbuf err = {""};

	if (fsroot_open(&e.root, tree, &err) < 0) {
		check_add(l, CHECK_FAIL, "root", "Give a directory.", "%s", err.text);
		return;
	}
	if (slurm_conf_load(&e.slurm, e.tree, ctl->timeout_ms, &err) < 0)
		snprintf(e.slurm_error, sizeof(e.slurm_error), "%s", err.text);
	ask_status(&e);
	check_slurm(l, &e);
	check_plugin(l, &e);
	check_service(l, &e);
	check_node(l, &e);
	slurm_conf_free(e.slurm);
	json_object_put(e.status);
	fsroot_close(&e.root);
}
