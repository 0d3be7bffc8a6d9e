#include "cli/study_call.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/shell_words.h"
#include "base/strv.h"
#include "base/text.h"
#include "tare_build.h"

#include <string.h>

#define STUDY_SCRIPT "mutation.py"

static bool has_base_name(const char *word, const char *name)
{
    const char *slash = strrchr(word, '/');
    return strcmp(slash ? slash + 1 : word, name) == 0;
}

/* "sudo", "nohup", "python3.11", "-u", "CUDA_VISIBLE_DEVICES=0": they may be before the script. */
static bool is_starter(const char *word)
{
    static const char *const names[] = {"sudo", "nohup", "env", "nice", "time"};
    const char *slash = strrchr(word, '/');
    EACH_OF (name, names)
        if (has_base_name(word, *name))
            return true;
    return word[0] == '-' || strncmp(slash ? slash + 1 : word, "python", 6) == 0 ||
           strchr(word, '=');
}

/* Each call of the study's script has one of them. */
static bool has_study_flag(char *const *words, size_t count)
{
    static const char *const flags[] = {
        "-ec", "--experiment-config", "-r", "--repo", "-mt", "--mutate", "-l", "--list"};
    EACH (word, words, count)
        EACH_OF (flag, flags) {
            size_t length = strlen(*flag);
            if (strncmp(*word, *flag, length) == 0 &&
                ((*word)[length] == '\0' || (*word)[length] == '='))
                return true;
        }
    return false;
}

char *study_call_translate(char *const *words, size_t count, bool needs_flags)
{
    size_t script = 0;
    AUTO_TEXT struct text text = {0};
    while (script < count && !has_base_name(words[script], STUDY_SCRIPT)) {
        if (!is_starter(words[script]))
            return NULL;
        if (has_base_name(words[script], "sudo"))
            text_add(&text, "sudo ");
        script++;
    }
    if (script == count || (needs_flags && !has_study_flag(words + script + 1, count - script - 1)))
        return NULL;
    text_add(&text, TARE_NAME);
    for (size_t i = script + 1; i < count; i++) {
        text_add(&text, " ");
        shell_words_quote(words[i], &text);
    }
    if (script + 1 == count)
        text_add(&text, " -ec SETTINGS.json");
    return text_take(&text);
}
