#include "run/runner.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <time.h>

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP};

enum { WATCHED = sizeof watched / sizeof *watched };

static void watched_set(sigset_t *out)
{
    sigemptyset(out);
    for (size_t i = 0; i < WATCHED; i++)
        sigaddset(out, watched[i]);
}

static void ignore(int signal_number)
{
    (void)signal_number;
}

void signals_block(struct signals *signals)
{
    sigset_t set;
    struct sigaction quiet = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    *signals = (struct signals){0};
    watched_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, &signals->before);
    sigaction(SIGPIPE, &quiet, &signals->pipe_before);
    sigaction(SIGXFSZ, &quiet, &signals->size_before);
}

static int on_watched(sd_event_source *source, const struct signalfd_siginfo *info, void *context)
{
    (void)source;
    struct signals *signals = context;
    if (info->ssi_signo == SIGHUP)
        signals->hangup(signals->context);
    else if (info->ssi_signo == SIGTSTP)
        signals->suspend(signals->context);
    else
        signals->stop(signals->context, (int)info->ssi_signo);
    return 0;
}

int signals_watch(struct signals *signals, sd_event *loop, void (*stop)(void *context, int signal_number),
                  void (*hangup)(void *context), void (*suspend)(void *context), void *context)
{
    signals->stop = stop;
    signals->hangup = hangup;
    signals->suspend = suspend;
    signals->context = context;
    int code = 0;
    for (size_t i = 0; i < WATCHED && code >= 0; i++) {
        sd_event_source *source = NULL;
        code = sd_event_add_signal(loop, &source, watched[i], on_watched, signals);
        if (code < 0)
            break;
        /* Before a log that never pauses. */
        code = sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
        if (code >= 0)
            code = sd_event_source_set_floating(source, 1);
        sd_event_source_unref(source);
    }
    return code;
}

void signals_unblock(struct signals *signals)
{
    sigset_t set;
    struct timespec now = {0};
    watched_set(&set);
    /* A signal that the caller itself had blocked is the caller's to take. */
    for (size_t i = 0; i < WATCHED; i++)
        if (sigismember(&signals->before, watched[i]) == 1)
            sigdelset(&set, watched[i]);
    while (sigtimedwait(&set, NULL, &now) > 0 || errno == EINTR)
        continue;
    sigaction(SIGPIPE, &signals->pipe_before, NULL);
    sigaction(SIGXFSZ, &signals->size_before, NULL);
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}
