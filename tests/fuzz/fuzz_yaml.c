/* Any bytes read as YAML: what is made of them is JSON, bounded, and every place in it is one of
 * the input. */
#include "base/cleanup.h"
#include "base/yaml.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_TEXT struct text json = {0};
    struct json_mark *marks = NULL;
    struct err err = {0};
    size_t count = 0;
    if (!yaml_to_json("input", (const char *)data, size, &json, &marks, &count, &err)) {
        if (strncmp(err.text, "input:", 6) != 0)
            abort();
        return 0;
    }
    json_t *root = json_loadb(text_get(&json), json.length, JSON_DECODE_ANY, NULL);
    if (!root || count == 0 || count > 1 << 20 || json.length > 192 << 20)
        abort();
    for (size_t i = 0; i < count; i++)
        if (marks[i].offset >= json.length || (i && marks[i].offset <= marks[i - 1].offset) ||
            !marks[i].place.line || marks[i].place.line > size + 1)
            abort();
    json_decref(root);
    free(marks);
    return 0;
}
