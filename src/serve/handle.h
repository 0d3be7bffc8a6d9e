/* handle: who may ask, and which answer a request gets. */
#ifndef TARE_SERVE_HANDLE_H
#define TARE_SERVE_HANDLE_H

#include "serve/serve_private.h"

/* For libmicrohttpd: answers a request; context: the struct serve. */
enum MHD_Result serve_handle(void *context, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *upload,
                             size_t *upload_size, void **state);

enum MHD_Result serve_reply(struct MHD_Connection *connection, unsigned status, int type,
                            struct text *body);

/* The pages' script and style, as they were built in, and a tag that changes with them. */
void serve_assets_tag(char script[SERVE_TAG + 1], char style[SERVE_TAG + 1]);

#endif
