/* option_rows: rows of options that several commands have, each written once; a meaning is given
 * where it is the command's own. */
#ifndef TARE_CLI_OPTION_ROWS_H
#define TARE_CLI_OPTION_ROWS_H

#include "machine/contain/contain.h"
#include "results/judge/judge.h"
#include "session/command.h"
#include "session/gpu_hold.h"
#include "session/run_folder.h"

/* The name of the first of these rows (an array of their places) that is given; NULL: none is. */
#define OPTION_GIVEN(call, which) option_given(call, which, sizeof(which) / sizeof *(which))
const char *option_given(const struct cli_call *call, const int *which, size_t count);
/* Names with commas between; none of NULL. */
void option_names(const char *text, struct strv *out);

/* Of --verdicts; NULL-terminated. */
extern const char *const option_verdicts[];

#define OPTION_ROW_REGISTRY(meaning)                                                           \
    {                                                                                          \
        .short_name = "-c", .long_name = "--config", .argument = "REGISTRY", .type = CLI_FILE, \
        .help = meaning                                                                        \
    }

#define OPTION_REGISTRY_OF_PLAN "the registry, instead of the one that is found"

#define OPTION_ROW_STRICT                                                                        \
    {                                                                                            \
        .short_name = "-S", .long_name = "--strict",                                             \
        .help =                                                                                  \
            "a hyperparameter that the model does not have, or a key that looks misspelt, is a " \
            "mistake, not a warning"                                                             \
    }

/* Seeds fit into 53 bits, so that JSON keeps them. */
#define OPTION_ROW_SEED(meaning)                                                                  \
    {                                                                                             \
        .short_name = "-s", .long_name = "--seed", .argument = "SEED", .type = CLI_INT, .low = 0, \
        .high = 9007199254740991.0, .help = meaning                                               \
    }

#define OPTION_SEED_OF_PLAN \
    "the seed of the plan, over the settings'; not given anywhere: a fresh one, recorded"

#define OPTION_ROW_SET                                                                          \
    {                                                                                           \
        .long_name = "--set", .argument = "PATH=VALUE", .type = CLI_TEXT, .repeats = true,      \
        .help = "over the settings file: keys and places in lists (from 0) with dots between, " \
                "such as "                                                                      \
                "experiments.0.hyperparameters.epochs=3; VALUE is JSON, else a string; may be " \
                "repeated"                                                                      \
    }

#define OPTION_ROW_RESULTS(meaning)                                                         \
    {                                                                                       \
        .short_name = "-o", .long_name = "--output", .argument = "DIR", .type = CLI_FOLDER, \
        .default_text = RUN_FOLDER_RESULTS, .help = meaning                                 \
    }

#define OPTION_ROW_CONTAINMENT(name, meaning)                                      \
    {                                                                              \
        .long_name = "--containment", .argument = name, .type = CLI_CHOICE,        \
        .choices = containment_mode_names, .default_text = "auto", .help = meaning \
    }

#define OPTION_ROW_GPU_LOCK(initial, meaning)                               \
    {                                                                       \
        .long_name = "--gpu-lock", .argument = "MODE", .type = CLI_CHOICE,  \
        .choices = gpu_hold_modes, .default_text = initial, .help = meaning \
    }

#define OPTION_ROW_NO_CALIBRATE                                                                 \
    {                                                                                           \
        .long_name = "--no-calibrate", .help = "never load a GPU to calibrate its power sensor" \
    }

#define OPTION_ROW_VERDICTS(meaning)                                          \
    {                                                                         \
        .long_name = "--verdicts", .argument = "WHICH", .type = CLI_CHOICE,   \
        .choices = option_verdicts, .default_text = "usable", .help = meaning \
    }

/* Which experiments are used, for audit_rows_named. */
#define OPTION_ROW_ONLY(initial, meaning)                                     \
    {                                                                         \
        .long_name = "--only", .argument = "WHICH", .type = CLI_CHOICE,       \
        .choices = audit_rows_names, .default_text = initial, .help = meaning \
    }

#define OPTION_ONLY_HELP                                                                          \
    "which experiments count: those with a clean verdict, also those that are consistent, those " \
    "not contaminated (usable), or all"

/* The quantities that are asked for, of which alone p values are corrected. */
#define OPTION_ROW_OF                                                         \
    {                                                                         \
        .long_name = "--of", .argument = "NAMES", .type = CLI_TEXT,           \
        .help = "only these quantities and metrics, with commas between, as " \
                "gpu_energy_j,accuracy: p values are then "                   \
                "corrected for these alone"                                   \
    }

#define OPTION_ROW_COLUMNS                                                                  \
    {                                                                                       \
        .long_name = "--columns", .argument = "ROLE=COLUMN", .type = CLI_TEXT,              \
        .help = "how a CSV of another program is read, with commas between: time, energy, " \
                "metric, param, success, id, "                                              \
                "model or repository, as time=seconds,metric=val_acc"                       \
    }

/* How far learning about a script may go. */
#define OPTION_ROW_NO_PROBE                                                \
    {                                                                      \
        .long_name = "--no-probe",                                         \
        .help = "do not start the script with --help to learn its options" \
    }

#define OPTION_ROW_HELP_TIMEOUT                                                                  \
    {                                                                                            \
        .long_name = "--help-timeout", .argument = "DURATION", .type = CLI_DURATION, .low = 0.1, \
        .high = 86400, .unit = "seconds", .default_text = "60",                                  \
        .help = "how long the script may take to print its --help"                               \
    }

#define OPTION_ROW_EXPECT                                                                      \
    {                                                                                          \
        .long_name = "--expect", .argument = "CRITERIA", .type = CLI_TEXT,                     \
        .help = "criteria with commas between, as power_cv_between[MODEL]<5%,contaminated=0: " \
                "exit code 1 where one does "                                                  \
                "not hold"                                                                     \
    }

#define OPTION_ROW_ANONYMOUS                                                                \
    FLAG_ROW(NULL, "--anonymous",                                                           \
             "replace users, other processes, hosts, homes and ids of GPUs by \"user 1\", " \
             "\"process 2\", ...; what cannot be replaced is left out")

#define CRITERIA_HELP                                                                             \
    "Criteria: power_cv_between, energy_cv_between, duration_cv_between (of runs with identical " \
    "hyperparameters, the "                                                                       \
    "greatest of all kinds), power_cv (of all runs of a model), clean, unverified, suspect, "     \
    "contaminated "                                                                               \
    "(experiments), clean_share, success_rate, "                                                  \
    "sampled_share (the smallest), contradictions (rows that disagree with their folder), "       \
    "differences (of GPUs and "                                                                   \
    "nodes, that make figures not comparable), and each check by its name, as memory_back (the "  \
    "share of experiments "                                                                       \
    "that passed it). All but contradictions and differences take a model: "                      \
    "success_rate[MODEL] or success_rate[REPOSITORY/MODEL]. Then <, <=, >, >= or = and a number " \
    "or a percentage."

#endif
