#include "results/store/files.h"

#include <string.h>

/* What the end of each attempt said of its two jobs. */
bool files_add_parallel(sqlite3 *db, int64_t number, json_t *tare, struct err *err)
{
    json_t *attempts = json_object_get(tare, "attempts");
    json_object_set_new(tare, "parallel", json_null());
    AUTO_QUERY sqlite3_stmt *query =
        db_query(db, err, "SELECT attempt, data FROM events WHERE experiment=? AND type='attempt_ended' ORDER BY seq",
                 "i", number);
    int step = query ? 0 : -1;
    while (query && (step = db_step(query, err)) > 0) {
        int64_t attempt = sqlite3_column_int64(query, 0);
        json_t *data = db_json(query, 1);
        json_t *parallel = json_object_get(data, "parallel");
        json_t *place = attempt > 0 ? json_array_get(attempts, (size_t)attempt - 1) : NULL;
        if (place)
            json_object_set(place, "parallel", parallel ? parallel : json_null());
        json_object_set(tare, "parallel", parallel ? parallel : json_null());
        json_decref(data);
    }
    return step == 0;
}
