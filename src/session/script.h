/* script: a training script that has no files yet: what runs it, what its --help lists, and the registry and settings made of it. */
#ifndef TARE_SESSION_SCRIPT_H
#define TARE_SESSION_SCRIPT_H

#include "base/text.h"
#include "plan/starter.h"

/* How far learning about a script may go. */
struct script_probing {
    bool never;       /* --no-probe: it is not started */
    bool certain;     /* --dry-run: it is started only with a parser that itself answers --help and exits */
    bool quiet;       /* no progress line */
    double timeout_s; /* --help-timeout */
};

struct script {
    char *path;         /* as given */
    char *absolute;
    char *folder;       /* the working folder: where it is started */
    const char *key;    /* of the registry: "python", "venv"; NULL: it is started itself */
    char *interpreter;  /* for that key, seen from folder; NULL */
    const char *why;    /* "the virtual environment beside it", ... */
    struct strv command; /* absolute */
    bool has_help;
    struct script_help help;
    char *unread; /* why there is none, a line; NULL */
};

/* Whether what stands where settings could be is a script: by its name's end, or by its first two bytes ("#!"). */
bool script_is_one(const char *operand);

/* Finds what runs it, and asks it for its help (script_probe). False: there is no such script, nothing runs it, or its help took too
 * long. A help that cannot be read otherwise is no error: unread says why. */
bool script_read(const char *path, const struct strv *environment, const struct script_probing *how, struct script *out,
                 struct err *err);

/* Searches the text of the script and of its modules for a parser of options. Only with one is it started, with --help, as a job of
 * its own that sees no GPU, can write neither in the working folder nor in the script's, and of which nothing is left. has_help and
 * help, or unread, are set. False: it was still running after how->timeout_s. (script_probe.c) */
bool script_probe(struct script *script, const struct strv *environment, const struct script_probing *how,
                  struct err *err);
void script_fini(struct script *script);

/* To standard error: what runs it and what was read of it. */
void script_say(const struct script *script, const struct starter_args *args);

/* The two files as text. path: the folder of the script's start as the registry is to name it. starter: what else is asked; its script,
 * path, interpreter and help are set here. */
void script_write(const struct script *script, const char *path, struct starter *starter, struct text *registry, struct text *settings);

#endif
