# ctl: colocctl, and the client side of colocd's socket for all command line programs.
noinst_LTLIBRARIES += libctlclient.la
libctlclient_la_SOURCES = nodesvc/ctl/client.c nodesvc/ctl/client.h
libctlclient_la_LIBADD = libcommon.la

noinst_LTLIBRARIES += libctl.la
libctl_la_SOURCES = \
	nodesvc/ctl/check.c nodesvc/ctl/check.h \
	nodesvc/ctl/check_node.c \
	nodesvc/ctl/check_plugin.c \
	nodesvc/ctl/check_service.c \
	nodesvc/ctl/check_slurm.c \
	nodesvc/ctl/cmd.c nodesvc/ctl/cmd.h \
	nodesvc/ctl/cmd_bundle.c \
	nodesvc/ctl/cmd_check.c \
	nodesvc/ctl/cmd_counters.c \
	nodesvc/ctl/cmd_drain.c \
	nodesvc/ctl/cmd_explain.c \
	nodesvc/ctl/cmd_jobs.c \
	nodesvc/ctl/cmd_ping.c \
	nodesvc/ctl/cmd_policies.c \
	nodesvc/ctl/cmd_profile.c \
	nodesvc/ctl/cmd_release.c \
	nodesvc/ctl/cmd_reload.c \
	nodesvc/ctl/cmd_resume.c \
	nodesvc/ctl/cmd_status.c \
	nodesvc/ctl/llc.c nodesvc/ctl/llc.h \
	nodesvc/ctl/profile.c \
	nodesvc/ctl/show.c nodesvc/ctl/show.h \
	nodesvc/ctl/slurm_conf.c nodesvc/ctl/slurm_conf.h
# End of libctl_la_SOURCES
libctl_la_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS) $(SMARTCOLS_CFLAGS)
libctl_la_LIBADD = libcounters.la librecord.la libctlclient.la libcommon.la \
	$(JSON_LIBS) $(SMARTCOLS_LIBS) -ldl

bin_PROGRAMS += nodesvc/colocctl
nodesvc_colocctl_SOURCES = nodesvc/ctl/colocctl.c
nodesvc_colocctl_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS)
nodesvc_colocctl_LDADD = libctl.la

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
