/* A job's command as a person could paste it. */
#include "plan/plan.h"

#include "base/shell_words.h"
#include "base/text.h"

#include <string.h>

static void add_environment(struct text *out, const char *entry)
{
    const char *equals = strchr(entry, '=');
    if (!equals)
        return;
    text_add_bytes(out, entry, (size_t)(equals - entry) + 1);
    if (equals[1])
        shell_words_quote(equals + 1, out);
    text_add_char(out, ' ');
}

char *plan_job_shell(const struct plan_job *job)
{
    struct text out = {0};
    for (size_t i = 0; i < job->env.count; i++)
        add_environment(&out, job->env.items[i]);
    if (job->path_prepend.count) {
        AUTO_FREE char *folders = strv_join(&job->path_prepend, ":");
        text_add(&out, "PATH=");
        shell_words_quote(folders, &out);
        text_add(&out, ":\"$PATH\" ");
    }
    for (size_t i = 0; i < job->argv.count; i++) {
        if (i == 0) {
            shell_words_quote_command(job->argv.items[i], &out);
            continue;
        }
        text_add_char(&out, ' ');
        shell_words_quote(job->argv.items[i], &out);
    }
    return text_take(&out);
}
