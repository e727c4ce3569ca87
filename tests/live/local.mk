# live tests: against a real Slurm of their own, as root; `make check-live' runs them one after
# another. Exit 77: a prerequisite is missing, and which.
live_scripts = \
	tests/live/measure.sh \
	tests/live/placement.sh \
	tests/live/progress.sh \
	tests/live/restore.sh \
	tests/live/report.sh \
	tests/live/accounting.sh \
	tests/live/adopt.sh \
	tests/live/steady.sh \
	tests/live/daemon-away.sh \
	tests/live/churn.sh \
	tests/live/gang.sh \
	tests/live/allow.sh \
	tests/live/envelope.sh \
	tests/live/kinds.sh \
	tests/live/lend.sh \
	tests/live/polling.sh \
	tests/live/nodes.sh \
	tests/live/omp.sh \
	tests/live/cluster.sh \
	tests/live/plugin-churn.sh \
	tests/live/plugin-messages.sh \
	tests/live/plugin-no-daemon.sh
# End of live_scripts
# These compare speeds: `make check-speed' runs them, on a machine that does nothing else.
speed_scripts = \
	tests/live/corun.sh \
	tests/live/gain.sh
# End of speed_scripts
LIVE_TESTS = $(live_scripts)
dist_check_SCRIPTS += $(live_scripts) $(speed_scripts)
include tests/live/actuate.mk
EXTRA_DIST += tests/live/lib.sh tests/live/spine.sh tests/live/turns.sh .shellcheckrc
EXTRA_DIST += tests/live/pollers.c tests/live/lib.sh tests/live/spine.sh .shellcheckrc

# Stands where colocd would.
LIVE_HELPERS = tests/live/live_msgdump
check_PROGRAMS += $(LIVE_HELPERS)
tests_live_live_msgdump_SOURCES = tests/live/live_msgdump.c
tests_live_live_msgdump_LDADD = libcommon.la

.PHONY: check-live
check-live: all $(check_PROGRAMS)
	@COLOC_SRCDIR='$(abs_top_srcdir)'; COLOC_BUILDDIR='$(abs_top_builddir)'; \
	export COLOC_SRCDIR COLOC_BUILDDIR; \
	pass=0; fail=0; skip=0; \
	for t in $(LIVE_TESTS); do \
	  log=$$(echo "$$t" | sed 's,.*/,,; s,\.sh$$,,').live.log; \
	  if test -x "./$$t"; then run="./$$t"; else run="$(srcdir)/$$t"; fi; \
	  "$$run" >"$$log" 2>&1; rc=$$?; \
	  case $$rc in \
	  0) pass=$$((pass + 1)); echo "PASS: $$t ($$(grep -c '^ok' "$$log") checks)";; \
	  77) skip=$$((skip + 1)); echo "SKIP: $$t $$(sed -n 's/^1\.\.0 # SKIP//p' "$$log")";; \
	  *) fail=$$((fail + 1)); echo "FAIL: $$t (exit $$rc, $$log)"; \
	     grep -A8 -E '^(not ok|Bail out)' "$$log";; \
	  esac; \
	done; \
	echo "live: $$pass passed, $$fail failed, $$skip skipped"; test $$fail = 0

.PHONY: check-speed
check-speed: all $(check_PROGRAMS)
	@COLOC_QUIET=1 $(MAKE) $(AM_MAKEFLAGS) check-live LIVE_TESTS='$(speed_scripts)' | sed 's/^live:/speed:/'
CLEANFILES += *.live.log
