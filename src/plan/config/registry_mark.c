#include "plan/config/registry_repo.h"

#include "base/mark.h"
#include "base/mem.h"

#include <stdlib.h>

static const struct field mark_rows[] = {
    {"start", FIELD_PATTERN, offsetof(struct registry_mark, start), .initial = "none",
     .help = "of the line that is printed when one begins; its first group is the label"},
    {"end", FIELD_PATTERN, offsetof(struct registry_mark, end), .initial = "none",
     .help = "of the line that is printed when one has ended, such as the line with an epoch's results; its first "
             "group is the label"},
};

const struct field_table registry_mark_table = FIELD_TABLE("A row of `marks`", mark_rows);

static void read_mark(const struct source *source, const char *path, const char *name, const json_t *json, void *out)
{
    struct repo *repo = out;
    struct registry_mark mark = {0};
    const struct field pattern = {.key = name, .kind = FIELD_PATTERN};
    bool good_name = mark_name_is_valid(name);
    if (!good_name)
        problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, path,
                            "'%s' is no name of a mark: expected " MARK_NAME_RULE, name);
    if (json_is_string(json)) {
        field_read(source, path, json, &pattern, &mark.start);
    } else if (json_is_object(json)) {
        fields_check_keys(source, path, json, &registry_mark_table, UNKNOWN_ARE_WARNINGS, NULL);
        fields_read(source, path, json, &registry_mark_table, &mark);
        if (!json_get(json, "start") && !json_get(json, "end"))
            field_error(source, path, "'%s': neither 'start' nor 'end': at least one of them is needed", name);
    } else {
        field_refuse(source, path, name, "a regular expression or an object with 'start' and 'end'", json);
    }
    if (!good_name || (!mark.start && !mark.end)) {
        free(mark.start);
        free(mark.end);
        return;
    }
    mark.name = mem_strdup(name);
    repo->marks[repo->mark_count++] = mark;
}

void registry_read_marks(const struct source *source, const char *path, const json_t *json, struct repo *out)
{
    out->marks = mem_array(json_object_size(json_get(json, "marks")), sizeof *out->marks);
    fields_each(source, path, json, "marks", read_mark, out);
}

struct registry_mark registry_mark_copy(const struct registry_mark *mark)
{
    return (struct registry_mark){mem_strdup(mark->name), mem_strdup(mark->start), mem_strdup(mark->end)};
}

void registry_marks_fini(struct registry_mark *marks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(marks[i].name);
        free(marks[i].start);
        free(marks[i].end);
    }
    free(marks);
}
