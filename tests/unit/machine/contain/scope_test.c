/* A cgroup of the user's own: asked of systemd's user manager (a stand-in, which speaks D-Bus on a
 * socket and does with the process what the manager does), or handed over by root. */
#include "machine/contain/cgroup_tree.h"
#include "machine/contain/probe.h"
#include "machine/contain/scope.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "tare_build.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

enum { NOBODY = 65534, PATIENCE_S = 60 };

enum manner { ANSWERS, REFUSES, IS_SILENT, MOVES };

struct manager {
    char dir[32], socket[100], address[160];
    enum manner manner;
    char *cgroup; /* MOVES: the folder that it has been given */
    int told;     /* what it was asked, as text */
    int tell;
    pid_t pid;
};

/* One property of the request: "Delegate b 1;". */
static void render_property(sd_bus_message *message, struct text *out, uint32_t *pid)
{
    const char *name, *signature, *string;
    int truth;
    assert_true(sd_bus_message_read(message, "s", &name) > 0);
    assert_true(sd_bus_message_peek_type(message, NULL, &signature) > 0);
    text_addf(out, "%s %s ", name, signature);
    if (strcmp(signature, "s") == 0) {
        assert_true(sd_bus_message_read(message, "v", "s", &string) > 0);
        text_addf(out, "%s;", string);
    } else if (strcmp(signature, "b") == 0) {
        assert_true(sd_bus_message_read(message, "v", "b", &truth) > 0);
        text_addf(out, "%d;", truth);
    } else {
        assert_true(sd_bus_message_read(message, "v", "au", 1, pid) > 0);
        text_addf(out, "%u;", *pid);
    }
}

static void move(const struct manager *manager, const char *unit, uint32_t pid)
{
    char number[16];
    AUTO_FREE char *scope = mem_printf("%s/%s", manager->cgroup, unit);
    AUTO_FREE char *procs = mem_printf("%s/cgroup.procs", scope);
    assert_int_equal(mkdir(scope, 0755), 0);
    assert_int_equal(chown(scope, NOBODY, NOBODY), 0);
    assert_int_equal(chown(procs, NOBODY, NOBODY), 0);
    snprintf(number, sizeof number, "%u", pid);
    assert_true(cgroup_write(scope, "cgroup.procs", number));
}

static int on_call(sd_bus_message *message, void *context, sd_bus_error *error)
{
    const struct manager *manager = context;
    struct text text = {0};
    const char *unit, *mode;
    uint32_t pid = 0;
    (void)error;
    if (!sd_bus_message_is_method_call(message, "org.freedesktop.systemd1.Manager",
                                       "StartTransientUnit"))
        return 0;
    /* in s name, in s mode, in a(sv) properties, in a(sa(sv)) aux, out o job:
     * org.freedesktop.systemd1(5) */
    assert_string_equal(sd_bus_message_get_signature(message, 1), "ssa(sv)a(sa(sv))");
    assert_string_equal(sd_bus_message_get_path(message), "/org/freedesktop/systemd1");
    assert_true(sd_bus_message_read(message, "ss", &unit, &mode) > 0);
    text_addf(&text, "%s %s;", unit, mode);
    assert_true(sd_bus_message_enter_container(message, 'a', "(sv)") > 0);
    while (sd_bus_message_enter_container(message, 'r', "sv") > 0) {
        render_property(message, &text, &pid);
        sd_bus_message_exit_container(message);
    }
    if (manager->cgroup)
        move(manager, unit, pid);
    assert_int_equal(write(manager->tell, text_get(&text), text.length), text.length);
    text_fini(&text);
    if (manager->manner == REFUSES)
        return sd_bus_reply_method_errorf(message, "org.freedesktop.systemd1.UnitExists",
                                          "Unit %s was already loaded", unit);
    if (manager->manner == IS_SILENT)
        return 1;
    return sd_bus_reply_method_return(message, "o", "/org/freedesktop/systemd1/job/1");
}

static _Noreturn void serve(struct manager *manager, int listener)
{
    int fd = accept(listener, NULL, NULL);
    sd_id128_t id;
    sd_bus *bus = NULL;
    assert_true(fd >= 0 && sd_id128_randomize(&id) >= 0);
    assert_true(sd_bus_new(&bus) >= 0 && sd_bus_set_fd(bus, fd, fd) >= 0 &&
                sd_bus_set_server(bus, true, id) >= 0);
    assert_true(sd_bus_set_anonymous(bus, true) >= 0);
    assert_true(sd_bus_start(bus) >= 0);
    assert_true(sd_bus_add_filter(bus, NULL, on_call, manager) >= 0);
    for (int code = 1; code >= 0;) {
        code = sd_bus_process(bus, NULL);
        if (code == 0)
            code = sd_bus_wait(bus, UINT64_MAX);
    }
    _exit(0);
}

static void manager_start(struct manager *manager, enum manner manner, char *cgroup)
{
    *manager = (struct manager){.manner = manner, .cgroup = cgroup};
    snprintf(manager->dir, sizeof manager->dir, "/tmp/scope.XXXXXX");
    assert_non_null(mkdtemp(manager->dir));
    assert_int_equal(chmod(manager->dir, 0755), 0);
    snprintf(manager->socket, sizeof manager->socket, "%s/systemd", manager->dir);
    assert_int_equal(mkdir(manager->socket, 0755), 0);
    snprintf(manager->socket, sizeof manager->socket, "%s/systemd/private", manager->dir);
    snprintf(manager->address, sizeof manager->address, "unix:path=%s", manager->socket);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    snprintf(name.sun_path, sizeof name.sun_path, "%s", manager->socket);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(chmod(manager->socket, 0777), 0);
    assert_int_equal(listen(listener, 4), 0);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    manager->told = ends[0];
    manager->tell = ends[1];
    manager->pid = fork();
    assert_true(manager->pid >= 0);
    if (manager->pid == 0) {
        alarm(PATIENCE_S * 2);
        serve(manager, listener);
    }
    close(listener);
    close(manager->tell);
}

/* What it was asked; "" when nothing. */
static void manager_end(struct manager *manager, char *asked, size_t size)
{
    kill(manager->pid, SIGKILL);
    waitpid(manager->pid, NULL, 0);
    ssize_t length = read(manager->told, asked, size - 1);
    asked[length > 0 ? length : 0] = '\0';
    close(manager->told);
    unlink(manager->socket);
    AUTO_FREE char *folder = mem_printf("%s/systemd", manager->dir);
    rmdir(folder);
    rmdir(manager->dir);
}

static void the_request_is_what_systemd_documents(void **state)
{
    (void)state;
    struct manager manager;
    struct err err = {0};
    char asked[1000];
    manager_start(&manager, ANSWERS, NULL);
    assert_true(scope_ask(manager.address, "some-1.scope", 4321, PATIENCE_S, &err));
    manager_end(&manager, asked, sizeof asked);
    assert_string_equal(asked, "some-1.scope fail;"
                               "Description s " TARE_NAME " and its jobs;"
                               "Slice s app.slice;"
                               "CollectMode s inactive-or-failed;"
                               "Delegate b 1;"
                               "PIDs au 4321;");
}

static void a_refusal_is_told_in_the_managers_words(void **state)
{
    (void)state;
    struct manager manager;
    struct err err = {0};
    char asked[1000];
    manager_start(&manager, REFUSES, NULL);
    assert_false(scope_ask(manager.address, "some-1.scope", 4321, PATIENCE_S, &err));
    manager_end(&manager, asked, sizeof asked);
    assert_string_equal(err.text, "systemd's user manager: Unit some-1.scope was already loaded");
}

static void a_manager_that_does_not_answer_is_not_waited_for(void **state)
{
    (void)state;
    struct manager manager;
    struct err err = {0};
    char asked[1000];
    manager_start(&manager, IS_SILENT, NULL);
    int64_t began_ns = clock_monotonic_ns();
    assert_false(scope_ask(manager.address, "some-1.scope", 4321, 0.2, &err));
    assert_true(clock_monotonic_ns() - began_ns < 20 * NS_PER_S);
    manager_end(&manager, asked, sizeof asked);
    assert_string_equal(err.text, "systemd's user manager does not answer: Connection timed out");
}

static void where_nobody_listens_there_is_no_manager(void **state)
{
    (void)state;
    struct err err = {0};
    assert_false(scope_ask("unix:path=/nonexistent/systemd/private", "some-1.scope", 4321,
                           PATIENCE_S, &err));
    assert_string_equal(err.text, "there is no systemd user manager");
}

static void a_scope_is_as_lasting_as_the_users_manager(void **state)
{
    (void)state;
    char linger[] = "/tmp/linger.XXXXXX";
    assert_non_null(mkdtemp(linger));
    AUTO_FREE char *file = mem_printf("%s/ann", linger);
    AUTO_FILE FILE *made = fopen(file, "w");
    assert_non_null(made);
    assert_true(scope_outlives_login("/user.slice/user-7.slice/session-3.scope", 7, linger, "ann"));
    assert_false(
        scope_outlives_login("/user.slice/user-8.slice/session-3.scope", 8, linger, "bob"));
    assert_true(scope_outlives_login("/user.slice/user-8.slice/user@8.service/app.slice/x.scope", 8,
                                     linger, "bob"));
    assert_false(scope_outlives_login("/user.slice/user-9.slice/user@9.service/app.slice/x.scope",
                                      8, linger, "bob"));
    assert_false(scope_outlives_login("/", 8, linger, NULL));
    assert_false(scope_outlives_login("/", 8, linger, "../ann"));
    unlink(file);
    rmdir(linger);
}

/* As an ordinary user in this cgroup (which is root's); then prints what held and goes. */
static _Noreturn void probe_as_nobody(void)
{
    struct containment containment;
    struct err err = {0};
    if (!containment_probe(CONTAINMENT_CGROUP, &containment, &err)) {
        fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    const char *name = strrchr(containment.cgroup_parent, '/') + 1;
    AUTO_FREE char *runner = cgroup_own(&err);
    printf("%s %d\n%s\n", name, containment.cgroup, runner ? strrchr(runner, '/') + 1 : err.text);
    fflush(stdout);
    _exit(0);
}

static void become_nobody(void)
{
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(2);
}

static bool machine_has(bool thing, const char *what)
{
    if (!thing)
        print_message("# not possible here: %s\n", what);
    return thing;
}

/* A cgroup of root's in which nobody can do anything; NULL: none here. */
static char *root_cgroup(void)
{
    struct err err = {0};
    if (!machine_has(geteuid() == 0, "needs root"))
        return NULL;
    AUTO_FREE char *parent = cgroup_find_parent(false, &err);
    if (!machine_has(parent != NULL, err.text))
        return NULL;
    char *folder = mem_printf("%s/" TARE_NAME "-test-scope-%d", parent, (int)getpid());
    assert_int_equal(mkdir(folder, 0755), 0);
    return folder;
}

static void remove_below(const char *folder)
{
    for (int i = 0; i < PATIENCE_S * 100 && !cgroup_remove(folder); i++)
        poll(NULL, 0, 10);
    assert_int_equal(access(folder, F_OK), -1);
}

/* Runs the child's part in the folder, with its output in out. */
static int run_child(const char *folder, void (*part)(void *), void *context, char *out,
                     size_t size)
{
    int ends[2], status = -1;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(PATIENCE_S);
        dup2(ends[1], STDOUT_FILENO);
        if (!cgroup_write(folder, "cgroup.procs", "0"))
            _exit(3);
        part(context);
        probe_as_nobody();
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], out + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    out[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void with_a_manager(void *context)
{
    struct manager *manager = context;
    setenv("XDG_RUNTIME_DIR", manager->dir, 1);
    unsetenv("DBUS_SESSION_BUS_ADDRESS");
    become_nobody();
}

static void an_ordinary_user_gets_leaves_in_a_scope(void **state)
{
    (void)state;
    AUTO_FREE char *folder = root_cgroup();
    struct manager manager;
    char out[1000], asked[1000], expected[1200], unit[200] = "";
    int pid = 0;
    if (!folder)
        return;
    manager_start(&manager, MOVES, folder);
    int status = run_child(folder, with_a_manager, &manager, out, sizeof out);
    manager_end(&manager, asked, sizeof asked);
    remove_below(folder);
    assert_int_equal(status, 0);
    /* The scope bears the name that was asked for, and the runner is in a cgroup of its own below
     * it. */
    assert_int_equal(sscanf(asked, "%199s fail;", unit), 1);
    assert_int_equal(sscanf(unit, TARE_NAME "-%d-", &pid), 1);
    snprintf(expected, sizeof expected, "%s 1\n" TARE_NAME "-runner-%d\n", unit, pid);
    assert_string_equal(out, expected);
}

static void without_a_manager(void *context)
{
    (void)context;
    setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
    become_nobody();
}

static void without_a_manager_the_reason_is_told(void **state)
{
    (void)state;
    AUTO_FREE char *folder = root_cgroup();
    char out[1000];
    if (!folder)
        return;
    int status = run_child(folder, without_a_manager, NULL, out, sizeof out);
    remove_below(folder);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    assert_string_equal(out, "");
}

static void handed_over_by_root(void *context)
{
    (void)context;
    if (!cgroup_delegate(NOBODY, NOBODY))
        _exit(4);
    become_nobody();
}

static void what_root_hands_over_serves_the_user_it_becomes(void **state)
{
    (void)state;
    AUTO_FREE char *folder = root_cgroup();
    char out[1000], user[100], runner[100];
    int held = 0, pid = 0;
    if (!folder)
        return;
    int status = run_child(folder, handed_over_by_root, NULL, out, sizeof out);
    remove_below(folder);
    assert_int_equal(status, 0);
    assert_int_equal(sscanf(out, "%99s %d %99s", user, &held, runner), 3);
    assert_string_equal(user, TARE_NAME "-user-65534");
    assert_int_equal(held, 1);
    assert_int_equal(sscanf(runner, TARE_NAME "-runner-%d", &pid), 1);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_request_is_what_systemd_documents),
        cmocka_unit_test(a_refusal_is_told_in_the_managers_words),
        cmocka_unit_test(a_manager_that_does_not_answer_is_not_waited_for),
        cmocka_unit_test(where_nobody_listens_there_is_no_manager),
        cmocka_unit_test(a_scope_is_as_lasting_as_the_users_manager),
        cmocka_unit_test(an_ordinary_user_gets_leaves_in_a_scope),
        cmocka_unit_test(without_a_manager_the_reason_is_told),
        cmocka_unit_test(what_root_hands_over_serves_the_user_it_becomes),
    };
    umask(022); /* whatever the tester's: the folders made here are for other users, too */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
