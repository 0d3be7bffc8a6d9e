/* The token in the addresses of the pages: a file in the state folder keeps it from one start to
 * the next. */
#ifndef TARE_SERVE_TOKEN_H
#define TARE_SERVE_TOKEN_H

#include "serve/serve_private.h"

/* The token of the user's servers: the one of the state folder's file, or a new one, which replaces
 * it. False: err says why there is none. */
bool serve_token_get(bool new, char token[SERVE_TOKEN + 1], struct err *err);

/* The token of the address of a run's report.html. Whoever can write to the run's folder chose what
 * its scripts do, and a script can read its own address: this token opens nothing else. */
void serve_token_of_report(const char *token, const char *run, char out[SERVE_TOKEN + 1]);

/* Random digits, at most SERVE_TOKEN and an even number, with a NUL after them. */
bool serve_random_hex(char *out, size_t digits, struct err *err);

#endif
