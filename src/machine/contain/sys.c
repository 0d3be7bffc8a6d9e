#include "machine/contain/sys.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Since Linux 5.x the same number on every architecture; older kernel headers lack some. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* Since 4.17: without it, kernels before 5.16 slow filtered processes down (against Spectre), and
 * with them a training. */
#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW 4
#endif

enum { SIGNAL_MAX = 64, SIGNAL_BYTES = 8 };

int sys_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

bool sys_pidfd_signal(int pidfd, int signal)
{
    return syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0;
}

bool sys_close_range(unsigned first, unsigned last)
{
    if (first > last)
        return true;
    if (syscall(SYS_close_range, first, last, 0) == 0)
        return true;
    /* Before Linux 5.9, or refused by a seccomp filter. */
    long open_max = sysconf(_SC_OPEN_MAX);
    unsigned end = open_max > 0 && open_max < 1 << 20 ? (unsigned)open_max : 1 << 20;
    for (unsigned fd = first; fd <= last && fd < end; fd++)
        close((int)fd);
    return true;
}

bool sys_send(int socket, const void *message, size_t size)
{
    return TEMP_FAILURE_RETRY(send(socket, message, size, MSG_NOSIGNAL | MSG_DONTWAIT)) ==
           (ssize_t)size;
}

pid_t sys_clone(uint64_t flags, int *pidfd)
{
    /* The old call: seccomp filters of containers that hide clone3 let it through. Its first three
     * arguments are the same on x86-64 and arm64; the pidfd comes back through the third. */
    uint64_t all = flags | SIGCHLD | (pidfd ? CLONE_PIDFD : 0);
    return (pid_t)syscall(SYS_clone, all, NULL, pidfd, NULL, NULL);
}

pid_t sys_clone_into(int cgroup_fd)
{
    /* struct clone_args up to .cgroup, which older headers do not have. */
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
            set_tid_size, cgroup;
    } args = {
        .flags = UINT64_C(0x200000000), .exit_signal = SIGCHLD, .cgroup = (uint64_t)cgroup_fd};
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* Those that are not at their default, as /proc/PID/status tells in one line for those ignored and
 * one for those with a handler; all, where it does not. */
static uint64_t signals_changed(void)
{
    char status[4096];
    AUTO_CLOSE int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, status, sizeof status - 1) : -1;
    status[length > 0 ? length : 0] = '\0';
    const char *ignored = strstr(status, "\nSigIgn:"), *caught = strstr(status, "\nSigCgt:");
    return ignored && caught ? strtoull(ignored + 8, NULL, 16) | strtoull(caught + 8, NULL, 16)
                             : UINT64_MAX;
}

void sys_signals_default(void)
{
    /* struct sigaction as the kernel has it: all zero is SIG_DFL, no flags, an empty mask, on every
     * architecture. */
    char action[64];
    memset(action, 0, sizeof action);
    uint64_t changed = signals_changed();
    for (int signal = 1; signal <= SIGNAL_MAX; signal++)
        if ((changed >> (signal - 1) & 1) && signal != SIGKILL && signal != SIGSTOP)
            syscall(SYS_rt_sigaction, signal, action, NULL, SIGNAL_BYTES);
}

static void mask_set(uint64_t mask)
{
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, SIGNAL_BYTES);
}

void sys_signals_block_all(void)
{
    mask_set(~UINT64_C(0));
}

void sys_signals_unblock_all(void)
{
    mask_set(0);
}

/* The number of ioctl in each ABI that these machines run: Linux, arch/x86/entry/syscalls and
 * unistd.h. x32 has the arch of x86-64 and a bit in the number; kernels before 5.4 take either
 * number with it and without. */
#if defined __x86_64__
enum { IOCTL_FIRST = 16, IOCTL_SECOND = 514, IOCTL_COMPAT = 54 };
static const uint32_t ARCH_OWN = AUDIT_ARCH_X86_64, ARCH_COMPAT = AUDIT_ARCH_I386;
#elif defined __aarch64__
enum { IOCTL_FIRST = 29, IOCTL_SECOND = 29, IOCTL_COMPAT = 54 };
static const uint32_t ARCH_OWN = AUDIT_ARCH_AARCH64, ARCH_COMPAT = AUDIT_ARCH_ARM;
#else
#error "which system calls are ioctl here?"
#endif

/* On no file: only a filter can say EPERM. */
static bool typing_is_refused(void)
{
    return syscall(SYS_ioctl, -1, TIOCSTI, "") < 0 && errno == EPERM;
}

static const uint32_t X32_BIT = 0x40000000;

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

#define EQUAL(value, then, other) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (other))

bool sys_typing_refuse(void)
{
    /* The kernel takes 32 bits of the request, whatever the upper half holds; both machines are
     * little-endian. */
    struct sock_filter filter[] = {
        LOAD(arch),
        EQUAL(ARCH_OWN, 0, 4), /* else to the compat ABI's */
        LOAD(nr),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~X32_BIT),
        EQUAL(IOCTL_FIRST, 4, 0),
        EQUAL(IOCTL_SECOND, 3, 6),
        EQUAL(ARCH_COMPAT, 0, 5),
        LOAD(nr),
        EQUAL(IOCTL_COMPAT, 0, 3),
        LOAD(args[1]),
        EQUAL(TIOCSTI, 2, 0),
        EQUAL(TIOCLINUX, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (typing_is_refused())
        return true;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) !=
            0 &&
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return false;
    return typing_is_refused();
}
