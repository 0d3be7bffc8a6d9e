/* one_folder: a dataset of one folder whose file is in memory. */
#ifndef TARE_TESTS_ONE_FOLDER_H
#define TARE_TESTS_ONE_FOLDER_H

#include "base/mem.h"
#include "results/judge/dataset.h"

#include <string.h>

static inline void one_folder_make(struct dataset *dataset, enum dataset_layout layout)
{
    dataset->folders = mem_array(1, sizeof *dataset->folders);
    dataset->folders[0] = (struct dataset_folder){.path = mem_strdup("f"), .layout = layout};
    dataset->folder_count = 1;
}

/* How often evidence of this kind is in all experiments. */
static inline size_t one_folder_count(const struct dataset *dataset, const char *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->count; i++)
        for (size_t k = 0; k < dataset->items[i].evidence_count; k++)
            count += strcmp(dataset->items[i].evidence[k].kind, kind) == 0;
    return count;
}

#endif
