/* How programs find an entry point: cuGetProcAddress, and the dlsym and dlvsym that they find
 * first. A name that is not followed goes on to the real one by a jump, with the caller's own
 * return address: RTLD_NEXT and RTLD_DEFAULT mean something else for every caller, and the real one
 * tells callers apart by it. */
#include "gpu_memory/preload/driver.h"

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
#define X(name, base, version, per_thread, parameters) \
    {#name, base, version, per_thread, (void *)name},
    FOLLOWED(X)
#undef X
};

static int entry_find(const char *name)
{
    if (name[0] != 'c' || name[1] != 'u')
        return -1;
    for (int i = 0; i < REAL_FOLLOWED_COUNT; i++)
        if (strcmp(followed[i].name, name) == 0)
            return i;
    return -1;
}

/* The newest ABI that a caller for that version gets from this driver. */
static int abi_of(int version)
{
    int drivers = 0;
    if (REAL(cuDriverGetVersion) && REAL(cuDriverGetVersion)(&drivers) == CUDA_SUCCESS &&
        drivers < version)
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

/* By its address, where the driver gives what it also exports. Else by its ABI; not where that may
 * be newer than those known here, nor where the driver exports no function that the interposer
 * could call. */
static void *entry_interposer_for(const char *base, void *given, int version, uint64_t flags)
{
    if (!real_load())
        return given;
    for (int i = 0; i < REAL_FOLLOWED_COUNT; i++)
        if (real_is_drivers(i, given))
            return followed[i].interposer;
    int abi = abi_of(version),
        found = abi <= ABIS_KNOWN ? find_abi(base, abi, flags & CU_PROC_PER_THREAD) : -1;
    return found >= 0 && atomic_load_explicit(&real_known[found], memory_order_relaxed)
               ? followed[found].interposer
               : given;
}

static void interpose(const char *name, void **out, int version, uint64_t flags)
{
    if (out && *out && name)
        *out = entry_interposer_for(name, *out, version, flags);
}

AFTER(cuGetProcAddress, (const char *name, void **out, int version, uint64_t flags),
      (name, out, version, flags), interpose(name, out, version, flags))
AFTER(cuGetProcAddress_v2, (const char *name, void **out, int version, uint64_t flags, int *status),
      (name, out, version, flags, status), interpose(name, out, version, flags))

/* ---- dlsym, dlvsym */

struct picked {
    void *answer;
    void *jump; /* not NULL: go on there instead */
};

/* Called by what stands at the end of this file. */
struct picked dlsym_look_up(void *handle, const char *name, const char *version, const void *caller)
    __attribute__((visibility("hidden"), used));
struct picked dlsym_look_up_plain(void *handle, const char *name, const void *caller)
    __attribute__((visibility("hidden"), used));

/* This library is the caller then, which matters for RTLD_NEXT and RTLD_DEFAULT only. */
static void *call_real_dlsym(void *handle, const char *name, const char *version)
{
    return version ? real_dlvsym()(handle, name, version) : real_dlsym()(handle, name);
}

/* Whether the object that asks defines the name itself: it stands between others and the driver as
 * this library does, and wants whoever comes after it. */
static bool is_interposer(const void *caller, const char *name)
{
    Dl_info who, what;
    void *object = dladdr(caller, &who) && who.dli_fname
                       ? dlopen(who.dli_fname, RTLD_NOLOAD | RTLD_LAZY)
                       : NULL;
    void *found = object ? real_dlsym()(object, name) : NULL;
    bool state = found && dladdr(found, &what) && what.dli_fbase == who.dli_fbase;
    if (object)
        dlclose(object);
    dlerror();
    return state;
}

/* Without a handle the name means the first definition in sight. This library's own must not be
 * taken for a driver that is not there: then the failing look-up behind it is the answer, and what
 * dlerror(3) says. */
static void *in_sight(int number, const char *name, const char *version)
{
    bool driver = real_load();
    void *first = call_real_dlsym(RTLD_DEFAULT, name, version);
    if (first && first != followed[number].interposer)
        return real_is_drivers(number, first) ? followed[number].interposer : first;
    return call_real_dlsym(RTLD_NEXT, name, version) || (driver && real_get((enum real_name)number))
               ? followed[number].interposer
               : NULL;
}

static void *in_object(int number, void *handle, const char *name, const char *version)
{
    real_load();
    void *found = call_real_dlsym(handle, name, version);
    if (found && found == followed[number].interposer)
        return in_sight(number, name, version);
    return real_is_drivers(number, found) ? followed[number].interposer : found;
}

/* Whoever looks up these two to look up the rest by them gets what he would get by his own link to
 * them. */
static void *dlsym_hook(const char *name)
{
    return strcmp(name, "dlsym") == 0    ? (void *)dlsym
           : strcmp(name, "dlvsym") == 0 ? (void *)dlvsym
                                         : NULL;
}

struct picked dlsym_look_up(void *handle, const char *name, const char *version, const void *caller)
{
    struct picked on = {NULL, version ? (void *)real_dlvsym() : (void *)real_dlsym()};
    int number = name ? entry_find(name) : -1;
    if (name && handle != RTLD_NEXT && handle != RTLD_DEFAULT && dlsym_hook(name)) {
        void *found = call_real_dlsym(handle, name, version);
        bool theirs = found == (void *)real_dlsym() || found == (void *)real_dlvsym();
        return (struct picked){theirs ? dlsym_hook(name) : found, NULL};
    }
    if (number < 0 || (handle == RTLD_NEXT && is_interposer(caller, name)))
        return on;
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT) {
        void *answer = in_sight(number, name, version);
        if (answer)
            dlerror(); /* of a look-up on the way */
        return (struct picked){answer, NULL};
    }
    return (struct picked){in_object(number, handle, name, version), NULL};
}

struct picked dlsym_look_up_plain(void *handle, const char *name, const void *caller)
{
    return dlsym_look_up(handle, name, NULL, caller);
}

/* Keep the arguments, ask, then return the answer or jump. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl dlsym\n.type dlsym, @function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "push %rdi\n.cfi_adjust_cfa_offset 8\n"
        "push %rsi\n.cfi_adjust_cfa_offset 8\n"
        "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
        "mov 24(%rsp), %rdx\n"
        "call dlsym_look_up_plain\n"
        "add $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
        "pop %rsi\n.cfi_adjust_cfa_offset -8\n"
        "pop %rdi\n.cfi_adjust_cfa_offset -8\n"
        "test %rdx, %rdx\n"
        "jne 1f\n"
        "ret\n"
        "1: jmp *%rdx\n"
        ".cfi_endproc\n.size dlsym, .-dlsym\n"
        ".globl dlvsym\n.type dlvsym, @function\n"
        "dlvsym:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "push %rdi\n.cfi_adjust_cfa_offset 8\n"
        "push %rsi\n.cfi_adjust_cfa_offset 8\n"
        "push %rdx\n.cfi_adjust_cfa_offset 8\n"
        "mov 24(%rsp), %rcx\n"
        "call dlsym_look_up\n"
        "mov %rdx, %rcx\n"
        "pop %rdx\n.cfi_adjust_cfa_offset -8\n"
        "pop %rsi\n.cfi_adjust_cfa_offset -8\n"
        "pop %rdi\n.cfi_adjust_cfa_offset -8\n"
        "test %rcx, %rcx\n"
        "jne 1f\n"
        "ret\n"
        "1: jmp *%rcx\n"
        ".cfi_endproc\n.size dlvsym, .-dlvsym\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl dlsym\n.type dlsym, %function\n"
        "dlsym:\n"
        ".cfi_startproc\n"
        "stp x29, x30, [sp, #-32]!\n.cfi_def_cfa_offset 32\n.cfi_offset x29, -32\n.cfi_offset x30, "
        "-24\n"
        "stp x0, x1, [sp, #16]\n"
        "mov x2, x30\n"
        "bl dlsym_look_up_plain\n"
        "mov x16, x1\n"
        "mov x17, x0\n"
        "ldp x0, x1, [sp, #16]\n"
        "ldp x29, x30, [sp], #32\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\n"
        "cbnz x16, 1f\n"
        "mov x0, x17\n"
        "ret\n"
        "1: br x16\n"
        ".cfi_endproc\n.size dlsym, .-dlsym\n"
        ".globl dlvsym\n.type dlvsym, %function\n"
        "dlvsym:\n"
        ".cfi_startproc\n"
        "stp x29, x30, [sp, #-48]!\n.cfi_def_cfa_offset 48\n.cfi_offset x29, -48\n.cfi_offset x30, "
        "-40\n"
        "stp x0, x1, [sp, #16]\n"
        "str x2, [sp, #32]\n"
        "mov x3, x30\n"
        "bl dlsym_look_up\n"
        "mov x16, x1\n"
        "mov x17, x0\n"
        "ldp x0, x1, [sp, #16]\n"
        "ldr x2, [sp, #32]\n"
        "ldp x29, x30, [sp], #48\n.cfi_def_cfa_offset 0\n.cfi_restore x29\n.cfi_restore x30\n"
        "cbnz x16, 1f\n"
        "mov x0, x17\n"
        "ret\n"
        "1: br x16\n"
        ".cfi_endproc\n.size dlvsym, .-dlvsym\n");
#else
#error "libtare-cuda.so is made for x86-64 and arm64"
#endif
