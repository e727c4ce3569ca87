/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

/* Pipes that were read, and the memory they are in now. */
static struct {
	dev_t dev;
	ino_t ino;
	int fd;
} kept[INFILE_PIPES_MAX];
static int n_kept;

/* All that is to come from @from; a descriptor, or -errno. */
static int copy_to_memory(int from)
{
	cleanup_close int fd = memfd_create("coloc-input", MFD_CLOEXEC);
	size_t len = 0;
	char buf[16384];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(from, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || write(fd, buf, (size_t)n) != n)
			return errno ? -errno : -EIO;
		len += (size_t)n;
		if (len > INFILE_PIPE_MAX)
			return -EFBIG;
	}
	return take_fd(fd);
}

/* The memory that holds what came from @fd, a pipe of @st; -errno. */
static int keep(int fd, const struct stat *st)
{
	int memory;

	for (int i = 0; i < n_kept; i++)
		if (kept[i].dev == st->st_dev && kept[i].ino == st->st_ino)
			return kept[i].fd;
	if (n_kept == INFILE_PIPES_MAX)
		return -EMFILE;
	memory = copy_to_memory(fd);
	if (memory < 0)
		return memory;
	kept[n_kept].dev = st->st_dev;
	kept[n_kept].ino = st->st_ino;
	kept[n_kept++].fd = memory;
	return memory;
}

FILE *infile_open(const char *path)
{
	cleanup_close int fd = -1;
	char again[32];
	struct stat st;
	FILE *f;
	int rc;

	fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
				    : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return NULL;
	/* Of a file that a shell opened for us every reader would share the place. */
	if (strcmp(path, "-") == 0 || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
		S_ISCHR(st.st_mode)) {
		rc = keep(fd, &st);
		if (rc < 0) {
			errno = -rc;
			return NULL;
		}
		/* A description of its own: each reader has its own place in it. */
		snprintf(again, sizeof(again), "/proc/self/fd/%d", rc);
		return fopen(again, "re");
	}
	f = fdopen(fd, "r");
	if (f)
		(void)take_fd(fd);
	return f;
}
