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

static bool user_read(const char *folder, const char *name, int gpu, struct fake_user *out)
{
    char path[FAKE_PATH + 300], kind[32] = "";
    int of = -1;
    *out = (struct fake_user){.pid = atoi(name)};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    int got = fscanf(file, "%d %llu %d %31s", &of, &out->bytes, &out->sm_percent, kind);
    fclose(file);
    out->graphics = strcmp(kind, "graphics") == 0;
    out->hidden = strcmp(kind, "hidden") == 0;
    return got >= 3 && of == gpu && out->pid > 0 && lives(out->pid);
}

static int by_pid(const void *a, const void *b)
{
    return ((const struct fake_user *)a)->pid - ((const struct fake_user *)b)->pid;
}

void fake_users_read(const struct fake_scenario *scenario, int gpu, struct fake_users *out)
{
    out->count = 0;
    DIR *folder = scenario->users[0] ? opendir(scenario->users) : NULL;
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) && out->count < FAKE_USERS_MAX;)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            user_read(scenario->users, entry->d_name, gpu, &out->users[out->count]))
            out->count++;
    closedir(folder);
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
