/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/steps/steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ipc.h"

#define GRANT_BYTES  4096
#define REPORT_BYTES 20480
/* Older headers do not have them. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

static_assert(CORESET_WORDS == COLOC_GRANT_WORDS, "a grant holds a coreset");

/* A mapped memory file whose size nobody can change; its descriptor, or -errno. */
static int make_file(const char *name, size_t bytes, void **ret_map, struct errbuf *err)
{
	cleanup_close int fd =
		memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	void *map;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return err_set(err, -errno, "memfd_create: %s", strerror(errno));
	/* Opened again through /proc it is root's. */
	if (ftruncate(fd, (off_t)bytes) < 0 || fchmod(fd, 0400) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return err_set(err, -errno, "%s: %s", name, strerror(errno));
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return err_set(err, -errno, "%s: mmap: %s", name, strerror(errno));
	*ret_map = map;
	return take_fd(fd);
}

/* The same file without the right to write; replaces @fd. */
static int make_read_only(int *fd, struct errbuf *err)
{
	char path[64];
	int ro;

	/* Before Linux 5.1 (-EINVAL) the read-only descriptor and the mode alone keep writers off:
	 * all but root's own jobs. */
	if (fcntl(*fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0 &&
		(errno != EINVAL || fcntl(*fd, F_ADD_SEALS, F_SEAL_SEAL) < 0))
		return err_set(err, -errno, "F_ADD_SEALS: %s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	if (ro < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	close(*fd);
	*fd = ro;
	return 0;
}

int pages_create(struct pages **ret, int beat_ms, struct errbuf *err)
{
	struct pages *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->report_fd = -1;
	p->grant_fd = rc = make_file("coloc-grant", GRANT_BYTES, (void **)&p->grant, err);
	if (rc >= 0)
		rc = make_read_only(&p->grant_fd, err);
	if (rc == 0)
		p->report_fd = rc =
			make_file("coloc-report", REPORT_BYTES, (void **)&p->report, err);
	if (rc >= 0 && fcntl(p->report_fd, F_ADD_SEALS, F_SEAL_SEAL) < 0)
		rc = err_set(err, -errno, "F_ADD_SEALS: %s", strerror(errno));
	if (rc < 0) {
		pages_free(p);
		return rc;
	}
	p->grant->magic = COLOC_GRANT_MAGIC;
	p->grant->version = COLOC_PAGE_VERSION;
	p->grant->beat_ms = (uint32_t)beat_ms;
	p->report->magic = COLOC_REPORT_MAGIC;
	p->report->version = COLOC_PAGE_VERSION;
	p->report->n_slots = COLOC_SLOTS;
	p->report->slot_bytes = sizeof(struct coloc_slot);
	pages_beat(p, ipc_now_ns());
	*ret = p;
	return 0;
}

void pages_free(struct pages *p)
{
	if (!p)
		return;
	if (p->grant) {
		pages_beat(p, 0);
		munmap(p->grant, GRANT_BYTES);
	}
	if (p->report)
		munmap(p->report, REPORT_BYTES);
	if (p->grant_fd >= 0)
		close(p->grant_fd);
	if (p->report_fd >= 0)
		close(p->report_fd);
	free(p);
}

void pages_grant(struct pages *p, const struct coreset *set, int cores)
{
	struct coloc_grant *g = p->grant;
	bool same = g->cores == (uint32_t)cores;

	for (int w = 0; w < COLOC_GRANT_WORDS; w++)
		same &= g->set[w] == set->w[w];
	if (same && g->generation)
		return;
	__atomic_fetch_add(&g->generation, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&g->cores, (uint32_t)cores, __ATOMIC_RELAXED);
	for (int w = 0; w < COLOC_GRANT_WORDS; w++)
		__atomic_store_n(&g->set[w], set->w[w], __ATOMIC_RELAXED);
	__atomic_fetch_add(&g->generation, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &g->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void pages_beat(struct pages *p, int64_t now_ns)
{
	__atomic_store_n(&p->grant->alive_ns, now_ns, __ATOMIC_RELAXED);
}
