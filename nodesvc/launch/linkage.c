/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/launch/linkage.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Programs with more libraries than this are not looked at further. */
#define FILES_MAX   128
#define ENTRIES_MAX 64
/* argv[0], working directory and PATH; with more a program is one that is not known. */
#define KEY_MAX 8192
#define NOBODY  ((gid_t)65534)
/* A program that was built anew is seen after so long. */
#define KEPT_NS INT64_C(60000000000)
/* So many launches wait for the same answer; one that is late is taken when it comes. */
#define WAITS_MAX 3

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define TRIPLET "aarch64-linux-gnu"
#else
#define MACHINE EM_NONE
#define TRIPLET "none"
#endif

/* ---- one file ------------------------------------------------------------------------------ */

struct image {
	const unsigned char *at;
	size_t size;
	const ElfW(Phdr) * phdr;
	int n_phdr;
};

/* @count things of @size at @offset, if they are in the file. */
static const void *part(const struct image *f, uint64_t offset, uint64_t count, size_t size)
{
	if (offset > f->size || count > (f->size - offset) / size)
		return NULL;
	return f->at + offset;
}

static bool open_image(const char *path, struct image *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const ElfW(Ehdr) * head;
	struct stat st;
	void *at = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		return false;
	*f = (struct image){.at = at, .size = (size_t)st.st_size};
	head = part(f, 0, 1, sizeof(*head));
	if (head && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
		head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_ident[EI_DATA] == ELFDATA2LSB &&
		head->e_machine == MACHINE && head->e_phentsize == sizeof(*f->phdr) &&
		head->e_phoff % sizeof(uint64_t) == 0) {
		f->n_phdr = head->e_phnum;
		f->phdr = part(f, head->e_phoff, head->e_phnum, sizeof(*f->phdr));
	}
	if (f->phdr)
		return true;
	munmap(at, f->size);
	return false;
}

/* The string at @offset of the table at address @table. */
static const char *string_at(const struct image *f, uint64_t table, uint64_t offset)
{
	for (int i = 0; i < f->n_phdr; i++) {
		const ElfW(Phdr) *p = &f->phdr[i];
		uint64_t at;

		if (p->p_type != PT_LOAD || table < p->p_vaddr ||
			table - p->p_vaddr >= p->p_filesz || offset >= p->p_filesz)
			continue;
		at = table - p->p_vaddr + p->p_offset + offset;
		if (at < f->size && memchr(f->at + at, '\0', f->size - at))
			return (const char *)f->at + at;
	}
	return NULL;
}

static const ElfW(Dyn) * dynamic_of(const struct image *f, size_t *ret_n)
{
	for (int i = 0; i < f->n_phdr; i++) {
		const ElfW(Phdr) *p = &f->phdr[i];

		if (p->p_type != PT_DYNAMIC || p->p_offset % sizeof(uint64_t))
			continue;
		*ret_n = p->p_filesz / sizeof(ElfW(Dyn));
		return part(f, p->p_offset, *ret_n, sizeof(ElfW(Dyn)));
	}
	return NULL;
}

/* ---- the libraries it needs ---------------------------------------------------------------- */

struct search {
	char path[FILES_MAX][512]; /* found, in order; read from the front */
	char name[FILES_MAX][128];
	int n;
	uint32_t links;
};

static uint32_t runtime_of(const char *soname)
{
	static const struct {
		const char *begins;
		uint32_t links;
	} known[] = {
		{"libgomp.so", LINKS_LIBGOMP},
		{"libomp.so", LINKS_LIBOMP},
		{"libomp5.so", LINKS_LIBOMP},
		{"libiomp5.so", LINKS_LIBOMP},
		/* Open MPI from 2.0 on; before, its number was MPICH's. */
		{"libmpi.so.20", LINKS_OPENMPI},
		{"libmpi.so.40", LINKS_OPENMPI},
		{"libopen-rte.so", LINKS_OPENMPI},
		{"libopen-pal.so", LINKS_OPENMPI},
		{"libmpich.so", LINKS_MPICH},
		{"libmpi.so.12", LINKS_MPICH},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(soname, known[i].begins, strlen(known[i].begins)) == 0)
			return known[i].links;
	return 0;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A folder of a run path: $ORIGIN stands for that of the file at @of. */
static void run_folder(const char *text, size_t len, const char *of, char *ret, size_t size)
{
	static const char *const origin[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(of, '/');

	for (int i = 0; i < 2; i++) {
		size_t n = strlen(origin[i]);

		if (len < n || strncmp(text, origin[i], n) != 0)
			continue;
		snprintf(ret, size, "%.*s%.*s", (int)(slash - of), of, (int)(len - n), text + n);
		return;
	}
	snprintf(ret, size, "%.*s", (int)len, text);
}

static bool try_folder(struct search *s, const char *folder, const char *soname)
{
	int len = snprintf(s->path[s->n], sizeof(s->path[0]), "%s/%s", folder, soname);

	return len < (int)sizeof(s->path[0]) && is_file(s->path[s->n]);
}

static void need(struct search *s, const char *soname, const char *run_path, const char *of)
{
	static const char *const folder[] = {"/lib/" TRIPLET, "/usr/lib/" TRIPLET, "/lib64",
		"/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib64", "/usr/local/lib"};
	bool found = false;

	s->links |= runtime_of(soname);
	for (int i = 0; i < s->n; i++)
		if (strcmp(s->name[i], soname) == 0)
			return;
	if (s->n == FILES_MAX || strlen(soname) >= sizeof(s->name[0]) || strchr(soname, '/'))
		return;
	for (const char *p = run_path; p && *p && !found;) {
		size_t len = strcspn(p, ":");
		char text[512];

		run_folder(p, len, of, text, sizeof(text));
		found = *text == '/' && try_folder(s, text, soname);
		p += len + (p[len] == ':');
	}
	for (size_t i = 0; i < sizeof(folder) / sizeof(folder[0]) && !found; i++)
		found = try_folder(s, folder[i], soname);
	if (found)
		snprintf(s->name[s->n++], sizeof(s->name[0]), "%s", soname);
}

static void read_needs(struct search *s, const char *path)
{
	const ElfW(Dyn) * dyn;
	uint64_t strings = 0, run_at = 0;
	const char *run_path = NULL;
	struct image f;
	size_t n = 0;

	if (!open_image(path, &f))
		return;
	dyn = dynamic_of(&f, &n);
	for (size_t i = 0; dyn && i < n && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_STRTAB)
			strings = dyn[i].d_un.d_ptr;
		else if (dyn[i].d_tag == DT_RUNPATH || (dyn[i].d_tag == DT_RPATH && !run_at))
			run_at = dyn[i].d_un.d_val;
	}
	if (dyn && run_at)
		run_path = string_at(&f, strings, run_at);
	for (size_t i = 0; dyn && i < n && dyn[i].d_tag != DT_NULL; i++) {
		const char *name = dyn[i].d_tag == DT_NEEDED
					   ? string_at(&f, strings, dyn[i].d_un.d_val)
					   : NULL;

		if (name)
			need(s, name, run_path, path);
	}
	munmap((void *)f.at, f.size);
}

uint32_t linkage_read(const char *path)
{
	struct search *s = calloc(1, sizeof(*s));
	uint32_t links;

	if (!s)
		return 0;
	read_needs(s, path);
	for (int i = 0; i < s->n; i++)
		/* What a runtime needs itself is no matter, nor what libc does. */
		if (!runtime_of(s->name[i]))
			read_needs(s, s->path[i]);
	links = s->links;
	free(s);
	return links;
}

/* ---- within a time ------------------------------------------------------------------------- */

/* A command's three texts, one after the other, each ended by NUL; "" for NULL. */
struct key {
	char text[KEY_MAX];
	size_t len;
};

struct entry {
	struct key key;
	uid_t uid;
	uint32_t links;
	int64_t until_ns;
	bool used; /* again, since it was read */
	int64_t asked_ns;
	int fd;    /* where an answer is still to come; -1 none is */
	int waits; /* for that one */
};

struct linkage {
	struct entry entry[ENTRIES_MAX];
	int next;
};

struct linkage *linkage_new(void)
{
	struct linkage *l = calloc(1, sizeof(*l));

	for (int i = 0; l && i < ENTRIES_MAX; i++)
		l->entry[i].fd = -1;
	return l;
}

static void stop_waiting(struct entry *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

void linkage_free(struct linkage *l)
{
	for (int i = 0; l && i < ENTRIES_MAX; i++)
		stop_waiting(&l->entry[i]);
	free(l);
}

/* Only what decides: programs with absolute names are the same wherever they are started. */
static bool make_key(const struct command *c, struct key *ret)
{
	const char first = *c->name;
	const char *part[3] = {c->name, first == '.' ? c->cwd : NULL,
		first == '.' || first == '/' ? NULL : c->search};

	ret->len = 0;
	for (int i = 0; i < 3; i++) {
		size_t len = part[i] ? strlen(part[i]) + 1 : 1;

		if (len > sizeof(ret->text) - ret->len)
			return false;
		memcpy(ret->text + ret->len, part[i] ? part[i] : "", len);
		ret->len += len;
	}
	return true;
}

static struct command command_of(const struct key *key)
{
	struct command c = {.name = key->text};

	c.cwd = c.name + strlen(c.name) + 1;
	c.search = c.cwd + strlen(c.cwd) + 1;
	return c;
}

/* With no more rights than the step's owner has: a name in a message opens no file for him. */
static bool drop_rights(uid_t uid)
{
	return geteuid() != 0 ||
	       (setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		       setresuid(uid, uid, uid) == 0);
}

/* The grandchild is init's to wait for, however long its file system takes. */
static void read_apart(const struct key *key, uid_t uid, int fd)
{
	struct command c = command_of(key);
	char path[PATH_MAX];
	uint32_t links;

	/* However long they stay, they must keep no lock or socket of the daemon's. */
	if (fd > 3)
		close_range(3, (unsigned int)fd - 1, 0);
	close_range((unsigned int)fd + 1, ~0U, 0);
	if (fork() != 0 || !drop_rights(uid))
		_exit(0);
	alarm(10);
	links = command_find(&c, path, sizeof(path)) == 0 ? linkage_read(path) : 0;
	while (write(fd, &links, sizeof(links)) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* Has it read; the answer comes at e->fd, or never. */
static void ask(struct entry *e, int64_t now_ns)
{
	int fd[2];
	pid_t pid;

	stop_waiting(e);
	if (pipe2(fd, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(fd[0]);
		read_apart(&e->key, e->uid, fd[1]);
	}
	close(fd[1]);
	e->fd = fd[0];
	e->asked_ns = now_ns;
	e->waits = 0;
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		stop_waiting(e);
}

/* Waits so long for what was asked for; without an answer all stays as it is. However late one is
 * taken, it is as old as its question. */
static void take_answer(struct entry *e, int timeout_ms)
{
	struct pollfd p = {.fd = e->fd, .events = POLLIN};
	uint32_t links;

	if (e->fd < 0 || poll(&p, 1, timeout_ms) != 1)
		return;
	if (read(e->fd, &links, sizeof(links)) == (ssize_t)sizeof(links)) {
		e->links = links;
		e->until_ns = e->asked_ns + KEPT_NS;
	}
	stop_waiting(e);
}

/* A launch waits; not each again and again for a file system that does not answer. */
static void wait_for_answer(struct entry *e, int timeout_ms)
{
	take_answer(e, e->waits < WAITS_MAX ? timeout_ms : 0);
	e->waits++;
}

static struct entry *find(struct linkage *l, const struct key *key, uid_t uid)
{
	for (int i = 0; i < ENTRIES_MAX; i++)
		if (l->entry[i].key.len == key->len && l->entry[i].uid == uid &&
			memcmp(l->entry[i].key.text, key->text, key->len) == 0)
			return &l->entry[i];
	return NULL;
}

/* In place of the oldest. */
static struct entry *replace(struct linkage *l, const struct key *key, uid_t uid)
{
	struct entry *e = &l->entry[l->next];

	l->next = (l->next + 1) % ENTRIES_MAX;
	stop_waiting(e);
	memcpy(e->key.text, key->text, key->len);
	e->key.len = key->len;
	e->uid = uid;
	e->links = 0;
	return e;
}

uint32_t linkage_of(
	struct linkage *l, const struct command *c, uid_t uid, int timeout_ms, int64_t now_ns)
{
	struct entry *e;
	struct key key;

	if (!l || !c->name || !*c->name || !make_key(c, &key))
		return 0;
	e = find(l, &key, uid);
	if (e && now_ns < e->until_ns) {
		wait_for_answer(e, timeout_ms);
		e->used = true;
		return e->links;
	}
	if (!e)
		e = replace(l, &key, uid);
	e->used = false;
	/* No answer is remembered, too: a dead file system is asked once in a while only. Until one
	 * comes it is what it was. */
	e->until_ns = now_ns + KEPT_NS;
	ask(e, now_ns);
	wait_for_answer(e, timeout_ms);
	return e->links;
}

void linkage_refresh(struct linkage *l, int timeout_ms, int64_t now_ns)
{
	for (int i = 0; l && i < ENTRIES_MAX; i++) {
		struct entry *e = &l->entry[i];
		int64_t left_ns;

		take_answer(e, 0);
		left_ns = e->until_ns - now_ns;
		if (!e->used || left_ns <= 0 || left_ns > KEPT_NS / 2)
			continue;
		e->used = false;
		/* Without an answer the old one stays for its time, and no launch waits. */
		ask(e, now_ns);
		e->waits = WAITS_MAX;
		take_answer(e, timeout_ms);
		return;
	}
}

const char *linkage_text(uint32_t links, char *buf, size_t size)
{
	static const struct {
		uint32_t links;
		const char *text;
	} name[] = {
		{LINKS_LIBGOMP, "libgomp"},
		{LINKS_LIBOMP, "libomp"},
		{LINKS_OPENMPI, "Open MPI"},
		{LINKS_MPICH, "MPICH"},
	};

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		size_t len = strlen(buf);

		if (links & name[i].links)
			snprintf(buf + len, size - len, "%s%s", len ? ", " : "", name[i].text);
	}
	return buf;
}
