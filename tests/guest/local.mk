# guest tests: in an emulated machine with two sockets and cgroup v2, with a real Slurm inside; as
# root; `make check-guest' runs them one after another. Exit 77: skipped, with the reason.
GUEST_TESTS = \
	tests/guest/placement-v2.sh \
	tests/guest/actuators-v2.sh \
	tests/guest/counters-arm64.sh
# End of GUEST_TESTS
dist_check_SCRIPTS += $(GUEST_TESTS) tests/guest/guest
EXTRA_DIST += tests/guest/guest-init tests/guest/initramfs-init tests/guest/packages.sh tests/guest/packages-arm64.sh

# Built for the arm64 guest by its scripts; here only to see that they compile.
check_PROGRAMS += tests/guest/pmu_loop
tests_guest_pmu_loop_SOURCES = tests/guest/pmu_loop.c
if HAVE_PAPI
check_PROGRAMS += tests/guest/pmu_step
tests_guest_pmu_step_SOURCES = tests/guest/pmu_step.c
tests_guest_pmu_step_LDADD = libcounters.la libcommon.la $(PAPI_LIBS)
endif

.PHONY: check-guest
check-guest: all
	@COLOC_SRCDIR='$(abs_top_srcdir)'; COLOC_BUILDDIR='$(abs_top_builddir)'; \
	export COLOC_SRCDIR COLOC_BUILDDIR; \
	pass=0; fail=0; skip=0; \
	for t in $(GUEST_TESTS); do \
	  log=$$(echo "$$t" | sed 's,.*/,,; s,\.sh$$,,').guest.log; \
	  "$(srcdir)/$$t" >"$$log" 2>&1; rc=$$?; \
	  case $$rc in \
	  0) pass=$$((pass + 1)); echo "PASS: $$t ($$(grep -c '^ok' "$$log") checks)";; \
	  77) skip=$$((skip + 1)); echo "SKIP: $$t $$(sed -n 's/^1\.\.0 # SKIP//p' "$$log")";; \
	  *) fail=$$((fail + 1)); echo "FAIL: $$t (exit $$rc, $$log)"; \
	     grep -A30 -E '^(not ok|Bail out)' "$$log";; \
	  esac; \
	done; \
	echo "guest: $$pass passed, $$fail failed, $$skip skipped"; test $$fail = 0
CLEANFILES += *.guest.log
