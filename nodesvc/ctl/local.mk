# ctl: colocctl, and the client side of colocd's socket for all command line programs.
noinst_LTLIBRARIES += libctlclient.la
libctlclient_la_SOURCES = nodesvc/ctl/client.c nodesvc/ctl/client.h
libctlclient_la_LIBADD = libcommon.la
