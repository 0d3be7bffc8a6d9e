/* channel: what is new of one thing (a run, the overview), as texts that are made once and sent to
 * all who watch it. Private to serve/. Nothing is kept for a viewer but its place: one that lags by
 * more than the channel keeps is dropped, and may come again. */
#ifndef TARE_SERVE_CHANNEL_H
#define TARE_SERVE_CHANNEL_H

#include "base/text.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many texts, and bytes of them, a viewer may lag behind. */
enum { CHANNEL_KEPT = 64, CHANNEL_BYTES = 8 << 20 };

struct chunk;
struct stream;

/* All zero: empty. */
struct channel {
    struct chunk *kept[CHANNEL_KEPT]; /* the one with number n is at n % CHANNEL_KEPT */
    uint64_t first, next;             /* kept are first .. next - 1 */
    size_t bytes;
    struct chunk *whole; /* the text that viewers began with last, of everything; NULL: none */
    uint64_t whole_version;
    int64_t whole_ns;
    struct stream *streams;
    size_t count;
};

/* For all who watch; takes the text. Nothing is kept where nobody does. */
void channel_publish(struct channel *channel, struct text *text);

/* Whether there is a text of everything at that version, at most two seconds old: many viewers come
 * at once when a server is started again. */
bool channel_has_whole(const struct channel *channel, uint64_t version);

/* A response that begins with the text (taken) and goes on with what is published. version: what
 * the text tells everything of; an empty one stands for the text that there is. 0: it tells less.
 * NULL: no memory. */
struct MHD_Response *channel_stream(struct channel *channel, struct MHD_Connection *connection,
                                    struct text *first, uint64_t version);

/* Ends all streams of it; they are detached, and the channel may go. */
void channel_end(struct channel *channel);

/* Of all channels. */
size_t channel_streams(void);

#endif
