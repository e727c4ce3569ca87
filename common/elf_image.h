/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_image.h - an ELF file of this machine's kind, and the libraries that it needs. The file is
 * whoever's: nothing in it is believed, and nothing is read outside of it. All of this blocks as
 * its file system does, and a file that is cut while it is read ends the process (SIGBUS): use it
 * apart (apart.h).
 */
#ifndef COLOC_COMMON_ELF_IMAGE_H
#define COLOC_COMMON_ELF_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_image {
	const unsigned char *at; /* all of the file, mapped for reading */
	size_t size;
	const ElfW(Ehdr) * head;
	const ElfW(Phdr) * phdr;
	int n_phdr;
};

/* elf_map - @fd stays the caller's. False: no such file; then there is nothing to close. */
bool elf_map(int fd, struct elf_image *ret);
void elf_close(struct elf_image *f);

/* @count things of @size at @offset of the file; NULL: they are not all in it, or lie askew. */
const void *elf_part(const struct elf_image *f, uint64_t offset, uint64_t count, size_t size);
/* Where in the file the address @at is, by the part that is loaded there with all of @flags (PF_X);
 * false: nowhere. */
bool elf_offset(const struct elf_image *f, uint64_t at, uint32_t flags, uint64_t *ret);
/* The dynamic section; NULL: it has none. */
const ElfW(Dyn) * elf_dynamic(const struct elf_image *f, size_t *ret_n);

/* Programs with more libraries than this are not looked at further. */
#define ELF_LIBRARIES_MAX 128
struct elf_libraries {
	int n;
	char path[ELF_LIBRARIES_MAX][512];
	char name[ELF_LIBRARIES_MAX][128];
};
/*
 * elf_libraries - the libraries that the file @path needs, and those that they need, where
 * DT_RUNPATH says and in the system's folders. @on_need hears each name, found or not, more than
 * once perhaps; false: what this one needs itself is no matter. @ret is emptied first.
 */
void elf_libraries(struct elf_libraries *ret, const char *path,
	bool (*on_need)(void *arg, const char *soname), void *arg);

#endif
