/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bursts.h - programs that compute for a while and then sleep, beside one another: what a program
 * gets of cores that others want only now and then.
 */
#ifndef COLOC_SIM_BURSTS_H
#define COLOC_SIM_BURSTS_H

/*
 * bursts_part - while it wants them: the part it gets of its @want[me] cores where all that want
 * some share @room in proportion. Others want @want[j] for the part @on[j] of the time, one
 * independently of the other. Only the first BURSTS_MAX others are taken one by one.
 */
#define BURSTS_MAX 10
double bursts_part(int n, int me, const double *want, const double *on, double room);

#endif
