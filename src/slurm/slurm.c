#include "slurm/slurm.h"
#include "base/fs_path.h"

#include "base/mem.h"
#include "base/query.h"
#include "base/shell_words.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

enum { ANSWER_MAX = 1 << 26, ARRAY_SIZE_DEFAULT = 1001 };

/* Slurm's programs try again for a while themselves when the controller does not answer. */
static const double ASK_S = 60, SUBMIT_S = 180;

/* In one line, without an end. */
static char *last_words(const struct text *answer)
{
    struct text words = {0};
    size_t length = strlen(text_get(answer));
    while (length > 0 && strchr("\n\r \t", answer->data[length - 1]))
        length--;
    utf8_add_words(text_get(answer), length, &words);
    return text_take(&words);
}

/* argv: the program's name without a folder, and its arguments; NULL-terminated. */
static bool run_slurm_program(const char *const *argv, const struct strv *env, double timeout_s,
                              struct text *out, struct err *err)
{
    int status;
    const char *name = argv[0];
    const char *path = strv_env_get(env, "PATH");
    AUTO_FREE char *program = fs_find_executable(name, "/", path ? path : "/usr/bin:/bin");
    if (!program) {
        err_set(err, "there is no %s in PATH: Slurm is not installed here", name);
        err->code = ENOENT;
        return false;
    }
    AUTO_STRV struct strv all = {0};
    strv_add(&all, program);
    for (size_t i = 1; argv[i]; i++)
        strv_add(&all, argv[i]);
    if (query_program(&all, env, ANSWER_MAX, timeout_s, true, out, &status))
        return true;
    AUTO_FREE char *words = last_words(out);
    if (status == -1) {
        err_set(err, "%s gave no answer in %.0f s%s%s", name, timeout_s, *words ? ": " : "", words);
        err->code = ETIMEDOUT;
        return false;
    }
    return err_set(err, "%s refused: %s", name, *words ? words : "it does not say why");
}

/* "KillWait                = 30 sec" */
static const char *config_value(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n \t");
        const char *value = line + length;
        if (strncmp(line, key, length) != 0)
            continue;
        value += strspn(value, " \t");
        if (*value == '=')
            return value + 1;
    }
    return NULL;
}

/* line: "a,b,c". */
static bool has_listed_word(const char *line, const char *word)
{
    size_t wanted = strlen(word);
    for (size_t length; (length = strcspn(line, ",\n \t")) > 0;
         line += length, line += *line == ',')
        if (length == wanted && strncmp(line, word, length) == 0)
            return true;
    return false;
}

struct slurm_config slurm_config_parse(const char *text)
{
    struct slurm_config out = {.array_size = ARRAY_SIZE_DEFAULT};
    const char *wait = config_value(text, "KillWait"), *size = config_value(text, "MaxArraySize");
    double kill_wait_s = wait ? strtod(wait, NULL) : 0;
    long long array_size = size ? strtoll(size, NULL, 10) : 0;
    if (kill_wait_s > 0)
        out.kill_wait_s = kill_wait_s;
    if (array_size > 1)
        out.array_size = (size_t)array_size;
    const char *kinds = config_value(text, "GresTypes");
    out.has_gpus = kinds && has_listed_word(kinds + strspn(kinds, " \t"), "gpu");
    return out;
}

bool slurm_config_read(const struct strv *env, struct slurm_config *out, struct err *err)
{
    AUTO_TEXT struct text answer = {0};
    if (!run_slurm_program((const char *[]){"scontrol", "show", "config", NULL}, env, ASK_S,
                           &answer, err))
        return false;
    *out = slurm_config_parse(text_get(&answer));
    return true;
}

/* The answer of --parsable: a line "123" or "123;cluster", among what sbatch may warn of. NULL:
 * there is none. */
static char *job_id_of(const char *answer)
{
    const char *id = NULL;
    size_t digits = 0;
    for (const char *line = answer; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t count = strspn(line, "0123456789");
        if (count == 0 || (line[count] != ';' && line[count] != '\n' && line[count] != '\0'))
            continue;
        id = line;
        digits = count;
    }
    return id ? mem_strndup(id, digits) : NULL;
}

/* Slurm reads its patterns in the folder's name as well, and with a backslash anywhere none at all.
 * NULL: what the script says will do. */
static char *log_option(const char *run_dir)
{
    struct text text = {0};
    if (strchr(run_dir, '\\'))
        return mem_strdup("--output=/dev/null");
    if (!strchr(run_dir, '%'))
        return NULL;
    text_add(&text, "--output=");
    for (const char *c = run_dir; *c; c++) {
        if (*c == '%')
            text_add_char(&text, '%');
        text_add_char(&text, *c);
    }
    text_add(&text, "/" SCRIPT_LOG);
    return text_take(&text);
}

bool slurm_submit(const struct slurm_submission *submission, char **job_id, struct err *err)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_TEXT struct text answer = {0};
    strv_add(&argv, "sbatch");
    strv_add(&argv, "--parsable");
    strv_add_owned(&argv, mem_printf("--chdir=%s", submission->run_dir));
    char *log = log_option(submission->run_dir);
    if (log)
        strv_add_owned(&argv, log);
    strv_add_all(&argv, submission->options);
    if (submission->dependency)
        strv_add_owned(&argv, mem_printf("--dependency=%s", submission->dependency));
    strv_add(&argv, submission->script);
    if (!run_slurm_program((const char *const *)argv.items, submission->env, SUBMIT_S, &answer,
                           err))
        return false;
    *job_id = job_id_of(text_get(&answer));
    if (*job_id)
        return true;
    AUTO_FREE char *words = last_words(&answer);
    return err_set(err, "sbatch answered with no job's number: %s", words);
}

enum { FIELDS_MAX = 5 };

/* Takes the next line of text apart at each '|' into copies; "" for those that it has not. */
static const char *split_line(const char *text, char *fields[FIELDS_MAX])
{
    const char *end = text + strcspn(text, "\n");
    EACH (field, fields, FIELDS_MAX) {
        size_t length = strcspn(text, "|\n");
        *field = mem_strndup(text, length);
        text += length + (text[length] == '|');
    }
    return end + (*end == '\n');
}

static bool read_index(const char *text, size_t *out)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    *out = strtoull(text, &end, 10);
    return *end == '\0';
}

static void task_fini(struct slurm_task *task)
{
    free(task->job_name);
    free(task->job_id);
    free(task->state);
    free(task->nodes);
    free(task->reason);
}

/* Takes the task; one without an index is none. */
static void add_task(struct slurm_tasks *out, const char *index, struct slurm_task *task)
{
    if (!index || !read_index(index, &task->index)) {
        task_fini(task);
        return;
    }
    MEM_ADD(out->items, out->count) = *task;
}

void slurm_queue_parse(const char *text, struct slurm_tasks *out)
{
    while (*text) {
        char *fields[FIELDS_MAX];
        text = split_line(text, fields);
        struct slurm_task task = {.job_name = fields[0],
                                  .job_id = mem_strdup(""),
                                  .state = fields[2],
                                  .nodes = fields[3],
                                  .reason = fields[4]};
        add_task(out, fields[1], &task);
        free(fields[1]);
    }
}

void slurm_accounts_parse(const char *text, struct slurm_tasks *out)
{
    while (*text) {
        char *fields[FIELDS_MAX];
        text = split_line(text, fields);
        char *index = strchr(fields[0], '_');
        struct slurm_task task = {.job_name = mem_strdup(""),
                                  .job_id = fields[0],
                                  .state = fields[1],
                                  .nodes = fields[2],
                                  .reason = fields[3]};
        if (index)
            *index++ = '\0';
        add_task(out, index, &task);
        free(fields[4]);
    }
}

bool slurm_queue_read(const struct strv *env, const struct strv *job_names, struct slurm_tasks *out,
                      struct err *err)
{
    AUTO_TEXT struct text answer = {0};
    AUTO_FREE char *names = strv_join(job_names, ",");
    AUTO_FREE char *of = mem_printf("--name=%s", names);
    if (!run_slurm_program((const char *[]){"squeue", "--noheader", "--array", of,
                                            "--format=%j|%K|%T|%N|%r", NULL},
                           env, ASK_S, &answer, err))
        return false;
    slurm_queue_parse(text_get(&answer), out);
    return true;
}

bool slurm_accounts_read(const struct strv *env, const struct strv *job_ids,
                         struct slurm_tasks *out, struct err *err)
{
    AUTO_TEXT struct text answer = {0};
    AUTO_FREE char *ids = strv_join(job_ids, ",");
    AUTO_FREE char *of = mem_printf("--jobs=%s", ids);
    if (!run_slurm_program((const char *[]){"sacct", "--noheader", "--parsable2", "--allocations",
                                            of, "--format=JobID,State,NodeList,ExitCode", NULL},
                           env, ASK_S, &answer, err))
        return false;
    slurm_accounts_parse(text_get(&answer), out);
    return true;
}

void slurm_tasks_fini(struct slurm_tasks *tasks)
{
    EACH (item, tasks->items, tasks->count)
        task_fini(item);
    free(tasks->items);
    *tasks = (struct slurm_tasks){0};
}

/* ---- The script. */

/* For starting, proofs and writing, beside what the plan counts itself. */
static const double TASK_MARGIN_S = 300, ATTEMPT_MARGIN_S = 120;

void script_ranges(const struct script_numbers *numbers, struct text *out)
{
    for (size_t i = 0; i < numbers->count;) {
        size_t last = i;
        while (last + 1 < numbers->count && numbers->items[last + 1] == numbers->items[last] + 1)
            last++;
        text_addf(out, "%s%zu", i ? "," : "", numbers->items[i]);
        if (last > i)
            text_addf(out, "-%zu", numbers->items[last]);
        i = last + 1;
    }
}

bool script_ranges_hold(const char *ranges, size_t number)
{
    for (char *end; *ranges >= '0' && *ranges <= '9'; ranges = end + (*end == ',')) {
        size_t first = strtoull(ranges, &end, 10), last = first;
        if (*end == '-' && end[1] >= '0' && end[1] <= '9')
            last = strtoull(end + 1, &end, 10);
        if (number >= first && number <= last)
            return true;
    }
    return false;
}

/* Options that ask for GPUs. Each has a value: "--gres=gpu:2", "--gres gpu:2", "-G2". */
static bool asks_for_gpus(const char *option)
{
    static const char *const names[] = {"--gpu", "--gres", "--tres-per-", "-G"};
    EACH_OF (name, names)
        if (strncmp(option, *name, strlen(*name)) == 0)
            return strncmp(option, "--gres-flags", strlen("--gres-flags")) != 0;
    return false;
}

int64_t script_gpus(const struct plan *plan, const struct strv *options)
{
    if (plan->pool.per_experiment < 1 || (plan->pool.gpus && strcmp(plan->pool.gpus, "none") == 0))
        return 0;
    for (size_t i = 0; options && i < options->count; i++)
        if (asks_for_gpus(options->items[i]))
            return 0;
    return plan->pool.per_experiment;
}

/* The value of --dependency=V, --dependency V, -dV or -d V; *next is passed over when it holds the
 * value. */
static const char *dependency_value(const struct strv *options, size_t *i)
{
    static const char name[] = "--dependency";
    const char *option = options->items[*i];
    bool is_long = strncmp(option, name, sizeof name - 1) == 0;
    const char *rest = is_long                         ? option + sizeof name - 1
                       : strncmp(option, "-d", 2) == 0 ? option + 2
                                                       : NULL;
    if (rest && *rest == '\0')
        return *i + 1 < options->count ? options->items[++*i] : NULL;
    if (rest && is_long)
        return *rest == '=' ? rest + 1 : NULL;
    return rest;
}

char *script_dependency(const struct strv *options, const char *after)
{
    const char *own = NULL;
    for (size_t i = 0; options && i < options->count; i++) {
        const char *value = dependency_value(options, &i);
        own = value ? value : own;
    }
    if (!after || (own && strchr(own, '?')))
        return mem_strdup(own);
    return own && *own ? mem_printf("%s,afterany:%s", own, after)
                       : mem_printf("afterany:%s", after);
}

static double task_seconds(const struct plan *plan, const struct plan_experiment *experiment)
{
    double background_s = experiment->parallel ? plan->parallel.limit_s : 0;
    double attempt_s = experiment->timeout_s + plan->timing.stop_grace_s +
                       plan->timing.before_retry_s + plan->guard.preflight.wait_s + background_s +
                       ATTEMPT_MARGIN_S;
    return attempt_s * (double)(experiment->max_retries + 1) + TASK_MARGIN_S;
}

int64_t script_minutes(const struct plan *plan, const struct script_numbers *numbers)
{
    double longest_s = 0;
    EACH (item, numbers->items, numbers->count) {
        const struct plan_experiment *experiment = &plan->experiments[*item - 1];
        if (experiment->timeout_s <= 0)
            return 0;
        longest_s = fmax(longest_s, task_seconds(plan, experiment));
    }
    return (int64_t)ceil(longest_s / 60);
}

static void add_array(const struct script *script, struct text *out)
{
    size_t *indices = mem_array(script->numbers.count, sizeof *indices);
    for (size_t i = 0; i < script->numbers.count; i++)
        indices[i] = script->numbers.items[i] - script->offset;
    struct script_numbers shown = {indices, script->numbers.count};
    text_add(out, "#SBATCH --array=");
    script_ranges(&shown, out);
    if (script->at_once > 0)
        text_addf(out, "%%%zu", script->at_once);
    text_add_char(out, '\n');
    free(indices);
}

void script_text(const struct script *script, struct text *out)
{
    text_add(out, "#!/bin/sh\n");
    text_addf(out, "#SBATCH --job-name=%s\n", script->job_name);
    add_array(script, out);
    if (script->minutes > 0)
        text_addf(out, "#SBATCH --time=%lld\n", (long long)script->minutes);
    if (script->gpus > 0)
        text_addf(out, "#SBATCH --gres=gpu:%lld\n", (long long)script->gpus);
    /* After a node's failure or a preemption the task begins again, and goes on with what it had
     * recorded. */
    text_add(out,
             "#SBATCH --requeue\n#SBATCH --open-mode=append\n#SBATCH --output=" SCRIPT_LOG "\n");
    /* exec: so that the scheduler's TERM reaches the program that ends the job's tree, not a shell
     * around it. */
    text_add(out, "exec ");
    shell_words_quote(script->program, out);
    if (script->offset > 0)
        text_addf(out, " run --task \"$((SLURM_ARRAY_TASK_ID + %zu))\" ", script->offset);
    else
        text_add(out, " run --task \"$SLURM_ARRAY_TASK_ID\" ");
    shell_words_quote(script->run_dir, out);
    text_add_char(out, '\n');
}
