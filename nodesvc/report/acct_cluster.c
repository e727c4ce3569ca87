/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "nodesvc/report/acct.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "nodesvc/record/record.h"

#define ARGS_MAX 32
/* Between fields. A job name may hold it, too, and line feeds: real ones are told by a number
 * that nobody knows before, unless it is a sacct that goes by the first character. */
#define SEPARATOR     '\x1f'
#define SEPARATOR_MAX 24
#define FIELDS                                                                                     \
	"JobID,JobIDRaw,JobName,User,UID,Account,Partition,State,ExitCode,Start,End,AdminComment"
enum { ID, RAW, NAME, USER, UID, ACCOUNT, PARTITION, STATE, EXIT, START, END, COMMENT, N_FIELDS };

struct args {
	char *v[ARGS_MAX];
	int n;
};

static void args_done(struct args *a)
{
	for (int i = 0; i < a->n; i++)
		free(a->v[i]);
}

static int add_arg(struct args *a, const char *text)
{
	if (a->n == ARGS_MAX - 1)
		return -E2BIG;
	a->v[a->n] = strdup(text);
	return a->v[a->n++] ? 0 : -ENOMEM;
}

/* "--option=a,b" of a list of the filter. */
static int add_list(struct args *a, struct json_object *filter, const char *key, const char *option)
{
	struct json_object *list = json_object_object_get(filter, key);
	cleanup_free char *text = NULL;
	size_t size;
	FILE *f;
	int rc;

	if (!list)
		return 0;
	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	fprintf(f, "%s=", option);
	for (size_t i = 0; i < json_object_array_length(list); i++)
		fprintf(f, "%s%s", i ? "," : "",
			json_object_get_string(json_object_array_get_idx(list, i)));
	rc = fclose(f) == 0 ? 0 : -ENOMEM;
	return rc < 0 ? rc : add_arg(a, text);
}

static int add_time(struct args *a, struct json_object *filter, const char *key, const char *option)
{
	struct json_object *value = json_object_object_get(filter, key);
	time_t t = value ? (time_t)(json_object_get_int64(value) / 1000000000) : 0;
	char text[64], when[40];
	struct tm tm;

	/* sacct takes no time before 1970 in some zones; open is its own default with -j. */
	if (t <= 0)
		t = 86400;
	if (!localtime_r(&t, &tm) || strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		return -EOVERFLOW;
	snprintf(text, sizeof(text), "%s=%s", option, when);
	return add_arg(a, text);
}

static int make_args(struct args *a, struct json_object *filter, bool all_users,
	const char *separator, struct errbuf *err)
{
	static const char *const LISTS[][2] = {{"jobs", "--jobs"}, {"uids", "--user"},
		{"states", "--state"}, {"accounts", "--accounts"}, {"partitions", "--partition"},
		{"names", "--name"}, {"nodes", "--nodelist"}};
	static const char *const FIRST[] = {"sacct", "-X", "-n", "-P", ("--format=" FIELDS)};
	char delimiter[SEPARATOR_MAX + 16];
	struct json_object *jobs = json_object_object_get(filter, "jobs");
	int rc = 0;

	for (size_t i = 0; jobs && i < json_object_array_length(jobs); i++) {
		const char *job = json_object_get_string(json_object_array_get_idx(jobs, i));

		if (strchr(job, '.'))
			return err_set(err, -EINVAL,
				"--cluster: '%s': Slurm's accounting has a line per job and node, "
				"not per step",
				job);
	}
	for (size_t i = 0; rc == 0 && i < sizeof(FIRST) / sizeof(FIRST[0]); i++)
		rc = add_arg(a, FIRST[i]);
	snprintf(delimiter, sizeof(delimiter), "--delimiter=%s", separator);
	if (rc == 0)
		rc = add_arg(a, delimiter);
	if (rc == 0 && all_users && !json_object_object_get(filter, "uids"))
		rc = add_arg(a, "--allusers");
	if (rc == 0 && json_object_object_get(filter, "duplicates"))
		rc = add_arg(a, "--duplicates");
	if (rc == 0 && json_object_object_get(filter, "truncate"))
		rc = add_arg(a, "--truncate");
	if (rc == 0)
		rc = add_time(a, filter, "from_ns", "--starttime");
	if (rc == 0)
		rc = add_time(a, filter, "to_ns", "--endtime");
	for (size_t i = 0; rc == 0 && i < sizeof(LISTS) / sizeof(LISTS[0]); i++)
		rc = add_list(a, filter, LISTS[i][0], LISTS[i][1]);
	return rc < 0 ? err_set(err, rc, "--cluster: %s", strerror(-rc)) : 0;
}

/* Starts sacct; its output is the stream. */
static int start(struct args *a, FILE **ret, pid_t *ret_pid, struct errbuf *err)
{
	int fd[2];
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_set(err, -errno, "sacct: %s", strerror(errno));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		/* Times as seconds, whatever the user's format is. */
		setenv("SLURM_TIME_FORMAT", "%s", 1);
		unsetenv("SACCT_FORMAT");
		if (dup2(fd[1], STDOUT_FILENO) < 0)
			_exit(126);
		execvp("sacct", a->v);
		_exit(127);
	}
	close(fd[1]);
	*ret = pid > 0 ? fdopen(fd[0], "r") : NULL;
	if (!*ret) {
		int rc = -errno;

		close(fd[0]);
		return err_set(err, rc, "sacct: %s", strerror(-rc));
	}
	*ret_pid = pid;
	return 0;
}

struct job {
	char separator[SEPARATOR_MAX]; /* that sacct was told; its first character is one as well */
	char *pending;                 /* a record that goes on in the next line */
	char **field;
	struct json_object *filter;
	struct json_object *row; /* of the part that is read */
	int part;
	int (*emit)(const char *json_row, void *arg);
	void *arg;
};

static void add_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, *text ? json_object_new_string(text) : NULL);
}

static void add_number(struct json_object *o, const char *key, const char *text)
{
	char *end, written[40];
	double value = strtod(text, &end);

	/* Whoever may write AdminComment may write "0x1p3" and "nan", which are no numbers of JSON.
	 */
	if (!*text || *end || text[strspn(text, "0123456789+-.eE")] || !isfinite(value) ||
		(strstr(key, "unix_s") && !acct_row_is_seconds(value)))
		return;
	snprintf(written, sizeof(written), "%.15g", value);
	json_object_object_add(o, key, json_object_new_double_s(value, written));
}

static bool node_is_wanted(const struct job *j)
{
	struct json_object *nodes = json_object_object_get(j->filter, "nodes");
	struct json_object *node = json_object_object_get(j->row, "node");

	for (size_t i = 0; nodes && i < json_object_array_length(nodes); i++) {
		if (json_object_equal(json_object_array_get_idx(nodes, i), node))
			return true;
	}
	return !nodes;
}

static int emit_part(struct job *j)
{
	struct json_object *start = NULL, *end = NULL;
	int rc = 0;

	if (!j->row)
		return 0;
	json_object_object_get_ex(j->row, "start_unix_s", &start);
	json_object_object_get_ex(j->row, "end_unix_s", &end);
	if (start && end)
		json_object_object_add(j->row, "elapsed_s",
			json_object_new_double(
				json_object_get_double(end) - json_object_get_double(start)));
	if (node_is_wanted(j))
		rc = j->emit(json_object_to_json_string_ext(j->row,
				     JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			j->arg);
	json_object_put(j->row);
	j->row = NULL;
	return rc;
}

/* What Slurm knows of the job; keys of acct_query.c. */
static struct json_object *job_row(char **field)
{
	struct json_object *o = json_object_new_object();
	int status = 0, sig = 0;

	add_text(o, "id", field[ID]);
	add_number(o, "job_id", field[RAW]);
	add_text(o, "name", field[NAME]);
	add_text(o, "user", field[USER]);
	add_number(o, "uid", field[UID]);
	add_text(o, "account", field[ACCOUNT]);
	add_text(o, "partition", field[PARTITION]);
	field[STATE][strcspn(field[STATE], " ")] = '\0'; /* "CANCELLED by 1000" */
	add_text(o, "state", field[STATE]);
	if (sscanf(field[EXIT], "%d:%d", &status, &sig) == 2) {
		json_object_object_add(o, "exit_status", json_object_new_int(status));
		json_object_object_add(o, "exit_signal", json_object_new_int(sig));
	}
	add_number(o, "start_unix_s", field[START]);
	add_number(o, "end_unix_s", field[END]);
	return o;
}

static void add_list_of(struct json_object *o, const char *key, const char *text)
{
	struct json_object *list = json_object_new_array();

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");

		json_object_array_add(list, json_object_new_string_len(p, (int)n));
		p += n + (p[n] == ',');
	}
	json_object_object_add(o, key, list);
}

static int add_value(int part, const char *key, const char *value, void *arg)
{
	static const char *const NAME_OF[][2] = {
		{"rebinds", "rebinds"},
		{"moves", "moves"},
		{"phases", "phases"},
		{"ntt", "ntt_full"},
		{"stp", "stp_full"},
		{"antt", "antt_full"},
		{"gain", "gain_placement"},
		{"gain_lo", "gain_placement_lo"},
		{"gain_hi", "gain_placement_hi"},
		{"launch", "gain_launch"},
		{"launch_lo", "gain_launch_lo"},
		{"launch_hi", "gain_launch_hi"},
		{"solo", "solo_speed"},
		{"shared", "shared_speed"},
		{"start", "start_unix_s"},
		{"end", "end_unix_s"},
	};
	struct job *j = arg;
	int rc = 0;

	if (j->row && part != j->part)
		rc = emit_part(j);
	if (rc)
		return rc;
	if (!j->row)
		j->row = job_row(j->field);
	j->part = part;
	if (strcmp(key, "node") == 0 || strcmp(key, "policy") == 0 || strcmp(key, "coreset") == 0)
		add_text(j->row, key, value);
	else if (strcmp(key, "basis") == 0)
		add_text(j->row, "gain_basis", value);
	else if (strcmp(key, "unit") == 0)
		add_text(j->row, "speed_unit", value);
	else if (strcmp(key, "partners") == 0)
		add_list_of(j->row, "partners", value);
	for (size_t i = 0; i < sizeof(NAME_OF) / sizeof(NAME_OF[0]); i++) {
		if (strcmp(key, NAME_OF[i][0]) == 0)
			add_number(j->row, NAME_OF[i][1], value);
	}
	return 0;
}

/* Cuts @line into fields; how many there are. */
static int split(char *line, const char *separator, char *field[N_FIELDS])
{
	int n = 0;

	for (char *p = line, *end; p; p = end ? end + strlen(separator) : NULL) {
		field[n++] = p;
		end = n < N_FIELDS ? strstr(p, separator) : NULL;
		if (end)
			*end = '\0';
	}
	return n;
}

static int read_record(char *line, struct job *j)
{
	char *field[N_FIELDS];
	int rc;

	if (split(line, j->separator, field) < N_FIELDS)
		return 0;
	for (int i = 0; i < N_FIELDS; i++)
		text_clean(field[i]);
	j->field = field;
	rc = summary_parse(field[COMMENT], add_value, j);
	return rc ? rc : emit_part(j);
}

static int count(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/*
 * A line of sacct's. A name may go on in the next one; so may another tool's comment, at the end of
 * a record, and that is not ours.
 */
static int read_line(char *line, struct job *j)
{
	cleanup_free char *joined = NULL;

	line[strcspn(line, "\n")] = '\0';
	if (j->separator[1] && !j->pending && !strstr(line, j->separator) &&
		strchr(line, SEPARATOR))
		j->separator[1] = '\0';
	if (!j->pending && !strstr(line, j->separator))
		return 0;
	if (asprintf(&joined, "%s%s%s", j->pending ? j->pending : "", j->pending ? "\n" : "",
		    line) < 0)
		return -ENOMEM;
	free(j->pending);
	j->pending = NULL;
	if (count(joined, j->separator) >= N_FIELDS - 1)
		return read_record(joined, j);
	/* By the character alone nobody can tell which line the record is in. */
	j->pending = j->separator[1] ? take_ptr(joined) : NULL;
	return 0;
}

int acct_source_cluster(const char *filter, bool all_users,
	int (*row)(const char *json_row, void *arg), void *arg, struct errbuf *err)
{
	struct json_object *root = json_tokener_parse(filter);
	struct job j = {.filter = root, .emit = row, .arg = arg};
	cleanup_free char *line = NULL;
	struct args args = {.n = 0};
	uint64_t nonce = 0;
	FILE *f = NULL;
	size_t size = 0;
	pid_t pid = -1;
	int status = 0, rc;

	if (getrandom(&nonce, sizeof(nonce), 0) < 0)
		nonce = (uint64_t)getpid() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)time(NULL);
	snprintf(j.separator, sizeof(j.separator), "%c%016" PRIx64, SEPARATOR, nonce);
	rc = make_args(&args, root, all_users, j.separator, err);

	if (rc == 0)
		rc = start(&args, &f, &pid, err);
	while (rc == 0 && getline(&line, &size, f) > 0)
		rc = read_line(line, &j);
	if (f)
		fclose(f);
	if (pid > 0)
		waitpid(pid, &status, 0);
	free(j.pending);
	json_object_put(j.row);
	json_object_put(root);
	args_done(&args);
	if (rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(
			err, -ENOENT, "--cluster: no sacct found: Slurm's commands are needed");
	if (rc == 0 && status != 0)
		return err_set(err, -EIO, "--cluster: sacct failed");
	return rc;
}
