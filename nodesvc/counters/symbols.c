/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/counters/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/apart.h"
#include "common/elf_image.h"
#include "common/fsroot.h"
#include "common/text.h"
#include "nodesvc/counters/userfs.h"

/* Of all files of a program; the largest libraries have some hundred thousand. */
#define ENTRIES_MAX (8 << 20)
#define RAW_MAX     1024
#define OPEN_MAX    192
/* Of a process's maps: some tests make 64 000. */
#define LINES_MAX    1000000
#define SEGMENTS_MAX 64

/* ---- one file ------------------------------------------------------------------------------ */

struct raw_site {
	uint64_t offset;
	uint16_t call;
	uint16_t file;
	uint8_t called;
	uint8_t fortran; /* by none of C's names */
};

struct raw_file {
	int fd;
	char name[64];
};

struct symbols_reader {
	const struct callnames_own *own;
	int left; /* entries that may still be looked at */
	int n_raw, n_files;
	bool cut;
	struct raw_site raw[RAW_MAX];
	struct raw_file file[OPEN_MAX];
	uint8_t asked[CALLNAMES_MAX]; /* by call: a file asks for it */
	struct symbols result;
};

/* A table of symbols, and of their names, as far as they are in the file. */
struct symbol_table {
	const ElfW(Sym) * at;
	uint64_t n;
	const char *names;
	uint64_t names_size;
};

static const char *name_of(const struct symbol_table *t, const ElfW(Sym) * s)
{
	uint64_t rest = s->st_name < t->names_size ? t->names_size - s->st_name : 0;

	if (rest > CALLNAME_MAX)
		rest = CALLNAME_MAX;
	return rest && memchr(t->names + s->st_name, '\0', rest) ? t->names + s->st_name : NULL;
}

static void add_site(struct symbols_reader *r, int first, int call, uint64_t offset, bool fortran)
{
	for (int i = first; i < r->n_raw; i++)
		if (r->raw[i].offset == offset && r->raw[i].call == call) {
			r->raw[i].fortran &= fortran;
			return;
		}
	if (r->n_raw == RAW_MAX) {
		r->cut = true;
		return;
	}
	r->raw[r->n_raw++] = (struct raw_site){.offset = offset,
		.call = (uint16_t)call,
		.file = (uint16_t)r->n_files,
		.fortran = fortran};
}

/* @asks: what it wants of others, by call; NULL: that is no matter. */
static void read_table(struct symbols_reader *r, const struct elf_image *f,
	const struct symbol_table *t, int first, uint8_t *asks)
{
	for (uint64_t i = 0; i < t->n; i++) {
		const ElfW(Sym) *s = &t->at[i];
		int type = ELF64_ST_TYPE(s->st_info), call;
		const char *name;
		uint64_t offset;

		if (r->left-- <= 0) {
			r->cut = true;
			return;
		}
		if (type != STT_FUNC && !(type == STT_NOTYPE && s->st_shndx == SHN_UNDEF))
			continue;
		name = name_of(t, s);
		call = name ? callnames_find(name, r->own) : -1;
		if (call < 0)
			continue;
		if (s->st_shndx != SHN_UNDEF) {
			if (elf_offset(f, s->st_value, PF_X, &offset))
				add_site(r, first, call, offset,
					strcmp(name, callnames_get(call, r->own).name) != 0);
		} else if (asks) {
			asks[call] = 1;
		}
	}
}

static bool names_at(
	const struct elf_image *f, uint64_t offset, uint64_t size, struct symbol_table *t)
{
	if (offset >= f->size)
		return false;
	t->names = (const char *)f->at + offset;
	t->names_size = size < f->size - offset ? size : f->size - offset;
	return true;
}

/* How many symbols the hash table of DT_GNU_HASH tells of: up to the end of the last chain. */
static uint64_t gnu_hash_count(const struct elf_image *f, uint64_t offset)
{
	const uint32_t *head = elf_part(f, offset, 4, sizeof(*head));
	const uint32_t *bucket, *chain;
	uint64_t last = 0, n_chain;

	if (!head)
		return 0;
	offset += 16 + (uint64_t)head[2] * sizeof(ElfW(Addr));
	bucket = elf_part(f, offset, head[0], sizeof(*bucket));
	for (uint32_t i = 0; bucket && i < head[0]; i++)
		if (bucket[i] > last)
			last = bucket[i];
	if (!bucket || last < head[1])
		return 0;
	offset += (uint64_t)head[0] * sizeof(*bucket);
	n_chain = offset < f->size ? (f->size - offset) / sizeof(*chain) : 0;
	chain = (const uint32_t *)(f->at + offset);
	while (last - head[1] < n_chain && !(chain[last - head[1]] & 1))
		last++;
	return last + 1;
}

static const ElfW(Shdr) * sections(const struct elf_image *f)
{
	return f->head->e_shentsize == sizeof(ElfW(Shdr))
		       ? elf_part(f, f->head->e_shoff, f->head->e_shnum, sizeof(ElfW(Shdr)))
		       : NULL;
}

static const ElfW(Shdr) * section_of(const struct elf_image *f, uint32_t type)
{
	const ElfW(Shdr) *s = sections(f);

	for (int i = 0; s && i < f->head->e_shnum; i++)
		if (s[i].sh_type == type)
			return &s[i];
	return NULL;
}

static bool find_symtab(const struct elf_image *f, struct symbol_table *ret)
{
	const ElfW(Shdr) *s = section_of(f, SHT_SYMTAB), *names;

	if (!s || s->sh_link >= f->head->e_shnum)
		return false;
	names = &sections(f)[s->sh_link];
	ret->n = s->sh_size / sizeof(*ret->at);
	ret->at = elf_part(f, s->sh_offset, ret->n, sizeof(*ret->at));
	return ret->at && names_at(f, names->sh_offset, names->sh_size, ret);
}

/* Of the last entry of that kind; 0: there is none. */
static uint64_t dynamic_value(const struct elf_image *f, int64_t tag)
{
	size_t n = 0;
	const ElfW(Dyn) *dyn = elf_dynamic(f, &n);
	uint64_t value = 0;

	for (size_t i = 0; dyn && i < n && dyn[i].d_tag != DT_NULL; i++)
		if (dyn[i].d_tag == tag)
			value = dyn[i].d_un.d_ptr;
	return value;
}

/* By the dynamic section alone: files need no sections to be loaded. */
static bool find_dynsym(const struct elf_image *f, struct symbol_table *ret)
{
	uint64_t symbols = dynamic_value(f, DT_SYMTAB), names = dynamic_value(f, DT_STRTAB);
	uint64_t hash = dynamic_value(f, DT_HASH), gnu_hash = dynamic_value(f, DT_GNU_HASH);
	const ElfW(Shdr) * s;
	const uint32_t *head;
	uint64_t offset;

	ret->n = 0;
	if (hash && elf_offset(f, hash, 0, &offset) &&
		(head = elf_part(f, offset, 2, sizeof(*head))))
		ret->n = head[1];
	else if (gnu_hash && elf_offset(f, gnu_hash, 0, &offset))
		ret->n = gnu_hash_count(f, offset);
	/* A file that defines nothing for others may have an empty table there. */
	s = section_of(f, SHT_DYNSYM);
	if (s && s->sh_size / sizeof(*ret->at) > ret->n)
		ret->n = s->sh_size / sizeof(*ret->at);
	if (!symbols || !elf_offset(f, symbols, 0, &offset))
		return false;
	ret->at = elf_part(f, offset, ret->n, sizeof(*ret->at));
	return ret->at && names && elf_offset(f, names, 0, &offset) &&
	       names_at(f, offset, dynamic_value(f, DT_STRSZ), ret);
}

static bool has_interpreter(const struct elf_image *f)
{
	for (int i = 0; i < f->n_phdr; i++)
		if (f->phdr[i].p_type == PT_INTERP)
			return true;
	return false;
}

/* ---- a program ----------------------------------------------------------------------------- */

struct symbols_reader *symbols_reader_new(const struct callnames_own *own)
{
	struct symbols_reader *r = calloc(1, sizeof(*r));

	if (r) {
		r->own = own;
		r->left = ENTRIES_MAX;
	}
	return r;
}

void symbols_reader_free(struct symbols_reader *r)
{
	for (int i = 0; r && i < r->n_files; i++)
		close(r->file[i].fd);
	free(r);
}

/* A library of MPI's that asks for MPI's functions, say that of Fortran, is not the program. */
static void note_asked(struct symbols_reader *r, int first, const uint8_t *asks)
{
	bool has[CALL_OF_SITE + 1] = {false};

	for (int i = first; i < r->n_raw; i++)
		has[callnames_get(r->raw[i].call, r->own).runtime] = true;
	for (size_t call = 0; call < sizeof(r->asked); call++)
		if (asks[call] && !has[callnames_get((int)call, r->own).runtime])
			r->asked[call] = 1;
}

void symbols_read(struct symbols_reader *r, int fd, const char *name, bool is_program)
{
	const char *slash = strrchr(name, '/');
	uint8_t asks[sizeof(r->asked)] = {0};
	struct symbol_table t;
	struct elf_image f;
	int first = r->n_raw;

	if (r->n_files == OPEN_MAX || !elf_map(fd, &f)) {
		r->cut |= r->n_files == OPEN_MAX;
		close(fd);
		return;
	}
	if (is_program) {
		r->result.has_program = 1;
		r->result.is_static = !has_interpreter(&f);
	}
	if (find_dynsym(&f, &t))
		read_table(r, &f, &t, first, asks);
	if (find_symtab(&f, &t))
		read_table(r, &f, &t, first, NULL);
	elf_close(&f);
	note_asked(r, first, asks);
	if (r->n_raw == first) {
		close(fd);
		return;
	}
	/* What is linked into the program is there because it is called. */
	for (int i = first; i < r->n_raw; i++)
		r->raw[i].called = is_program;
	r->file[r->n_files].fd = fd;
	snprintf(r->file[r->n_files].name, sizeof(r->file[0].name), "%s", slash ? slash + 1 : name);
	r->n_files++;
}

static int compare_sites(const void *a, const void *b)
{
	const struct raw_site *x = a, *y = b;

	if (x->called != y->called)
		return (int)y->called - (int)x->called;
	/* The site's own, behind the table, first. */
	if ((x->call >= callnames_n()) != (y->call >= callnames_n()))
		return x->call >= callnames_n() ? -1 : 1;
	if (x->call != y->call)
		return (int)x->call - (int)y->call;
	if (x->file != y->file)
		return (int)x->file - (int)y->file;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The number of raw file @raw in the result; -1: it has no room, or cannot be told. */
static int result_file(struct symbols_reader *r, int raw, int *number)
{
	struct symbol_file *f = &r->result.file[r->result.n_files];
	struct stat st;

	if (number[raw] >= 0)
		return number[raw];
	if (r->result.n_files == SYMBOLS_FILES_MAX || fstat(r->file[raw].fd, &st) < 0)
		return -1;
	f->fd = r->file[raw].fd;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->size = (uint64_t)st.st_size;
	memcpy(f->name, r->file[raw].name, sizeof(f->name));
	number[raw] = r->result.n_files++;
	return number[raw];
}

/* MPI libraries have Fortran's functions call those of C: one trap instead of two. */
static void drop_wrappers(struct symbols_reader *r)
{
	bool in_c[CALLNAMES_MAX] = {false};
	int n = 0;

	for (int i = 0; i < r->n_raw; i++)
		in_c[r->raw[i].call] |= !r->raw[i].fortran;
	for (int i = 0; i < r->n_raw; i++) {
		if (r->raw[i].fortran && in_c[r->raw[i].call])
			r->asked[r->raw[i].call] |= r->raw[i].called;
		else
			r->raw[n++] = r->raw[i];
	}
	r->n_raw = n;
}

const struct symbols *symbols_result(struct symbols_reader *r)
{
	int number[OPEN_MAX];

	for (int i = 0; i < OPEN_MAX; i++)
		number[i] = -1;
	drop_wrappers(r);
	for (int i = 0; i < r->n_raw; i++)
		r->raw[i].called |= r->asked[r->raw[i].call] || r->raw[i].call >= callnames_n();
	qsort(r->raw, (size_t)r->n_raw, sizeof(r->raw[0]), compare_sites);
	r->result.n_sites = r->result.n_files = 0;
	for (int i = 0; i < r->n_raw && r->result.n_sites < SYMBOLS_SITES_MAX; i++) {
		int file = result_file(r, r->raw[i].file, number);

		if (file < 0) {
			r->cut = true;
			continue;
		}
		r->result.site[r->result.n_sites++] = (struct symbol_site){
			.offset = r->raw[i].offset,
			.call = r->raw[i].call,
			.file = (uint8_t)file,
			.called = r->raw[i].called,
		};
	}
	r->result.cut = r->cut || r->n_raw > r->result.n_sites;
	return &r->result;
}

/* ---- apart --------------------------------------------------------------------------------- */

struct mapped {
	int fd;
	bool is_program;
	char name[64];
};

struct question {
	const struct command *command; /* or, NULL: */
	pid_t tid;
	const struct callnames_own *own;
	int n;
	struct mapped *file; /* OPEN_MAX */
};

/* The kernel reads the first bytes of a function when it is to be counted: they are in memory then.
 */
static void touch(const struct symbols *s)
{
	char bytes[16];

	for (int i = 0; i < s->n_sites; i++)
		if (pread(s->file[s->site[i].file].fd, bytes, sizeof(bytes),
			    (off_t)s->site[i].offset) < 0)
			return;
}

static void send_result(const struct symbols *s, int fd)
{
	union {
		char bytes[CMSG_SPACE(SYMBOLS_FILES_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {.iov_base = (void *)s, .iov_len = sizeof(*s)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;

	if (s->n_files) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE((size_t)s->n_files * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)s->n_files * sizeof(int));
		for (int i = 0; i < s->n_files; i++)
			memcpy(CMSG_DATA(c) + (size_t)i * sizeof(int), &s->file[i].fd, sizeof(int));
	}
	while (sendmsg(fd, &m, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static bool on_need(void *arg, const char *soname)
{
	(void)arg;
	(void)soname;
	return true;
}

static int open_regular(const char *path)
{
	/* Nobody believes that it is a file. */
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static void read_command(struct symbols_reader *r, const struct command *c)
{
	struct elf_libraries *l = calloc(1, sizeof(*l));
	char path[PATH_MAX];
	int fd;

	if (l && command_find(c, path, sizeof(path)) == 0 && (fd = open_regular(path)) >= 0) {
		symbols_read(r, fd, path, true);
		elf_libraries(l, path, on_need, NULL);
		for (int i = 0; i < l->n; i++)
			if ((fd = open_regular(l->path[i])) >= 0)
				symbols_read(r, fd, l->path[i], false);
	}
	free(l);
}

static void answer(void *arg, int fd)
{
	struct question *q = arg;
	struct symbols_reader *r = symbols_reader_new(q->own);
	const struct symbols *s;

	if (!r)
		return;
	if (q->command)
		read_command(r, q->command);
	for (int i = 0; i < q->n; i++)
		symbols_read(r, q->file[i].fd, q->file[i].name, q->file[i].is_program);
	if (!q->command && !q->n)
		return;
	s = symbols_result(r);
	touch(s);
	send_result(s, fd);
}

/* By way of what is mapped, whatever its path leads to by now; devices are not opened. */
static int open_mapped(pid_t tid, unsigned long from, unsigned long to, struct stat *ret)
{
	char path[96];
	int found, fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)tid, from, to);
	found = open(path, O_PATH | O_CLOEXEC);
	if (found < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	if (fstat(found, ret) == 0 && S_ISREG(ret->st_mode))
		fd = open_regular(path);
	close(found);
	return fd;
}

/* Opens what the process has mapped to be executed; as root, for nobody else may by map_files. */
static void open_all_mapped(void *arg)
{
	static struct mapped room[OPEN_MAX];
	static struct {
		unsigned int major, minor;
		unsigned long ino;
	} seen[OPEN_MAX];
	struct question *q = arg;
	struct stat exe = {0}, st;
	char path[64], *line = NULL;
	size_t size = 0;
	int n_seen = 0;
	FILE *maps;

	q->file = room;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)q->tid);
	if (stat(path, &exe) < 0)
		exe = (struct stat){0};
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)q->tid);
	maps = fopen(path, "re");
	for (int k = 0; maps && k < LINES_MAX && n_seen < OPEN_MAX; k++) {
		unsigned long from, to, ino;
		unsigned int major, minor;
		int i, at = 0, fd;
		char mode[5];
		const char *slash;

		if (getline(&line, &size, maps) < 0)
			break;
		if (sscanf(line, "%lx-%lx %4s %*x %x:%x %lu %n", &from, &to, mode, &major, &minor,
			    &ino, &at) < 6 ||
			mode[2] != 'x' || !ino || !at)
			continue;
		for (i = 0; i < n_seen; i++)
			if (seen[i].major == major && seen[i].minor == minor && seen[i].ino == ino)
				break;
		if (i < n_seen)
			continue;
		seen[n_seen].major = major;
		seen[n_seen].minor = minor;
		seen[n_seen++].ino = ino;
		fd = open_mapped(q->tid, from, to, &st);
		if (fd < 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		slash = strrchr(line + at, '/');
		room[q->n].fd = fd;
		room[q->n].is_program =
			exe.st_ino && st.st_dev == exe.st_dev && st.st_ino == exe.st_ino;
		snprintf(
			room[q->n].name, sizeof(room[0].name), "%s", slash ? slash + 1 : line + at);
		q->n++;
	}
	free(line);
	if (maps)
		fclose(maps);
}

int symbols_ask_command(const struct command *c, uid_t uid, const struct callnames_own *own)
{
	static const struct apart_work work = {.answer = answer};
	struct question q = {.command = c, .own = own};

	return c->name && *c->name ? apart_run(&work, &q, uid, SYMBOLS_DEADLINE_S) : -ENOENT;
}

int symbols_ask_thread(pid_t tid, uid_t uid, const struct callnames_own *own)
{
	static const struct apart_work work = {.prepare = open_all_mapped, .answer = answer};
	struct question q = {.tid = tid, .own = own};

	return tid > 0 ? apart_run(&work, &q, uid, SYMBOLS_DEADLINE_S) : -ESRCH;
}

/* ---- the answer ---------------------------------------------------------------------------- */

void symbols_done(struct symbols *s)
{
	for (int i = 0; i < s->n_files; i++) {
		if (s->file[i].fd >= 0)
			close(s->file[i].fd);
		s->file[i].fd = -1;
	}
	s->n_files = s->n_sites = 0;
}

const char *symbols_why_none(const struct symbols *s)
{
	if (s->n_sites)
		return NULL;
	if (s->served)
		return "its OpenMP or MPI library is on a file system that a user serves (FUSE)";
	if (!s->has_program)
		return "its executable is a script, or may not be read";
	if (s->is_static)
		return "it is linked statically, and no symbol names an OpenMP or MPI function";
	return "it loads no OpenMP or MPI library whose functions are known";
}

struct code {
	int n;
	ElfW(Phdr) phdr[SEGMENTS_MAX];
};

/* @flags: RWF_NOWAIT, or 0. -EOPNOTSUPP: this file system may only be waited for; -EBADMSG. */
static int read_at(int fd, void *to, size_t size, uint64_t offset, int flags)
{
	struct iovec iov = {.iov_base = to, .iov_len = size};
	ssize_t n = preadv2(fd, &iov, 1, (off_t)offset, flags);

	return n == (ssize_t)size ? 0 : n < 0 && errno == EOPNOTSUPP ? -EOPNOTSUPP : -EBADMSG;
}

/* What is loaded from the file to be executed. */
static int read_code(int fd, int flags, struct code *ret)
{
	ElfW(Ehdr) head;
	int rc = read_at(fd, &head, sizeof(head), 0, flags);

	if (rc < 0)
		return rc;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_phentsize != sizeof(ret->phdr[0]) || head.e_phnum > SEGMENTS_MAX ||
		head.e_phoff > INT64_MAX)
		return -EBADMSG;
	ret->n = head.e_phnum;
	return read_at(fd, ret->phdr, head.e_phnum * sizeof(ret->phdr[0]), head.e_phoff, flags);
}

static bool has_code(const struct code *c, uint64_t at)
{
	for (int k = 0; k < c->n; k++)
		if (c->phdr[k].p_type == PT_LOAD && (c->phdr[k].p_flags & PF_X) &&
			at >= c->phdr[k].p_offset && at - c->phdr[k].p_offset < c->phdr[k].p_filesz)
			return true;
	return false;
}

bool symbols_is_code(int fd, uint64_t offset)
{
	struct code c;

	return read_code(fd, 0, &c) == 0 && has_code(&c, offset);
}

/*
 * 0: each site of file @file is inside of what is loaded from it to be executed; -EBADMSG. The
 * reader has just read these pages: what is not in memory is not waited for. -EOPNOTSUPP, of a file
 * system that cannot say so: callworker.c looks, who may wait.
 */
static int check_sites(const struct symbols *s, int file)
{
	struct code c;
	int rc = read_code(s->file[file].fd, RWF_NOWAIT, &c);

	for (int i = 0; (rc == 0 || rc == -EOPNOTSUPP) && i < s->n_sites; i++) {
		uint64_t at = s->site[i].offset;

		if (s->site[i].file == file &&
			(at >= s->file[file].size || (rc == 0 && !has_code(&c, at))))
			return -EBADMSG;
	}
	return rc;
}

static void forget_sites_of(struct symbols *s, int file)
{
	int n = 0;

	for (int i = 0; i < s->n_sites; i++)
		if (s->site[i].file != file)
			s->site[n++] = s->site[i];
	s->served |= n < s->n_sites;
	s->n_sites = n;
}

static bool can_be(struct symbols *s, const struct callnames_own *own, int n_fds)
{
	int n_calls = callnames_n() + (own ? own->n : 0);

	if (s->n_files != n_fds || s->n_sites < 0 || s->n_sites > SYMBOLS_SITES_MAX)
		return false;
	for (int i = 0; i < s->n_sites; i++)
		if (s->site[i].file >= s->n_files || s->site[i].call >= n_calls)
			return false;
	s->served = 0;
	for (int i = 0; i < s->n_files; i++) {
		struct stat st;
		int rc;

		/* What a file is the kernel says, not the reader; nor its file system, where that
		 * would have to be asked. */
		if (fsroot_stat_known(&(struct fsroot){s->file[i].fd}, "", &st) < 0 ||
			!S_ISREG(st.st_mode))
			return false;
		s->file[i].dev = st.st_dev;
		s->file[i].ino = st.st_ino;
		s->file[i].size = (uint64_t)st.st_size;
		s->file[i].name[sizeof(s->file[i].name) - 1] = '\0';
		text_clean(s->file[i].name);
		rc = check_sites(s, i);
		if (rc < 0 && rc != -EOPNOTSUPP)
			return false;
		/* FUSE never says what it would not wait for. */
		if (rc < 0 && userfs_serves(st.st_dev))
			forget_sites_of(s, i);
	}
	return true;
}

int symbols_take(int fd, const struct callnames_own *own, struct symbols *ret)
{
	union {
		char bytes[CMSG_SPACE(SYMBOLS_FILES_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct symbols s;
	struct iovec iov = {.iov_base = &s, .iov_len = sizeof(s)};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	int fds[SYMBOLS_FILES_MAX], n_fds = 0;
	ssize_t n;

	n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n <= 0)
		return -ENODATA;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n_fds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), (size_t)n_fds * sizeof(int));
	}
	if (n == (ssize_t)sizeof(s) && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) &&
		s.n_files >= 0 && s.n_files <= SYMBOLS_FILES_MAX) {
		for (int i = 0; i < s.n_files; i++)
			s.file[i].fd = i < n_fds ? fds[i] : -1;
		if (can_be(&s, own, n_fds)) {
			*ret = s;
			return 0;
		}
	}
	for (int i = 0; i < n_fds; i++)
		close(fds[i]);
	return -EBADMSG;
}
