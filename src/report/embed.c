/* Runs at build time: writes files into a C source, so that the program needs none of them where it
 * is installed. embed OUTPUT NAME=FILE[,FILE...]...: for each NAME a "const struct page_part NAME".
 * In scripts, characters that are not ASCII become \uNNNN, as in add_json of html.c: all of those
 * are in strings and comments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void exit_with_error(const char *what, const char *name)
{
    fprintf(stderr, "embed: %s %s\n", what, name);
    exit(1);
}

static void add_byte(FILE *out, int c, size_t *count)
{
    fprintf(out, "%d,%s", c > 127 ? c - 256 : c, ++*count % 32 == 0 ? "\n" : "");
}

static void add_unit(FILE *out, unsigned unit, size_t *count)
{
    char text[8];
    snprintf(text, sizeof text, "\\u%04x", unit & 0xffff);
    for (const char *at = text; *at; at++)
        add_byte(out, *at, count);
}

/* Writes the UTF-8 character whose first byte is first. */
static void write_escaped(FILE *out, FILE *in, int first, size_t *count)
{
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    unsigned code = (unsigned)first & (0x3fU >> more);
    for (; more > 0; more--)
        code = code << 6 | ((unsigned)getc(in) & 0x3f);
    if (code >= 0x10000) {
        add_unit(out, 0xd800 + ((code - 0x10000) >> 10), count);
        code = 0xdc00 + (code & 0x3ff);
    }
    add_unit(out, code, count);
}

static size_t embed_file(FILE *out, const char *path)
{
    size_t count = 0, length = strlen(path);
    int is_script = length > 3 && strcmp(path + length - 3, ".js") == 0;
    int c;
    FILE *in = fopen(path, "rb");
    if (!in)
        exit_with_error("cannot read", path);
    while ((c = getc(in)) != EOF) {
        if (c > 127 && is_script)
            write_escaped(out, in, c, &count);
        else
            add_byte(out, c, &count);
    }
    if (ferror(in))
        exit_with_error("cannot read", path);
    fclose(in);
    return count;
}

static void add_asset(FILE *out, char *argument)
{
    char *files = strchr(argument, '=');
    size_t count = 0;
    if (!files)
        exit_with_error("no NAME=FILE:", argument);
    *files++ = '\0';
    fprintf(out, "static const char %s_bytes[] = {\n", argument);
    for (char *file = strtok(files, ","); file; file = strtok(NULL, ","))
        count += embed_file(out, file);
    fprintf(out, "0};\nconst struct page_part %s = {%s_bytes, %zu};\n", argument, argument, count);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        exit_with_error("usage: embed OUTPUT NAME=FILE,...", "");
    FILE *out = fopen(argv[1], "w");
    if (!out)
        exit_with_error("cannot write", argv[1]);
    fputs("#include \"report/page_private.h\"\n", out);
    for (int i = 2; i < argc; i++)
        add_asset(out, argv[i]);
    if (fclose(out) != 0)
        exit_with_error("cannot write", argv[1]);
    return 0;
}
