/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * colocd - the node service. main() creates in order and destroys in reverse; what it changed in
 * the kernel is put back at every stop, and at the next start after a crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc.h"
#include "common/out.h"
#include "config.h"
#include "nodesvc/books/books.h"
#include "nodesvc/daemon/daemon.h"
#include "nodesvc/launch/learned.h"
#include "nodesvc/launch/linkage.h"
#include "nodesvc/base/log.h"
#include "nodesvc/measure/measure.h"
#include "nodesvc/socket/socket.h"

#define LOCK_WAIT_NS INT64_C(2000000000)

static int lock_fd = -1; /* one daemon per store */

static void usage(FILE *f)
{
	fprintf(f, "Usage: colocd [OPTION]...\n"
		   "The Coloc node service: one per kernel, in the foreground, as root.\n\n"
		   "  -c, --config=FILE  configuration (default " COLOC_SYSCONFDIR "/coloc.yaml)\n"
		   "  -t, --test         check the configuration and end\n"
		   "  -v, --verbose      log at level debug\n"
		   "  -h, --help         this text\n"
		   "  -V, --version      the version\n\n"
		   "Signals: SIGHUP reloads the configuration; SIGTERM and SIGINT put every step "
		   "back\n"
		   "to Slurm's placement and end.\n");
}

/* A child that a killed daemon had just forked holds the lock until it has closed what is not its.
 */
static int take_lock(int fd)
{
	int64_t until_ns = ipc_now_ns() + LOCK_WAIT_NS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (ipc_now_ns() >= until_ns)
			return -EBUSY;
		nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	}
	return 0;
}

static int open_store(struct daemon *d, struct errbuf *err)
{
	char path[CONF_TEXT_MAX + 16], boot_id[64] = "";
	struct stat st;
	int rc;

	if (mkdir(d->conf->store, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "store %s: %s", d->conf->store, strerror(errno));
	if (lstat(d->conf->store, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, -ENOTDIR, "store %s is no directory", d->conf->store);
	if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return err_set(
			err, -EPERM, "store %s: owner or mode lets others write", d->conf->store);
	/* Two daemons on one ledger would undo each other's work: before anything is touched. */
	snprintf(path, sizeof(path), "%s/lock", d->conf->store);
	lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock_fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (take_lock(lock_fd) < 0)
		return err_set(err, -EBUSY, "%s: another colocd holds it", path);
	fsroot_read(&d->node->root, "proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
	boot_id[strcspn(boot_id, "\n")] = '\0';
	snprintf(path, sizeof(path), "%s/ledger.db", d->conf->store);
	rc = ledger_open(&d->ledger, path, boot_id, err);
	if (rc < 0)
		return rc;
	rc = store_open(&d->record, d->conf, err);
	if (rc < 0)
		return rc;
	if (learned_load(linkage_learned(d->linkage), d->record, err) < 0)
		log_warning("what programs load is not known from before: %s", err->text);
	return 0;
}

static void on_signal(int signo, void *arg)
{
	struct daemon *d = arg;
	struct conf old;
	struct errbuf err;

	if (signo != SIGHUP) {
		log_info("signal %d: stopping", signo);
		loop_stop(d->loop);
	} else if (daemon_reload(d, &old, &err) < 0) {
		log_error("reload: %s; the old configuration stays", err.text);
	}
}

static void on_watchdog(void *arg)
{
	(void)arg;
	notify_send("WATCHDOG=1");
}

static int daemon_open(struct daemon *d, struct errbuf *err)
{
	struct loop_source *signals, *watchdog, *watch;
	struct socket k;
	int rc, watchdog_ms = notify_watchdog_ms();
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	/* First: the guard is to hold nothing of what follows. Without it nobody takes turns. */
	if (daemon_create_levers(d) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (rotate_guard(d->levers, err) < 0)
		log_warning("%s", err->text);
	if ((rc = loop_create(&d->loop, err)) < 0 ||
		(rc = loop_add_signals(d->loop, &set, on_signal, d, &signals, err)) < 0 ||
		(rc = open_store(d, err)) < 0 ||
		(rc = actuate_open(
			 &d->actuate, &d->node->root, d->ledger, &d->node->topo->all, err)) < 0)
		return rc;
	if (actuate_watch_fd(d->actuate) >= 0) {
		rc = loop_add_fd(d->loop, actuate_watch_fd(d->actuate), EPOLLIN, reconcile_watch, d,
			&watch, err);
		if (rc < 0)
			return rc;
	}
	actuate_by_masks(d->actuate, d->conf->rebind == REBIND_MASKS);
	actuate_allow_outside(d->actuate, d->conf->envelope == ENVELOPE_NODE);
	if (*actuate_why_not(d->actuate))
		log_warning("nothing will be moved: %s", actuate_why_not(d->actuate));
	counters_choose(&d->node->counters,
		strcmp(d->conf->counters.source, "auto") == 0 ? NULL : d->conf->counters.source,
		&d->conf->events);
	if ((rc = daemon_open_rooms(d, err)) < 0 || (rc = daemon_open_choose(d, err)) < 0 ||
		(rc = ptable_open(d->choose, err)) < 0)
		return rc;
	rc = measure_count_calls(d->measure, err);
	if (rc < 0)
		return rc;
	/* Before anybody is adopted: who was left alone stays so. */
	if ((rc = quarantine_open(d->choose, err)) < 0)
		return rc;
	online_look(d);
	levers_open(d->levers, d->loop, d->ledger, d->actuate);
	rc = daemon_open_suspend(d, err);
	if (rc < 0)
		return rc;
	adopt_all(d);
	daemon_fill_socket(d, &k);
	rc = server_create(&d->server, &k, err);
	if (rc < 0)
		return rc;
	store_retain_start(d->books);
	metrics_reconfigure(d->books);
	if (watchdog_ms) {
		rc = loop_add_timer(d->loop, on_watchdog, d, &watchdog, err);
		if (rc < 0)
			return rc;
		loop_set_timer(watchdog, watchdog_ms, watchdog_ms);
	}
	return 0;
}

static void daemon_close(struct daemon *d)
{
	uint64_t decisions, bytes;
	struct errbuf err;

	server_free(d->server);
	if (d->choose && recording_is_on(d->choose) &&
		recording_stop(d->choose, &decisions, &bytes, &err) < 0)
		log_error("recording: %s", err.text);
	if (d->books) {
		if (d->choose)
			ptable_flush(d->choose);
		account_flush(d->books);
	}
	levers_close(d->levers);
	suspend_close(d->jobs->suspend);
	linkage_free(d->linkage);
	for (int i = 0; i < d->jobs->n; i++)
		reading_close(d->measure, d->jobs->step[i]);
	jobs_done(d->jobs);
	daemon_close_choose(d);
	actuate_close(d->actuate);
	daemon_close_rooms(d);
	record_close(d->record);
	ledger_close(d->ledger);
	loop_free(d->loop);
	if (lock_fd >= 0)
		close(lock_fd);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"test", no_argument, NULL, 't'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	static struct daemon d;
	bool test = false;
	enum log_level level = LOG_LEVEL_INFO;
	struct errbuf err;
	int opt, rc;

	out_check_at_exit("colocd");
	daemon_init(&d);
	d.course->conf_path = COLOC_SYSCONFDIR "/coloc.yaml";
	while ((opt = getopt_long(argc, argv, "c:tvhV", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			d.course->conf_path = optarg;
			break;
		case 't':
			test = true;
			break;
		case 'v':
			log_verbose();
			break;
		case 'h':
			usage(stdout);
			return 0;
		case 'V':
			puts("colocd " PACKAGE_VERSION);
			return 0;
		default:
			fputs("Try 'colocd --help'.\n", stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "colocd: unexpected argument '%s'\nTry 'colocd --help'.\n",
			argv[optind]);
		return 2;
	}
	/* A test may be run by anybody, over files that are not installed yet. */
	if (conf_load(d.conf, d.course->conf_path, !test, &err) < 0 ||
		node_open(d.node, d.conf->domain, &err) < 0 ||
		node_reserve(d.node, &d.conf->reserve, &err) < 0 || reload_check(&d, &err) < 0) {
		fprintf(stderr, "colocd: %s\n", err.text);
		return 1;
	}
	if (test) {
		printf("%s: ok\n", d.course->conf_path);
		node_close(d.node);
		return 0;
	}
	if (geteuid() != 0) {
		fputs("colocd: must be root: it writes Slurm's cpusets and others' affinity\n",
			stderr);
		return 1;
	}
	log_level_parse(d.conf->log, &level);
	log_init(level);
	d.course->start_ns = ipc_now_ns();
	srand48(d.course->start_ns ^
		getpid()); /* which launches are controls, when windows begin */
	/* A step being launched waits for us, often behind busy jobs: it should not wait long. */
	if (setpriority(PRIO_PROCESS, 0, -10) < 0)
		log_debug("nice -10: %s", strerror(errno));
	umask(022);
	d.linkage = linkage_new();
	rc = daemon_open(&d, &err);
	if (rc == 0) {
		/* NOLINTBEGIN(clang-analyzer-core.NullDereference): topo_load() set it */
		log_info("colocd " PACKAGE_VERSION " serves %s: %d cores, %d domains (%s), %s, "
			 "signals from %s",
			d.conf->socket, d.node->topo->n_cores, d.node->topo->n_domains,
			topo_level_name(d.node->topo->domain_level),
			actuate_get_ops(d.actuate)->name, d.node->counters.ops->name);
		/* NOLINTEND(clang-analyzer-core.NullDereference) */
		notify_send("READY=1");
		rc = loop_run(d.loop);
		notify_send("STOPPING=1");
	} else {
		log_error("%s", err.text);
	}
	daemon_close(&d);
	node_close(d.node);
	return rc < 0 ? 1 : 0;
}
