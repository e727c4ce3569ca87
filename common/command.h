/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command.h - the file that Slurm will execute for what a user typed: `srun lmp' and `srun ./app'
 * are how programs are named, not by absolute paths.
 *
 * By slurmstepd's own rules (slurmd/slurmstepd/task.c, releases before and after 23.11; tried with
 * 22.05): a name that begins with "." is below the working directory, any other that does not begin
 * with "/" is searched for in the folders of the step's PATH, one with a slash in it as well.
 */
#ifndef COLOC_COMMON_COMMAND_H
#define COLOC_COMMON_COMMAND_H

#include <stddef.h>
#include <stdint.h>

struct command {
	const char *name;   /* argv[0] */
	const char *cwd;    /* the step's working directory; NULL: not known */
	const char *search; /* its PATH; NULL: not known, or none */
};

/*
 * command_find - writes the absolute path of the file to @ret. Looks at folders, as whoever calls
 * it: blocks as their file systems do. Returns 0; -ENOENT: there is none, or not to be known from
 * @c (a folder of PATH that is relative itself comes first, say); -ENAMETOOLONG: more than @size.
 */
int command_find(const struct command *c, char *ret, size_t size);

/*
 * command_arguments - the class of a command's arguments after the first: a number that is the same
 * where they differ only in numbers with as many digits (input_17, --seed=42). Never 0.
 */
uint32_t command_arguments(int argc, char *const argv[]);

/*
 * command_threads_by - the argument by which a command says how many threads it starts, if its
 * program ends with an error where its environment has another number: mdrun of GROMACS, whatever
 * starts it. NULL none.
 */
const char *command_threads_by(int argc, char *const argv[]);

#endif
