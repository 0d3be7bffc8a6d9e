#include "session/preload.h"

#include "base/fs.h"
#include "base/mem.h"
#include "tare_build.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "libtare-cuda.so"

/* Of an installation, moved or not; of a build folder. */
static const char *const beside[] = {FILE_NAME, (TARE_LIB_FROM_BIN "/" FILE_NAME), ("../lib/" TARE_NAME "/" FILE_NAME),
                                     ("../gpu_memory/preload/" FILE_NAME)};

static char *own_folder(void)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return NULL;
    self[length] = '\0';
    return fs_dirname(self);
}

static char *real_path(const char *path)
{
    return access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
}

char *preload_library(struct err *err)
{
    const char *named = getenv("TARE_CUDA_LIBRARY");
    if (named && *named) {
        char *out = real_path(named);
        if (!out)
            err_set(err, "TARE_CUDA_LIBRARY: %s is not there", named);
        return out;
    }
    AUTO_FREE char *folder = own_folder();
    for (size_t i = 0; folder && i < sizeof beside / sizeof *beside; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", folder, beside[i]);
        char *out = real_path(path);
        if (out)
            return out;
    }
    char *out = real_path(TARE_LIB_DIR "/" FILE_NAME);
    if (!out)
        err_set(err, FILE_NAME " is neither in %s nor beside this program", TARE_LIB_DIR);
    return out;
}
