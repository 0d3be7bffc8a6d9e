/* job: what the files of plan/ share about one job, and a struct's members by their keys in JSON,
 * written and read by one table. */
#ifndef TARE_PLAN_JOB_H
#define TARE_PLAN_JOB_H

#include "plan/config/settings.h"
#include "plan/plan.h"

#include <jansson.h>

void plan_job_fini(struct plan_job *job);

/* Makes the texts and lists of like also those of job, which had equal ones of its own. For one
 * thread: users are not counted atomically. */
void plan_job_share(struct plan_job *job, struct plan_job *like);

/* In brackets: the type of the member. */
enum key_type {
    KEY_TEXT,    /* char *; NULL is left out */
    KEY_INT,     /* int64_t; of a uint64_t the same bits: JSON's integers end at 2^63 here */
    KEY_SIZE,    /* size_t, uint64_t: not negative */
    KEY_DOUBLE,  /* double */
    KEY_READING, /* struct reading; left out where it is not valid */
    KEY_BOOL,    /* bool */
    KEY_SWITCH,  /* enum setting_switch; left out where it is unsaid */
    KEY_VALUE,   /* struct value */
    KEY_NAME,    /* an enum: first and those behind it are names[0], ...; left out below first */
    KEY_TEXTS,   /* struct strv */
    KEY_OBJECT,  /* a struct in the struct: by fields, or by to and from */
    KEY_OWNED,   /* a pointer to such a struct; NULL is left out */
    KEY_LIST     /* a pointer to such structs, and a size_t with their number */
};

/* A table ends with {0}. */
struct key {
    const char *key;
    enum key_type type;
    size_t at; /* the member's place in the struct */
    enum {
        KEY_NEEDED,
        KEY_MAY_MISS, /* then, or where it is null, the member stays as it was */
        KEY_SPARSE    /* the same, and 0, false or an empty list is left out */
    } presence;
    const char *const *names; /* KEY_NAME: NULL-terminated */
    int first;
    const struct key *fields;                                      /* KEY_OBJECT, KEY_LIST */
    json_t *(*to)(const void *item);                               /* instead of fields */
    bool (*from)(const json_t *json, void *item, struct err *err); /* the same */
    size_t count_at, size; /* KEY_LIST: the place of the number; also KEY_OWNED: the size of one */
};

/* A new reference; keys are in the table's order. keys_read: into a struct that holds its defaults;
 * false: what is missing or of another kind (err); what was read until then is in out. (keys.c) */
json_t *keys_json(const struct key *keys, const void *of);
bool keys_read(const struct key *keys, const json_t *json, void *out, struct err *err);

#endif
