/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/live/hanging_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOT_INODE 1
#define FILE_INODE 2
#define READ_MOST  (64 * 1024)
#define LOOK_MS    20

struct served {
	int fuse, file;
	off_t size;
};

static void reply(const struct served *s, uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header h = {
		.len = (uint32_t)(sizeof(h) + size), .error = error, .unique = unique};
	struct iovec v[] = {{&h, sizeof(h)}, {(void *)data, size}};

	if (writev(s->fuse, v, 2) < 0 && errno != ENOENT)
		_exit(1);
}

static struct fuse_attr attributes(const struct served *s, uint64_t inode)
{
	return (struct fuse_attr){.ino = inode,
		.size = inode == FILE_INODE ? (uint64_t)s->size : 0,
		.mode = inode == FILE_INODE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096};
}

static void answer_read(const struct served *s, uint64_t unique, const struct fuse_read_in *r)
{
	static char bytes[READ_MOST];
	ssize_t n =
		pread(s->file, bytes, r->size < READ_MOST ? r->size : READ_MOST, (off_t)r->offset);

	reply(s, unique, 0, bytes, n > 0 ? (size_t)n : 0);
}

static void answer(const struct served *s, const char *buf, bool hangs)
{
	const struct fuse_in_header *in = (const void *)buf;
	const void *body = buf + sizeof(*in);
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_write = READ_MOST,
		.max_readahead = READ_MOST};
	struct fuse_entry_out entry = {.nodeid = FILE_INODE,
		.entry_valid = 3600,
		.attr_valid = 3600,
		.attr = attributes(s, FILE_INODE)};
	struct fuse_attr_out attr = {.attr_valid = 3600, .attr = attributes(s, in->nodeid)};
	struct fuse_open_out opened = {.open_flags = FOPEN_KEEP_CACHE};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(s, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(s, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(s, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(s, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		if (!hangs)
			answer_read(s, in->unique, body);
		break;
	case FUSE_RELEASE:
		reply(s, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(s, in->unique, -ENOSYS, NULL, 0);
	}
}

static void forget_pages(const struct served *s)
{
	struct fuse_notify_inval_inode_out what = {.ino = FILE_INODE, .off = 0, .len = 0};
	struct fuse_out_header h = {
		.len = sizeof(h) + sizeof(what), .error = FUSE_NOTIFY_INVAL_INODE};
	struct iovec v[] = {{&h, sizeof(h)}, {&what, sizeof(what)}};

	/* Nobody may know the file yet. */
	if (writev(s->fuse, v, 2) < 0 && errno != ENOENT)
		_exit(1);
}

__attribute__((noreturn)) static void serve(const struct served *s, volatile int *hang)
{
	static char buf[READ_MOST + FUSE_MIN_READ_BUFFER];
	struct pollfd p = {.fd = s->fuse, .events = POLLIN};

	for (;;) {
		if (poll(&p, 1, LOOK_MS) > 0) {
			if (read(s->fuse, buf, sizeof(buf)) > 0)
				answer(s, buf, *hang != 0);
			else if (errno == ENODEV)
				_exit(0);
		}
		if (*hang == 1) {
			forget_pages(s);
			*hang = 2;
		}
	}
}

int hanging_fs_start(struct hanging_fs *f, const char *like, uid_t uid)
{
	struct served s = {.fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC),
		.file = open(like, O_RDONLY | O_CLOEXEC)};
	char options[96];
	struct stat st;
	int rc;

	snprintf(f->dir, sizeof(f->dir), "/tmp/coloc-hanging.XXXXXX");
	if (s.fuse < 0 || s.file < 0 || fstat(s.file, &st) < 0 || !mkdtemp(f->dir))
		return -errno;
	s.size = st.st_size;
	snprintf(f->path, sizeof(f->path), "%s/file", f->dir);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=0,allow_other",
		s.fuse, uid);
	if (mount("coloc-test", f->dir, "fuse", MS_NODEV, options) < 0) {
		rc = -errno;
		rmdir(f->dir);
		return rc;
	}
	f->hang =
		mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	f->server = fork();
	if (f->server == 0)
		serve(&s, f->hang);
	close(s.fuse);
	close(s.file);
	return 0;
}

void hanging_fs_hang(struct hanging_fs *f)
{
	*(volatile int *)f->hang = 1;
	while (*(volatile int *)f->hang != 2 && waitpid(f->server, NULL, WNOHANG) == 0)
		usleep(1000);
}

/* Without a server the kernel ends what waits for it. */
void hanging_fs_stop(struct hanging_fs *f)
{
	kill(f->server, SIGKILL);
	waitpid(f->server, NULL, 0);
	umount2(f->dir, MNT_DETACH);
	rmdir(f->dir);
	munmap(f->hang, sizeof(int));
}
