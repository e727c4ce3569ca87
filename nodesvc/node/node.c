/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/node/node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void name_type(struct node *n)
{
	char model[40] = "cpu", line[256];
	FILE *f = fopen("/proc/cpuinfo", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
			snprintf(model, sizeof(model), "%s", strchr(line, ':') + 2);
			model[strcspn(model, "\n")] = '\0';
			break;
		}
	if (f)
		fclose(f);
	snprintf(n->type, sizeof(n->type), "%s, %d cores", model, n->topo->n_cores);
}

int node_open(struct node *n, enum topo_level domain, struct errbuf *err)
{
	int rc;

	*n = (struct node){.root.fd = -1};
	rc = fsroot_open(&n->root, NULL, err);
	if (rc < 0)
		return rc;
	/* Before: what comes or goes meanwhile is seen at the next look. */
	if (fsroot_read(&n->root, NODE_ONLINE, n->online, sizeof(n->online)) <= 0)
		n->online[0] = '\0';
	n->online[strcspn(n->online, "\n")] = '\0';
	rc = topo_load(&n->topo, NULL, err);
	if (rc == 0)
		rc = topo_set_domains(n->topo, domain, err);
	if (rc < 0)
		return err_wrap(err, rc, "topology");
	n->start_pus = n->topo->all;
	name_type(n);
	return 0;
}

void node_close(struct node *n)
{
	topo_free(n->topo);
	n->topo = NULL;
	fsroot_close(&n->root);
}

int node_reserve(struct node *n, const struct coreset *reserve, struct errbuf *err)
{
	coreset_andnot(&n->usable, &n->topo->all, reserve);
	return coreset_is_empty(&n->usable) ? err_set(err, -EINVAL, "key 'reserve': no CPU is left")
					    : 0;
}
