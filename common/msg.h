/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * msg.h - the messages on colocd's socket: "key=value" records, each ended by NUL, one message
 * per SOCK_SEQPACKET packet. Neither environments nor arguments can hold a NUL, so nothing is
 * escaped, and the same 150 lines of libc code serve slurmstepd and the daemon. Bulk answers for
 * people and scripts are JSON text inside one record ("json=...").
 *
 * The first two records are always "coloc=1" (protocol version) and "type=...". Keys may repeat.
 * Unknown keys are skipped by the receiver; an unknown type or version is refused.
 *
 * From the plugin (root only; the daemon checks SO_PEERCRED):
 *   step_start  job step uid nnodes nodeid ntasks (local) cpus_per_task (Slurm's count)
 *               cpus_asked (SLURM_CPUS_PER_TASK: -c, if it was given) name (argv[0])
 *               args (class of the other arguments, 8 hex digits: command_arguments())
 *               threads_by (an argument by which the program counts its threads itself)
 *               job_cores step_cores (Slurm's abstract cpulists) timeout_ms pid (slurmstepd)
 *               batch=1 (batch or interactive shell) array_job array_task
 *               policy (NAME[,k=v...]; none sent: the node's default) priority
 *               tag (--coloc-type) qos min_cores omp=1 exclude=1 verbose
 *               dry_run=1 (taken out of policy) ; partition account jobname user
 *               bind_type (SLURM_CPU_BIND_TYPE) bind_unasked=1 (Slurm's doing, not the user's)
 *               set=NAME (repeats: a launch variable that the user set himself)
 *               cwd path (of a relative name: srun's working directory, the step's PATH)
 *     reply     type=step_ok  policy (the ruling one) req_policy reason
 *                             env=NAME=VALUE (repeats: set these before exec)
 *                             may_idle=1 (its threads may be SCHED_IDLE for a while)
 *               type=step_refused reason   (the step runs as without us)
 *   task_start  job step nodeid task (local id) pid
 *     reply     type=task_ok  coreset cores reason
 *                             env=NAME=VALUE (repeats; from the last task's on: of those that
 *                             step_ok set, the numbers of threads as they are now)
 *               type=task_refused reason
 *   task_exit   job step nodeid task pid status (as wait(2) gives it)   no reply
 *   step_end    job step nodeid                 no reply
 *
 * From colocctl and friends (uid checked by the daemon):
 *   ctl         cmd=ping|status|jobs|explain|policies|counters|release|reload|drain|resume|
 *               acct|profile_put|profile_list|profile_rm|measured|record ;
 *               job=JOB[.STEP] tag=PROFILE all=1 json=... (input)
 *     reply     one or more packets type=ctl_part json=<piece>, then
 *               type=ctl_end rc=0|1 error=<text>
 *
 * From any process of a step (libcoloc; the daemon goes by SO_PEERCRED and the peer's cgroup):
 *   attach      (nothing more)
 *     reply     type=attach_ok step=JOB.STEP, with two descriptors (SCM_RIGHTS): the grant page and
 *               the report pages (nodesvc/runtime/page.h) | type=attach_refused reason
 *
 * Not thread-safe; no allocation.
 */
#ifndef COLOC_COMMON_MSG_H
#define COLOC_COMMON_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define MSG_VERSION "1"
/* Largest packet either side sends; a step_start is under 2 KiB unless argv[0] is absurd. */
#define MSG_MAX 32768
/* Piece of JSON in one ctl_part packet. */
#define MSG_PART (MSG_MAX - 256)

struct msg {
	size_t len;
	bool overflow; /* a put did not fit; msg is not to be sent */
	char buf[MSG_MAX];
};

/* Starts a message: version and type. */
void msg_init(struct msg *m, const char *type);
/* Appends a record; @key without '='. NULL @value: appends nothing. */
void msg_put(struct msg *m, const char *key, const char *value);
void msg_putf(struct msg *m, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * msg_check - is a received packet well-formed (version, type, every record "key=value" and
 * ended)? Errors: -EPROTO with the place and the value.
 */
int msg_check(const struct msg *m, struct errbuf *err);

/* After msg_check(). First value of @key, or NULL. Points into @m. */
const char *msg_get(const struct msg *m, const char *key);
/* Next value of a repeated key after @prev (NULL: the first). */
const char *msg_get_next(const struct msg *m, const char *key, const char *prev);
/* Decimal; 0, -ENOENT not there, -EINVAL no number or outside [min, max]: @err names it. */
int msg_get_int(const struct msg *m, const char *key, int64_t min, int64_t max, int64_t *ret,
	struct errbuf *err);

#endif
