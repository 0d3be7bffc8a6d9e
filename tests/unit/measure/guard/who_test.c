#include "measure/guard/who.h"

#include "base/cleanup.h"
#include "base/mem.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

/* A child that waits, with this command line and environment. */
static pid_t start(char *const argv[], char *const envp[])
{
    pid_t pid = fork();
    if (pid == 0) {
        execve("/bin/sleep", argv, envp);
        _exit(127);
    }
    assert_true(pid > 0);
    /* Until it is the other program. */
    for (int i = 0; i < 2000; i++) {
        char path[64], target[64] = "";
        snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
        FILE *file = fopen(path, "re");
        size_t got = file ? fread(target, 1, sizeof target - 1, file) : 0;
        if (file)
            fclose(file);
        if (got > 0 && strcmp(target, argv[0]) == 0)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void a_process_is_told_by_user_command_age_and_tag(void **state)
{
    (void)state;
    char *argv[] = {(char[]){"sleep"}, (char[]){"600"}, NULL};
    char *envp[] = {(char[]){"A=1"}, (char[]){"TARE_JOB=abc"}, NULL};
    struct who who;
    pid_t pid = start(argv, envp);
    assert_true(who_look("/proc", pid, &who));
    assert_int_equal(who.pid, pid);
    assert_int_equal(who.uid, getuid());
    assert_string_equal(who.command, "sleep 600");
    assert_string_equal(who.tag, "abc");
    assert_true(who.start_time > 0);
    assert_true(who.age_s >= 0 && who.age_s < 600);
    assert_false(who.orphan);
    who_fini(&who);
    end(pid);
    assert_false(who_look("/proc", pid, &who));
}

static void a_zombie_is_nobody(void **state)
{
    (void)state;
    struct who who;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    assert_false(who_look("/proc", pid, &who));
    assert_true(who_is_going("/proc", pid));
    waitpid(pid, NULL, 0);
    assert_true(who_is_going("/proc", pid));
    assert_false(who_is_going("/proc", getpid()));
}

/* Its stat as the kernel writes it; the seventh field behind the name: flags, 4 of which is
 * PF_EXITING. */
static void one_that_is_ending_is_going(void **state)
{
    (void)state;
    char folder[] = "/tmp/who-test.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/7", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/7/stat", folder);
    for (int ending = 0; ending < 2; ending++) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fprintf(file,
                "7 (a) R 1 2) R 1 7 7 0 -1 %d 100 0 0 0 1 2 0 0 20 0 1 0 4711 0 0 "
                "18446744073709551615 0 0 0 0 0 0 0 0 0 "
                "0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                ending ? 4194308 : 4194304);
        fclose(file);
        assert_int_equal(who_is_going(folder, 7), ending);
    }
    unlink(path);
    path[strlen(path) - strlen("/stat")] = '\0';
    rmdir(path);
    rmdir(folder);
}

/* What the test itself has open, by its own number: the device files are a folder of the test's. */
static void only_who_has_a_device_of_the_driver_open_may_have_a_gpu(void **state)
{
    (void)state;
    char dev[] = "/tmp/who-test.XXXXXX", control[64], device[64];
    assert_non_null(mkdtemp(dev));
    snprintf(control, sizeof control, "%s/nvidiactl", dev);
    snprintf(device, sizeof device, "%s/nvidia0", dev);
    /* Where there are no such files nobody can be told from another by them. */
    assert_true(who_may_have_gpu("/proc", dev, getpid()));
    int one = open(control, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
    assert_true(one >= 0);
    assert_true(who_may_have_gpu("/proc", dev, getpid()));
    close(one);
    assert_false(who_may_have_gpu("/proc", dev, getpid()));
    int two = open(device, O_CREAT | O_RDONLY | O_CLOEXEC, 0600);
    assert_true(two >= 0);
    assert_true(who_may_have_gpu("/proc", dev, getpid()));
    close(two);
    unlink(control);
    unlink(device);
    rmdir(dev);
}

/* As the kernel writes it of kthreadd: 0x200000 of its flags is PF_KTHREAD. */
static void a_kernel_thread_has_no_gpu(void **state)
{
    (void)state;
    char folder[] = "/tmp/who-test.XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/2", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/2/stat", folder);
    for (int kernel = 0; kernel < 2; kernel++) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fprintf(file,
                "2 (kthreadd) S 0 0 0 0 -1 %d 0 0 0 0 0 7 0 0 20 0 1 0 0 0 0 18446744073709551615 "
                "0 0 0 0 0 0 0\n",
                kernel ? 2129984 : 4194304);
        fclose(file);
        assert_int_equal(who_may_have_gpu(folder, "/nowhere", 2), !kernel);
    }
    unlink(path);
    path[strlen(path) - strlen("/stat")] = '\0';
    rmdir(path);
    rmdir(folder);
}

static void a_long_command_is_cut_between_characters_and_control_characters_are_not_obeyed(
    void **state)
{
    (void)state;
    char longer[400] = "x\033[31m";
    struct who who;
    for (int i = 0; i < 100; i++)
        strcat(longer, "é");
    char *argv[] = {longer, (char[]){"600"}, NULL}, *envp[] = {NULL};
    pid_t pid = start(argv, envp);
    assert_true(who_look("/proc", pid, &who));
    assert_true(strlen(who.command) <= 123);
    assert_null(strchr(who.command, '\033'));
    assert_string_equal(who.command + strlen(who.command) - 5, "é...");
    assert_null(who.tag);
    who_fini(&who);
    end(pid);
}

static void the_text_has_all_of_it(void **state)
{
    (void)state;
    char passwd[] = "/tmp/who-test.XXXXXX";
    int fd = mkstemp(passwd);
    static const char lines[] =
        "root:x:0:0:root:/root:/bin/sh\nada:x:4711:4711::/home/ada:/bin/sh\n";
    assert_true(fd >= 0 && write(fd, lines, sizeof lines - 1) == (ssize_t)(sizeof lines - 1));
    close(fd);
    char command[] = "python3 train.py";
    struct who who = {.pid = 12, .uid = 4711, .command = command, .age_s = 7380, .orphan = true};
    AUTO_FREE char *known = who_text(&who, passwd);
    assert_string_equal(known, "pid 12 of user ada, 'python3 train.py', 2 h 03 min old, an orphan");
    who.uid = 4712;
    who.orphan = false;
    who.age_s = -1;
    AUTO_FREE char *unknown = who_text(&who, passwd);
    assert_string_equal(unknown, "pid 12 of user 4712, 'python3 train.py'");
    unlink(passwd);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_told_by_user_command_age_and_tag),
        cmocka_unit_test(a_zombie_is_nobody),
        cmocka_unit_test(one_that_is_ending_is_going),
        cmocka_unit_test(only_who_has_a_device_of_the_driver_open_may_have_a_gpu),
        cmocka_unit_test(a_kernel_thread_has_no_gpu),
        cmocka_unit_test(
            a_long_command_is_cut_between_characters_and_control_characters_are_not_obeyed),
        cmocka_unit_test(the_text_has_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
