#include "batch/slurm.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { ANSWER_MAX = 1 << 26, ARRAY_SIZE_DEFAULT = 1001 };

/* Slurm's programs try again for a while themselves when the controller does not answer. */
static const double ASK_S = 60, SUBMIT_S = 180;

/* In one line, without an end. */
static char *last_words(const struct text *answer)
{
    char *words = mem_strdup(text_get(answer));
    size_t length = strlen(words);
    while (length > 0 && strchr("\n\r \t", words[length - 1]))
        words[--length] = '\0';
    for (char *c = words; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    return words;
}

static bool ask(const char *name, struct strv *argv, const struct strv *env, double timeout_s, struct text *out,
                struct err *err)
{
    int status;
    const char *path = strv_env_get(env, "PATH");
    AUTO_FREE char *program = fs_find_executable(name, "/", path ? path : "/usr/bin:/bin");
    if (!program) {
        err_set(err, "there is no %s in PATH: Slurm is not installed here", name);
        err->code = ENOENT;
        return false;
    }
    free(argv->items[0]);
    argv->items[0] = mem_strdup(program);
    if (query_with_errors(argv, env, ANSWER_MAX, timeout_s, out, &status))
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
    return out;
}

bool slurm_config_read(const struct strv *env, struct slurm_config *out, struct err *err)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_TEXT struct text answer = {0};
    strv_add(&argv, "scontrol");
    strv_add(&argv, "show");
    strv_add(&argv, "config");
    if (!ask("scontrol", &argv, env, ASK_S, &answer, err))
        return false;
    *out = slurm_config_parse(text_get(&answer));
    return true;
}

/* The answer of --parsable: a line "123" or "123;cluster", among what sbatch may warn of. NULL: there is none. */
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

bool slurm_submit(const struct slurm_submission *submission, char **job_id, struct err *err)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_TEXT struct text answer = {0};
    strv_add(&argv, "sbatch");
    strv_add(&argv, "--parsable");
    strv_add_owned(&argv, mem_printf("--chdir=%s", submission->run_dir));
    strv_add_all(&argv, submission->options);
    strv_add(&argv, submission->script);
    if (!ask("sbatch", &argv, submission->env, SUBMIT_S, &answer, err))
        return false;
    *job_id = job_id_of(text_get(&answer));
    if (*job_id)
        return true;
    AUTO_FREE char *words = last_words(&answer);
    return err_set(err, "sbatch answered with no job's number: %s", words);
}

void slurm_queue_parse(const char *text, struct slurm_queue *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        AUTO_FREE char *line = mem_strndup(text, length);
        char *space = strrchr(line, ' '), *end = line;
        unsigned long long index = space ? strtoull(space + 1, &end, 10) : 0;
        if (space && end > space + 1 && *end == '\0') {
            size_t name = (size_t)(space - line);
            while (name > 0 && line[name - 1] == ' ')
                name--;
            out->tasks = mem_room(out->tasks, out->count, &out->capacity, sizeof *out->tasks);
            out->tasks[out->count++] = (struct slurm_task){mem_strndup(line, name), (size_t)index};
        }
        text += length + (text[length] == '\n');
    }
}

bool slurm_queue_read(const struct strv *env, const struct strv *job_names, struct slurm_queue *out, struct err *err)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_TEXT struct text answer = {0};
    AUTO_FREE char *names = strv_join(job_names, ",");
    strv_add(&argv, "squeue");
    strv_add(&argv, "--noheader");
    strv_add(&argv, "--array");
    strv_add_owned(&argv, mem_printf("--name=%s", names));
    strv_add(&argv, "--format=%j %K");
    if (!ask("squeue", &argv, env, ASK_S, &answer, err))
        return false;
    slurm_queue_parse(text_get(&answer), out);
    return true;
}

void slurm_queue_fini(struct slurm_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        free(queue->tasks[i].job_name);
    free(queue->tasks);
    *queue = (struct slurm_queue){0};
}
