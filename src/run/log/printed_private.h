/* Within printed: tokens and names of a line. */
#ifndef TARE_RUN_LOG_PRINTED_PRIVATE_H
#define TARE_RUN_LOG_PRINTED_PRIVATE_H

#include "run/log/printed.h"

enum { PRINTED_WORD_MAX = 32 };

#endif
