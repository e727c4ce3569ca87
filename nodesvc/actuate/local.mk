# actuate: how a plan becomes true and how it is undone -> common, the ledger of record
noinst_LTLIBRARIES += libactuate.la
libactuate_la_SOURCES = \
	nodesvc/actuate/actuate.c nodesvc/actuate/actuate.h \
	nodesvc/actuate/cgroup.c \
	nodesvc/actuate/change.c \
	nodesvc/actuate/classes.c \
	nodesvc/actuate/cpus.c \
	nodesvc/actuate/freeze.c \
	nodesvc/actuate/guard.c \
	nodesvc/actuate/hierarchies.c \
	nodesvc/actuate/idle.c \
	nodesvc/actuate/internal.h nodesvc/actuate/steer.h \
	nodesvc/actuate/locate.c \
	nodesvc/actuate/locate_pid.c \
	nodesvc/actuate/masks.c \
	nodesvc/actuate/mems.c \
	nodesvc/actuate/mems_move.c \
	nodesvc/actuate/none.c \
	nodesvc/actuate/proc.c \
	nodesvc/actuate/resctrl.c \
	nodesvc/actuate/ranks.c \
	nodesvc/actuate/rows.c \
	nodesvc/actuate/steer.c nodesvc/actuate/steer_members.c \
	nodesvc/actuate/steer_pass.c nodesvc/actuate/steer_rest.c \
	nodesvc/actuate/steer_rules.c nodesvc/actuate/steer_whose.c \
	nodesvc/actuate/thread_list.c \
	nodesvc/actuate/tree.c \
	nodesvc/actuate/v1.c \
	nodesvc/actuate/v1_below.c nodesvc/actuate/v1_out.c \
	nodesvc/actuate/v2.c \
	nodesvc/actuate/v2_job.c \
	nodesvc/actuate/wakeup.c \
	nodesvc/actuate/watch.c
# End of libactuate_la_SOURCES
# The hierarchies, in the order in which they are tried: hierarchy_NAME.
libactuate_la_CPPFLAGS = $(AM_CPPFLAGS) -DHIERARCHIES="HIERARCHY(v1) HIERARCHY(v2)"
include tests/unit/actuate.mk
