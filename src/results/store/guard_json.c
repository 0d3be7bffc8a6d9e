#include "results/store/guard_json.h"

#include "base/json.h"

#include <string.h>

bool guard_json_add(sqlite3 *db, int64_t number, json_t *out, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(
        db, err, "SELECT attempt, data FROM events WHERE experiment=? AND type='guard' ORDER BY seq", "i", number);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        json_t *data = db_json(query, 1), *item = json_object();
        json_object_set_new(item, "attempt", db_cell(query, 0));
        if (data)
            json_object_update_missing(item, data);
        json_object_del(item, "text");
        json_array_append_new(out, item);
        json_decref(data);
    }
    return step == 0;
}

static void set_net(json_t *figures, const json_t *net)
{
    json_t *joules = json_object_get(net, "net_of_bare_idle_j"), *half_width = json_object_get(net, "half_width_j");
    if (!json_is_object(figures) || !json_is_number(joules))
        return;
    json_object_set(figures, "net_of_bare_idle_j", joules);
    json_object_set(figures, "net_half_width_j", half_width ? half_width : json_null());
}

static void set_all(json_t *energy, const json_t *net)
{
    const json_t *parts = json_object_get(net, "devices"), *devices = json_object_get(energy, "devices");
    set_net(json_object_get(energy, "gpu"), net);
    for (size_t i = 0; i < json_array_size(parts); i++)
        for (size_t k = 0; k < json_array_size(devices); k++) {
            json_t *device = json_array_get(devices, k);
            const char *a = json_get_text(json_array_get(parts, i), "device"), *b = json_get_text(device, "device");
            if (a && b && strcmp(a, b) == 0)
                set_net(device, json_array_get(parts, i));
        }
}

static json_t *energy_of(sqlite3 *db, const struct event *event, struct err *err)
{
    AUTO_QUERY sqlite3_stmt *query = db_query(db, err, "SELECT energy FROM attempts WHERE experiment=? AND number=?",
                                              "ii", event->experiment, event->attempt);
    return query && db_step(query, err) > 0 ? db_json(query, 0) : NULL;
}

bool guard_json_net_write(sqlite3 *db, const struct event *event, struct err *err)
{
    const char *phase = json_get_text(event->data, "phase");
    struct err why = {0};
    if (!phase || strcmp(phase, "net") != 0)
        return true;
    json_t *energy = energy_of(db, event, &why);
    if (!energy && err)
        *err = why;
    if (!energy)
        return !why.text[0];
    set_all(energy, event->data);
    bool ok = db_run(db, err, "UPDATE attempts SET energy=? WHERE experiment=? AND number=?", "jii", energy,
                     event->experiment, event->attempt);
    json_decref(energy);
    return ok;
}
