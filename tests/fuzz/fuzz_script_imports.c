/* Python source that may be anything: its imports are names without blanks and within their
 * limit, its code is as long as its text, and the walk over it ends, even where each import
 * leads back to the same text. */
#include "fuzz.h"

#include "base/mem.h"
#include "plan/script_epochs.h"
#include "plan/script_imports.h"
#include "plan/script_parser.h"

struct input {
    const char *text;
    size_t length;
};

static bool read_same(void *context, const char *root, const char *path, struct text *out,
                      bool *cut)
{
    const struct input *input = context;
    (void)root, (void)cut;
    check(*path && *path != '/' && !strstr(path, "../"));
    text_add_bytes(out, input->text, input->length);
    return strlen(path) < 12;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_STRV struct strv names = {0};
    AUTO_STRV struct strv roots = {0};
    char *text = malloc(size ? size : 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    AUTO_FREE char *code = script_code(text, size);
    check(strlen(code) == size);
    script_imports_parse(text, code, size, &names);
    check(names.count <= SCRIPT_IMPORTS_MAX);
    for (size_t i = 0; i < names.count; i++)
        check(*names.items[i] && strlen(names.items[i]) <= SCRIPT_MODULE_BYTES &&
              !strpbrk(names.items[i], " \t\n\"'"));
    strv_add(&roots, "/r");
    struct input input = {text, size};
    AUTO(script_files_fini) struct script_files files;
    struct script_parser parser;
    struct script_epochs epochs;
    if (size < 4096) {
        script_files_walk(&roots, "train.py", read_same, &input, &files);
        check(files.count >= 1 && files.count <= SCRIPT_FILES_MAX);
        script_parser_find(&files, &parser);
        script_epochs_find(&files, &epochs);
        check(!epochs.printer == (!epochs.start && !epochs.end));
    } else {
        files = (struct script_files){0};
    }
    free(text);
    return 0;
}
