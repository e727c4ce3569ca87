/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hold.c - a SPANK plugin that keeps steps between their registration and their tasks' fork while
 * a file is there, so that several are there at the same time: "optional PATH FILE". For fifteen
 * seconds at most.
 */
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(hold, 1)

int slurm_spank_user_init(spank_t sp, int ac, char **av)
{
	(void)sp;
	for (int i = 0; ac == 1 && i < 750 && access(av[0], F_OK) == 0; i++)
		usleep(20000);
	return ESPANK_SUCCESS;
}
