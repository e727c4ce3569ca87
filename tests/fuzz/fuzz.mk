# libFuzzer harnesses, one per kind of input (doc/security.md has the list). `tests/fuzz/run` builds
# and runs them, in a build of their own that is configured with --enable-fuzzers: there the rooms'
# libraries are instrumented, once, and `make fuzzers` links each harness to those it needs. A new
# harness: a line in fuzz_harnesses, its two variables below, seeds in corpus/NAME.
fuzz_harnesses = \
	tests/fuzz/fuzz_acct \
	tests/fuzz/fuzz_cachegrind \
	tests/fuzz/fuzz_conf \
	tests/fuzz/fuzz_coreset \
	tests/fuzz/fuzz_ctl \
	tests/fuzz/fuzz_engine \
	tests/fuzz/fuzz_linkage \
	tests/fuzz/fuzz_model \
	tests/fuzz/fuzz_msg \
	tests/fuzz/fuzz_page \
	tests/fuzz/fuzz_plan \
	tests/fuzz/fuzz_plugin \
	tests/fuzz/fuzz_policy \
	tests/fuzz/fuzz_proc \
	tests/fuzz/fuzz_profile \
	tests/fuzz/fuzz_slurm_conf \
	tests/fuzz/fuzz_state \
	tests/fuzz/fuzz_store \
	tests/fuzz/fuzz_symbols \
	tests/fuzz/fuzz_topo \
	tests/fuzz/fuzz_trace \
	tests/fuzz/fuzz_tree \
	tests/fuzz/fuzz_view \
	tests/fuzz/fuzz_workload
# End of fuzz_harnesses
EXTRA_PROGRAMS += $(fuzz_harnesses)
.PHONY: fuzzers
if FUZZERS
fuzzers: $(BUILT_SOURCES) $(fuzz_harnesses)
else
fuzzers:
	@echo "make fuzzers needs a build configured with --enable-fuzzers CC=clang: see tests/fuzz/run" >&2
	@exit 1
endif
CLEANFILES += $(fuzz_harnesses)
FUZZ_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS) $(YAML_CFLAGS)
FUZZ_LINK = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/dict tests/fuzz/fuzz.h tests/fuzz/lsan.supp
dist_check_SCRIPTS += tests/fuzz/run

tests_fuzz_fuzz_acct_SOURCES = tests/fuzz/fuzz_acct.c
tests_fuzz_fuzz_acct_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_acct_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_acct_LDADD = libreport.la librecord.la libcommon.la $(JSON_LIBS) -lm
tests_fuzz_fuzz_cachegrind_SOURCES = tests/fuzz/fuzz_cachegrind.c
tests_fuzz_fuzz_cachegrind_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_cachegrind_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_cachegrind_LDADD = libcounters.la libcommon.la -lm
tests_fuzz_fuzz_conf_SOURCES = tests/fuzz/fuzz_conf.c
tests_fuzz_fuzz_conf_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_conf_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_conf_LDADD = $(NODESVC_LIBS)
tests_fuzz_fuzz_coreset_SOURCES = tests/fuzz/fuzz_coreset.c
tests_fuzz_fuzz_coreset_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_coreset_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_coreset_LDADD = libcommon.la
tests_fuzz_fuzz_ctl_SOURCES = tests/fuzz/fuzz_ctl.c
tests_fuzz_fuzz_ctl_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_ctl_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_ctl_LDADD = $(NODESVC_LIBS)
tests_fuzz_fuzz_engine_SOURCES = tests/fuzz/fuzz_engine.c
tests_fuzz_fuzz_engine_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_engine_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_engine_LDADD = libengine.la libtopo.la libcommon.la -lm
tests_fuzz_fuzz_linkage_SOURCES = tests/fuzz/fuzz_linkage.c
tests_fuzz_fuzz_linkage_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_linkage_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_linkage_LDADD = $(NODESVC_LIBS)
tests_fuzz_fuzz_model_SOURCES = tests/fuzz/fuzz_model.c
tests_fuzz_fuzz_model_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_model_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_model_LDADD = libsim.la libengine.la libtopo.la libcommon.la $(YAML_LIBS) -lm
tests_fuzz_fuzz_msg_SOURCES = tests/fuzz/fuzz_msg.c
tests_fuzz_fuzz_msg_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_msg_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_msg_LDADD = libcommon.la
tests_fuzz_fuzz_page_SOURCES = tests/fuzz/fuzz_page.c
tests_fuzz_fuzz_page_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_page_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_page_LDADD = libcounters.la libcommon.la -lm
tests_fuzz_fuzz_plan_SOURCES = tests/fuzz/fuzz_plan.c
tests_fuzz_fuzz_plan_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_plan_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_plan_LDADD = libviewjson.la libengine.la libtopo.la libcommon.la $(JSON_LIBS) -lm
tests_fuzz_fuzz_plugin_SOURCES = tests/fuzz/fuzz_plugin.c
tests_fuzz_fuzz_plugin_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_plugin_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_plugin_LDADD = libspankplain.la libcommon.la
tests_fuzz_fuzz_policy_SOURCES = tests/fuzz/fuzz_policy.c
tests_fuzz_fuzz_policy_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_policy_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_policy_LDADD = libspankplain.la libengine.la libtopo.la libcommon.la -lm
tests_fuzz_fuzz_proc_SOURCES = tests/fuzz/fuzz_proc.c
tests_fuzz_fuzz_proc_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_proc_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_proc_LDADD = $(NODESVC_LIBS)
tests_fuzz_fuzz_profile_SOURCES = tests/fuzz/fuzz_profile.c
tests_fuzz_fuzz_profile_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_profile_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_profile_LDADD = $(NODESVC_LIBS)
tests_fuzz_fuzz_slurm_conf_SOURCES = tests/fuzz/fuzz_slurm_conf.c
tests_fuzz_fuzz_slurm_conf_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_slurm_conf_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_slurm_conf_LDADD = libctl.la libcommon.la $(JSON_LIBS)
tests_fuzz_fuzz_state_SOURCES = tests/fuzz/fuzz_state.c
tests_fuzz_fuzz_state_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_state_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_state_LDADD = $(NODESVC_LIBS)
tests_fuzz_fuzz_store_SOURCES = tests/fuzz/fuzz_store.c
tests_fuzz_fuzz_store_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_store_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_store_LDADD = librecord.la libcommon.la -lm
tests_fuzz_fuzz_symbols_SOURCES = tests/fuzz/fuzz_symbols.c
tests_fuzz_fuzz_symbols_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_symbols_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_symbols_LDADD = libcounters.la libcommon.la
tests_fuzz_fuzz_topo_SOURCES = tests/fuzz/fuzz_topo.c
tests_fuzz_fuzz_topo_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_topo_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_topo_LDADD = libtopo.la libcommon.la
tests_fuzz_fuzz_trace_SOURCES = tests/fuzz/fuzz_trace.c
tests_fuzz_fuzz_trace_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_trace_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_trace_LDADD = libviewjson.la libengine.la libtopo.la libcommon.la $(JSON_LIBS) -lm
tests_fuzz_fuzz_tree_SOURCES = tests/fuzz/fuzz_tree.c
tests_fuzz_fuzz_tree_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_tree_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_tree_LDADD = libctl.la libnodesvc.la libactuate.la libcounters.la librecord.la libcommon.la $(JSON_LIBS) -lm
tests_fuzz_fuzz_view_SOURCES = tests/fuzz/fuzz_view.c
tests_fuzz_fuzz_view_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_view_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_view_LDADD = libviewjson.la libengine.la libtopo.la libcommon.la $(JSON_LIBS) -lm
tests_fuzz_fuzz_workload_SOURCES = tests/fuzz/fuzz_workload.c \
	nodesvc/sim/task_workload.c nodesvc/sim/workload.c
tests_fuzz_fuzz_workload_CFLAGS = $(FUZZ_CFLAGS)
tests_fuzz_fuzz_workload_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_fuzz_workload_LDADD = libsim.la libengine.la libtopo.la libcommon.la $(YAML_LIBS) -lm
