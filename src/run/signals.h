/* signals: those that the loop takes care of, kept from their default effect while a run lives. Private to run/. */
#ifndef TARE_RUN_SIGNALS_H
#define TARE_RUN_SIGNALS_H

#include <signal.h>
#include <systemd/sd-event.h>

struct signals {
    sigset_t before;
    struct sigaction pipe_before, size_before;
    void (*stop)(void *context, int signal_number); /* SIGINT, SIGTERM */
    void (*hangup)(void *context);                  /* SIGHUP */
    void (*suspend)(void *context);                 /* SIGTSTP: Ctrl-Z */
    void *context;
};

/* Also makes SIGPIPE and SIGXFSZ harmless (the write then fails, and is handled), by a handler, which unlike
 * SIG_IGN no job inherits. */
void signals_block(struct signals *signals);

/* As sd_event_*: negative is an error number. signals must live as long as the loop. */
int signals_watch(struct signals *signals, sd_event *loop, void (*stop)(void *context, int signal_number),
                  void (*hangup)(void *context), void (*suspend)(void *context), void *context);

/* As it was; what came too late for the loop is dropped, so that it does not end the program before it has closed
 * the journal. */
void signals_unblock(struct signals *signals);

#endif
