/* microhttpd: libmicrohttpd, loaded when serve begins: it brings GnuTLS, which would cost each
 * start of the program 1.3 ms. All other libraries are linked. The functions here have the names of
 * microhttpd.h, so their callers need not know. */
#ifndef TARE_SERVE_MICROHTTPD_H
#define TARE_SERVE_MICROHTTPD_H

#include "serve/serve_private.h"

/* Loads the web server's library. To be called before any other of its functions. False: err says
 * what is missing. */
bool microhttpd_load(struct err *err);

#endif
