/* Runs at build time: writes files into a C source, so that the program needs none of them where it is installed.
 * embed OUTPUT NAME=FILE[,FILE...]...: for each NAME "const char NAME[]" and "const size_t NAME_length". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "embed: %s %s\n", what, name);
    exit(1);
}

static size_t add_file(FILE *out, const char *path)
{
    size_t count = 0;
    int c;
    FILE *in = fopen(path, "rb");
    if (!in)
        fail("cannot read", path);
    for (; (c = getc(in)) != EOF; count++)
        fprintf(out, "%d,%s", c > 127 ? c - 256 : c, count % 32 == 31 ? "\n" : "");
    if (ferror(in))
        fail("cannot read", path);
    fclose(in);
    return count;
}

static void add_asset(FILE *out, char *argument)
{
    char *files = strchr(argument, '=');
    size_t count = 0;
    if (!files)
        fail("no NAME=FILE:", argument);
    *files++ = '\0';
    fprintf(out, "const char %s[] = {\n", argument);
    for (char *file = strtok(files, ","); file; file = strtok(NULL, ","))
        count += add_file(out, file);
    fprintf(out, "0};\nconst size_t %s_length = %zu;\n", argument, count);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        fail("usage: embed OUTPUT NAME=FILE,...", "");
    FILE *out = fopen(argv[1], "w");
    if (!out)
        fail("cannot write", argv[1]);
    fputs("#include \"report/page_assets.h\"\n", out);
    for (int i = 2; i < argc; i++)
        add_asset(out, argv[i]);
    if (fclose(out) != 0)
        fail("cannot write", argv[1]);
    return 0;
}
