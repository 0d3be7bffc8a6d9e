#include "machine/governor/governor.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "base/record.h"
#include "machine/sensors/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define POLICIES "/sys/devices/system/cpu/cpufreq"

static void policy_path(unsigned number, const char *file, char out[128])
{
    snprintf(out, 128, POLICIES "/policy%u/%s", number, file);
}

/* Governors' names are words of small letters; nothing else is ever written to the kernel. */
static bool name_is_valid(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
    return length > 0 && length < GOVERNOR_NAME_MAX && name[length] == '\0';
}

static bool current_read(const char *sysroot, unsigned number, char out[GOVERNOR_NAME_MAX])
{
    char path[128];
    policy_path(number, "scaling_governor", path);
    return sysfs_line(sysroot, path, out, GOVERNOR_NAME_MAX);
}

static bool policy_number(const char *name, unsigned *out)
{
    uint64_t number = 0;
    if (strncmp(name, "policy", 6) != 0 ||
        !proc_number_parse(name + 6, strlen(name + 6), GOVERNOR_POLICIES_MAX - 1, &number))
        return false;
    *out = (unsigned)number;
    return true;
}

static int compare_policy_numbers(const void *a, const void *b)
{
    const struct governor_policy *left = a, *right = b;
    return ORDER(left->number, right->number);
}

/* Every policy with what it has now. One without CPUs that are online has no governor that can be
 * read. */
static bool policies_read(const char *sysroot, struct governor_change *out, struct err *err)
{
    AUTO_STRV struct strv names = {0};
    sysfs_list(sysroot, POLICIES, &names);
    *out = (struct governor_change){.policies = mem_array(names.count + 1, sizeof *out->policies)};
    EACH (item, names.items, names.count) {
        struct governor_policy policy = {.fd = -1};
        if (policy_number(*item, &policy.number) &&
            current_read(sysroot, policy.number, policy.former))
            out->policies[out->count++] = policy;
    }
    if (out->count > 0) {
        qsort(out->policies, out->count, sizeof *out->policies, compare_policy_numbers);
        return true;
    }
    governor_change_fini(out);
    return err_set(err, "this machine shows no CPU frequency governor (no policy in " POLICIES
                        "; virtual machines have none)");
}

bool governor_read(const char *sysroot, char out[GOVERNOR_NAME_MAX], struct err *err)
{
    struct governor_change all;
    if (!policies_read(sysroot, &all, err))
        return false;
    bool same = true;
    for (size_t i = 1; i < all.count; i++)
        same &= strcmp(all.policies[i].former, all.policies[0].former) == 0;
    snprintf(out, GOVERNOR_NAME_MAX, "%s", same ? all.policies[0].former : "mixed");
    governor_change_fini(&all);
    return true;
}

void governor_change_fini(struct governor_change *change)
{
    EACH (policy, change->policies, change->count)
        cleanup_close(&policy->fd);
    free(change->policies);
    *change = (struct governor_change){0};
}

static bool is_offered(const char *sysroot, unsigned number, const char *wanted, struct err *err)
{
    char path[128], offered[512];
    policy_path(number, "scaling_available_governors", path);
    if (!sysfs_line(sysroot, path, offered, sizeof offered))
        return err_sys(err, "read %s", path);
    size_t length = strlen(wanted);
    for (const char *at = offered; *at;) {
        size_t word = strcspn(at, " ");
        if (word == length && strncmp(at, wanted, length) == 0)
            return true;
        at += word + strspn(at + word, " ");
    }
    return err_set(err, "the kernel offers no CPU frequency governor \"%s\", only: %s", wanted,
                   offered);
}

static int policy_open(const char *sysroot, unsigned number, const char *wanted, struct err *err)
{
    char path[128];
    policy_path(number, "scaling_governor", path);
    AUTO_FREE char *whole = mem_printf("%s%s", sysroot, path);
    int fd = open(whole, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
        return fd;
    int reason = errno;
    err_sys(err, "open %s", path);
    const char *needs =
        reason == EACCES || reason == EPERM ? "root (sudo, or beforehand: "
        : reason == EROFS
            ? "a /sys that can be written, which this container has not (on its host: "
            : NULL;
    if (needs)
        err_wrap(err,
                 "setting the CPU frequency governor needs %s"
                 "echo %s | sudo tee " POLICIES "/policy*/scaling_governor)",
                 needs, wanted);
    return -1;
}

bool governor_may_set(const char *sysroot)
{
    struct governor_change all;
    if (!policies_read(sysroot, &all, NULL))
        return false;
    AUTO_CLOSE int fd = policy_open(sysroot, all.policies[0].number, "performance", NULL);
    governor_change_fini(&all);
    return fd >= 0;
}

/* Those that have it already need no change. */
static void drop_equal_policies(struct governor_change *change)
{
    size_t kept = 0;
    EACH (policy, change->policies, change->count)
        if (strcmp(policy->former, change->wanted) != 0)
            change->policies[kept++] = *policy;
    change->count = kept;
}

bool governor_plan(const char *sysroot, const char *wanted, bool hold, struct governor_change *out,
                   struct err *err)
{
    *out = (struct governor_change){0};
    if (!name_is_valid(wanted))
        return err_set(err, "\"%s\" is no name of a CPU frequency governor", wanted);
    if (!policies_read(sysroot, out, err))
        return false;
    snprintf(out->wanted, sizeof out->wanted, "%s", wanted);
    drop_equal_policies(out);
    bool possible = true;
    for (size_t i = 0; possible && i < out->count; i++) {
        AUTO_CLOSE int fd = -1;
        possible = is_offered(sysroot, out->policies[i].number, wanted, err);
        possible =
            possible && (fd = policy_open(sysroot, out->policies[i].number, wanted, err)) >= 0;
        if (possible && hold)
            out->policies[i].fd = steal_fd(&fd);
    }
    if (!possible)
        governor_change_fini(out);
    return possible;
}

static bool policy_write(const char *sysroot, const struct governor_policy *policy,
                         const char *name, struct err *err)
{
    AUTO_CLOSE int opened = -1;
    if (policy->fd < 0 && (opened = policy_open(sysroot, policy->number, name, err)) < 0)
        return false;
    char line[GOVERNOR_NAME_MAX + 1];
    int length = snprintf(line, sizeof line, "%s\n", name);
    ssize_t written;
    do
        written = pwrite(policy->fd < 0 ? opened : policy->fd, line, (size_t)length, 0);
    while (written < 0 && errno == EINTR);
    return written == length ||
           err_sys(err, "write %s to " POLICIES "/policy%u/scaling_governor", name, policy->number);
}

bool governor_apply(const char *sysroot, const struct governor_change *change, struct err *err)
{
    for (size_t i = 0; i < change->count; i++) {
        if (policy_write(sysroot, &change->policies[i], change->wanted, err))
            continue;
        while (i-- > 0)
            policy_write(sysroot, &change->policies[i], change->policies[i].former, NULL);
        return false;
    }
    return true;
}

static bool is_still_set(const char *sysroot, const struct governor_change *change, unsigned number)
{
    char now[GOVERNOR_NAME_MAX];
    return current_read(sysroot, number, now) && strcmp(now, change->wanted) == 0;
}

size_t governor_still_set(const char *sysroot, const struct governor_change *change)
{
    size_t count = 0;
    EACH (policy, change->policies, change->count)
        count += is_still_set(sysroot, change, policy->number);
    return count;
}

bool governor_restore(const char *sysroot, const struct governor_change *change,
                      struct governor_restored *out, struct err *err)
{
    *out = (struct governor_restored){0};
    EACH (policy, change->policies, change->count) {
        if (!is_still_set(sysroot, change, policy->number))
            out->left++;
        /* Read from a file, which others may have written: for a name that is not listed the kernel
         * would load a module. */
        else if ((policy->fd >= 0 || is_offered(sysroot, policy->number, policy->former, err)) &&
                 policy_write(sysroot, policy, policy->former, err))
            out->restored++;
        else
            out->failed++;
    }
    return out->failed == 0;
}

static bool policy_from_json(const char *key, const json_t *value, struct governor_policy *out)
{
    uint64_t number = 0;
    const char *name = json_string_value(value);
    if (!proc_number_parse(key, strlen(key), GOVERNOR_POLICIES_MAX - 1, &number) || !name ||
        !name_is_valid(name))
        return false;
    *out = (struct governor_policy){.number = (unsigned)number, .fd = -1};
    snprintf(out->former, sizeof out->former, "%s", name);
    return true;
}

static json_t *policies_json(const void *of)
{
    const struct governor_change *change = of;
    json_t *former = json_object();
    EACH (policy, change->policies, change->count) {
        char key[16];
        snprintf(key, sizeof key, "%u", policy->number);
        json_object_set_new(former, key, json_string(policy->former));
    }
    return former;
}

static bool read_policies(const json_t *former, void *of, struct err *err)
{
    struct governor_change *change = of;
    const char *key;
    json_t *value;
    (void)err;
    if (!json_is_object(former) || json_object_size(former) > GOVERNOR_POLICIES_MAX)
        return false;
    change->policies = mem_array(json_object_size(former) + 1, sizeof *change->policies);
    json_object_foreach((json_t *)former, key, value)
    {
        if (!policy_from_json(key, value, &change->policies[change->count]))
            return false;
        change->count++;
    }
    qsort(change->policies, change->count, sizeof *change->policies, compare_policy_numbers);
    return true;
}

static const struct record_field change_fields[] = {
    RECORD_CHARS(struct governor_change, "wanted", wanted, .presence = RECORD_NEEDED),
    RECORD_GROUP("former", NULL, .to = policies_json, .from = read_policies,
                 .presence = RECORD_NEEDED),
    {0}};

json_t *governor_change_to_json(const struct governor_change *change)
{
    return record_json(change_fields, change);
}

bool governor_change_from_json(const json_t *json, struct governor_change *out)
{
    *out = (struct governor_change){0};
    if (record_read(change_fields, json, out, NULL) && name_is_valid(out->wanted))
        return true;
    governor_change_fini(out);
    return false;
}
