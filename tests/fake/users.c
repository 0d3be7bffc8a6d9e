#include "users.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Alive, and no zombie: a process that has ended has given its memory back before its parent takes notice. */
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
        if (line_read(line, gpu, user, &stranger) && user->pid > 0 && (stranger || lives(user->pid)))
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
        out->users[out->count++] = (struct fake_user){.pid = FAKE_FLOOD_PID + i, .bytes = 1, .compute = true};
    qsort(out->users, (size_t)out->count, sizeof *out->users, by_pid);
}

/* What is kept between the processes, in the file .gpuN of the folder. */
struct kept {
    int64_t t_ns;
    double power_w, energy_j;
};

double fake_users_power(const struct fake_scenario *scenario, int gpu, int64_t t_ns, double *energy_j)
{
    struct fake_users users;
    struct kept kept = {.t_ns = t_ns};
    char path[FAKE_PATH + 32];
    if (!scenario->users[0])
        return 0;
    snprintf(path, sizeof path, "%s/.gpu%d", scenario->users, gpu);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return 0;
    flock(fd, LOCK_EX);
    if (pread(fd, &kept, sizeof kept, 0) != (ssize_t)sizeof kept)
        kept = (struct kept){.t_ns = t_ns};
    fake_users_read(scenario, gpu, &users);
    if (t_ns > kept.t_ns) {
        kept.energy_j += kept.power_w * (double)(t_ns - kept.t_ns) / 1e9;
        kept.t_ns = t_ns;
    }
    bool computes = false;
    for (int i = 0; i < users.count; i++)
        computes |= users.users[i].sm_percent > 0;
    kept.power_w = computes ? scenario->gpus[gpu].load_w : 0;
    if (pwrite(fd, &kept, sizeof kept, 0) != (ssize_t)sizeof kept)
        kept.energy_j = 0;
    close(fd);
    if (energy_j)
        *energy_j = kept.energy_j;
    return kept.power_w;
}
