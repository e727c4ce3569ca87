# colocd, the node service; all but main.c also serves the unit tests
noinst_LTLIBRARIES += libnodesvc.la
libnodesvc_la_SOURCES = \
	nodesvc/base/errands.c nodesvc/base/errands.h \
	nodesvc/base/health.c \
	nodesvc/base/log.c nodesvc/base/log.h \
	nodesvc/base/loop.c nodesvc/base/loop.h \
	nodesvc/base/notify.c \
	nodesvc/base/work.c nodesvc/base/work.h \
	nodesvc/books/account.c \
	nodesvc/books/books.c nodesvc/books/books.h nodesvc/books/internal.h \
	nodesvc/books/history.c \
	nodesvc/books/kept.c \
	nodesvc/books/metrics.c \
	nodesvc/books/slurmacct.c \
	nodesvc/books/store.c \
	nodesvc/choose/choose.c nodesvc/choose/choose.h \
	nodesvc/choose/decide.c \
	nodesvc/choose/internal.h \
	nodesvc/choose/launches.c nodesvc/choose/launches.h \
	nodesvc/choose/options.c \
	nodesvc/choose/ptable.c \
	nodesvc/choose/quarantine.c \
	nodesvc/choose/recording.c \
	nodesvc/choose/ruling.c \
	nodesvc/choose/settled.c \
	nodesvc/choose/trial.c \
	nodesvc/conf/conf.c nodesvc/conf/conf.h \
	nodesvc/conf/conf_keys.c nodesvc/conf/conf_keys.def nodesvc/conf/conf_keys.h \
	nodesvc/daemon/adopt.c \
	nodesvc/daemon/arrival.c \
	nodesvc/daemon/daemon.c nodesvc/daemon/daemon.h \
	nodesvc/daemon/departure.c \
	nodesvc/daemon/online.c \
	nodesvc/daemon/reconcile.c \
	nodesvc/daemon/reload.c \
	nodesvc/daemon/suspended.c \
	nodesvc/daemon/tick.c \
	nodesvc/launch/launch.c nodesvc/launch/launch.h \
	nodesvc/launch/learned.c nodesvc/launch/learned.h \
	nodesvc/launch/linkage.c nodesvc/launch/linkage.h \
	nodesvc/launch/spin.c nodesvc/launch/spin.h \
	nodesvc/levers/idlepoll.c \
	nodesvc/levers/internal.h \
	nodesvc/levers/lend.c \
	nodesvc/levers/levers.c nodesvc/levers/levers.h \
	nodesvc/levers/memory.c \
	nodesvc/levers/owed.c \
	nodesvc/levers/place.c \
	nodesvc/levers/putback.c \
	nodesvc/levers/rotate.c \
	nodesvc/levers/threads.c \
	nodesvc/levers/turns.c \
	nodesvc/levers/ways.c \
	nodesvc/measure/corun.c \
	nodesvc/measure/waits.c \
	nodesvc/measure/home.c \
	nodesvc/measure/counting.c \
	nodesvc/measure/internal.h nodesvc/measure/measure.h \
	nodesvc/measure/phases.c \
	nodesvc/measure/priors.c \
	nodesvc/measure/reading.c \
	nodesvc/measure/sampler.c \
	nodesvc/measure/speed.c \
	nodesvc/measure/threads.c \
	nodesvc/node/node.c nodesvc/node/node.h \
	nodesvc/socket/attach.c \
	nodesvc/socket/ctl.c \
	nodesvc/socket/ctl_json.c nodesvc/socket/internal.h \
	nodesvc/socket/listener.c \
	nodesvc/socket/measured_json.c \
	nodesvc/socket/server.c nodesvc/socket/socket.h \
	nodesvc/steps/carry.c \
	nodesvc/steps/find.c \
	nodesvc/steps/held.c \
	nodesvc/steps/jobs.c nodesvc/steps/jobs.h \
	nodesvc/steps/pages.c \
	nodesvc/steps/registration.c nodesvc/steps/registration.def \
	nodesvc/steps/steps.h \
	nodesvc/steps/suspend.c \
	nodesvc/steps/username.c \
	nodesvc/steps/whose.c
# End of libnodesvc_la_SOURCES
libnodesvc_la_CPPFLAGS = $(AM_CPPFLAGS) $(YAML_CFLAGS) $(JSON_CFLAGS)
NODESVC_LIBS = libnodesvc.la libactuate.la libcounters.la librecord.la libviewjson.la libengine.la libtopo.la \
	libcommon.la $(YAML_LIBS) $(JSON_LIBS) -lm

sbin_PROGRAMS += nodesvc/colocd
nodesvc_colocd_SOURCES = nodesvc/daemon/main.c
nodesvc_colocd_LDADD = $(NODESVC_LIBS)

check_PROGRAMS += tests/unit/test_conf tests/unit/test_jobs tests/unit/test_launch tests/unit/test_lend tests/unit/test_lifecycle \
	tests/unit/test_coupling tests/unit/test_foreground tests/unit/test_idlepoll tests/unit/test_lifecycle_kept \
	tests/unit/test_launches tests/unit/test_linkage tests/unit/test_loop tests/unit/test_mapped tests/unit/test_owed tests/unit/test_polling tests/unit/test_ptable tests/unit/test_quarantine \
	tests/unit/test_rotate tests/unit/test_suspend tests/unit/test_thread_list tests/unit/test_turns \
	tests/unit/test_ways
TESTS += tests/unit/test_conf tests/unit/test_jobs tests/unit/test_launch tests/unit/test_lend tests/unit/test_lifecycle \
	tests/unit/test_coupling tests/unit/test_foreground tests/unit/test_idlepoll tests/unit/test_lifecycle_kept \
	tests/unit/test_launches tests/unit/test_linkage tests/unit/test_loop tests/unit/test_mapped tests/unit/test_owed tests/unit/test_polling tests/unit/test_ptable tests/unit/test_quarantine \
	tests/unit/test_rotate tests/unit/test_suspend tests/unit/test_thread_list tests/unit/test_turns \
	tests/unit/test_ways
daemon_fixture = tests/unit/daemon_fixture.c tests/unit/daemon_fixture.h tests/unit/levers_of.h
lifecycle_fixture = tests/unit/lifecycle_fixture.c tests/unit/lifecycle_fixture.h $(daemon_fixture)
tests_unit_test_conf_SOURCES = tests/unit/test_conf.c
tests_unit_test_conf_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_conf_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_coupling_SOURCES = tests/unit/test_coupling.c tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_coupling_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_coupling_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns
tests_unit_test_coupling_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_idlepoll_SOURCES = tests/unit/test_idlepoll.c tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_idlepoll_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_idlepoll_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_owed_SOURCES = tests/unit/test_owed.c tests/unit/levers_of.h tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_owed_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_owed_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_jobs_SOURCES = tests/unit/test_jobs.c
tests_unit_test_jobs_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_jobs_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_mapped_SOURCES = tests/unit/test_mapped.c tests/unit/fstree.c tests/unit/fstree.h tests/unit/deaf.h
tests_unit_test_mapped_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_mapped_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_linkage_SOURCES = tests/unit/test_linkage.c
tests_unit_test_linkage_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_linkage_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_launches_SOURCES = tests/unit/test_launches.c $(daemon_fixture)
tests_unit_test_launches_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_launches_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_launch_SOURCES = tests/unit/test_launch.c
tests_unit_test_launch_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_launch_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_lend_SOURCES = tests/unit/test_lend.c
tests_unit_test_lend_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lend_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_lend_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=actuate_get_ops,--wrap=idle_set,--wrap=idle_restore,--wrap=classes_list
tests_unit_test_polling_SOURCES = tests/unit/test_polling.c tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_polling_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_polling_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns
tests_unit_test_polling_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_ptable_SOURCES = tests/unit/test_ptable.c tests/unit/tmpdir.h
tests_unit_test_ptable_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_ptable_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_quarantine_SOURCES = tests/unit/test_quarantine.c tests/unit/tmpdir.h $(daemon_fixture)
tests_unit_test_quarantine_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_quarantine_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_ways_SOURCES = tests/unit/test_ways.c tests/unit/fstree.c tests/unit/fstree.h \
	tests/unit/resctrl_tree.c tests/unit/resctrl_tree.h
tests_unit_test_ways_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_ways_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_rotate_SOURCES = tests/unit/test_rotate.c tests/unit/rotation.c \
	tests/unit/rotation.h tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_rotate_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_rotate_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_rotate_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns,--wrap=aside_spent_ns
tests_unit_test_thread_list_SOURCES = tests/unit/test_thread_list.c
tests_unit_test_thread_list_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_thread_list_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns,--wrap=clock_gettime
tests_unit_test_thread_list_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_foreground_SOURCES = tests/unit/test_foreground.c tests/unit/rotation.c \
	tests/unit/rotation.h tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_foreground_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_foreground_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_foreground_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns,--wrap=aside_spent_ns
tests_unit_test_turns_SOURCES = tests/unit/test_turns.c tests/unit/rotation.c \
	tests/unit/rotation.h tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_turns_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_turns_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_turns_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns,--wrap=aside_spent_ns
tests_unit_test_loop_SOURCES = tests/unit/test_loop.c
tests_unit_test_loop_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_loop_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_lifecycle_SOURCES = tests/unit/test_lifecycle.c $(lifecycle_fixture) \
	tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_lifecycle_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lifecycle_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_suspend_SOURCES = tests/unit/test_suspend.c $(lifecycle_fixture) \
	tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_suspend_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_suspend_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_lifecycle_kept_SOURCES = tests/unit/test_lifecycle_kept.c $(lifecycle_fixture)
tests_unit_test_lifecycle_kept_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lifecycle_kept_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_names
TESTS += tests/unit/test_names
tests_unit_test_names_SOURCES = tests/unit/test_names.c tests/unit/hostile.h $(lifecycle_fixture)
tests_unit_test_names_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_names_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_strangers
TESTS += tests/unit/test_strangers
tests_unit_test_strangers_SOURCES = tests/unit/test_strangers.c $(lifecycle_fixture)
tests_unit_test_strangers_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_strangers_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns
tests_unit_test_strangers_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_listener
TESTS += tests/unit/test_listener
tests_unit_test_listener_SOURCES = tests/unit/test_listener.c tests/unit/tmpdir.h
tests_unit_test_listener_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_listener_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_server
TESTS += tests/unit/test_server
tests_unit_test_server_SOURCES = tests/unit/test_server.c tests/unit/tmpdir.h
tests_unit_test_server_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_server_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns,--wrap=clock_gettime \
	-Wl,--wrap=getsockopt,--wrap=ctl_run
tests_unit_test_server_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_store
TESTS += tests/unit/test_store
tests_unit_test_store_SOURCES = tests/unit/test_store.c tests/unit/tmpdir.h
tests_unit_test_store_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_store_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
EXTRA_DIST += nodesvc/engine/registry.def

check_PROGRAMS += tests/unit/test_gain tests/unit/test_waits
TESTS += tests/unit/test_gain tests/unit/test_waits
tests_unit_test_waits_SOURCES = tests/unit/test_waits.c
tests_unit_test_waits_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_waits_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
tests_unit_test_gain_SOURCES = tests/unit/test_gain.c
tests_unit_test_gain_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_gain_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_putback
TESTS += tests/unit/test_putback
tests_unit_test_putback_SOURCES = tests/unit/test_putback.c
tests_unit_test_putback_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_putback_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
check_PROGRAMS += tests/unit/test_pace
TESTS += tests/unit/test_pace
tests_unit_test_pace_SOURCES = tests/unit/test_pace.c tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_pace_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_pace_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns
tests_unit_test_pace_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_measure
TESTS += tests/unit/test_measure
tests_unit_test_measure_SOURCES = tests/unit/test_measure.c
tests_unit_test_measure_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_measure_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=calls_step_work,--wrap=calls_step_rate,--wrap=calls_step_choice
tests_unit_test_measure_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_counting
TESTS += tests/unit/test_counting
tests_unit_test_counting_SOURCES = tests/unit/test_counting.c
tests_unit_test_counting_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_counting_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=ipc_now_ns,--wrap=loop_add_timer,--wrap=loop_set_timer,--wrap=loop_set_timer_at \
	-Wl,--wrap=loop_add_fd,--wrap=loop_remove,--wrap=thread_list_update \
	-Wl,--wrap=symbols_ask_command,--wrap=symbols_ask_thread,--wrap=symbols_take,--wrap=mapped_code \
	-Wl,--wrap=callworker_start,--wrap=callworker_stop,--wrap=callworker_fd,--wrap=callworker_send,--wrap=callworker_take,--wrap=callworker_hangs,--wrap=callworker_kill
tests_unit_test_counting_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_memory
TESTS += tests/unit/test_memory
tests_unit_test_memory_SOURCES = tests/unit/test_memory.c tests/unit/fstree.c tests/unit/fstree.h
tests_unit_test_memory_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_memory_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_levers
TESTS += tests/unit/test_levers
tests_unit_test_levers_SOURCES = tests/unit/test_levers.c tests/unit/levers_of.h
tests_unit_test_levers_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_levers_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=actuate_get_ops,--wrap=idle_restore,--wrap=idle_restore_all \
	-Wl,--wrap=mems_restore,--wrap=mems_restore_all,--wrap=resctrl_assign,--wrap=resctrl_clear,--wrap=resctrl_close \
	-Wl,--wrap=wakeup_restore,--wrap=actuate_restore_all
tests_unit_test_levers_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_node
TESTS += tests/unit/test_node
tests_unit_test_node_SOURCES = tests/unit/test_node.c
tests_unit_test_node_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_node_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=topo_load,--wrap=fsroot_read
tests_unit_test_node_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/unit/test_errands
TESTS += tests/unit/test_errands
tests_unit_test_errands_SOURCES = tests/unit/test_errands.c
tests_unit_test_errands_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_errands_LDADD = $(NODESVC_LIBS) $(CHECK_LIBS)
