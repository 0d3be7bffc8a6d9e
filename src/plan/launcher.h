/* launcher: the words before a script on its command line: variables, python3 -m, torchrun, mpirun,
 * uv run and the like. They stay as they are; options and axes begin after the script. Pure but for
 * checking which words are files. */
#ifndef TARE_PLAN_LAUNCHER_H
#define TARE_PLAN_LAUNCHER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct launcher {
    size_t variables; /* how many words NAME=VALUE come first */
    /* the word that is the script or the module; the program itself, where nothing launches it */
    size_t script;
    bool module;   /* that word comes after -m or --module */
    size_t python; /* the word that is the script's Python, when it is named; else script */
};

/* Whether a command line may begin with this word: NAME=VALUE, or a program that is known to start
 * others. */
bool launcher_is_first_word(const char *word);

/* False: variables alone, or a launcher without a script. */
bool launcher_read(char *const *words, size_t count, struct launcher *out, struct err *err);

/* A file that can be started by itself: "#!" or an ELF header. */
bool launcher_is_program(const char *path);

#endif
