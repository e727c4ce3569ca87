/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_topology.c - writes the machine's topology as hwloc's XML, as if it had its first cores
 * only, a hardware thread each: "live_topology CORES". With HWLOC_XMLFILE (and HWLOC_THISSYSTEM=1)
 * in their environment slurmd and colocd take it for the machine's, so that the live tests have a
 * node of two CPUs on machines with more.
 */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	hwloc_bitmap_t keep = hwloc_bitmap_alloc();
	hwloc_topology_t t;
	char *xml;
	int n = argc == 2 ? atoi(argv[1]) : 0, len;

	if (n < 1 || !keep) {
		fprintf(stderr, "usage: live_topology CORES\n");
		return 2;
	}
	if (hwloc_topology_init(&t) < 0 ||
		hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
		hwloc_topology_load(t) < 0) {
		fprintf(stderr, "live_topology: hwloc does not know this machine\n");
		return 1;
	}
	for (int i = 0; i < n; i++) {
		hwloc_obj_t core = hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, (unsigned)i);

		if (!core) {
			fprintf(stderr, "live_topology: it has fewer than %d cores\n", n);
			return 1;
		}
		hwloc_bitmap_set(keep, (unsigned)hwloc_bitmap_first(core->cpuset));
	}
	if (hwloc_topology_restrict(t, keep, 0) < 0 ||
		hwloc_topology_export_xmlbuffer(t, &xml, &len, 0) < 0) {
		fprintf(stderr, "live_topology: hwloc cannot restrict it\n");
		return 1;
	}
	fputs(xml, stdout);
	hwloc_free_xmlbuffer(t, xml);
	hwloc_topology_destroy(t);
	hwloc_bitmap_free(keep);
	return 0;
}
