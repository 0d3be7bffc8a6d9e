/* methods: what a run did, as paragraphs for the methods section of a paper. Each sentence says
 * what the run recorded; what it did not record is said to be so. */
#ifndef TARE_REPORT_METHODS_H
#define TARE_REPORT_METHODS_H

#include "base/text.h"
#include "results/store/store.h"

struct methods_input {
    const struct facts *facts;
    const struct machine_record *machine; /* of the last session; NULL: not readable */
    const char *folder;                   /* the name of the run's folder, without its path */
    enum run_life life;
};

/* Paragraphs without line breaks inside, an empty line between. */
void methods_text(const struct methods_input *input, struct text *out);

/* The paragraphs on how it was measured; each ends with a newline. (methods_measured.c) */
void methods_add_sensors(const struct facts *facts, struct text *out);
void methods_add_uncertainty(const struct facts *facts, struct text *out);

/* "a, b and c"; "" for none. The caller frees it. */
char *methods_list(const struct strv *items);

#endif
