#include "gpu_memory/preload/driver.h"

#include "gpu_memory/preload/elf_find.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct followed {
    const char *name, *base;
    int version;
    bool per_thread;
    void *interposer;
};

static const struct followed followed[] = {
#define X(name, base, version, per_thread, parameters) {#name, base, version, per_thread, (void *)name},
    FOLLOWED(X)
#undef X
};

static const char *const asked[] = {
#define X(name, parameters) #name,
    ASKED(X)
#undef X
};

/* Found once and for all: what a library defines does not change while it is loaded, and it stays so (below). */
_Atomic(void *) real_known[REAL_COUNT];
static atomic_bool loaded;

static void *find_libdl(_Atomic(void *) *kept, const char *name)
{
    static const char *const homes[] = {"libc.so.6", "libdl.so.2", "libc-2.", "libdl-2.", "libc.musl", "ld-musl", NULL};
    void *found = atomic_load_explicit(kept, memory_order_acquire);
    if (!found) {
        found = elf_find(homes, name);
        atomic_store_explicit(kept, found, memory_order_release);
    }
    return found;
}

dlsym_fn *real_dlsym(void)
{
    static _Atomic(void *) kept;
    return (dlsym_fn *)find_libdl(&kept, "dlsym");
}

dlvsym_fn *real_dlvsym(void)
{
    static _Atomic(void *) kept;
    return (dlvsym_fn *)find_libdl(&kept, "dlvsym");
}

/* Two threads that do it at the same time find the same. The handle is kept: the addresses stay good. */
bool real_load(void)
{
    if (atomic_load_explicit(&loaded, memory_order_acquire))
        return true;
    dlsym_fn *find = real_dlsym();
    void *driver = find ? dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL) : NULL;
    if (!driver) {
        dlerror(); /* not the program's */
        return false;
    }
    for (int i = 0; i < REAL_COUNT; i++)
        atomic_store_explicit(&real_known[i],
                              find(driver, i < REAL_FOLLOWED_COUNT ? followed[i].name : asked[i - REAL_FOLLOWED_COUNT]),
                              memory_order_relaxed);
    dlerror();
    atomic_store_explicit(&loaded, true, memory_order_release);
    return true;
}

void *real_find_now(enum real_name name)
{
    return real_load() ? atomic_load_explicit(&real_known[name], memory_order_relaxed) : NULL;
}

int real_find(const char *name)
{
    if (name[0] != 'c' || name[1] != 'u')
        return -1;
    for (int i = 0; i < REAL_FOLLOWED_COUNT; i++)
        if (strcmp(followed[i].name, name) == 0)
            return i;
    return -1;
}

void *real_interposer(int number)
{
    return followed[number].interposer;
}

bool real_is_ours(int number, const void *function)
{
    return function == followed[number].interposer;
}

bool real_is_drivers(int number, const void *function)
{
    return function && real_load() && function == atomic_load_explicit(&real_known[number], memory_order_relaxed);
}

/* The newest ABI that a caller for that version gets from this driver. */
static int abi_of(int version)
{
    int drivers = 0;
    if (REAL(cuDriverGetVersion) && REAL(cuDriverGetVersion)(&drivers) == CUDA_SUCCESS && drivers < version)
        return drivers;
    return version;
}

/* The newest that is not above abi; -1: none. */
static int find_abi(const char *base, int abi, bool per_thread)
{
    int best = -1;
    for (int i = 0; i < REAL_FOLLOWED_COUNT; i++) {
        const struct followed *one = &followed[i];
        if (strcmp(one->base, base) != 0 || one->version > abi || (one->per_thread && !per_thread))
            continue;
        bool better = best < 0 || one->version > followed[best].version ||
                      (one->version == followed[best].version && one->per_thread);
        if (better)
            best = i;
    }
    return best;
}

/* By its address, where the driver gives what it also exports. Else by its ABI; not where that may be newer than those
 * known here, nor where the driver exports no function that the interposer could call. */
void *real_interposer_for(const char *base, void *given, int version, uint64_t flags)
{
    if (!real_load())
        return given;
    for (int i = 0; i < REAL_FOLLOWED_COUNT; i++)
        if (real_is_drivers(i, given))
            return followed[i].interposer;
    int abi = abi_of(version), found = abi <= ABIS_KNOWN ? find_abi(base, abi, flags & CU_PROC_PER_THREAD) : -1;
    return found >= 0 && atomic_load_explicit(&real_known[found], memory_order_relaxed) ? followed[found].interposer
                                                                                        : given;
}
