/* script: a training script that has no files yet: what runs it, what its --help lists, and the
 * registry and settings made of it. */
#ifndef TARE_SESSION_SCRIPT_H
#define TARE_SESSION_SCRIPT_H

#include "base/text.h"
#include "plan/starter.h"

/* How far learning about a script may go. */
struct script_probing {
    bool never; /* --no-probe: it is not started */
    /* --dry-run: it is started only with a parser that itself answers --help and exits */
    bool certain;
    bool quiet;       /* no progress line */
    double timeout_s; /* --help-timeout */
};

struct script {
    char *path;            /* as given; of a module its file, else its name */
    char *name;            /* what the plan is named after: "train.py" */
    char *absolute;        /* NULL: a module whose file was not found */
    char *folder;          /* the working folder: where it is started */
    char *program;         /* what is started: the script, or the first word of what launches it */
    struct strv before;    /* the words between the program and the script's arguments */
    struct strv variables; /* NAME=VALUE before all of them */
    size_t arguments_at;   /* the place of the script's first argument among the words */
    /* of the registry: "python", "venv"; NULL: the program is started itself */
    const char *key;
    char *interpreter; /* for that key, seen from folder; NULL */
    bool is_python;
    const char *why; /* "the virtual environment beside it", ... */
    /* what --help is added to: interpreter and script, absolute; empty: it cannot be asked */
    struct strv command;
    struct script_epochs epochs;
    bool has_help;
    struct script_help help;
    char *unread; /* why there is none, a line; NULL */
};

/* Whether the first word where settings could be begins the command line of a script: a script or a
 * program (by its name's end, "#!" or an ELF header), NAME=VALUE, or what starts scripts: python3,
 * torchrun, ... */
bool script_is_one(const char *operand);

/* words: a command line from its first word on. Finds the script in it and what runs it, and asks
 * it for its help (script_probe). False: there is no such script, nothing runs it, or its help took
 * too long. A help that cannot be read otherwise is no error: unread says why. */
bool script_read(const struct strv *words, const struct strv *environment,
                 const struct script_probing *how, struct script *out, struct err *err);

/* Searches the text of the script and of its modules for a parser of options. Only with one is it
 * started, with --help, as a job of its own that sees no GPU, can write neither in the working
 * folder nor in the script's, and of which nothing is left. has_help and help, or unread, and
 * epochs (of Python) are set. False: it was still running after how->timeout_s. (script_probe.c) */
bool script_probe(struct script *script, const struct strv *environment,
                  const struct script_probing *how, struct err *err);
void script_fini(struct script *script);

/* To standard error: the axes and how many experiments there are; what runs the script and what is
 * known of it; warnings. */
void script_say(const struct script *script, const struct starter_args *args, size_t experiments);

/* "--epochs (2), --opt (sgd)": the options that its help lists and nothing names, with the defaults
 * that the help says. Fresh; NULL: none. */
char *script_untouched(const struct script *script, const struct starter_args *args);

/* The two files as text. path: the folder of the script's start as the registry is to name it.
 * starter: what else is asked; its name, program, path, interpreter and help are set here. */
void script_write(const struct script *script, const char *path, struct starter *starter,
                  struct text *registry, struct text *settings);

#endif
