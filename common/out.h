/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * out.h - a program that could not write what it was asked for has failed.
 */
#ifndef COLOC_COMMON_OUT_H
#define COLOC_COMMON_OUT_H

/*
 * out_check_at_exit - first thing in main(): when the program ends, standard output is closed; what
 * could not be written is said on standard error, as "@program: error: standard output: REASON",
 * and the exit status is 1. @program: static text. A program started without a standard output has
 * none to fail.
 */
void out_check_at_exit(const char *program);

#endif
