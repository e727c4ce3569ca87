# live tests: against a real Slurm of their own, as root; `make check-live' runs them one after
# another. Exit 77: a prerequisite is missing, and which.
live_scripts = \
	tests/live/measure.sh \
	tests/live/names.sh \
	tests/live/placement.sh \
	tests/live/progress.sh \
	tests/live/restore.sh \
	tests/live/offline.sh \
	tests/live/security.sh \
	tests/live/report.sh \
	tests/live/top.sh \
	tests/live/accounting.sh \
	tests/live/adopt.sh \
	tests/live/calls.sh \
	tests/live/affinity.sh \
	tests/live/steady.sh \
	tests/live/daemon-away.sh \
	tests/live/das.sh \
	tests/live/chaos.sh \
	tests/live/budget.sh \
	tests/live/churn.sh \
	tests/live/gang.sh \
	tests/live/suspend.sh \
	tests/live/coupled.sh \
	tests/live/idlepoll.sh \
	tests/live/interpreters.sh \
	tests/live/allow.sh \
	tests/live/envelope.sh \
	tests/live/lend.sh \
	tests/live/masks.sh \
	tests/live/waits.sh \
	tests/live/walls.sh \
	tests/live/polling.sh \
	tests/live/qos.sh \
	tests/live/threads.sh \
	tests/live/nodes.sh \
	tests/live/omp.sh \
	tests/live/cluster.sh \
	tests/live/plugin-churn.sh \
	tests/live/plugin-messages.sh \
	tests/live/plugin-no-daemon.sh
# End of live_scripts
# Minutes long: `make check-live-full' has them too.
full_scripts = \
	tests/live/guard.sh \
	tests/live/kinds.sh \
	tests/live/launches.sh \
	tests/live/pages.sh \
	tests/live/pages-full.sh \
	tests/live/saved-view.sh \
	tests/live/users.sh
# End of full_scripts
# These compare speeds: `make check-speed' runs them, on a machine that does nothing else.
speed_scripts = \
	tests/live/corun.sh \
	tests/live/gain.sh
# End of speed_scripts
LIVE_TESTS = $(live_scripts)
dist_check_SCRIPTS += $(live_scripts) $(full_scripts) $(speed_scripts)
include tests/live/actuate.mk
EXTRA_DIST += tests/live/lib.sh tests/live/spine.sh tests/live/turns.sh tests/live/pollers.c tests/live/pair.c tests/live/hold.c tests/live/starter.c tests/live/live_regions.c \
	.shellcheckrc tests/security-removal.sh tests/chaos/chaos tests/chaos/faults.sh tests/chaos/clock.c tests/chaos/sum

# Stands where colocd would.
LIVE_HELPERS = tests/live/live_msgdump tests/live/live_worker tests/live/live_client \
	tests/live/live_liar tests/live/live_topology tests/live/live_many tests/live/live_affinity
check_PROGRAMS += $(LIVE_HELPERS)
tests_live_live_msgdump_SOURCES = tests/live/live_msgdump.c
tests_live_live_msgdump_LDADD = libcommon.la
tests_live_live_affinity_SOURCES = tests/live/live_affinity.c
tests_live_live_affinity_LDFLAGS = -pthread
tests_live_live_topology_SOURCES = tests/live/live_topology.c
tests_live_live_topology_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)
tests_live_live_topology_LDADD = $(HWLOC_LIBS)
tests_live_live_many_SOURCES = tests/live/live_many.c
tests_live_live_many_CFLAGS = $(AM_CFLAGS) -pthread
tests_live_live_worker_SOURCES = tests/live/live_worker.c
tests_live_live_worker_LDADD = libcolocclient.la

tests_live_live_liar_SOURCES = tests/live/live_liar.c
tests_live_live_liar_LDADD = libcolocclient.la

# Says to colocd what no program of ours would.
tests_live_live_client_SOURCES = tests/live/live_client.c
tests_live_live_client_LDADD = libcommon.la

# What they run and is not built otherwise, also for a release's build (tests/guest/packages-release.sh).
.PHONY: live-programs
live-programs: $(LIVE_HELPERS) $(live_compiled)

.PHONY: check-live
check-live: all live-programs
	@$(RUN_LIST) live $(LIVE_TESTS)

.PHONY: check-live-full
check-live-full: all live-programs
	@$(RUN_LIST) live $(LIVE_TESTS) $(full_scripts)

.PHONY: check-speed
check-speed: all live-programs
	@COLOC_QUIET=1 $(RUN_LIST) speed $(speed_scripts)
CLEANFILES += *.live.log *.speed.log live.results speed.results
