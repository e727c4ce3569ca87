/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/bench/realmix/profile.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "contrib/bench/realmix/slurm.h"

#define FILE_OF_SOCKET "/sys/devices/system/cpu/cpu0/topology/package_cpus_list"

/* The CPUs of the first socket, as taskset takes them. */
static void find_socket(char *ret, size_t size)
{
	FILE *f = fopen(FILE_OF_SOCKET, "r");

	/* Older kernels, some virtual machines. */
	if (!f)
		f = fopen("/sys/devices/system/cpu/online", "r");
	if (!f || !fgets(ret, (int)size, f))
		snprintf(ret, size, "0");
	ret[strcspn(ret, "\n")] = '\0';
	if (f)
		fclose(f);
}

static bool is_done(const char *done, const char *program)
{
	size_t n = strlen(program);

	for (const char *at = done; (at = strstr(at, program)); at++)
		if ((at == done || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' '))
			return true;
	return false;
}

int profile_mix(const struct mix *mix, const char *socket, int log_fd, char *done, size_t size,
	struct errbuf *err)
{
	char cpus[256], option[128];

	find_socket(cpus, sizeof(cpus));
	snprintf(option, sizeof(option), "--socket=%s", socket);
	for (int p = 0; p < mix->n; p++) {
		const char *const *argv = mix->program[p].argv;
		const char *all[ARGV_MAX + 8] = {
			"taskset", "-c", cpus, "colocctl", option, "profile", "--"};
		int n = 7, rc;

		if (is_done(done, argv[0]))
			continue;
		for (int i = 0; argv[i]; i++)
			all[n++] = argv[i];
		fprintf(stderr, "realmix: profiling %s on CPUs %s\n", argv[0], cpus);
		rc = slurm_run(all, log_fd, err);
		if (rc)
			return rc;
		snprintf(done + strlen(done), size - strlen(done), "%s%s", done[0] ? " " : "",
			argv[0]);
	}
	return 0;
}
