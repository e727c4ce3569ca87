/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/ctl/ctl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "nodesvc/record/record.h"

#define OPTIONS_MAX 32

enum { OPT_SOCKET = 1000, OPT_JSON, OPT_TIMEOUT };

static const struct option GLOBAL[] = {
	{"help", no_argument, NULL, 'h'},
	{"json", no_argument, NULL, OPT_JSON},
	{"socket", required_argument, NULL, OPT_SOCKET},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
};
#define N_GLOBAL (int)(sizeof(GLOBAL) / sizeof(GLOBAL[0]))

int ctl_error(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("colocctl: error: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

static void print_usage(FILE *f, const struct ctl_cmd *cmd)
{
	fprintf(f, "Usage: colocctl %s%s%s\n", cmd->name, *cmd->args ? " " : "", cmd->args);
}

int ctl_usage(const struct ctl_cmd *cmd)
{
	print_usage(stderr, cmd);
	return EXIT_USAGE;
}

static int set_timeout(struct ctl *ctl, const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (!*text || *end || !(s > 0 && s <= 3600))
		return ctl_error(
			EXIT_USAGE, "--timeout: '%s' is no number of seconds (up to 3600)", text);
	ctl->timeout_ms = s < 0.001 ? 1 : (int)(s * 1000);
	return EXIT_OK;
}

static int take_global(struct ctl *ctl, const struct ctl_cmd *cmd, int c)
{
	switch (c) {
	case 'h':
		print_usage(stdout, cmd);
		printf("%s\n%s", cmd->summary, cmd->help ? cmd->help : "");
		ctl->help = true;
		return EXIT_OK;
	case OPT_JSON:
		ctl->json = true;
		return EXIT_OK;
	case OPT_SOCKET:
		ctl->socket = optarg;
		return EXIT_OK;
	case OPT_TIMEOUT:
		return set_timeout(ctl, optarg);
	default:
		return EXIT_USAGE; /* getopt has said what */
	}
}

int ctl_options(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv,
	const struct option *own, ctl_option_f take, void *arg)
{
	struct option all[OPTIONS_MAX] = {{0}};
	char shorts[32];
	int n = 0, c, rc = EXIT_OK;

	for (; n < N_GLOBAL; n++)
		all[n] = GLOBAL[n];
	for (; own && own->name && n < OPTIONS_MAX - 1; own++, n++)
		all[n] = *own;
	snprintf(shorts, sizeof(shorts), "%sh%s", cmd->stops ? "+" : "",
		cmd->shorts ? cmd->shorts : "");
	optind = 0; /* glibc: start over */
	while (rc == EXIT_OK && !ctl->help &&
		(c = getopt_long(argc, argv, shorts, all, NULL)) != -1) {
		bool is_global = c == 'h' || c == '?' || c == ':' || c >= OPT_SOCKET;

		rc = is_global ? take_global(ctl, cmd, c) : take(c, optarg, arg);
	}
	if (rc == EXIT_USAGE)
		print_usage(stderr, cmd);
	return rc;
}

int ctl_take_flag(int c, const char *value, void *arg)
{
	(void)c;
	(void)value;
	*(bool *)arg = true;
	return EXIT_OK;
}

int ctl_take_text(int c, const char *value, void *arg)
{
	(void)c;
	*(const char **)arg = value;
	return EXIT_OK;
}

int ctl_arguments(
	struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv, int min, int max)
{
	int rc = ctl_options(ctl, cmd, argc, argv, NULL, NULL, NULL);

	if (rc != EXIT_OK || ctl->help)
		return rc;
	if (argc - optind > max)
		return ctl_misused(
			cmd, "%s: unexpected argument '%s'", cmd->name, argv[optind + max]);
	if (argc - optind < min)
		return ctl_misused(cmd, "%s: %s is missing", cmd->name, cmd->args);
	return EXIT_OK;
}

int ctl_job_argument(const struct ctl_cmd *cmd, const char *text)
{
	struct step_term term;
	struct errbuf err = {""};

	if (step_term_parse(text, &term, &err) < 0)
		return ctl_error(EXIT_USAGE, "%s: %s", cmd->name, err.text);
	return EXIT_OK;
}

int ctl_ask(const struct ctl *ctl, const struct ctl_request *rq, struct json_object **ret)
{
	cleanup_free char *text = NULL;
	struct errbuf err = {""};
	int rc = client_call_text(ctl->socket, ctl->timeout_ms, rq, &text, &err);

	if (client_is_down(rc))
		return ctl_error(EXIT_FAILED, "colocd does not answer: %s", err.text);
	if (rc < 0)
		return ctl_error(EXIT_FAILED, "%s", err.text);
	*ret = json_tokener_parse(text);
	if (!json_object_is_type(*ret, json_type_object)) {
		json_object_put(*ret);
		*ret = NULL;
		return ctl_error(EXIT_FAILED, "%s: the answer to '%s' is no JSON object",
			ctl->socket, rq->cmd);
	}
	return EXIT_OK;
}

int ctl_print_json(struct json_object *o)
{
	printf("%s\n", json_object_to_json_string_ext(
			       o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
	return fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

int ctl_ask_and_show(const struct ctl *ctl, const struct ctl_request *rq,
	int (*show)(struct json_object *answer))
{
	struct json_object *o = NULL;
	int rc = ctl_ask(ctl, rq, &o);

	if (rc != EXIT_OK)
		return rc;
	if (ctl->json)
		return ctl_print_json(o);
	rc = show(o);
	json_object_put(o);
	return rc;
}

int ctl_exec(struct ctl *ctl, const struct ctl_cmd *cmd, int argc, char **argv)
{
	struct ctl_request rq = {.cmd = cmd->name};
	int rc;

	if (cmd->exec)
		return cmd->exec(ctl, cmd, argc, argv);
	rc = ctl_arguments(ctl, cmd, argc, argv, 0, 0);
	return rc != EXIT_OK || ctl->help ? rc : ctl_ask_and_show(ctl, &rq, cmd->show);
}
