#include "report/amounts.h"

#include "base/clock.h"
#include "base/mem.h"
#include "gpu_memory/oom/size.h"

#include <stdlib.h>

char *amounts_size(struct reading bytes)
{
    if (!bytes.valid)
        return mem_strdup("-");
    struct text text = {0};
    oom_size_add_text(oom_size_of((uint64_t)bytes.value), &text);
    return text_take(&text);
}

char *amounts_duration(struct reading seconds)
{
    char text[32] = "-";
    if (seconds.valid)
        clock_format_duration(seconds.value, text);
    return mem_strdup(text);
}

char *amounts_joules(struct reading joules)
{
    if (!joules.valid)
        return mem_strdup("-");
    return joules.value >= 9.995e5 ? mem_printf("%.2f MJ", joules.value / 1e6)
           : joules.value >= 999.5 ? mem_printf("%.2f kJ", joules.value / 1e3)
                                   : mem_printf("%.1f J", joules.value);
}

void amounts_add(struct table *table, char *text, const char *colour)
{
    table_add_cell(table, text, colour);
    free(text);
}
