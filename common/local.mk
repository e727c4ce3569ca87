# common: what both sides of the socket share; depends on nothing of ours.
# libcommon is libc only (the plugin compiles the same files); topo.c needs hwloc and stays apart.
noinst_LTLIBRARIES += libcommon.la
libcommon_la_SOURCES = \
	common/apart.c common/apart.h \
	common/arena.c common/arena.h \
	common/aside.c common/aside.h \
	common/budget.c common/budget.h \
	common/cleanup.h \
	common/command.c common/command.h \
	common/coreset.c common/coreset.h \
	common/csv.c common/csv.h \
	common/elf_image.c common/elf_image.h \
	common/err.c common/err.h \
	common/fsroot.c common/fsroot.h \
	common/infile.c common/infile.h \
	common/ipc.c common/ipc.h \
	common/launch_family.h \
	common/msg.c common/msg.h \
	common/out.c common/out.h \
	common/runtimes.c common/runtimes.h \
	common/schedstat.c common/schedstat.h \
	common/starters.c common/starters.h \
	common/text.c common/text.h
# End of libcommon_la_SOURCES
noinst_LTLIBRARIES += libtopo.la
libtopo_la_SOURCES = common/topo.c common/topo.h
libtopo_la_CFLAGS = $(AM_CFLAGS) $(HWLOC_CFLAGS)
libtopo_la_LIBADD = libcommon.la $(HWLOC_LIBS)
