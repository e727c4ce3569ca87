/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page.h - the memory that colocd and the processes of a step share: what was granted (written by
 * colocd only, the kernel refuses any other writer) and what the processes report. The one place
 * with the layout; daemon and library check size, magic and version of what they were given.
 *
 * Every field that changes is read and written with __atomic builtins. Doubles travel as bits.
 * Nothing in a report page can be trusted: whoever reads it checks and clamps.
 */
#ifndef COLOC_RUNTIME_PAGE_H
#define COLOC_RUNTIME_PAGE_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define COLOC_PAGE_VERSION 1
#define COLOC_GRANT_MAGIC  0x47434c43u /* "CLCG" */
#define COLOC_REPORT_MAGIC 0x52434c43u /* "CLCR" */
#define COLOC_GRANT_WORDS  16          /* 1024 OS CPU numbers */
#define COLOC_SLOTS        256
#define COLOC_SLOT_NAMES   2 /* counters of a process's own */
#define COLOC_NAME_LEN     8 /* of a unit or counter; all 8 bytes may be used */
/* The units of who publishes nothing itself: parallel regions, counted by libcoloc_omp; MPI
 * operations, counted by libcoloc_mpi, which count for more where a process has both. */
#define COLOC_REGIONS    "regions"
#define COLOC_OPERATIONS "mpi_ops"

struct coloc_grant {
	uint32_t magic, version;
	/* Odd while the fields below change; the futex word that waiters sleep on. */
	uint32_t generation;
	uint32_t cores;   /* granted cores (not hardware threads) */
	uint32_t beat_ms; /* alive_ns is renewed this often */
	uint32_t reserved;
	int64_t alive_ns; /* CLOCK_MONOTONIC of the last renewal; 0: the daemon went away in order
			   */
	uint64_t set[COLOC_GRANT_WORDS]; /* OS CPU numbers */
};

struct coloc_slot {
	int32_t pid;        /* claimed by compare-and-swap from 0; given back by the daemon only */
	uint32_t updates;   /* reports so far; wraps */
	uint64_t progress;  /* double: units so far */
	int64_t updated_ns; /* CLOCK_MONOTONIC of the last report */
	uint64_t unit;      /* COLOC_NAME_LEN characters, NUL padded */
	struct {
		uint64_t name;
		uint64_t value; /* double */
	} counter[COLOC_SLOT_NAMES];
};

struct coloc_report {
	uint32_t magic, version;
	uint32_t n_slots, slot_bytes;
	uint64_t reserved[6];
	struct coloc_slot slot[COLOC_SLOTS];
};

static_assert(sizeof(struct coloc_slot) == 64, "a slot is a cache line");
static_assert(sizeof(struct coloc_grant) == 32 + 8 * COLOC_GRANT_WORDS, "no padding");
static_assert(sizeof(struct coloc_report) == 64 + 64 * COLOC_SLOTS, "header and slots");
static_assert(__atomic_always_lock_free(8, 0), "atomics in shared memory must not take a lock");

static inline uint64_t coloc_bits(double v)
{
	uint64_t u;

	memcpy(&u, &v, sizeof(u));
	return u;
}

static inline double coloc_double(uint64_t u)
{
	double v;

	memcpy(&v, &u, sizeof(v));
	return v;
}

/* A name as a word; longer ones are cut. */
static inline uint64_t coloc_name(const char *text)
{
	uint64_t u = 0;
	size_t n = 0;

	/* Not strnlen(): gcc, once it is inlined, takes the bound for the size of a short literal.
	 */
	while (text[n] && n < COLOC_NAME_LEN)
		n++;
	memcpy(&u, text, n);
	return u;
}

#define COLOC_WORTH_OWN 3

/* What a unit is worth, by its name's word: what the program says itself, the most. 0: no unit. */
static inline int coloc_worth(uint64_t unit)
{
	if (!unit)
		return 0;
	if (unit == coloc_name(COLOC_REGIONS))
		return 1;
	return unit == coloc_name(COLOC_OPERATIONS) ? 2 : COLOC_WORTH_OWN;
}

#endif
