#include "users.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Alive, and no zombie: a process that has ended has given its memory back before its parent takes
 * notice. */
static bool lives(int pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t got = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[got] = '\0';
    const char *end = strrchr(line, ')');
    return end && end[1] == ' ' && end[2] != 'Z' && end[2] != 'X';
}

/* One line of a process's file. False: it is about another GPU. */
static bool line_read(const char *line, int gpu, struct fake_user *out, bool *stranger)
{
    char kind[32] = "";
    int of = -1;
    if (sscanf(line, "%d %llu %d %31s", &of, &out->bytes, &out->sm_percent, kind) < 3 || of != gpu)
        return false;
    out->graphics = strcmp(kind, "graphics") == 0 || strcmp(kind, "both") == 0;
    out->compute = strcmp(kind, "graphics") != 0;
    out->hidden = strcmp(kind, "hidden") == 0;
    *stranger = strcmp(kind, "stranger") == 0;
    return true;
}

static void file_read(const char *folder, const char *name, int gpu, struct fake_users *out)
{
    char path[FAKE_PATH + 300], line[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    while (out->count < FAKE_USERS_MAX && fgets(line, sizeof line, file)) {
        struct fake_user *user = &out->users[out->count];
        bool stranger = false;
        *user = (struct fake_user){.pid = atoi(name)};
        if (line_read(line, gpu, user, &stranger) && user->pid > 0 &&
            (stranger || lives(user->pid)))
            out->count++;
    }
    fclose(file);
}

static int by_pid(const void *a, const void *b)
{
    return ((const struct fake_user *)a)->pid - ((const struct fake_user *)b)->pid;
}

void fake_users_read(const struct fake_scenario *scenario, int gpu, struct fake_users *out)
{
    out->count = 0;
    DIR *folder = scenario->users[0] ? opendir(scenario->users) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            file_read(scenario->users, entry->d_name, gpu, out);
    if (folder)
        closedir(folder);
    for (int i = 0; gpu >= 0 && i < scenario->gpus[gpu].flood && out->count < FAKE_USERS_MAX; i++)
        out->users[out->count++] =
            (struct fake_user){.pid = FAKE_FLOOD_PID + i, .bytes = 1, .compute = true};
    qsort(out->users, (size_t)out->count, sizeof *out->users, by_pid);
}

/* Kernels that the fake CUDA driver plays (cuda/launch.c): pairs of begin and end, in order. Of the
 * GPU that was asked for last. */
enum { KERNELS_MAX = 4096 };
static int64_t kernels[KERNELS_MAX][2];
static int kernel_count;
static double kernel_w;

static void kernels_read(const struct fake_scenario *scenario, int gpu)
{
    char path[FAKE_PATH + 32];
    snprintf(path, sizeof path, "%s/kernel%d", scenario->users, gpu);
    kernel_count = 0;
    kernel_w = scenario->gpus[gpu].load_w;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t got = read(fd, kernels, sizeof kernels);
    kernel_count = got > 0 ? (int)((size_t)got / sizeof *kernels) : 0;
    close(fd);
}

static double kernels_s(int64_t t_ns)
{
    int64_t sum_ns = 0;
    for (int i = 0; i < kernel_count && kernels[i][0] < t_ns; i++)
        sum_ns += (t_ns < kernels[i][1] ? t_ns : kernels[i][1]) - kernels[i][0];
    return (double)sum_ns / 1e9;
}

static bool kernel_runs(int64_t t_ns)
{
    for (int i = kernel_count - 1; i >= 0; i--)
        if (kernels[i][0] <= t_ns)
            return t_ns < kernels[i][1];
    return false;
}

static const struct fake_change *change_at(const struct fake_load *load, int64_t t_ns)
{
    const struct fake_change *found = NULL;
    for (int i = 0; i < load->count && load->changes[i].t_ns <= t_ns; i++)
        found = &load->changes[i];
    return found;
}

double fake_load_power_w(const struct fake_load *load, int64_t t_ns)
{
    const struct fake_change *change = change_at(load, t_ns);
    return (change ? change->power_w : 0) + (kernel_runs(t_ns) ? kernel_w : 0);
}

static double users_energy_j(const struct fake_load *load, int64_t t_ns)
{
    const struct fake_change *change = change_at(load, t_ns);
    return change ? change->energy_j + change->power_w * (double)(t_ns - change->t_ns) / 1e9 : 0;
}

double fake_load_energy_j(const struct fake_load *load, int64_t t_ns)
{
    return users_energy_j(load, t_ns) + kernel_w * kernels_s(t_ns);
}

static void add_change(struct fake_load *load, int64_t t_ns, double power_w)
{
    const struct fake_change *last = load->count > 0 ? &load->changes[load->count - 1] : NULL;
    if (last && (last->power_w == power_w || t_ns <= last->t_ns))
        return;
    struct fake_change change = {
        .t_ns = t_ns, .power_w = power_w, .energy_j = users_energy_j(load, t_ns)};
    if (load->count == FAKE_CHANGES_MAX) {
        load->count = FAKE_CHANGES_MAX / 2;
        memmove(load->changes, load->changes + FAKE_CHANGES_MAX / 2, sizeof load->changes / 2);
    }
    load->changes[load->count++] = change;
}

/* It is kept between the processes, in the file .gpuN of the folder. */
void fake_users_load(const struct fake_scenario *scenario, int gpu, int64_t now_ns,
                     struct fake_load *out)
{
    struct fake_users users;
    char path[FAKE_PATH + 32];
    bool computes = false;
    *out = (struct fake_load){0};
    if (!scenario->users[0])
        return;
    kernels_read(scenario, gpu);
    snprintf(path, sizeof path, "%s/.gpu%d", scenario->users, gpu);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    flock(fd, LOCK_EX);
    if (pread(fd, out, sizeof *out, 0) != (ssize_t)sizeof *out)
        *out = (struct fake_load){0};
    fake_users_read(scenario, gpu, &users);
    for (int i = 0; i < users.count; i++)
        computes |= users.users[i].sm_percent > 0;
    int before = out->count;
    add_change(out, now_ns, computes ? scenario->gpus[gpu].load_w : 0);
    if (out->count != before && pwrite(fd, out, sizeof *out, 0) != (ssize_t)sizeof *out)
        *out = (struct fake_load){0};
    close(fd);
}
