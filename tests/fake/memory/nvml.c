/* A driver library of the tests' own, with the calls and structures of nvml.h that the program uses. FAKE_NVML says, word by word,
 * what it does:
 *   hang  crash  fail    nvmlInit never returns, ends the process, fails
 *   gpus=2               how many GPUs there are (1)
 *   lost1                GPU 1 tells nothing
 *   c0:17:1000           on GPU 0 process 17 computes and holds 1000 bytes ("-": not available); g0: it draws
 *   flood                1000 more compute on GPU 0: pids 3000000 and up, a byte each */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15, FLOOD = 1000, FLOOD_PID = 3000000 };

struct process_info {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2(void);
int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length);
int nvmlDeviceGetMinorNumber(void *device, unsigned *minor);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process_info *infos);
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, struct process_info *infos);
const char *nvmlErrorString(int code);

static const char *script(void)
{
    const char *text = getenv("FAKE_NVML");
    return text ? text : "";
}

/* The next word at or after *at; false: no more. */
static int next_word(const char **at, char word[128])
{
    int used = 0;
    if (sscanf(*at, "%127s%n", word, &used) != 1)
        return 0;
    *at += used;
    return 1;
}

static int says(const char *wanted)
{
    char word[128];
    for (const char *at = script(); next_word(&at, word);)
        if (strcmp(word, wanted) == 0)
            return 1;
    return 0;
}

int nvmlInit_v2(void)
{
    if (says("crash"))
        abort();
    if (says("hang")) {
        signal(SIGTERM, SIG_IGN);
        for (;;)
            pause();
    }
    return says("fail") ? DRIVER_NOT_LOADED : SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    char word[128];
    *count = 1;
    for (const char *at = script(); next_word(&at, word);)
        sscanf(word, "gpus=%u", count);
    return SUCCESS;
}

/* A device is its index and one, as a pointer. */
static unsigned index_of(const void *device)
{
    return (unsigned)((size_t)device - 1);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = (void *)((size_t)index + 1);
    return SUCCESS;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length)
{
    snprintf(uuid, length, "GPU-0000%u", index_of(device));
    return SUCCESS;
}

/* Not the index: the two differ on real machines as well. */
int nvmlDeviceGetMinorNumber(void *device, unsigned *minor)
{
    *minor = 4 + index_of(device);
    return SUCCESS;
}

static void add(struct process_info *infos, unsigned room, unsigned *found, unsigned pid, unsigned long long bytes)
{
    if (*found < room)
        infos[*found] = (struct process_info){pid, bytes, ~0U, ~0U};
    ++*found;
}

static int list(char kind, void *device, unsigned *count, struct process_info *infos)
{
    unsigned room = *count, found = 0, pid, gpu;
    char word[128], lost[32], figure[32], of;
    snprintf(lost, sizeof lost, "lost%u", index_of(device));
    if (says(lost))
        return GPU_IS_LOST;
    for (const char *at = script(); next_word(&at, word);)
        if (sscanf(word, "%c%u:%u:%31s", &of, &gpu, &pid, figure) == 4 && of == kind && gpu == index_of(device))
            add(infos, room, &found, pid, figure[0] == '-' ? ~0ULL : strtoull(figure, NULL, 10));
    for (unsigned i = 0; kind == 'c' && index_of(device) == 0 && says("flood") && i < FLOOD; i++)
        add(infos, room, &found, FLOOD_PID + i, 1);
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process_info *infos)
{
    return list('c', device, count, infos);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, struct process_info *infos)
{
    return list('g', device, count, infos);
}

const char *nvmlErrorString(int code)
{
    return code == DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Unknown Error";
}
