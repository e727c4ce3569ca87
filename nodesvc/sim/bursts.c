/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "nodesvc/sim/bursts.h"

double bursts_part(int n, int me, const double *want, const double *on, double room)
{
	int other[BURSTS_MAX], k = 0;
	double always = want[me], sum = 0;

	for (int j = 0; j < n; j++) {
		if (j == me || !(want[j] > 0))
			continue;
		if (on[j] < 1 && k < BURSTS_MAX)
			other[k++] = j;
		else
			always += on[j] * want[j]; /* beyond the first ones: their mean */
	}
	for (unsigned int set = 0; set < 1u << k; set++) {
		double odds = 1, all = always;

		for (int b = 0; b < k; b++) {
			odds *= set >> b & 1 ? on[other[b]] : 1 - on[other[b]];
			all += set >> b & 1 ? want[other[b]] : 0;
		}
		sum += odds * fmin(1, room / all);
	}
	return sum;
}
