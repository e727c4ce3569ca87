# sim: colocsim, the engine away from the node.
#
# The simulated machine and what drives the engine on it. Of counters/ it takes what turns counts
# into rates, without the backends and their libraries; of tasks/, what asks the engine for places.
noinst_LTLIBRARIES += libsim.la
libsim_la_SOURCES = \
	nodesvc/counters/counters.h nodesvc/counters/rates.c \
	nodesvc/sim/bursts.c nodesvc/sim/bursts.h \
	nodesvc/sim/drive.c nodesvc/sim/drive.h \
	nodesvc/sim/drive_internal.h \
	nodesvc/sim/drive_policy.c \
	nodesvc/sim/drive_result.c \
	nodesvc/sim/eval.c nodesvc/sim/eval.h \
	nodesvc/sim/exec_policy.c nodesvc/sim/exec_policy.h \
	nodesvc/sim/joint.c nodesvc/sim/joint.h \
	nodesvc/sim/joint_exact.c nodesvc/sim/joint_internal.h \
	nodesvc/sim/joint_search.c \
	nodesvc/sim/joint_way.c \
	nodesvc/sim/keys.c nodesvc/sim/keys.h \
	nodesvc/sim/layout.c nodesvc/sim/layout.h \
	nodesvc/sim/machine.c nodesvc/sim/machine.h \
	nodesvc/sim/model.c nodesvc/sim/model.h \
	nodesvc/sim/model_fit.c \
	nodesvc/sim/models.c nodesvc/sim/models_builtin.h \
	nodesvc/sim/parameter.c nodesvc/sim/parameter.h \
	nodesvc/sim/pool.c nodesvc/sim/pool.h \
	nodesvc/sim/phase_watch.c nodesvc/sim/phase_watch.h \
	nodesvc/sim/population.c nodesvc/sim/population.h \
	nodesvc/sim/population_drawn.c nodesvc/sim/population_drawn.h \
	nodesvc/sim/population_tables.c nodesvc/sim/population_tables.h \
	nodesvc/sim/program.c nodesvc/sim/program.h \
	nodesvc/sim/rng.c nodesvc/sim/rng.h \
	nodesvc/sim/run.c nodesvc/sim/run.h \
	nodesvc/sim/sensitivity.c nodesvc/sim/sensitivity.h \
	nodesvc/sim/sensor.c nodesvc/sim/sensor.h \
	nodesvc/sim/solve.c nodesvc/sim/solve.h \
	nodesvc/sim/statics.c nodesvc/sim/statics.h \
	nodesvc/sim/stats.c nodesvc/sim/stats.h \
	nodesvc/sim/task_eval.c nodesvc/sim/task_eval.h \
	nodesvc/sim/task_graph.c nodesvc/sim/task_graph.h \
	nodesvc/sim/task_machine.c nodesvc/sim/task_machine.h \
	nodesvc/sim/task_preset.c nodesvc/sim/task_preset.h \
	nodesvc/sim/task_queue.c nodesvc/sim/task_queue.h \
	nodesvc/sim/task_rate.c nodesvc/sim/task_rate.h \
	nodesvc/sim/task_run.c nodesvc/sim/task_run.h \
	nodesvc/tasks/task_place.c nodesvc/tasks/task_place.h
# End of libsim_la_SOURCES
nodist_libsim_la_SOURCES = nodesvc/sim/models_builtin.c
libsim_la_CFLAGS = $(AM_CFLAGS) -pthread $(YAML_CFLAGS) $(JSON_CFLAGS)
libsim_la_LIBADD = libviewjson.la libengine.la libtopo.la libcommon.la $(YAML_LIBS) \
	$(JSON_LIBS) -lpthread -lm

# Models of real programs: part of colocsim, and installed to look at and to start own ones from.
modelsdir = $(pkgdatadir)/models
dist_models_DATA = \
	nodesvc/sim/models/dgemm.yaml \
	nodesvc/sim/models/fft.yaml \
	nodesvc/sim/models/gromacs.yaml \
	nodesvc/sim/models/lammps.yaml \
	nodesvc/sim/models/pagerank.yaml \
	nodesvc/sim/models/randomaccess.yaml \
	nodesvc/sim/models/stencil.yaml \
	nodesvc/sim/models/stream.yaml \
	nodesvc/sim/models/zstd.yaml
# End of dist_models_DATA
CLEANFILES += nodesvc/sim/models_builtin.c
nodesvc/sim/models_builtin.c: $(dist_models_DATA) nodesvc/sim/embed-models
	$(AM_V_at)$(MKDIR_P) nodesvc/sim
	$(AM_V_GEN)cd $(srcdir) && $(SHELL) nodesvc/sim/embed-models $(dist_models_DATA) \
		>$(abs_builddir)/$@.new && mv $(abs_builddir)/$@.new $(abs_builddir)/$@
EXTRA_DIST += nodesvc/sim/embed-models

dist_man_MANS += nodesvc/sim/colocsim.1
bin_PROGRAMS += nodesvc/colocsim
nodesvc_colocsim_SOURCES = \
	nodesvc/sim/colocsim.c \
	nodesvc/sim/eval_cmd.c \
	nodesvc/sim/eval_print.c nodesvc/sim/eval_print.h \
	nodesvc/sim/plan_cmd.c \
	nodesvc/sim/replay_cmd.c \
	nodesvc/sim/run_cmd.c \
	nodesvc/sim/rows.c nodesvc/sim/rows.h \
	nodesvc/sim/sensitivity_print.c nodesvc/sim/sensitivity_print.h \
	nodesvc/sim/sim.h \
	nodesvc/sim/sweep.c nodesvc/sim/sweep.h \
	nodesvc/sim/task_cmd.c \
	nodesvc/sim/task_workload.c nodesvc/sim/task_workload.h \
	nodesvc/sim/workload.c nodesvc/sim/workload.h
# End of nodesvc_colocsim_SOURCES
nodesvc_colocsim_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS) $(YAML_CFLAGS)
nodesvc_colocsim_LDADD = libviewjson.la libsim.la libengine.la libtopo.la libcommon.la $(JSON_LIBS) \
	$(YAML_LIBS) -lm

sim_tests = \
	tests/unit/test_exec_policy \
	tests/unit/test_sim_drive \
	tests/unit/test_sim_eval \
	tests/unit/test_sim_joint \
	tests/unit/test_sim_machine \
	tests/unit/test_sim_model \
	tests/unit/test_sim_population \
	tests/unit/test_sim_shape \
	tests/unit/test_sim_tasks \
	tests/unit/test_sim_turns \
	tests/unit/test_sim_workload \
	tests/unit/test_sweep \
	tests/unit/test_task_workload
# End of sim_tests
check_PROGRAMS += $(sim_tests)
TESTS += $(sim_tests) tests/check-sim.sh tests/check-exec-policy.sh
dist_check_SCRIPTS += tests/check-sim.sh tests/check-exec-policy.sh
EXTRA_DIST += contrib/examples/equal_split.py
SIM_TEST_LIBS = libsim.la libengine.la libtopo.la libcommon.la $(CHECK_LIBS) -lm
tests_unit_test_exec_policy_SOURCES = tests/unit/test_exec_policy.c tests/unit/cli.h
tests_unit_test_exec_policy_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_exec_policy_LDADD = $(CHECK_LIBS)
tests_unit_test_sweep_SOURCES = \
	nodesvc/sim/sweep.c nodesvc/sim/sweep.h \
	tests/unit/test_sweep.c
tests_unit_test_sweep_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sweep_LDADD = libcommon.la $(CHECK_LIBS) -lm
tests_unit_test_sim_drive_SOURCES = tests/unit/test_sim_drive.c
tests_unit_test_sim_drive_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_drive_LDADD = $(SIM_TEST_LIBS)
tests_unit_test_sim_joint_SOURCES = tests/unit/test_sim_joint.c
tests_unit_test_sim_joint_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_joint_LDADD = $(SIM_TEST_LIBS)
tests_unit_test_sim_machine_SOURCES = tests/unit/test_sim_machine.c
tests_unit_test_sim_machine_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_machine_LDADD = $(SIM_TEST_LIBS)
tests_unit_test_sim_shape_SOURCES = tests/unit/test_sim_shape.c
tests_unit_test_sim_shape_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_shape_LDADD = $(SIM_TEST_LIBS)
tests_unit_test_sim_model_SOURCES = tests/unit/test_sim_model.c
tests_unit_test_sim_model_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_model_LDADD = $(SIM_TEST_LIBS)
tests_unit_test_sim_population_SOURCES = tests/unit/test_sim_population.c
tests_unit_test_sim_population_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_population_LDADD = $(SIM_TEST_LIBS)
tests_unit_test_sim_eval_SOURCES = tests/unit/test_sim_eval.c
tests_unit_test_sim_eval_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_eval_LDADD = $(SIM_TEST_LIBS)
tests_unit_test_sim_tasks_SOURCES = tests/unit/test_sim_tasks.c
tests_unit_test_sim_tasks_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_tasks_LDADD = $(SIM_TEST_LIBS)
tests_unit_test_sim_turns_SOURCES = tests/unit/test_sim_turns.c
tests_unit_test_sim_turns_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_sim_turns_LDADD = $(SIM_TEST_LIBS)
tests_unit_test_task_workload_SOURCES = \
	nodesvc/sim/task_workload.c nodesvc/sim/task_workload.h \
	tests/unit/test_task_workload.c
tests_unit_test_task_workload_CFLAGS = $(UNIT_CFLAGS) $(YAML_CFLAGS)
tests_unit_test_task_workload_LDADD = $(SIM_TEST_LIBS) $(YAML_LIBS)
tests_unit_test_sim_workload_SOURCES = \
	nodesvc/sim/workload.c nodesvc/sim/workload.h \
	tests/unit/test_sim_workload.c
tests_unit_test_sim_workload_CFLAGS = $(UNIT_CFLAGS) $(YAML_CFLAGS)
tests_unit_test_sim_workload_LDADD = $(SIM_TEST_LIBS) $(YAML_LIBS)

# Where the time-sharing penalties come from. No sanitizers: it measures.
EXTRA_DIST += contrib/bench/oversubscribe
noinst_PROGRAMS += contrib/bench/bin/sharecost
contrib_bench_bin_sharecost_SOURCES = contrib/bench/sharecost.c contrib/bench/machinetime.h common/out.c
contrib_bench_bin_sharecost_CFLAGS = $(WARN_CFLAGS) -fno-common -pthread
contrib_bench_bin_sharecost_LDFLAGS =
contrib_bench_bin_sharecost_LDADD = -lpthread

# doc/evaluation.md
EXTRA_DIST += contrib/bench/evaluation contrib/bench/papers doc/evaluation.md doc/plots/realnode.svg \
	doc/results/papers.md doc/results/realnode-other.md doc/results/realnode.md \
	contrib/workloads/das-clocks.yaml \
	contrib/workloads/das-heat.yaml \
	contrib/workloads/das-interference.yaml \
	contrib/workloads/das-kmeans.yaml \
	doc/plots/das-fig10.svg \
	doc/plots/das-fig4.svg \
	doc/plots/das-fig5-6.svg \
	doc/plots/das-fig7.svg \
	doc/plots/das-fig9.svg \
	doc/plots/lira-fig1.svg \
	doc/plots/lira-fig2.svg \
	doc/plots/lira-fig3.svg \
	doc/plots/lira-fig6.svg \
	doc/plots/lira-fig7.svg \
	doc/plots/lira-fig8.svg \
	doc/plots/lira-fig9.svg \
	doc/plots/llc-fig3-4.svg \
	doc/plots/mapper-fig1.svg \
	doc/plots/sbmp-fig1.svg \
	doc/plots/sbmp-fig11.svg \
	doc/plots/sbmp-fig4.svg \
	doc/plots/sbmp-fig7.svg \
	doc/plots/sbmp-fig8-10.svg
# End of EXTRA_DIST
noinst_PROGRAMS += contrib/bench/bin/dassim contrib/bench/bin/papersim
contrib_bench_bin_dassim_SOURCES = \
	contrib/bench/dassim/apps.c \
	contrib/bench/dassim/dassim.c \
	contrib/bench/dassim/setup.c contrib/bench/dassim/setup.h \
	contrib/bench/papersim/svg.c contrib/bench/papersim/svg.h
# End of contrib_bench_bin_dassim_SOURCES
contrib_bench_bin_dassim_LDADD = libsim.la libengine.la libtopo.la libcommon.la -lpthread -lm
contrib_bench_bin_papersim_SOURCES = \
	contrib/bench/papersim/arena.c contrib/bench/papersim/arena.h \
	contrib/bench/papersim/fit.c contrib/bench/papersim/fit.h \
	contrib/bench/papersim/lira.c contrib/bench/papersim/lira.h \
	contrib/bench/papersim/lira_figures.c \
	contrib/bench/papersim/other_figures.c \
	contrib/bench/papersim/others.c \
	contrib/bench/papersim/papersim.c \
	contrib/bench/papersim/reasons.c \
	contrib/bench/papersim/robust.c \
	contrib/bench/papersim/sbmp.c contrib/bench/papersim/sbmp.h \
	contrib/bench/papersim/sbmp_figures.c \
	contrib/bench/papersim/svg.c contrib/bench/papersim/svg.h
# End of contrib_bench_bin_papersim_SOURCES
contrib_bench_bin_papersim_LDADD = libsim.la libengine.la libtopo.la libcommon.la -lpthread -lm
