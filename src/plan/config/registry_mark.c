#include "plan/config/registry_repo.h"

#include "base/mark.h"
#include "base/mem.h"

#include <stdlib.h>

static const struct field mark_rows[] = {
    {"start", FIELD_OTHER, .expected = "a regular expression",
     .schema = FIELD_STRING,
     .initial = "none",
     .help = "of the line that is printed when one begins; its first group is the label"},
    {"end", FIELD_OTHER, .expected = "a regular expression",
     .schema = FIELD_STRING,
     .initial = "none",
     .help = "of the line that is printed when one has ended, such as the line with an epoch's results; its first "
             "group is the label"},
};

const struct field_table registry_mark_table = FIELD_TABLE("A row of `marks`", mark_rows);

/* NULL when it is not there or wrong, which is told. */
static char *read_pattern(const struct source *source, const char *path, const char *key, const json_t *json)
{
    const char *pattern = json_string_value(json);
    if (!pattern || !*pattern) {
        field_refuse(source, path, key, "a regular expression", json);
        return NULL;
    }
    return field_check_pattern(source, path, key, pattern) ? mem_strdup(pattern) : NULL;
}

static char *read_member(const struct source *source, const char *path, const json_t *json, const char *key)
{
    const json_t *member = json_object_get(json, key);
    if (!member || json_is_null(member))
        return NULL;
    AUTO_FREE char *place = json_path_key(path, key);
    return read_pattern(source, place, key, member);
}

static void read_sides(const struct source *source, const char *path, const char *name, const json_t *json,
                       struct registry_mark *out)
{
    fields_check_keys(source, path, json, &registry_mark_table, UNKNOWN_ARE_WARNINGS, NULL);
    out->start = read_member(source, path, json, "start");
    out->end = read_member(source, path, json, "end");
    const json_t *start = json_object_get(json, "start"), *end = json_object_get(json, "end");
    if ((!start || json_is_null(start)) && (!end || json_is_null(end)))
        problems_add(source->problems, SEVERITY_ERROR, source->doc, path,
                     "'%s': neither 'start' nor 'end': at least one of them is needed", name);
}

static void read_mark(const struct source *source, const char *path, const char *name, const json_t *json,
                      struct repo *out)
{
    struct registry_mark mark = {0};
    bool good_name = mark_name_is_valid(name);
    if (!good_name)
        problems_add_at_key(source->problems, SEVERITY_ERROR, source->doc, path,
                            "'%s' is no name of a mark: expected " MARK_NAME_RULE, name);
    if (json_is_string(json))
        mark.start = read_pattern(source, path, name, json);
    else if (json_is_object(json))
        read_sides(source, path, name, json, &mark);
    else
        field_refuse(source, path, name, "a regular expression or an object with 'start' and 'end'", json);
    if (!good_name || (!mark.start && !mark.end)) {
        free(mark.start);
        free(mark.end);
        return;
    }
    mark.name = mem_strdup(name);
    out->marks[out->mark_count++] = mark;
}

void registry_read_marks(const struct source *source, const char *path, const json_t *json, struct repo *out)
{
    AUTO_FREE char *place = NULL;
    const json_t *marks = field_object(source, path, json, "marks", &place);
    if (!marks)
        return;
    out->marks = mem_array(json_object_size(marks), sizeof *out->marks);
    fields_check_repeats(source, place, marks);
    const char *name;
    json_t *mark;
    json_object_foreach((json_t *)marks, name, mark)
    {
        AUTO_FREE char *item = json_path_key(place, name);
        read_mark(source, item, name, mark, out);
    }
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
