# ctl: colocctl, and the client side of colocd's socket for all command line programs. curses stays in
# top_term.c.
noinst_LTLIBRARIES += libctlclient.la
libctlclient_la_SOURCES = nodesvc/ctl/client.c nodesvc/ctl/client.h
libctlclient_la_LIBADD = libcommon.la

noinst_LTLIBRARIES += libctl.la
libctl_la_SOURCES = \
	nodesvc/ctl/canvas.c \
	nodesvc/ctl/capture.c \
	nodesvc/ctl/check.c nodesvc/ctl/check.h \
	nodesvc/ctl/check_node.c \
	nodesvc/ctl/check_plugin.c \
	nodesvc/ctl/check_run.c \
	nodesvc/ctl/check_service.c \
	nodesvc/ctl/check_slurm.c \
	nodesvc/ctl/ctl.c nodesvc/ctl/ctl.h \
	nodesvc/ctl/cmd_bundle.c \
	nodesvc/ctl/cmd_check.c \
	nodesvc/ctl/cmd_counters.c \
	nodesvc/ctl/cmd_vacuum.c \
	nodesvc/ctl/cmd_explain.c \
	nodesvc/ctl/cmd_jobs.c \
	nodesvc/ctl/cmd_ping.c \
	nodesvc/ctl/cmd_policies.c \
	nodesvc/ctl/cmd_profile.c \
	nodesvc/ctl/cmd_quarantine.c \
	nodesvc/ctl/cmd_record.c \
	nodesvc/ctl/cmd_release.c \
	nodesvc/ctl/cmd_status.c \
	nodesvc/ctl/cmd_top.c \
	nodesvc/ctl/llc.c \
	nodesvc/ctl/profile.c \
	nodesvc/ctl/say.c \
	nodesvc/ctl/show.c \
	nodesvc/ctl/slurm_conf.c \
	nodesvc/ctl/top_detail.c \
	nodesvc/ctl/top.h nodesvc/ctl/top_fetch.c \
	nodesvc/ctl/top_keys.c \
	nodesvc/ctl/top_layout.c \
	nodesvc/ctl/top_live.c \
	nodesvc/ctl/top_map.c \
	nodesvc/ctl/top_model.c \
	nodesvc/ctl/top_nodemap.c \
	nodesvc/ctl/top_table.c
# End of libctl_la_SOURCES
if HAVE_NCURSES
libctl_la_SOURCES += nodesvc/ctl/top_term.c
else
libctl_la_SOURCES += nodesvc/ctl/top_noterm.c
endif
libctl_la_CPPFLAGS = $(AM_CPPFLAGS) -DCOLOC_SBINDIR='"$(sbindir)"'
libctl_la_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS) $(SMARTCOLS_CFLAGS) $(NCURSES_CFLAGS)
libctl_la_LIBADD = libactuate.la libcounters.la librecord.la libctlclient.la libcommon.la \
	$(JSON_LIBS) $(SMARTCOLS_LIBS) $(NCURSES_LIBS) -ldl

bin_PROGRAMS += nodesvc/colocctl
nodesvc_colocctl_SOURCES = nodesvc/ctl/colocctl.c
nodesvc_colocctl_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS)
nodesvc_colocctl_LDADD = libctl.la
dist_man_MANS += nodesvc/ctl/colocctl.1

check_PROGRAMS += tests/unit/test_check
tests_unit_test_check_SOURCES = tests/unit/test_check.c tests/unit/tmpdir.h
tests_unit_test_check_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_check_LDADD = libctl.la libcommon.la $(JSON_LIBS) $(CHECK_LIBS)
TESTS += tests/unit/test_check

check_PROGRAMS += tests/unit/test_llc
tests_unit_test_llc_SOURCES = tests/unit/test_llc.c tests/unit/tmpdir.h
tests_unit_test_llc_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_llc_LDADD = libctl.la libcommon.la $(CHECK_LIBS)
TESTS += tests/unit/test_llc

check_PROGRAMS += tests/unit/test_top
tests_unit_test_top_SOURCES = tests/unit/test_top.c tests/unit/cli.h
tests_unit_test_top_CFLAGS = $(UNIT_CFLAGS) $(JSON_CFLAGS)
tests_unit_test_top_LDADD = libctl.la libcommon.la $(JSON_LIBS) $(CHECK_LIBS) -lm
TESTS += tests/unit/test_top
check_PROGRAMS += tests/unit/test_canvas
tests_unit_test_canvas_SOURCES = tests/unit/test_canvas.c
tests_unit_test_canvas_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_canvas_LDADD = libctl.la libcommon.la $(JSON_LIBS) $(CHECK_LIBS) -lm
TESTS += tests/unit/test_canvas

check_PROGRAMS += tests/unit/test_colocctl
tests_unit_test_colocctl_SOURCES = tests/unit/test_colocctl.c tests/unit/cli.h tests/unit/hostile.h tests/unit/tmpdir.h
tests_unit_test_colocctl_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_colocctl_LDADD = libcommon.la $(CHECK_LIBS)
TESTS += tests/unit/test_colocctl
EXTRA_DIST += \
	tests/golden/ctl-counters.txt \
	tests/golden/ctl-drain.txt \
	tests/golden/ctl-explain-view.txt \
	tests/golden/ctl-explain.txt \
	tests/golden/ctl-help-explain.txt \
	tests/golden/ctl-help-profile.txt \
	tests/golden/ctl-help.txt \
	tests/golden/ctl-jobs-json.txt \
	tests/golden/ctl-jobs.txt \
	tests/golden/ctl-ping-json.txt \
	tests/golden/ctl-ping.txt \
	tests/golden/ctl-policies-one.txt \
	tests/golden/ctl-policies.txt \
	tests/golden/ctl-profile-export.txt \
	tests/golden/ctl-profile-list.txt \
	tests/golden/ctl-profile-rm.txt \
	tests/golden/ctl-profile-show.txt \
	tests/golden/ctl-quarantine.txt \
	tests/golden/ctl-quarantine-all.txt \
	tests/golden/ctl-quarantine-rm.txt \
	tests/golden/ctl-release-all.txt \
	tests/golden/ctl-release.txt \
	tests/golden/ctl-reload.txt \
	tests/golden/ctl-vacuum.txt \
	tests/golden/ctl-status.txt \
	tests/golden/ctl-help-top.txt \
	tests/golden/ctl-top.txt \
	tests/golden/top-batch-narrow.txt \
	tests/golden/top-batch.txt \
	tests/golden/top-big-node.txt \
	tests/golden/top-flat.txt \
	tests/golden/top-help.txt \
	tests/golden/top-narrow.txt \
	tests/golden/top-smt.txt \
	tests/golden/top-wide.txt
# End of EXTRA_DIST
