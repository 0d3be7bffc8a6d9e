/* Callers of dlsym(3) that a library in front of it can disturb, each checked against what the
 * manual promises; the same program must say the same with and without libtare-cuda.so: strange. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(bool good, const char *what)
{
    printf("%s %s\n", good ? "ok" : "not ok", what);
    failures += !good;
}

/* Puts itself before libc's: RTLD_NEXT from here is libc's, and never this one again. */
char *getenv(const char *name)
{
    char *(*next)(const char *) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "getenv");
    return next && next != getenv ? next(name) : NULL;
}

int own_symbol(void);
__attribute__((visibility("default"))) int own_symbol(void)
{
    return 42;
}

static void look_for_absent(void)
{
    dlerror();
    void *none = dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere");
    const char *why = dlerror();
    expect(!none && why && strstr(why, "no_such_symbol_anywhere"),
           "an absent symbol is NULL, and dlerror names it");
    expect(dlerror() == NULL, "dlerror tells it once");
}

/* A program may look for the driver's functions only to know whether there is a driver. */
static void look_for_driver(void *driver)
{
    dlerror();
    void *found = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    const char *why = dlerror();
    if (!driver)
        expect(!found && why && strstr(why, "cuMemAlloc_v2"),
               "without a driver its functions are absent, and dlerror says so");
    else
        expect(found && !why, "with a driver in sight they are found, and dlerror is empty");
}

int main(int count, char **arguments)
{
    void *self = dlopen(NULL, RTLD_NOW), *libm = dlopen("libm.so.6", RTLD_NOW);
    expect(getenv("PATH") != NULL, "RTLD_NEXT of an interposed function is the next one");
    expect(dlsym(RTLD_DEFAULT, "own_symbol") == (void *)own_symbol,
           "RTLD_DEFAULT finds the program's own");
    expect(dlsym(self, "own_symbol") == (void *)own_symbol,
           "a handle of the program finds the program's own");
    expect(dlsym(libm, "cos") != NULL && dlerror() == NULL,
           "a handle of a library finds its symbol");
    expect(dlsym(libm, "cuMemAlloc_v2") == NULL && dlerror() != NULL,
           "and not what it does not have");
    expect(dlvsym(libm, "cos", "NO_SUCH_VERSION") == NULL && dlerror() != NULL,
           "dlvsym minds the version");
    void *(*again)(void *, const char *) =
        (void *(*)(void *, const char *))dlsym(dlopen("libc.so.6", RTLD_NOW), "dlsym");
    expect(again && again(libm, "cos") == dlsym(libm, "cos"),
           "a dlsym that was looked up looks up the same");
    look_for_absent();
    look_for_driver(NULL);
    void *driver = count > 1 ? dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (count > 1) {
        expect(driver != NULL, arguments[1]);
        look_for_driver(driver);
        expect(dlsym(driver, "cuNoSuchFunction") == NULL && dlerror() != NULL,
               "an absent function of the driver is NULL");
        expect(dlsym(driver, "cuInit") == dlsym(RTLD_DEFAULT, "cuInit"),
               "what is not followed is the driver's own");
    }
    return failures ? 1 : 0;
}
