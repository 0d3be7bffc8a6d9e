/* The layers of containment: what holds, why another does not, and what would mend it. */
#ifndef TARE_DOCTOR_DOCTOR_CONTAIN_H
#define TARE_DOCTOR_DOCTOR_CONTAIN_H

#include "doctor/doctor.h"

/* Pure but for reading files under the root and in the cgroup that was found. */
void doctor_containment(const struct doctor_machine *machine, const struct containment *containment,
                        struct findings *out);

/* One line of a small file under the machine's root, without its end: fresh, or NULL. */
char *doctor_read_line(const struct doctor_machine *machine, const char *path);

bool doctor_find_mount(const struct doctor_machine *machine, const char *type, const char *point,
                       struct mount *out);

#endif
