# engine: pure decisions. A new policy adds its file to libengine_la_SOURCES.
noinst_LTLIBRARIES += libengine.la
libengine_la_SOURCES = \
	nodesvc/engine/allocate.c \
	nodesvc/engine/burst.c nodesvc/engine/burst.h \
	nodesvc/engine/clusters.c \
	nodesvc/engine/shared_turns.c \
	nodesvc/engine/shares.c \
	nodesvc/engine/shares_apply.c \
	nodesvc/engine/shares_balance.c \
	nodesvc/engine/shares_current.c \
	nodesvc/engine/shares_turns.c \
	nodesvc/engine/shares_mixed.c \
	nodesvc/engine/curve.c \
	nodesvc/engine/engine.c nodesvc/engine/engine.h \
	nodesvc/engine/explain.c \
	nodesvc/engine/fill.c \
	nodesvc/engine/gain.c nodesvc/engine/internal.h \
	nodesvc/engine/grouping.c \
	nodesvc/engine/grouping_search.c \
	nodesvc/engine/foreground.c \
	nodesvc/engine/option.c \
	nodesvc/engine/launch_pairs.c nodesvc/engine/launch_pairs.h \
	nodesvc/engine/waits.c nodesvc/engine/waits.h \
	nodesvc/engine/phase.c nodesvc/engine/phase.h \
	nodesvc/engine/plan.c nodesvc/engine/plan.h \
	nodesvc/engine/policies/auto.c nodesvc/engine/policies/auto.h \
	nodesvc/engine/policies/auto_deal.c \
	nodesvc/engine/policies/auto_model.c \
	nodesvc/engine/policies/auto_search.c \
	nodesvc/engine/policies/auto_loans.c \
	nodesvc/engine/policies/auto_walls.c \
	nodesvc/engine/policies/callisto.c \
	nodesvc/engine/policies/das.c \
	nodesvc/engine/policies/dio.c \
	nodesvc/engine/policies/fair.c \
	nodesvc/engine/policies/gang.c \
	nodesvc/engine/policies/hillclimb.c \
	nodesvc/engine/policies/lira.c \
	nodesvc/engine/policies/llc_complex.c \
	nodesvc/engine/policies/mapper.c \
	nodesvc/engine/policies/mapper.h \
	nodesvc/engine/policies/mapper_explore.c \
	nodesvc/engine/policies/none.c \
	nodesvc/engine/policies/oracle.c \
	nodesvc/engine/policies/sbmp.c nodesvc/engine/policies/sbmp.h \
	nodesvc/engine/policies/sbmp_deal.c \
	nodesvc/engine/policies/spread.c \
	nodesvc/engine/policy.h \
	nodesvc/engine/priority.c \
	nodesvc/engine/ptt.c nodesvc/engine/ptt.h \
	nodesvc/engine/registry.c nodesvc/engine/registry.def \
	nodesvc/engine/scalability.c \
	nodesvc/engine/smt.c \
	nodesvc/engine/snake.c \
	nodesvc/engine/units.c \
	nodesvc/engine/verdict.c \
	nodesvc/engine/view.c nodesvc/engine/view.h
# End of libengine_la_SOURCES
libengine_la_LIBADD = libtopo.la libcommon.la -lm

ENGINE_TEST_LIBS = libviewjson.la libengine.la libtopo.la libcommon.la $(CHECK_LIBS) \
	$(JSON_LIBS) -lm
engine_tests = \
	tests/unit/test_auto \
	tests/unit/test_auto_model \
	tests/unit/test_callisto \
	tests/unit/test_das \
	tests/unit/test_decide_alloc \
	tests/unit/test_clusters \
	tests/unit/test_colocsim_plan \
	tests/unit/test_engine \
	tests/unit/test_engine_corners \
	tests/unit/test_equal \
	tests/unit/test_gang \
	tests/unit/test_engine_view \
	tests/unit/test_plan_check \
	tests/unit/test_priority \
	tests/unit/test_golden \
	tests/unit/test_grouping \
	tests/unit/test_reference \
	tests/unit/test_reference_cores \
	tests/unit/test_sbmp \
	tests/unit/test_sequence \
	tests/unit/test_launch_pairs \
	tests/unit/test_phase \
	tests/unit/test_topo \
	tests/unit/test_verdict
# End of engine_tests
check_PROGRAMS += $(engine_tests)
TESTS += $(engine_tests)
# The fuzzer of the engine as a program of its own: 2 s here, hours by hand.
check_PROGRAMS += tests/fuzz/engine_views
TESTS += tests/fuzz/engine_views
tests_fuzz_engine_views_SOURCES = tests/fuzz/fuzz_engine.c
tests_fuzz_engine_views_CFLAGS = $(AM_CFLAGS) -DFUZZ_MAIN
tests_fuzz_engine_views_LDADD = libengine.la libtopo.la libcommon.la -lm
# Allocations are counted by --wrap: the engine's objects are linked in statically.
COUNT_ALLOC_WRAP = -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc \
	-Wl,--wrap=strdup -Wl,--wrap=qsort
BUSY_NODE = tests/unit/busy_node.c tests/unit/busy_node.h \
	tests/unit/count_alloc.c tests/unit/count_alloc.h
tests_unit_test_decide_alloc_SOURCES = tests/unit/test_decide_alloc.c $(BUSY_NODE)
tests_unit_test_decide_alloc_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_decide_alloc_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_decide_alloc_LDFLAGS = $(AM_LDFLAGS) $(COUNT_ALLOC_WRAP)
SMALL_NODE = tests/unit/small_node.c tests/unit/small_node.h
tests_unit_test_auto_model_SOURCES = tests/unit/test_auto_model.c
tests_unit_test_auto_model_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_auto_model_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_auto_SOURCES = tests/unit/test_auto.c $(SMALL_NODE)
tests_unit_test_auto_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_auto_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_gang_SOURCES = tests/unit/test_gang.c $(SMALL_NODE)
tests_unit_test_gang_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_gang_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_engine_corners_SOURCES = tests/unit/test_engine_corners.c $(SMALL_NODE)
tests_unit_test_engine_corners_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_engine_corners_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_equal_SOURCES = tests/unit/test_equal.c $(SMALL_NODE)
tests_unit_test_equal_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_equal_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_callisto_SOURCES = tests/unit/test_callisto.c $(SMALL_NODE)
tests_unit_test_callisto_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_callisto_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_clusters_SOURCES = tests/unit/test_clusters.c $(SMALL_NODE)
tests_unit_test_clusters_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_clusters_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_das_SOURCES = tests/unit/test_das.c $(SMALL_NODE)
tests_unit_test_das_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_das_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_sbmp_SOURCES = tests/unit/test_sbmp.c $(SMALL_NODE)
tests_unit_test_sbmp_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sbmp_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_engine_view_SOURCES = tests/unit/test_engine_view.c $(SMALL_NODE)
tests_unit_test_engine_view_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_engine_view_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_golden_SOURCES = tests/unit/test_golden.c
tests_unit_test_golden_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_golden_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_topo_SOURCES = tests/unit/test_topo.c
tests_unit_test_topo_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_topo_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_launch_pairs_SOURCES = tests/unit/test_launch_pairs.c
tests_unit_test_launch_pairs_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_launch_pairs_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_verdict_SOURCES = tests/unit/test_verdict.c
tests_unit_test_verdict_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_verdict_LDADD = $(ENGINE_TEST_LIBS)
POLICY_LIFE = tests/unit/policy_life.c tests/unit/policy_life.h
tests_unit_test_engine_SOURCES = tests/unit/test_engine.c $(POLICY_LIFE)
tests_unit_test_engine_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_engine_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_plan_check_SOURCES = tests/unit/test_plan_check.c $(POLICY_LIFE)
tests_unit_test_plan_check_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_plan_check_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_grouping_SOURCES = tests/unit/test_grouping.c
tests_unit_test_grouping_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_grouping_LDADD = $(ENGINE_TEST_LIBS)
REFERENCE_WORLD = tests/unit/reference_world.c tests/unit/reference_world.h
tests_unit_test_reference_SOURCES = tests/unit/test_reference.c $(REFERENCE_WORLD)
tests_unit_test_reference_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_reference_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_reference_cores_SOURCES = tests/unit/test_reference_cores.c $(REFERENCE_WORLD)
tests_unit_test_reference_cores_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_reference_cores_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_sequence_SOURCES = tests/unit/test_sequence.c
tests_unit_test_sequence_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sequence_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_colocsim_plan_SOURCES = tests/unit/test_colocsim_plan.c tests/unit/cli.h
tests_unit_test_colocsim_plan_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_colocsim_plan_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_priority_SOURCES = tests/unit/test_priority.c
tests_unit_test_priority_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_priority_LDADD = $(ENGINE_TEST_LIBS)
tests_unit_test_phase_SOURCES = tests/unit/test_phase.c
tests_unit_test_phase_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_phase_LDADD = $(ENGINE_TEST_LIBS)
EXTRA_DIST += \
	doc/policies.md \
	tests/golden/basic.json \
	tests/golden/das.json \
	tests/golden/dio.json \
	tests/golden/lira-cost.json \
	tests/golden/lira-static.json \
	tests/golden/lira.json \
	tests/golden/llc-complex.json \
	tests/golden/mapper.json \
	tests/golden/mixed.json \
	tests/golden/others.json \
	tests/golden/sbmp.json \
	tests/golden/sbmp-pp.json \
	tests/golden/sizes.json \
	tests/golden/smt.json \
	tests/golden/tx2.xml \
	tests/toy-policy.sh
# End of EXTRA_DIST

noinst_PROGRAMS += contrib/bench/decide
contrib_bench_decide_SOURCES = contrib/bench/decide.c contrib/bench/machinetime.h $(BUSY_NODE)
contrib_bench_decide_LDADD = libengine.la libtopo.la libcommon.la -lm
contrib_bench_decide_LDFLAGS = $(AM_LDFLAGS) $(COUNT_ALLOC_WRAP)

# Not run by itself: for showing that a change for speed leaves every plan as it was.
noinst_PROGRAMS += contrib/bench/plandigest
contrib_bench_plandigest_SOURCES = contrib/bench/plandigest.c
contrib_bench_plandigest_LDADD = libengine.la libtopo.la libcommon.la -lm
