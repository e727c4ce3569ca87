/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as /proc/TID/stat, /proc/PID/cgroup and mountinfo: a thread's name is its owner's. */
#include "nodesvc/actuate/internal.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), a[256], b[256];
	struct proc_stat st;
	struct step_cgroup s;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (proc_stat_parse(text, &st) == 0 && strlen(st.comm) >= sizeof(st.comm))
		abort();
	if (locate_cgroup_path(text, "cpuset", a, sizeof(a)) == 0)
		locate_step(a, &s);
	if (locate_step(text, &s) == 0 &&
		(strncmp(s.step_path, s.job_path, strlen(s.job_path)) != 0 ||
			s.job_path[0] == '/' || strncmp(s.job_path, "slurm", 5) != 0))
		abort();
	if (locate_step_v2(text, &s) == 0 &&
		(strncmp(s.step_path, s.job_path, strlen(s.job_path)) != 0 ||
			s.job_path[0] == '/' || (s.sluid[0] && s.job_id)))
		abort();
	if (locate_mounted(text, &hierarchies[0]->mount, a, b, sizeof(a)) == 0 &&
		(a[0] == '/' || b[0] == '/'))
		abort();
	free(text);
	return 0;
}
