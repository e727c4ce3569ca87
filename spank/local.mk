# spank: the plugin. Runs inside srun, slurmd and slurmstepd: libc only, and never the sanitizers'
# flags, since their runtime cannot be loaded into a program that was built without.
SPANK_PLAIN_SOURCES = \
	spank/args.c spank/args.h \
	spank/bind.c spank/bind.h \
	spank/client.c spank/client.h \
	spank/late.c spank/late.h \
	spank/launch.c spank/launch.h \
	spank/opts.c spank/opts.h \
	common/launch_names.h
# End of SPANK_PLAIN_SOURCES
EXTRA_DIST += spank/plugin.map

if HAVE_SLURM
slurm_plugin_LTLIBRARIES = spank/spank_coloc.la
spank_spank_coloc_la_SOURCES = \
	spank/plugin.c \
	spank/ctx.h \
	spank/ctx_local.c \
	spank/ctx_stepd.c \
	$(SPANK_PLAIN_SOURCES) \
	common/cleanup.h \
	common/command.c common/command.h \
	common/err.c common/err.h \
	common/ipc.c common/ipc.h \
	common/msg.c common/msg.h \
	common/starters.c common/starters.h \
	common/text.c common/text.h
# End of spank_spank_coloc_la_SOURCES
EXTRA_spank_spank_coloc_la_DEPENDENCIES = $(srcdir)/spank/plugin.map
spank_spank_coloc_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CFLAGS) -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
spank_spank_coloc_la_CFLAGS = $(WARN_CFLAGS) -O2 -fno-common -fvisibility=hidden \
	-fstack-protector-strong $(COVERAGE_CFLAGS)
spank_spank_coloc_la_LDFLAGS = -module -avoid-version -shared \
	-Wl,-z,now -Wl,-z,relro -Wl,--version-script=$(srcdir)/spank/plugin.map $(COVERAGE_CFLAGS)
endif

# The same files for the unit tests, with the tests' flags.
check_LTLIBRARIES += libspankplain.la
libspankplain_la_SOURCES = $(SPANK_PLAIN_SOURCES)

SPANK_UNIT_LIBS = libspankplain.la libcommon.la $(CHECK_LIBS)
check_PROGRAMS += \
	tests/unit/test_spank_args \
	tests/unit/test_spank_bind \
	tests/unit/test_spank_client \
	tests/unit/test_spank_launch \
	tests/unit/test_spank_opts
# End of check_PROGRAMS
TESTS += \
	tests/unit/test_spank_args \
	tests/unit/test_spank_bind \
	tests/unit/test_spank_client \
	tests/unit/test_spank_launch \
	tests/unit/test_spank_opts
# End of TESTS
tests_unit_test_spank_args_SOURCES = tests/unit/test_spank_args.c
tests_unit_test_spank_args_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_spank_args_LDADD = $(SPANK_UNIT_LIBS)
tests_unit_test_spank_bind_SOURCES = tests/unit/test_spank_bind.c
tests_unit_test_spank_bind_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_spank_bind_LDADD = $(SPANK_UNIT_LIBS)
tests_unit_test_spank_client_SOURCES = tests/unit/test_spank_client.c
tests_unit_test_spank_client_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_spank_client_LDADD = $(SPANK_UNIT_LIBS)
tests_unit_test_spank_launch_SOURCES = tests/unit/test_spank_launch.c
tests_unit_test_spank_launch_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_spank_launch_LDADD = $(SPANK_UNIT_LIBS)
tests_unit_test_spank_opts_SOURCES = tests/unit/test_spank_opts.c
tests_unit_test_spank_opts_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_spank_opts_LDADD = $(SPANK_UNIT_LIBS)

if HAVE_SLURM
# Slurm loads the .so only; a libtool archive beside it is a file nobody reads.
install-data-hook:
	rm -f '$(DESTDIR)$(slurm_plugindir)/spank_coloc.la'
# ... by which libtool would have found it again.
uninstall-hook:
	rm -f '$(DESTDIR)$(slurm_plugindir)/spank_coloc.so'
endif
