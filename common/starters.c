/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/starters.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

static const char *const launchers[] = {
	/* shells */
	"ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "lksh", "mksh", "nu",
	"oksh", "pwsh", "rbash", "rc", "sh", "tcsh", "toybox", "xonsh", "yash", "zsh",
	/* who sets something up and becomes another */
	"capsh", "chpst", "chroot", "chrt", "choom", "daemonize", "dumb-init", "env", "fakeroot",
	"flock", "hwloc-bind", "ionice", "likwid-perfctr", "likwid-pin", "nice", "nohup", "nsenter",
	"numactl", "prlimit", "runuser", "setarch", "setpriv", "setsid", "softlimit", "ssh",
	"stdbuf", "su", "sudo", "taskset", "tini", "uclampset", "unbuffer", "unshare", "xvfb-run",
	/* who watches, or repeats */
	"entr", "expect", "gdb", "gdbserver", "hyperfine", "lldb", "ltrace", "perf", "rr", "screen",
	"script", "strace", "time", "timeout", "tmux", "watch",
	/* who sets up a Python, and starts what is in it */
	"accelerate", "conda", "deepspeed", "mamba", "micromamba", "poetry", "torchrun", "uv",
	/* who starts many */
	"bazel", "cmake", "ctest", "find", "gmake", "make", "ninja", "parallel", "run-parts",
	"scons", "snakemake", "xargs",
	/* MPI, and other nodes' */
	"aprun", "flux", "flux-broker", "flux-shell", "hydra_bstrap_proxy", "hydra_nameserver",
	"hydra_pmi_proxy", "ibrun", "jsrun", "mpiexec", "mpirun", "orte-submit", "orted", "orterun",
	"prte", "prted", "prterun", "prun", "pmi_proxy", "sattach", "srun", "sbatch", "salloc",
	/* containers */
	"apptainer", "bwrap", "catatonit", "ch-run", "conmon", "crun", "docker-init", "enroot",
	"pause", "podman", "runc", "sarus", "shifter", "singularity", "starter", "starter-suid",
	"udocker"};

static const char *const interpreters[] = {"R", "Rscript", "awk", "gawk", "groovy", "guile",
	"ipython", "java", "julia", "lua", "luajit", "mawk", "node", "octave", "octave-cli", "perl",
	"php", "pypy", "python", "ruby", "scala", "tclsh", "wish"};

/* The longest name, and no more of a name is looked at. */
#define NAME_MAX_LEN 32

/* "python3.11" is python, "mpiexec.hydra" mpiexec, "bash (deleted)" bash. */
static void cut(char *name)
{
	size_t n;

	name[strcspn(name, ". ")] = '\0';
	n = strlen(name);
	while (n > 1 && strchr("0123456789-", name[n - 1]))
		name[--n] = '\0';
}

static bool is_among(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, list[i]) == 0)
			return true;
	return false;
}

enum starter starter_of(const char *executable)
{
	const char *last = strrchr(executable, '/');
	char name[NAME_MAX_LEN];

	snprintf(name, sizeof(name), "%s", last ? last + 1 : executable);
	cut(name);
	/* Its fork becomes a task; Debian's is slurmstepd-wlm. */
	if (is_among(name, launchers, sizeof(launchers) / sizeof(launchers[0])) ||
		strncmp(name, "slurmstepd", strlen("slurmstepd")) == 0)
		return STARTER_LAUNCHER;
	if (is_among(name, interpreters, sizeof(interpreters) / sizeof(interpreters[0])))
		return STARTER_INTERPRETER;
	return STARTER_NONE;
}

uint64_t starter_script(int argc, char *const *argv, const char *cwd)
{
	bool interprets = starter_of(argv[0]) == STARTER_INTERPRETER;
	uint64_t h = TEXT_HASH_START;

	for (int i = 1; i < argc; i++) {
		h = text_hash(h, argv[i]);
		if (interprets && *argv[i] != '-')
			return *argv[i] == '/' ? h : text_hash(h, cwd);
	}
	return text_hash(h, cwd);
}
