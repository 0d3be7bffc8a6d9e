#include "plan/config/gpu_limit.h"

#include "base/mem.h"
#include "plan/config/size.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Digits and at most one point, a % behind them. */
static bool share_parse(const char *text, size_t digits, struct gpu_limit *out)
{
    AUTO_FREE char *number = mem_strndup(text, digits);
    double percent = 0, scale = 0;
    for (const char *at = number; *at; at++) {
        if (*at == '.' && scale == 0 && at > number) {
            scale = 1;
        } else if (isdigit((unsigned char)*at)) {
            percent = percent * 10 + (*at - '0');
            scale *= 10;
        } else {
            return false;
        }
    }
    percent = scale > 0 ? percent / scale : percent;
    if (digits == 0 || !(percent >= 0.01 && percent <= 100))
        return false;
    *out = (struct gpu_limit){.share = percent / 100};
    return true;
}

bool gpu_limit_parse(const char *text, struct gpu_limit *out, struct err *err)
{
    enum { LEAST = 1 << 20 };
    size_t length = strlen(text);
    uint64_t bytes = 0;
    if (length > 0 && text[length - 1] == '%') {
        length--;
        while (length > 0 && text[length - 1] == ' ')
            length--;
        return share_parse(text, length, out) ||
               err_set(err, "'%s' is no share of a GPU's memory (more than 0%%, up to 100%%)", text);
    }
    if (!size_parse(text, &bytes, err))
        return false;
    if (bytes < LEAST)
        return err_set(err, "'%s' is less than 1 MiB", text);
    *out = (struct gpu_limit){.bytes = bytes};
    return true;
}
