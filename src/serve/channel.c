#include "serve/channel.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>
#include <sys/socket.h>

/* One text, shared by all who have not sent it to the end. */
struct chunk {
    size_t users, length;
    char bytes[];
};

struct stream {
    struct MHD_Connection *connection;
    struct channel *channel; /* NULL: it has ended */
    struct chunk *chunk;     /* what is being sent; NULL: nothing */
    size_t sent;
    uint64_t next; /* number of the chunk after it */
    bool suspended;
    struct stream *before, *after;
};

static size_t streams;

size_t channel_streams(void)
{
    return streams;
}

static struct chunk *chunk_new(struct text *text)
{
    struct chunk *chunk = mem_alloc(sizeof *chunk + text->length);
    chunk->users = 1;
    chunk->length = text->length;
    memcpy(chunk->bytes, text_get(text), text->length);
    text_fini(text);
    return chunk;
}

static void chunk_drop(struct chunk *chunk)
{
    if (chunk && --chunk->users == 0)
        free(chunk);
}

static void resume_stream(struct stream *stream)
{
    if (stream->suspended)
        MHD_resume_connection(stream->connection);
    stream->suspended = false;
}

/* A viewer whose connection takes nothing: libmicrohttpd finds it closed, and frees the stream. */
static void cut_off(struct stream *stream)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(stream->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info)
        shutdown(info->connect_fd, SHUT_RDWR);
}

static void detach(struct stream *stream)
{
    struct channel *channel = stream->channel;
    if (!channel)
        return;
    if (stream->before)
        stream->before->after = stream->after;
    else
        channel->streams = stream->after;
    if (stream->after)
        stream->after->before = stream->before;
    channel->count--;
    stream->channel = NULL;
}

static void forget_first(struct channel *channel)
{
    struct chunk *chunk = channel->kept[channel->first % CHANNEL_KEPT];
    for (struct stream *at = channel->streams, *after; at; at = after) {
        after = at->after;
        if (at->next <= channel->first) {
            detach(at);
            cut_off(at);
        }
    }
    channel->bytes -= chunk->length;
    chunk_drop(chunk);
    channel->first++;
}

void channel_publish(struct channel *channel, struct text *text)
{
    chunk_drop(channel->whole); /* what begins now is newer */
    channel->whole = NULL;
    while (channel->next > channel->first &&
           (channel->count == 0 || channel->next - channel->first == CHANNEL_KEPT ||
            channel->bytes + text->length > CHANNEL_BYTES))
        forget_first(channel);
    if (channel->count == 0) {
        text_fini(text);
        return;
    }
    struct chunk *chunk = chunk_new(text);
    channel->bytes += chunk->length;
    channel->kept[channel->next++ % CHANNEL_KEPT] = chunk;
    for (struct stream *at = channel->streams; at; at = at->after)
        resume_stream(at);
}

static struct chunk *next_chunk(struct stream *stream)
{
    struct channel *channel = stream->channel;
    if (stream->next >= channel->next)
        return NULL;
    struct chunk *chunk = channel->kept[stream->next++ % CHANNEL_KEPT];
    chunk->users++;
    return chunk;
}

static ssize_t read_stream(void *context, uint64_t position, char *out, size_t most)
{
    struct stream *stream = context;
    (void)position;
    if (stream->chunk && stream->sent == stream->chunk->length) {
        chunk_drop(stream->chunk);
        stream->chunk = NULL;
    }
    if (!stream->channel)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!stream->chunk) {
        stream->sent = 0;
        stream->chunk = next_chunk(stream);
    }
    if (!stream->chunk) {
        stream->suspended = true;
        MHD_suspend_connection(stream->connection);
        return 0;
    }
    size_t left = stream->chunk->length - stream->sent, count = left < most ? left : most;
    memcpy(out, stream->chunk->bytes + stream->sent, count);
    stream->sent += count;
    return (ssize_t)count;
}

static void free_stream(void *context)
{
    struct stream *stream = context;
    detach(stream);
    chunk_drop(stream->chunk);
    free(stream);
    streams--;
}

bool channel_has_whole(const struct channel *channel, uint64_t version)
{
    return channel->whole && channel->whole_version == version &&
           clock_monotonic_ns() - channel->whole_ns < 2 * NS_PER_S;
}

static struct chunk *first_chunk(struct channel *channel, struct text *first, uint64_t version)
{
    if (version == 0)
        return chunk_new(first);
    if (first->length) {
        chunk_drop(channel->whole);
        channel->whole = chunk_new(first);
        channel->whole_version = version;
        channel->whole_ns = clock_monotonic_ns();
    }
    channel->whole->users++;
    return channel->whole;
}

struct MHD_Response *channel_stream(struct channel *channel, struct MHD_Connection *connection,
                                    struct text *first, uint64_t version)
{
    enum { BLOCK = 16384 };
    struct stream *stream = mem_alloc(sizeof *stream);
    *stream = (struct stream){.connection = connection,
                              .channel = channel,
                              .chunk = first_chunk(channel, first, version),
                              .next = channel->next,
                              .after = channel->streams};
    if (channel->streams)
        channel->streams->before = stream;
    channel->streams = stream;
    channel->count++;
    streams++;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK, read_stream, stream, free_stream);
    if (!response)
        free_stream(stream);
    return response;
}

void channel_end(struct channel *channel)
{
    while (channel->streams) {
        struct stream *stream = channel->streams;
        detach(stream);
        resume_stream(stream);
    }
    while (channel->next > channel->first)
        forget_first(channel);
    chunk_drop(channel->whole);
    channel->whole = NULL;
}
