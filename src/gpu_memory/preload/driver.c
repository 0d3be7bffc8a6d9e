#include "gpu_memory/preload/driver.h"

#include "gpu_memory/preload/elf_find.h"

#include <dlfcn.h>
#include <stddef.h>

static const char *const names[REAL_COUNT] = {
#define X(name, ...) #name,
    FOLLOWED(X) ASKED(X)
#undef X
};

/* Found once and for all: what a library defines does not change while it is loaded, and it stays
 * so (below). */
_Atomic(void *) real_known[REAL_COUNT];
static atomic_bool loaded;

static void *find_libdl(_Atomic(void *) *kept, const char *name)
{
    static const char *const homes[] = {"libc.so.6", "libdl.so.2", "libc-2.", "libdl-2.",
                                        "libc.musl", "ld-musl",    NULL};
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

/* Two threads that do it at the same time find the same. The handle is kept: the addresses stay
 * good. */
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
        atomic_store_explicit(&real_known[i], find(driver, names[i]), memory_order_relaxed);
    dlerror();
    atomic_store_explicit(&loaded, true, memory_order_release);
    return true;
}

void *real_find_now(enum real_name name)
{
    return real_load() ? atomic_load_explicit(&real_known[name], memory_order_relaxed) : NULL;
}

bool real_is_drivers(int number, const void *function)
{
    return function && real_load() &&
           function == atomic_load_explicit(&real_known[number], memory_order_relaxed);
}
