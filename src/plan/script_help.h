/* script_help: the options that a training script lists when it is started with --help: the texts
 * of argparse, click, Typer (with rich's boxes) and absl, and what a person wrote by hand in their
 * manner. The text is whatever the script printed. */
#ifndef TARE_PLAN_SCRIPT_HELP_H
#define TARE_PLAN_SCRIPT_HELP_H

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>

/* What is read of a help text; the rest of a longer one is ignored. */
enum { SCRIPT_HELP_BYTES = 1 << 20, SCRIPT_OPTIONS_MAX = 1000 };

enum script_type {
    SCRIPT_UNKNOWN, /* takes a value, of which nothing is said */
    SCRIPT_INT,
    SCRIPT_FLOAT,
    SCRIPT_TEXT,
    SCRIPT_CHOICE, /* one of choices */
    SCRIPT_SWITCH  /* takes no value */
};

struct script_option {
    char *name;            /* as a hyperparameter: "batch_size" */
    char *flag;            /* "--batch-size": the first long spelling, else the short one */
    char *off;             /* of a switch: the spelling that turns it off, "--no-amp"; NULL: none */
    struct strv spellings; /* all but off */
    enum script_type type;
    struct strv choices;
    char *initial; /* the script's own default, as the help writes it; NULL: not said */
    /* what the help says of it, one printable line without the default, bounded; "" */
    char *help;
    bool needed; /* the script asks for it */
    bool many;   /* takes several values */
};

struct script_help {
    struct script_option *options; /* in the order of the help; no name comes twice */
    size_t count;
    bool more; /* absl: --helpfull lists those of all modules */
};

/* text need not be UTF-8. --help, --version and what else only prints something is left out. Never
 * fails: a text without options gives none. */
void script_help_parse(const char *text, size_t length, struct script_help *out);
void script_help_fini(struct script_help *help);

/* By any of its spellings, as a person types it; off: it is the one that turns a switch off. NULL:
 * there is none. */
const struct script_option *script_help_find(const struct script_help *help, const char *spelling,
                                             bool *off);

/* What the hyperparameter of an option is called: without its dashes, those within as "_"; "all"
 * has a meaning of its own and becomes "all_". Fresh. */
char *script_param_name(const char *flag);

/* One option as its line says it: type, choices, initial, help, and needed where the help says so.
 * name, off and spellings are there; metavar is what the line calls its value, "" for a switch.
 * (script_option.c) */
void script_option_describe(struct script_option *option, const char *metavar, const char *help);

/* What is known of a hyperparameter by its name alone, in any case: learning_rate, epochs, seed
 * ... */
struct script_hint {
    const char *name;
    enum script_type type;
    bool log;         /* is drawn in logarithms */
    double low, high; /* what people try where the script says no default; both 0: not drawn */
};
const struct script_hint *script_hint(const char *name); /* NULL: nothing */

#endif
