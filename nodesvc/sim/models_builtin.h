/* SPDX-License-Identifier: GPL-2.0-or-later */
/* models_builtin.h - the files of nodesvc/sim/models/ as texts; the build writes the .c file. */
#ifndef COLOC_SIM_MODELS_BUILTIN_H
#define COLOC_SIM_MODELS_BUILTIN_H

struct model_text {
	const char *path, *text;
};

/* In the order of their names; path NULL at the end. */
extern const struct model_text models_builtin[];

#endif
