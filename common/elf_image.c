/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/elf_image.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

const void *elf_part(const struct elf_image *f, uint64_t offset, uint64_t count, size_t size)
{
	if (offset % (size < sizeof(uint64_t) ? size : sizeof(uint64_t)) || offset > f->size ||
		count > (f->size - offset) / size)
		return NULL;
	return f->at + offset;
}

bool elf_map(int fd, struct elf_image *ret)
{
	struct elf_image f = {0};
	void *at = MAP_FAILED;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	f.at = at;
	f.size = (size_t)st.st_size;
	f.head = elf_part(&f, 0, 1, sizeof(*f.head));
	if (f.head && memcmp(f.head->e_ident, ELFMAG, SELFMAG) == 0 &&
		f.head->e_ident[EI_CLASS] == ELFCLASS64 &&
		f.head->e_ident[EI_DATA] == ELFDATA2LSB && f.head->e_machine == MACHINE &&
		f.head->e_phentsize == sizeof(*f.phdr)) {
		f.n_phdr = f.head->e_phnum;
		f.phdr = elf_part(&f, f.head->e_phoff, f.head->e_phnum, sizeof(*f.phdr));
	}
	if (!f.phdr) {
		munmap(at, f.size);
		return false;
	}
	*ret = f;
	return true;
}

static bool elf_open(const char *path, struct elf_image *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool ok = fd >= 0 && elf_map(fd, ret);

	if (fd >= 0)
		close(fd);
	return ok;
}

void elf_close(struct elf_image *f)
{
	munmap((void *)f->at, f->size);
}

bool elf_offset(const struct elf_image *f, uint64_t at, uint32_t flags, uint64_t *ret)
{
	for (int i = 0; i < f->n_phdr; i++) {
		const ElfW(Phdr) *p = &f->phdr[i];

		if (p->p_type != PT_LOAD || (p->p_flags & flags) != flags || at < p->p_vaddr ||
			at - p->p_vaddr >= p->p_filesz || p->p_offset >= f->size ||
			at - p->p_vaddr >= f->size - p->p_offset)
			continue;
		*ret = at - p->p_vaddr + p->p_offset;
		return true;
	}
	return false;
}

/* The string at @offset of the table at address @table; NULL. */
static const char *elf_string(const struct elf_image *f, uint64_t table, uint64_t offset)
{
	uint64_t at;

	if (!elf_offset(f, table, 0, &at) || offset >= f->size - at ||
		!memchr(f->at + at + offset, '\0', f->size - at - offset))
		return NULL;
	return (const char *)f->at + at + offset;
}

const ElfW(Dyn) * elf_dynamic(const struct elf_image *f, size_t *ret_n)
{
	for (int i = 0; i < f->n_phdr; i++) {
		const ElfW(Phdr) *p = &f->phdr[i];

		if (p->p_type != PT_DYNAMIC)
			continue;
		*ret_n = p->p_filesz / sizeof(ElfW(Dyn));
		return elf_part(f, p->p_offset, *ret_n, sizeof(ElfW(Dyn)));
	}
	return NULL;
}

/* ---- the libraries it needs ---------------------------------------------------------------- */

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

static bool try_folder(struct elf_libraries *s, const char *folder, const char *soname)
{
	int len = snprintf(s->path[s->n], sizeof(s->path[0]), "%s/%s", folder, soname);

	return len < (int)sizeof(s->path[0]) && is_file(s->path[s->n]);
}

static void need(struct elf_libraries *s, const char *soname, const char *run_path, const char *of)
{
	static const char *const folder[] = {"/lib/" TRIPLET, "/usr/lib/" TRIPLET, "/lib64",
		"/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib64", "/usr/local/lib"};
	bool found = false;

	for (int i = 0; i < s->n; i++)
		if (strcmp(s->name[i], soname) == 0)
			return;
	if (s->n == ELF_LIBRARIES_MAX || strlen(soname) >= sizeof(s->name[0]) ||
		strchr(soname, '/'))
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

static void read_needs(struct elf_libraries *s, const char *path,
	bool (*on_need)(void *arg, const char *soname), void *arg)
{
	const ElfW(Dyn) * dyn;
	uint64_t strings = 0, run_at = 0;
	const char *run_path = NULL;
	struct elf_image f;
	size_t n = 0;

	if (!elf_open(path, &f))
		return;
	dyn = elf_dynamic(&f, &n);
	for (size_t i = 0; dyn && i < n && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_STRTAB)
			strings = dyn[i].d_un.d_ptr;
		else if (dyn[i].d_tag == DT_RUNPATH || (dyn[i].d_tag == DT_RPATH && !run_at))
			run_at = dyn[i].d_un.d_val;
	}
	if (dyn && run_at)
		run_path = elf_string(&f, strings, run_at);
	for (size_t i = 0; dyn && i < n && dyn[i].d_tag != DT_NULL; i++) {
		const char *name = dyn[i].d_tag == DT_NEEDED
					   ? elf_string(&f, strings, dyn[i].d_un.d_val)
					   : NULL;

		if (!name)
			continue;
		on_need(arg, name);
		need(s, name, run_path, path);
	}
	elf_close(&f);
}

void elf_libraries(struct elf_libraries *ret, const char *path,
	bool (*on_need)(void *arg, const char *soname), void *arg)
{
	ret->n = 0;
	read_needs(ret, path, on_need, arg);
	for (int i = 0; i < ret->n; i++)
		if (on_need(arg, ret->name[i]))
			read_needs(ret, ret->path[i], on_need, arg);
}
