/* folder: temporary folders of the tests. */
#ifndef TARE_TESTS_FOLDER_H
#define TARE_TESTS_FOLDER_H

#include <ftw.h>
#include <stdio.h>

static inline int folder_remove_one(const char *path, const struct stat *status, int kind,
                                    struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    return remove(path);
}

/* With all that is in it; links are not followed. 0: it is gone. */
static inline int folder_remove(const char *path)
{
    return nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
