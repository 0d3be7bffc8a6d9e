/* Types into the terminal of whoever started it, in every way that the kernel knows: an "x" for
 * each way, on each of standard input, standard output and /dev/tty; with an argument: on this
 * file. Prints a line for each try: "WAY FILE errno", 0 when it could. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *byte; /* below 4 GiB, for the ABI of 32 bits */

static long own_abi(int fd)
{
    return syscall(SYS_ioctl, fd, TIOCSTI, byte);
}

/* The kernel looks at the lower half of the request alone. */
static long high_bits(int fd)
{
    return syscall(SYS_ioctl, fd, UINT64_C(0x100000000) | TIOCSTI, byte);
}

/* TIOCLINUX, subcode 3: pastes what is selected on a virtual console. */
static long paste(int fd)
{
    *byte = 3;
    long result = syscall(SYS_ioctl, fd, UINT64_C(0x7f00000000) | TIOCLINUX, byte);
    *byte = 'x';
    return result;
}

#ifdef __x86_64__
static long x32(int fd)
{
    return syscall(0x40000000 + 514, fd, TIOCSTI, byte);
}

static long x32_own_number(int fd)
{
    return syscall(0x40000000 + 16, fd, TIOCSTI, byte);
}

static sigjmp_buf before_fault;

static void fault(int number)
{
    (void)number;
    siglongjmp(before_fault, 1);
}

/* A kernel without this ABI answers with SIGSEGV. */
static long i386(int fd)
{
    long result = 54;
    signal(SIGSEGV, fault);
    if (sigsetjmp(before_fault, 1)) {
        errno = ENOSYS;
        return -1;
    }
    __asm__ volatile("int $0x80"
                     : "+a"(result)
                     : "b"(fd), "c"(TIOCSTI), "d"((uint32_t)(uintptr_t)byte)
                     : "memory", "r8", "r9", "r10", "r11");
    errno = result < 0 ? (int)-result : 0;
    return result < 0 ? -1 : result;
}
#endif

static const struct {
    const char *name;
    long (*type)(int fd);
} ways[] = {
    {"own", own_abi}, {"high-bits", high_bits},    {"paste", paste},
#ifdef __x86_64__
    {"x32", x32},     {"x32-own", x32_own_number}, {"i386", i386},
#endif
};

int main(int count, char **words)
{
    const char *path = count > 1 ? words[1] : "/dev/tty";
    int terminal = open(path, O_RDWR | O_NOCTTY), flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_32BIT
    flags |= MAP_32BIT;
#endif
    byte = mmap(NULL, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (terminal < 0 || byte == MAP_FAILED) {
        perror(path);
        return 2;
    }
    *byte = 'x';
    const struct {
        const char *name;
        int fd;
    } files[] = {{path, terminal}, {"stdin", 0}, {"stdout", 1}};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (size_t file = 0; file < (count > 1 ? 1 : sizeof files / sizeof *files); file++) {
            errno = 0;
            long result = ways[way].type(files[file].fd);
            printf("%s %s %d\n", ways[way].name, files[file].name, result == 0 ? 0 : errno);
        }
    return 0;
}
