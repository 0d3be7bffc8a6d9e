/* script_usage: the options in argparse's usage line, for a script that refuses --help and
 * prints only that. */
#ifndef TARE_PLAN_SCRIPT_USAGE_H
#define TARE_PLAN_SCRIPT_USAGE_H

#include "plan/script_help.h"

/* "usage: train.py [--lr LR] [--amp | --no-amp] --data DATA", over as many lines as it has. As
 * script_help_parse otherwise; argparse names each option by one of its spellings here. */
void script_usage_parse(const char *text, size_t length, struct script_help *out);

#endif
