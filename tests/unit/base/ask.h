/* ask: the answer of a shell script. */
#ifndef TARE_TESTS_ASK_H
#define TARE_TESTS_ASK_H

#include "base/query.h"

static inline bool ask(const char *script, double timeout_s, struct text *out)
{
    AUTO_STRV struct strv argv = {0};
    AUTO_STRV struct strv env = {0};
    strv_add(&argv, "/bin/sh");
    strv_add(&argv, "-c");
    strv_add(&argv, script);
    strv_add(&env, "PATH=/usr/bin:/bin");
    return query_program(&argv, &env, 1000, timeout_s, false, out, NULL);
}

#endif
