/* Any text split into words as a shell does; the words, quoted again where they need it, split into
 * the same. */
#include "base/mem.h"
#include "base/shell_words.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *command = mem_strndup((const char *)data, size);
    AUTO_STRV struct strv words = {0};
    AUTO_STRV struct strv again = {0};
    AUTO_TEXT struct text quoted = {0};
    struct err err = {0};
    if (!shell_words_split(command, &words, &err)) {
        if (!*err.text)
            abort();
        return 0;
    }
    if (words.count == 0)
        abort();
    for (size_t i = 0; i < words.count; i++) {
        text_add_char(&quoted, ' ');
        (i == 0 ? shell_words_quote_command : shell_words_quote)(words.items[i], &quoted);
    }
    if (!shell_words_split(text_get(&quoted), &again, &err) || again.count != words.count)
        abort();
    for (size_t i = 0; i < words.count; i++)
        if (strcmp(words.items[i], again.items[i]) != 0)
            abort();
    return 0;
}
