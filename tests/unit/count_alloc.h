/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count_alloc.h - counts what the objects linked into a program ask of the allocator, and has it
 * refuse. The program is linked with COUNT_ALLOC_WRAP (engine/local.mk); calls inside shared
 * libraries do not count. qsort() counts too: it may allocate.
 */
#ifndef COLOC_TEST_COUNT_ALLOC_H
#define COLOC_TEST_COUNT_ALLOC_H

long count_alloc(void); /* calls since the program began */
/* The @nth call from now on finds no memory (once; qsort() always goes on); 0: all find some. */
void count_alloc_refuse(long nth);

#endif
