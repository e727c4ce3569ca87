/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any file as a workload of colocsim run, of jobs or of tasks: refused with file and line, or
 * within its bounds. It is not run: how long that takes is what a workload says. */
#include "nodesvc/sim/task_workload.h"
#include "nodesvc/sim/workload.h"
#include "tests/fuzz/fuzz.h"

static void check_tasks(const char *path)
{
	struct task_workload *w = NULL;
	struct errbuf err = {""};
	int rc = task_workload_read(&w, path, &err);

	FUZZ_ASSERT_RESULT(rc, err);
	if (rc == 0)
		FUZZ_ASSERT(w->n_policies <= TASK_POLICIES_MAX);
	task_workload_free(w);
}

static void check_jobs(const char *path)
{
	struct workload *w = NULL;
	struct errbuf err = {""};
	int rc = workload_read(&w, path, &err);

	FUZZ_ASSERT_RESULT(rc, err);
	if (rc == 0)
		FUZZ_ASSERT(w->n_policies <= WORKLOAD_POLICIES_MAX &&
			    w->n_programs <= WORKLOAD_PROGRAMS_MAX && w->n_jobs <= DRIVE_JOBS_MAX);
	free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);

	if (task_workload_is(path))
		check_tasks(path);
	else
		check_jobs(path);
	return 0;
}
