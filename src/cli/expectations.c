#include "cli/expectations.h"
#include "results/judge/criteria.h"

#include "base/json.h"
#include "session/command.h"
#include "session/message.h"

int expectations_check(const struct criteria *criteria, const struct dataset *dataset, json_t *list)
{
    int code = CLI_OK;
    for (size_t i = 0; i < criteria->count; i++) {
        const char *text = criteria->items[i].text;
        struct criterion_result result;
        criterion_check(criteria, i, dataset, &result);
        if (result.held)
            cli_note("holds: %s (%s)", text, result.why);
        else
            cli_error("does not hold: %s (%s%s)", text,
                      result.value.valid ? "" : "unknown: ", result.why);
        json_array_append_new(list, json_pack("{s:o, s:b, s:o, s:o*}", "criterion",
                                              json_text_or_null(text), "held", result.held, "value",
                                              json_reading_or_null(result.value), "why",
                                              json_string(result.why)));
        if (!result.held)
            code = CLI_SOME_FAILED;
    }
    return code;
}
