# sim: colocsim, the engine away from the node. libviewjson: views and plans as JSON.
noinst_LTLIBRARIES += libviewjson.la
libviewjson_la_SOURCES = \
	nodesvc/sim/plan_json.c nodesvc/sim/plan_json.h \
	nodesvc/sim/view_json.c nodesvc/sim/view_json.h
# End of libviewjson_la_SOURCES
libviewjson_la_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS)
libviewjson_la_LIBADD = libengine.la $(JSON_LIBS)

bin_PROGRAMS += nodesvc/colocsim
nodesvc_colocsim_SOURCES = \
	nodesvc/sim/colocsim.c \
	nodesvc/sim/plan_cmd.c \
	nodesvc/sim/sim.h
# End of nodesvc_colocsim_SOURCES
nodesvc_colocsim_CFLAGS = $(AM_CFLAGS) $(JSON_CFLAGS)
nodesvc_colocsim_LDADD = libviewjson.la libengine.la libtopo.la libcommon.la $(JSON_LIBS) -lm
