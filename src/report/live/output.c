#include "report/live/output.h"

#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* A pipe that polls writable takes PIPE_BUF bytes without blocking (pipe(7)); a terminal takes what
 * it has room for. */
static bool push_some(struct output *output, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = output->fd, .events = POLLOUT};
    if (poll(&poll_fd, 1, timeout_ms) <= 0 ||
        !(poll_fd.revents & (POLLOUT | POLLERR | POLLHUP | POLLNVAL)))
        return false;
    size_t left = output->waiting.length - output->sent;
    ssize_t written =
        write(output->fd, output->waiting.data + output->sent, left < PIPE_BUF ? left : PIPE_BUF);
    if (written < 0) {
        output->broken = errno != EINTR && errno != EAGAIN ? errno : 0;
        return !output->broken && errno == EINTR;
    }
    output->sent += (size_t)written;
    return true;
}

static bool is_output_sent(struct output *output)
{
    if (!output->broken && output->sent < output->waiting.length)
        return false;
    text_clear(&output->waiting);
    output->sent = 0;
    return true;
}

bool output_push(struct output *output)
{
    while (!is_output_sent(output))
        if (!push_some(output, 0))
            return is_output_sent(output);
    return true;
}

void output_add(struct output *output, const char *bytes, size_t count)
{
    if (output->broken)
        return;
    text_add_bytes(&output->waiting, bytes, count);
    output_push(output);
}

void output_fini(struct output *output, int timeout_ms)
{
    int64_t end_ns = clock_monotonic_ns() + timeout_ms * NS_PER_MS;
    while (!is_output_sent(output)) {
        int64_t left_ns = end_ns - clock_monotonic_ns();
        if (left_ns <= 0)
            break;
        push_some(output, (int)(left_ns / NS_PER_MS) + 1);
    }
    text_fini(&output->waiting);
}
