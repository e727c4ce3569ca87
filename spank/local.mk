# spank: the plugin. Runs inside srun, slurmd and slurmstepd: libc only, and never the sanitizers'
# flags, since their runtime cannot be loaded into a program that was built without.
SPANK_PLAIN_SOURCES = \
	spank/args.c spank/args.h \
	spank/client.c spank/client.h \
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
	common/err.c common/err.h \
	common/ipc.c common/ipc.h \
	common/msg.c common/msg.h
# End of spank_spank_coloc_la_SOURCES
EXTRA_spank_spank_coloc_la_DEPENDENCIES = $(srcdir)/spank/plugin.map
spank_spank_coloc_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CFLAGS) -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
spank_spank_coloc_la_CFLAGS = $(WARN_CFLAGS) -O2 -fno-common -fvisibility=hidden \
	-fstack-protector-strong
spank_spank_coloc_la_LDFLAGS = -module -avoid-version -shared \
	-Wl,-z,now -Wl,-z,relro -Wl,--version-script=$(srcdir)/spank/plugin.map
endif

# The same files for the unit tests, with the tests' flags.
check_LTLIBRARIES += libspankplain.la
libspankplain_la_SOURCES = $(SPANK_PLAIN_SOURCES)
