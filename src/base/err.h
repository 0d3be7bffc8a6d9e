/* err: the one error shape. A function that can fail returns false (or NULL) and fills a struct
 * err. */
#ifndef TARE_BASE_ERR_H
#define TARE_BASE_ERR_H

#include <stdbool.h>

/* code: the errno behind it, or 0. text: one line without a final full stop or newline, naming the
 * thing and the reason. */
struct err {
    int code;
    char text[1000];
};

/* Each returns false, so that "return err_set(err, ...)" reads well; err may be NULL. */
bool err_set(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As err_set, with ": " and the text of errno behind it, and errno kept in code. */
bool err_sys(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts the formatted text and ": " before what err says already; the code stays. */
bool err_wrap(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether this errno says that the machine, or what this user may have of it, is short of
 * descriptors, memory or processes. */
bool err_is_shortage(int code);

#endif
