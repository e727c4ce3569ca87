/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * acct_html.h - the HTML report: one file without script, font or network. Who ran on which cores,
 * signals and phases under it, gains, and the table. All text of users is escaped; a policy in the
 * page (CSP) forbids whatever a mistake there might let through.
 */
#ifndef COLOC_REPORT_ACCT_HTML_H
#define COLOC_REPORT_ACCT_HTML_H

#include <stdio.h>

#include "common/err.h"
#include "nodesvc/report/acct_html_data.h"

/* Writes the page; @d laid out. Errors of @f are the caller's to look for. -ENOMEM. */
int acct_html_write(FILE *f, struct html_data *d, double now_s, struct errbuf *err);

#endif
