#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char suffix[] = "_test.c";

int unit_argc;
char **unit_argv;

static struct unit_file *files;

void unit_add(struct unit_file *file)
{
    file->next = files;
    files = file;
}

static const char *name_of(const struct unit_file *file)
{
    const char *slash = strrchr(file->path, '/');
    return slash ? slash + 1 : file->path;
}

static bool has_name(const struct unit_file *file, const char *name)
{
    const char *own = name_of(file);
    size_t length = strlen(name);
    return strncmp(own, name, length) == 0 && strcmp(own + length, suffix) == 0;
}

int main(int argc, char **argv)
{
    unit_argc = argc;
    unit_argv = argv;
    for (const struct unit_file *file = files; argc > 1 && file; file = file->next)
        if (has_name(file, argv[1]))
            return file->run();
    fprintf(stderr, "Usage: %s NAME, which runs NAME%s. These are here:\n", argv[0], suffix);
    for (const struct unit_file *file = files; file; file = file->next)
        fprintf(stderr, "  %s\n", name_of(file));
    return 2;
}
