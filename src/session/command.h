/* command: what each command of the program is made of: one cmd_*.c, one struct cli_command in
 * cli/main.c's table. Options are rows of data: parsing, --help, the manual, completion and the
 * error texts come from the same row. */
#ifndef TARE_SESSION_COMMAND_H
#define TARE_SESSION_COMMAND_H

#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caller;

/* What the program gives back. 128 + n: ended by signal n (130 Ctrl-C, 143 TERM). */
enum { CLI_OK = 0, CLI_SOME_FAILED = 1, CLI_USAGE = 2, CLI_BROKEN = 3, CLI_BUDGET = 4 };

enum cli_type {
    CLI_FLAG, /* takes no value; with choices: none, or behind '=' one of them */
    CLI_TEXT,
    CLI_FILE,     /* text; completion offers files */
    CLI_FOLDER,   /* text; completion offers folders */
    CLI_INT,      /* within low .. high */
    CLI_DURATION, /* "90", "1.5s", "10m": seconds, within low .. high */
    CLI_CHOICE    /* one of choices */
};

/* One row. */
struct cli_option {
    /* with its dash, one letter or, as the study has them, several: "-ec"; NULL: none */
    const char *short_name;
    const char *long_name; /* with its dashes: "--experiment-config"; never NULL */
    const char *argument;  /* the value's name in texts: "FILE"; NULL for flags */
    enum cli_type type;
    double low, high;           /* bounds of INT and DURATION; both 0: none */
    const char *const *choices; /* of CHOICE, and of such a FLAG; NULL-terminated */
    /* as the texts show it and as it is parsed when not given; NULL: none */
    const char *default_text;
    const char *unit; /* "seconds", or NULL */
    const char *help; /* one line, no full stop */
    bool hidden;      /* accepted, not shown */
    bool repeats;     /* may be given more than once; all values are kept */
};

/* A row of one that takes no value, and of one that does; short_: or NULL. Behind the help, what
 * else the row says: .low = 1. */
#define FLAG_ROW(short_, long_, help_, ...)                                    \
    {                                                                          \
        .short_name = short_, .long_name = long_, .help = help_, ##__VA_ARGS__ \
    }
#define VALUE_ROW(short_, long_, argument_, type_, help_, ...)                          \
    {                                                                                   \
        .short_name = short_, .long_name = long_, .argument = argument_, .type = type_, \
        .help = help_, ##__VA_ARGS__                                                    \
    }

struct cli_value {
    bool given;       /* on the command line; a default fills the rest but not this */
    const char *text; /* as given, or the default; NULL: neither. Borrowed from argv or the row */
    int64_t integer;  /* INT */
    double seconds;   /* DURATION */
    struct strv all;  /* of a row that repeats: every text given, in order */
};

/* What was parsed. */
struct cli_call {
    const struct cli_command *command;
    const struct cli_value *values; /* one for each row of command->options, at the same place */
    const struct caller *caller;    /* who it works for; NULL where the command keeps root */
    /* what is no option, in order; a NULL-terminated argv for exec */
    struct strv operands;
};

/* What a command is for: the list of commands shows them under these headings, in this order. */
enum cli_group {
    CLI_GROUP_NONE, /* not listed */
    CLI_GROUP_RUN,
    CLI_GROUP_MEASURE,
    CLI_GROUP_JUDGE,
    CLI_GROUP_MEMORY,
    CLI_GROUP_MACHINE,
    CLI_GROUP_CLUSTER,
    CLI_GROUP_COUNT
};

struct cli_command {
    const char *name; /* "run" */
    enum cli_group group;
    const char *summary; /* one line for the list of commands */
    /* lines without the program's name: "run FILE [options]"; NULL-terminated */
    const char *const *usage;
    /* paragraphs for help and the manual; NULL-terminated, or NULL */
    const char *const *description;
    const struct cli_option *options; /* -h/--help is added to each command */
    size_t option_count;
    size_t operand_min, operand_max; /* how many operands there may be; SIZE_MAX: any number */
    const char *operand_name;        /* "SETTINGS.json", or NULL */
    bool reads_runs;                 /* an operand may be "latest": completion offers it */
    const char *operand_default;     /* without operands this is used: "latest", or NULL */
    const char *foreign_options; /* whose options may stand behind "--": "sbatch"; NULL: nobody's */
    /* behind "unknown option --x" where no name is near; NULL: nothing */
    const char *unknown_option_hint;
    /* exec: the first operand ends the options, the rest is kept; "--" does so always */
    bool stops_at_operand;
    /* or only such a first operand does, and any number may follow it; NULL: none does */
    bool (*ends_options)(const char *operand);
    /* under sudo: begins as root, for what only root can do, and becomes the caller itself
     * (caller.h). All others are the caller before they run, and read and write what the caller
     * may */
    bool keeps_root;
    /* what a mistake in its options gives; 0: CLI_USAGE. exec's 2 would be its command's */
    int usage_code;
    /* pairs for the manual: "0", "what it means", ...; NULL-terminated, or NULL */
    const char *const *exits;
    /* pairs, two at least: a command line without the program's name, what it does;
     * NULL-terminated */
    const char *const *examples;
    int (*run)(const struct cli_call *call); /* gives the program's exit code */
};

/* What is in each command's file under these names. */
#define COMMAND_TABLES                                                                            \
    .usage = usage, .description = description, .options = options, .option_count = OPTION_COUNT, \
    .exits = exits, .examples = examples

/* The commands, each in its cmd_NAME.c. */
extern const struct cli_command cmd_run;
extern const struct cli_command cmd_init;
extern const struct cli_command cmd_list;
extern const struct cli_command cmd_exec;
extern const struct cli_command cmd_report;
extern const struct cli_command cmd_serve;
extern const struct cli_command cmd_clean;
extern const struct cli_command cmd_doctor;
extern const struct cli_command cmd_bench;
extern const struct cli_command cmd_measure;
extern const struct cli_command cmd_calibrate;
extern const struct cli_command cmd_audit;
extern const struct cli_command cmd_stats;
extern const struct cli_command cmd_compare;
extern const struct cli_command cmd_export;
extern const struct cli_command cmd_feasibility;
extern const struct cli_command cmd_mark;
extern const struct cli_command cmd_watch;
extern const struct cli_command cmd_memory;
extern const struct cli_command cmd_meter;
extern const struct cli_command cmd_calibrator;
extern const struct cli_command cmd_on_event;
extern const struct cli_command cmd_oom;
extern const struct cli_command cmd_submit;
extern const struct cli_command cmd_collect;

/* All that are listed, in the order of the help: those of a group stand together;
 * NULL-terminated. */
extern const struct cli_command *const cli_commands[];
extern const char *const cli_group_names[CLI_GROUP_COUNT]; /* "Run", ... */

/* By its name, listed or not; NULL: there is none. */
const struct cli_command *cli_command_find(const char *name);

/* To stderr, after the program's name: "NAME: error: ..." and "NAME: warning: ...", "NAME: ..." for
 * notes. One line each; in colour on a terminal unless NO_COLOR is set. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* cli_error with what err says; gives code, the caller's exit code. */
int cli_failed(int code, const struct err *err);

/* cli_error, and a line that points to "NAME COMMAND --help"; gives the command's usage_code. */
int cli_usage_error(const struct cli_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
