/* doctor: is this machine fit to measure? Which layers of containment hold, where the state is, the
 * GPUs, who holds them and what they do now, sensors, the machine; each with the reason and the
 * mend where something is missing. */
#ifndef TARE_DOCTOR_DOCTOR_H
#define TARE_DOCTOR_DOCTOR_H

#include "base/text.h"
#include "machine/contain/contain.h"
#include "machine/gpu/vendor.h"
#include "machine/sensors/meter.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum finding_mark {
    FINDING_YES,       /* "ok" */
    FINDING_NO,        /* "warn": something is missing, or makes figures wander */
    FINDING_FACT,      /* "info": neither */
    FINDING_UNCHECKED, /* "unchecked": nobody can tell here, which is no good news */
    FINDING_WRONG      /* "fail": not fit to measure */
};

struct finding {
    const char *section; /* "Containment" */
    const char *name;    /* "pid namespace": stays the same, for programs */
    enum finding_mark mark;
    char *text;   /* one sentence */
    char *reason; /* why it is not there, or NULL */
    char *mend;   /* a command, or what to do; NULL: none is known, or none is needed */
    bool advice;  /* mend is no command that could be copied */
    json_t *data; /* the same for programs, where the text holds more than one thing; or NULL */
};

struct findings {
    struct finding *items;
    size_t count;
};

/* Takes the texts and the data. */
void findings_add(struct findings *findings, struct finding finding);

/* The mark, and the text as printf makes it; reason and mend are copied, NULL: none. say: of one
 * that is nothing else. */
void finding_set(struct finding *finding, enum finding_mark mark, const char *reason,
                 const char *mend, const char *format, ...) __attribute__((format(printf, 5, 6)));
void findings_say(struct findings *findings, const char *section, const char *name,
                  enum finding_mark mark, const char *reason, const char *mend, const char *format,
                  ...) __attribute__((format(printf, 7, 8)));
void findings_fini(struct findings *findings);

/* On whose behalf, and where /proc, /sys and /run are looked into. */
struct doctor_machine {
    const char *root; /* "": this machine; else a folder in which tests play another */
    uid_t uid;
    const char *user;
};

/* Pure but for reading files under the root and in the cgroup that was found. */
void doctor_containment(const struct doctor_machine *machine, const struct containment *containment,
                        struct findings *out);

/* The real ones. Gives how many processes that are not tare's to end have a GPU open, which
 * doctor_gpus tells. */
size_t doctor_state(struct findings *out);
void doctor_gpus(const struct doctor_machine *machine, size_t users, struct findings *out);
/* Tries each sensor of energy, for some seconds at most. host (may be NULL): the counters, opened
 * before root was given up. */
struct host_meter;
void doctor_sensors(const struct doctor_machine *machine, struct host_meter *host,
                    struct findings *out);
void doctor_kernel(const struct doctor_machine *machine, struct findings *out);

/* What makes figures wander: governor, turbo, pressure, clock; and the disk on which results, a
 * folder, will lie. */
void doctor_host(const struct doctor_machine *machine, const char *results, struct findings *out);

/* Whether each GPU is idle, empty and unbraked now: asked through a meter, which waits for a driver
 * that hangs, not we. */
void doctor_now(struct findings *out);

struct doctor_page {
    const struct containment *containment;
    const struct findings *findings;
    bool kernel_backed;
    size_t width; /* columns */
    bool colour;
};
/* Nothing is wrong, and the promise is kernel-backed. The first line of the page follows from the
 * same. */
bool doctor_fit(const struct doctor_page *page);
void doctor_text(const struct doctor_page *page, struct text *out);
void doctor_json(const struct doctor_page *page, struct text *out);

/* One line of a small file under the machine's root, without its end: fresh, or NULL. */
char *doctor_read_line(const struct doctor_machine *machine, const char *path);

/* The last mount of a file system of this type, at this point (NULL: any). False: there is none. */
struct mount;
bool doctor_find_mount(const struct doctor_machine *machine, const char *type, const char *point,
                       struct mount *out);

/* Tries what the meters of GPUs give: how often, at which cost, and why something is missing. */

struct doctor_look {
    struct meter *meter; /* the caller's; NULL: it could not be started */
    double trace_us;     /* what a look at the samples cost; 0: unknown */
    struct meter_group groups[METER_GROUPS_MAX];
    size_t group_count; /* 0: unknown */
};

/* Started, without a wait; NULL: err. */
struct energy_meters_gpu;
struct meter *doctor_meter(const struct energy_meters_gpu *gpu, struct err *err);

/* Waits for the slowest of count things of that size, at most 4 s: step takes what came of one,
 * tells its descriptor (-1: none), and gives whether it is to be waited for. */
void doctor_await(void *all, size_t count, size_t size, bool (*step)(void *one, int *fd));

/* All at once: waits for the slowest of them, 4 s for it to be there and 4 s more for its
 * answers. */
void doctor_look(struct doctor_look *looks, size_t count);

/* What is made of a look at one GPU. Pure but for reading who a process is. */

struct doctor_gpu {
    const char *label;                   /* "GPU 0" */
    const struct gpu_vendor *vendor;     /* NULL: what is to be done is not asked */
    const char *proc;                    /* "/proc" */
    const struct gpu_readings *readings; /* NULL: it did not answer: why */
    const struct gpu_identity *identity; /* with readings */
    const struct gpu_users *users;       /* NULL: not told: users_why */
    const char *why, *users_why;
};

void doctor_now_gpu(const struct doctor_gpu *gpu, struct findings *out);

#endif
