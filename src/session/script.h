/* script: a training script that has no files yet: what runs it, what its --help lists, and the registry and settings made of it. */
#ifndef TARE_SESSION_SCRIPT_H
#define TARE_SESSION_SCRIPT_H

#include "base/text.h"
#include "plan/starter.h"

/* How long a script may take to print its help. */
#define SCRIPT_HELP_S 10

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

/* Finds what runs it and starts it once with --help, never longer than SCRIPT_HELP_S, as a job of its own that sees no GPU and of which
 * nothing is left. False: there is no such script, or nothing that runs it. A help that cannot be read is no error: unread says why. */
bool script_read(const char *path, const struct strv *environment, struct script *out, struct err *err);
void script_fini(struct script *script);

/* To standard error: what runs it and what was read of it. */
void script_say(const struct script *script, const struct starter_args *args);

/* The two files as text. path: the folder of the script's start as the registry is to name it. starter: what else is asked; its script,
 * path, interpreter and help are set here. */
void script_write(const struct script *script, const char *path, struct starter *starter, struct text *registry, struct text *settings);

#endif
