/* preload: where libtare-cuda.so lies. */
#ifndef TARE_SESSION_PRELOAD_H
#define TARE_SESSION_PRELOAD_H

#include "base/err.h"

/* As seen from where the program lies (it may have been moved with its folders), else where it was installed;
 * tests name another by TARE_CUDA_LIBRARY. The caller frees; NULL: nowhere, err says where it was looked for. */
char *preload_library(struct err *err);

#endif
