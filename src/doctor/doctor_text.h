/* doctor_text: collects the findings of tare doctor and prints them. */
#ifndef TARE_DOCTOR_DOCTOR_TEXT_H
#define TARE_DOCTOR_DOCTOR_TEXT_H

#include "doctor/doctor.h"

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

/* Nothing is wrong, and the promise is kernel-backed. The first line of the page follows from the
 * same. */
bool doctor_fit(const struct doctor_page *page);

void doctor_text(const struct doctor_page *page, struct text *out);

void doctor_json(const struct doctor_page *page, struct text *out);

#endif
