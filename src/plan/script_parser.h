/* script_parser: whether a script reads options, as far as its text shows: only then is it worth
 * starting it with --help. */
#ifndef TARE_PLAN_SCRIPT_PARSER_H
#define TARE_PLAN_SCRIPT_PARSER_H

#include "plan/script_files.h"

struct script_parser {
    const char *name; /* "argparse"; NULL: none was found */
    /* this parser itself prints the help and exits, whatever the script does afterwards */
    bool answers_help;
    bool names_help; /* the source names --help outside of its comments */
};

/* Of Python: the script and its modules. In a module the part below "if __name__" does not
 * count, as it is not executed. */
void script_parser_find(const struct script_files *files, struct script_parser *out);

/* Of any other script: its text mentions --help or getopts. */
bool script_parser_is_mentioned(const char *text);

#endif
