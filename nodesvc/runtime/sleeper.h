/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sleeper.h - the name of the threads that libcoloc_omp starts and that do nothing (omp_wait.c): by
 * it colocd does not take them for the program's. */
#ifndef COLOC_RUNTIME_SLEEPER_H
#define COLOC_RUNTIME_SLEEPER_H

#define COLOC_SLEEPER "coloc-sleeper" /* at most 15 characters */

#endif
