# guest tests: in an emulated machine with two sockets and cgroup v2, with a real Slurm inside; as
# root; `make check-guest' runs them one after another. Exit 77: skipped, with the reason.
GUEST_TESTS = \
	tests/guest/counters-arm64.sh
# End of GUEST_TESTS
# More boots of up to ten minutes: `make check-guest-full'.
GUEST_FULL_TESTS = tests/guest/placement-v2.sh tests/guest/actuators-v2.sh tests/guest/stolen.sh
dist_check_SCRIPTS += $(GUEST_TESTS) $(GUEST_FULL_TESTS) tests/guest/guest tests/guest/live tests/guest/releases
EXTRA_DIST += tests/guest/guest-init tests/guest/initramfs-init tests/guest/uml-init tests/guest/packages.sh \
	tests/guest/packages-uml.sh \
	tests/guest/packages-root.sh tests/guest/packages-arm64.sh tests/guest/packages-release.sh

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
	@$(RUN_LIST) guest $(GUEST_TESTS)

# The live tests and all kinds of job on cgroup v2, at the processor's own speed: Linux as a process
# of this machine (tests/guest/guest --uml), with this machine's Slurm and those of V2_RELEASES
# ("trixie forky").
V2_RELEASES = $$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
.PHONY: check-v2
check-v2: all live-programs
	@COLOC_SRCDIR='$(abs_top_srcdir)' COLOC_BUILDDIR='$(abs_top_builddir)' \
		$(srcdir)/tests/guest/releases --uml $(V2_RELEASES)

.PHONY: check-guest-full
check-guest-full: all
	@$(RUN_LIST) guest $(GUEST_TESTS) $(GUEST_FULL_TESTS)

# The live tests with the Slurm and the kernel of each Debian release, and what passed where as a
# table (doc/compatibility.md). Not part of check-guest: it takes hours.
.PHONY: check-releases
check-releases: all
	@COLOC_SRCDIR='$(abs_top_srcdir)' COLOC_BUILDDIR='$(abs_top_builddir)' $(srcdir)/tests/guest/releases
CLEANFILES += *.guest.log guest.results *.here.results *.live.results *.sockets.results *.uml.results *.uml-sockets.results \
	*.here.out *.live.out *.sockets.out *.uml.out *.uml-sockets.out compatibility.table
