/* compare: two groups of experiments against each other. */
#include "base/cleanup.h"
#include "base/json_print.h"
#include "base/mem.h"
#include "base/value.h"
#include "cli/option_rows.h"
#include "report/audit_text.h"
#include "report/comparison_text.h"
#include "results/judge/comparison_json.h"
#include "results/judge/comparison_select.h"
#include "results/judge/identical.h"
#include "results/judge/plain_table.h"
#include "results/judge/rows.h"
#include "session/command.h"
#include "session/message.h"
#include "session/run_folder.h"

#include <string.h>
#include <unistd.h>

enum {
    OPTION_JSON,
    OPTION_OF,
    OPTION_ONLY,
    OPTION_COLUMNS,
    OPTION_EXPECT,
    OPTION_SAMPLE_SIZE,
    OPTION_AS_ROOT,
    OPTION_COUNT
};

/* --expect: beside the program's own exit codes. */
enum { EXIT_OPEN = 4 };

static const struct cli_option options[OPTION_COUNT] = {
    [OPTION_JSON] = FLAG_ROW(NULL, "--json", "as JSON"),
    [OPTION_OF] = OPTION_ROW_OF,
    [OPTION_ONLY] = OPTION_ROW_ONLY("consistent", OPTION_ONLY_HELP),
    [OPTION_COLUMNS] = OPTION_ROW_COLUMNS,
    [OPTION_EXPECT] = VALUE_ROW(NULL, "--expect", "CLAIMS", CLI_TEXT,
                                "claims about B / A with commas between, as "
                                "gpu_energy_j<0.95,duration_s<+2%: each is held, refuted or open "
                                "by its interval; exit code 0, 1 or 4"),
    [OPTION_SAMPLE_SIZE] =
        VALUE_ROW(NULL, "--sample-size", "PERCENT", CLI_TEXT,
                  "say how many experiments a side needs to find a difference of so many percent"),
    [OPTION_AS_ROOT] = FLAG_ROW(NULL, "--as-root", "under sudo, stay root"),
};

/* What --expect and --sample-size ask. */
struct questions {
    struct comparison_claims claims;
    struct reading share;
};

static void questions_fini(struct questions *questions)
{
    comparison_claims_fini(&questions->claims);
}

static json_t *needs_json(size_t needs)
{
    return needs ? json_integer((json_int_t)needs) : json_null();
}

static void answer_json(const struct comparison *comparison, const struct questions *questions,
                        json_t *out)
{
    json_auto_t *claims = json_array(), *sizes = json_object();
    EACH (claim, questions->claims.items, questions->claims.count)
        json_array_append_new(
            claims, json_pack("{s:o, s:o, s:s, s:o}", "claim", json_text_or_null(claim->text),
                              "bound", json_finite(claim->bound), "outcome",
                              comparison_outcome_name(comparison_claim_check(comparison, claim)),
                              "needs", needs_json(comparison_claim_needs(comparison, claim))));
    for (size_t i = 0; questions->share.valid && i < comparison->quantity_count; i++)
        json_object_set_new(sizes, comparison->quantities[i].name,
                            needs_json(comparison_sample_size(
                                comparison, &comparison->quantities[i], questions->share.value)));
    if (questions->claims.count)
        json_object_set(out, "expectations", claims);
    if (questions->share.valid)
        json_object_set(out, "sample_size", sizes);
}

static void answer_text(const struct comparison *comparison, const struct questions *questions,
                        struct text *out)
{
    const char *what = comparison->by_setting ? "settings" : "experiments";
    EACH (claim, questions->claims.items, questions->claims.count) {
        enum comparison_outcome outcome = comparison_claim_check(comparison, claim);
        size_t needs = comparison_claim_needs(comparison, claim);
        text_addf(out, "%s: %s", claim->text, comparison_outcome_name(outcome));
        if (outcome == COMPARISON_OPEN && needs)
            text_addf(out,
                      "; were the ratio what it seems, %zu %s a side would decide (power 80 %%)",
                      needs, what);
        else if (outcome == COMPARISON_OPEN)
            text_add(out, "; how many experiments would decide is not known");
        text_add_char(out, '\n');
    }
    for (size_t i = 0; questions->share.valid && i < comparison->quantity_count; i++) {
        const struct comparison_quantity *quantity = &comparison->quantities[i];
        size_t needs = comparison_sample_size(comparison, quantity, questions->share.value);
        AUTO_FREE char *name = audit_text_fit(quantity->name, 0);
        if (needs)
            text_addf(out, "%s: %zu %s a side find a difference of %.4g %% (power 80 %%)\n", name,
                      needs, what, 100 * questions->share.value);
    }
}

static int outcome_code(const struct comparison *comparison, const struct comparison_claims *claims)
{
    int code = CLI_OK;
    EACH (item, claims->items, claims->count) {
        enum comparison_outcome outcome = comparison_claim_check(comparison, item);
        if (outcome == COMPARISON_REFUTED)
            return CLI_SOME_FAILED;
        code = outcome == COMPARISON_OPEN ? EXIT_OPEN : code;
    }
    return code;
}

static int compare_sides(const struct cli_value *values, struct comparison *comparison,
                         const struct questions *questions)
{
    struct err err = {0};
    AUTO_TEXT struct text text = {0};
    char *const paths[] = {comparison->sides[0].path, comparison->sides[1].path};
    size_t count = strcmp(paths[0], paths[1]) == 0 ? 1 : 2;
    int code = reading_rows(paths, count, &comparison->dataset);
    if (code != CLI_OK)
        return code;
    audit_join_names(&comparison->dataset);
    if (!comparison_make(comparison, &err))
        return cli_failed(CLI_USAGE, &err);
    if (values[OPTION_JSON].given) {
        json_t *json = comparison_json(comparison);
        answer_json(comparison, questions, json);
        json_print_taken(json, &text);
    } else {
        comparison_text(comparison, message_colour(STDOUT_FILENO), &text);
        answer_text(comparison, questions, &text);
    }
    return message_print(&text) ? outcome_code(comparison, &questions->claims) : CLI_BROKEN;
}

static bool read_questions(const struct cli_value *values, struct questions *out, struct err *err)
{
    const char *expect = values[OPTION_EXPECT].text, *size = values[OPTION_SAMPLE_SIZE].text;
    if (expect && !comparison_claims_parse(expect, &out->claims, err))
        return false;
    if (!size)
        return true;
    AUTO_FREE char *number = mem_strdup(size);
    number[strcspn(number, "%")] = '\0';
    out->share.valid = number_parse(number, &out->share.value) && out->share.value > 0 &&
                       out->share.value <= 1000 && strlen(size) <= strlen(number) + 1;
    out->share.value /= 100;
    return out->share.valid ||
           err_set(err, "--sample-size: '%s' is not a percentage over 0, as 5%%", size);
}

/* What is printed says which folder "latest" was. */
static bool name_folder(struct comparison_side *side, struct err *err)
{
    AUTO_FREE char *typed = steal_ptr(side->path);
    AUTO_FREE char *text = steal_ptr(side->text);
    side->path = run_folder_named(typed, err);
    side->text = mem_printf("%s%s", side->path ? side->path : typed, text + strlen(typed));
    return side->path != NULL;
}

static int run_compare(const struct cli_call *call)
{
    struct err err = {0};
    AUTO(comparison_fini) struct comparison comparison = {0};
    AUTO(questions_fini) struct questions questions = {0};
    AUTO_STRV struct strv only = {0};
    option_names(call->values[OPTION_OF].text, &only);
    comparison.only = &only;
    comparison.rows = audit_rows_named(call->values[OPTION_ONLY].text);
    AUTO_STRV struct strv columns = {0};
    option_names(call->values[OPTION_COLUMNS].text, &columns);
    if (!plain_table_check_columns(&columns, &err))
        return cli_usage_error(call->command, "%s", err.text);
    comparison.dataset.columns = &columns;
    if (!read_questions(call->values, &questions, &err))
        return cli_usage_error(call->command, "%s", err.text);
    EACH (claim, questions.claims.items, questions.claims.count)
        if (only.count)
            strv_add_once(&only, comparison_measured[claim->quantity]);
    for (size_t i = 0; i < 2; i++)
        if (!comparison_parse(call->operands.items[i], &comparison.sides[i], &err))
            return cli_usage_error(call->command, "%s", err.text);
    if (!name_folder(&comparison.sides[0], &err) || !name_folder(&comparison.sides[1], &err))
        return cli_failed(CLI_BROKEN, &err);
    return compare_sides(call->values, &comparison, &questions);
}

static const char *const usage[] = {"compare A B [options]", NULL};

static const char *const description[] = {
    "Compares two groups of experiments: the ratio of B to A for energy, power and duration, with "
    "a 95 % interval, "
    "and of each metric a ratio, a ratio of odds (shares) or a difference. A and B are results "
    "folders, of this "
    "program or in the study's layout; behind a colon, what to take of them: "
    "results:model=resnet20, "
    "results:batch_size=32,mode=parallel.",
    "Experiments are compared within strata: the same repository, model and mode, the same "
    "hyperparameters and GPU as "
    "far as both sides share them (but those that A and B are chosen by). Hyperparameters whose "
    "values differ too "
    "much for that are adjusted for by a linear model on logarithms; the raw ratio is beside the "
    "adjusted one. What "
    "is mixed in different ways and shares nothing is refused. Contaminated and failed experiments "
    "are left out. p "
    "values are corrected for the number of quantities (Holm).",
    NULL};

static const char *const exits[] = {
    "0", "compared; every claim of --expect held",          "1", "a claim of --expect is refuted",
    "2", "a mistake in the options, or nothing to compare", "3", "a folder cannot be read",
    "4", "no claim of --expect is refuted, one is open",    NULL};

static const char *const examples[] = {
    "compare results:model=resnet20 results:model=vgg11",
    "compare two models of one results folder",
    "compare before after --expect 'gpu_energy_j<0.9'",
    "end with 0 when B needs less than 90 % of the energy of A",
    NULL,
};

const struct cli_command cmd_compare = {
    .name = "compare",
    .group = CLI_GROUP_JUDGE,
    .summary = "compare two groups of experiments",
    .operand_min = 2,
    .operand_max = 2,
    .operand_name = "DIR[:KEY=VALUE]",
    .reads_runs = true,
    COMMAND_TABLES,
    .run = run_compare,
};
