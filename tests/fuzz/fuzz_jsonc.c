/* Any bytes read as JSON with comments: what becomes a blank is bounded, no line moves, and JSON
 * stays as it is. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/json_place.h"
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = mem_alloc(size + 1);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    json_t *json = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    const char *open = jsonc_blank(text, size);
    if (open && (open < text || open >= text + size || *open != '/'))
        abort();
    for (size_t i = 0; i < size; i++)
        if (text[i] != (char)data[i] && (text[i] != ' ' || data[i] == '\n' || data[i] == '\r'))
            abort();
    if (json && (open || (size && memcmp(text, data, size) != 0)))
        abort();
    /* Nothing is left to do. */
    AUTO_FREE char *once = mem_alloc(size + 1);
    memcpy(once, text, size + 1);
    if (!open && (jsonc_blank(text, size) || memcmp(once, text, size) != 0))
        abort();
    json_decref(json);
    return 0;
}
