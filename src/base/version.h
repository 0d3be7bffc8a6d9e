/* version: the versions of Python packages and what is wanted of them, as pip writes both (PEP 440). A want names releases
 * only (numbers joined by dots, an epoch before them); a version that is there may have all parts: 2.6.0a0+git1 is a
 * pre-release of 2.6.0, 2.6.0.post1 comes after it, and what follows '+' is not compared. */
#ifndef TARE_BASE_VERSION_H
#define TARE_BASE_VERSION_H

#include "base/err.h"

#include <stdbool.h>

enum version_fit {
    VERSION_FITS,
    VERSION_OTHER,   /* another one is wanted */
    VERSION_UNKNOWN, /* it cannot be compared: it is not written as PEP 440 says */
};

/* Comparisons joined by commas, each one of
 *   >=V  <=V  >V  <V  ==V  !=V  ==V.*  !=V.*  ~=V
 * with blanks where one likes. "==" and "!=" are as PEP 440 has them: 2.0 and 2.0.0 are the same, with ".*" only the beginning
 * counts. ">2.0" is not met by 2.0.post1, "<2.0" not by 2.0rc1. "~=2.1.3" is ">=2.1.3,==2.1.*". */

/* False: err says which comparison is none. */
bool version_want_check(const char *want, struct err *err);

/* want was checked. version: bytes from anywhere. */
enum version_fit version_fits(const char *want, const char *version);

/* "torch >= 2.6": how long the name is, and where what is wanted begins: "" without any. */
void version_split(const char *text, int *name_length, const char **want);

#endif
