#include "cli/memory.h"
void memory_page(const struct memory_report *report, struct text *out)
{
    (void)report;
    text_add(out, "");
}
