/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_topology.c - writes the machine's topology as hwloc's XML, as if it had so many cores only,
 * the first that the caller may run on, a hardware thread each: "live_topology CORES". With
 * HWLOC_XMLFILE (and HWLOC_THISSYSTEM=1) in their environment slurmd and colocd take it for the
 * machine's, so that the live tests have a node of two CPUs on machines with more.
 */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	hwloc_bitmap_t keep = hwloc_bitmap_alloc(), may = hwloc_bitmap_alloc(),
		       pu = hwloc_bitmap_alloc();
	hwloc_obj_t core = NULL;
	hwloc_topology_t t;
	char *xml;
	int n = argc == 2 ? atoi(argv[1]) : 0, len;

	if (n < 1 || !keep || !may || !pu) {
		fprintf(stderr, "usage: live_topology CORES\n");
		return 2;
	}
	if (hwloc_topology_init(&t) < 0 ||
		hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_ALL) < 0 ||
		hwloc_topology_load(t) < 0 ||
		hwloc_get_cpubind(t, may, HWLOC_CPUBIND_PROCESS) < 0) {
		fprintf(stderr, "live_topology: hwloc does not know this machine\n");
		return 1;
	}
	while (n > 0 && (core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core))) {
		if (!hwloc_bitmap_intersects(core->cpuset, may))
			continue;
		hwloc_bitmap_and(pu, core->cpuset, may);
		hwloc_bitmap_set(keep, (unsigned)hwloc_bitmap_first(pu));
		n--;
	}
	if (n > 0) {
		fprintf(stderr, "live_topology: %d cores are missing\n", n);
		return 1;
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
	hwloc_bitmap_free(may);
	hwloc_bitmap_free(pu);
	return 0;
}
