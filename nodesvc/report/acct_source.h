/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_source.h - where the rows come from: the store, which only root can read, or the daemon,
 * which gives a user his own.
 */
#ifndef COLOC_REPORT_ACCT_SOURCE_H
#define COLOC_REPORT_ACCT_SOURCE_H

#include "common/err.h"

/* coloc.db below @store: all rows, for whoever may read the file. */
int acct_source_store(const char *store, const char *filter,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err);

/* ctl cmd=acct json=FILTER; the answer is {"steps": [row, ...]}. -EPROTO: a row is none
 * (acct_row_check()); then @row is called for none. */
int acct_source_daemon(const char *socket_path, const char *filter,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err);

#endif
