#include "machine/contain/query.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "machine/contain/job.h"
#include "machine/contain/prove.h"
#include "machine/contain/start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

static const int WAIT_MS = 50;

/* Reads what the pipe holds now. False: end of output, or beyond the limit. */
static bool drain_output(int fd, const struct job_question *question, struct text *out)
{
    char bytes[16384];
    for (;;) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == EAGAIN;
        if (got == 0)
            return false;
        text_add_bytes(out, bytes, (size_t)got);
        if (out->length > question->limit)
            return false;
    }
}

/* Waits until the command ends, even if other processes have its output open. */
static enum job_answer wait_for_query_answer(struct job *job, int fd,
                                             const struct job_question *question, int64_t start_ns,
                                             struct text *out)
{
    bool open = true;
    int64_t said_s = 0;
    for (;;) {
        int64_t past_ns = clock_monotonic_ns() - start_ns;
        if (question->waiting && past_ns / NS_PER_S > said_s) {
            said_s = past_ns / NS_PER_S;
            question->waiting(question->context, (double)past_ns / NS_PER_S);
        }
        int64_t left_ns = question->timeout_s > 0
                              ? start_ns + (int64_t)(question->timeout_s * (double)NS_PER_S) -
                                    clock_monotonic_ns()
                              : NS_PER_S;
        if (left_ns <= 0)
            return JOB_ANSWER_LATE;
        struct pollfd wait[] = {
            {.fd = job_fd(job), .events = POLLIN},
            {.fd = open ? fd : -1, .events = POLLIN},
            {.fd = question->stop_fd > 0 ? question->stop_fd : -1, .events = POLLIN}};
        if (question->waiting && left_ns > NS_PER_S)
            left_ns = NS_PER_S;
        if (poll(wait, 3, (int)(left_ns / NS_PER_MS) + 1) <= 0)
            continue;
        if (wait[2].revents)
            return JOB_ANSWER_LATE;
        if (open)
            open = drain_output(fd, question, out);
        if (out->length > question->limit)
            return JOB_ANSWER_LONG;
        if (wait[0].revents) {
            struct job_exit end = job_take_exit(job);
            if (!end.ended)
                continue;
            if (question->exit)
                *question->exit = end;
            return end.exec_failed                   ? JOB_ANSWER_NONE
                   : !end.signalled && end.code == 0 ? JOB_ANSWER_GOOD
                                                     : JOB_ANSWER_FAILED;
        }
    }
}

/* True: no process of it is left. */
static bool end_query_job(struct job *job)
{
    int64_t give_up_ns = clock_monotonic_ns() + JOB_PROOF_MAX_S * NS_PER_S;
    size_t left;
    job_kill(job);
    while (!job_prove_step(job, NULL, 0, &left)) {
        if (clock_monotonic_ns() > give_up_ns)
            return false;
        poll(&(struct pollfd){.fd = job_end_fd(job), .events = POLLIN}, 1, WAIT_MS);
    }
    return true;
}

enum job_answer job_ask(const struct job_question *question, struct text *out)
{
    int ends[2];
    int64_t start_ns = clock_monotonic_ns();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return JOB_ANSWER_NONE;
    AUTO_CLOSE int answer = ends[0];
    AUTO_CLOSE int write_end = ends[1];
    AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct job_request request = {
        .containment = question->containment,
        .argv = question->argv,
        .env = question->env,
        .cwd = question->cwd,
        .read_only_fds = {question->read_only_fds[0], question->read_only_fds[1]},
        .stdin_fd = question->input > 0 ? question->input : -1,
        .stdout_fd = question->only_errors ? null : write_end,
        .stderr_fd = question->with_errors || question->only_errors ? write_end : null};
    if (null < 0 || fcntl(answer, F_SETFL, O_NONBLOCK) != 0)
        return JOB_ANSWER_NONE;
    struct job *job = job_start(&request, NULL);
    if (!job)
        return JOB_ANSWER_NONE;
    close(steal_fd(&write_end));
    int writable = question->read_only_fds[0] > 0 ? job_records_errno(job) : 0;
    enum job_answer how = writable ? JOB_ANSWER_WRITABLE
                          : job_open_gate(job, NULL)
                              ? wait_for_query_answer(job, answer, question, start_ns, out)
                              : JOB_ANSWER_NONE;
    bool gone = end_query_job(job);
    if ((how == JOB_ANSWER_GOOD || how == JOB_ANSWER_FAILED) &&
        !drain_output(answer, question, out) && out->length > question->limit)
        how = JOB_ANSWER_LONG;
    job_free(job);
    errno = writable;
    return gone ? how : JOB_ANSWER_ALIVE;
}

bool job_query(const struct containment *containment, const struct strv *argv,
               const struct strv *env, size_t limit, double timeout_s, struct text *out)
{
    return job_ask(&(struct job_question){.containment = containment,
                                          .argv = argv,
                                          .env = env,
                                          .limit = limit,
                                          .timeout_s = timeout_s},
                   out) == JOB_ANSWER_GOOD;
}
