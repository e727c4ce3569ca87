/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pages that a job's processes share with colocd, with whatever a hostile job writes there:
 * the input is a list of writes and looks. What is read is a finite number or nothing, printable,
 * and never less than before; only pids that were there are given back.
 */
#include <math.h>

#include "nodesvc/counters/app.h"
#include "tests/fuzz/fuzz.h"

static void look(struct app *a, struct coloc_report *r, int64_t now_ns)
{
	struct app before = *a;
	char name[COLOC_NAME_LEN + 1];
	struct signal s;
	double value;

	app_read(a, r, now_ns, &s);
	FUZZ_ASSERT(s.provenance == PROVENANCE_NONE || isfinite(s.value));
	FUZZ_ASSERT(isfinite(a->total) && a->total >= before.total);
	FUZZ_ASSERT(a->reports >= before.reports && a->updated_ns <= now_ns);
	FUZZ_ASSERT(memchr(a->unit, '\0', sizeof(a->unit)));
	for (const char *c = a->unit; *c; c++)
		FUZZ_ASSERT(*c > ' ' && *c < 127);
	for (int i = 0; i < COLOC_SLOT_NAMES; i++) {
		app_counter(r, i, name, &value);
		FUZZ_ASSERT(memchr(name, '\0', sizeof(name)));
		FUZZ_ASSERT(isnan(value) || isfinite(value));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct coloc_report r;
	static struct app a;
	int64_t now_ns = INT64_C(1000000000);

	memset(&r, 0, sizeof(r));
	memset(&a, 0, sizeof(a));
	for (; size >= 10; data += 10, size -= 10) {
		uint64_t word;

		memcpy(&word, data + 2, sizeof(word));
		switch (data[0] % 8) {
		case 0: /* time goes on, and colocd looks */
			now_ns += (int64_t)(word % UINT64_C(10000000000));
			look(&a, &r, now_ns);
			break;
		case 1: { /* the step's threads are few; others' slots are given back */
			const pid_t tid[] = {1, 2, 3, (pid_t)(data[1])};

			app_release(&a, &r, tid, data[1] > 3 ? 4 : 3);
			break;
		}
		case 2: /* every slot at once */
			for (int i = 0; i < COLOC_SLOTS; i++)
				r.slot[i].pid =
					(int32_t)((uint32_t)word + (data[1] & 1 ? (uint32_t)i : 0));
			break;
		case 3:
			r.slot[data[1]].pid = (int32_t)word;
			break;
		case 4:
			r.slot[data[1]].progress = word;
			r.slot[data[1]].updates++;
			break;
		case 5:
			r.slot[data[1]].updated_ns = (int64_t)word;
			r.slot[data[1]].updates += (uint32_t)word;
			break;
		case 6:
			r.slot[data[1]].unit = word;
			break;
		default: /* anywhere, heads included */
			memcpy((char *)&r + (data[1] * UINT64_C(64) + word % 64) %
						    (sizeof(r) - sizeof(word)),
				&word, sizeof(word));
		}
	}
	look(&a, &r, now_ns);
	return 0;
}
