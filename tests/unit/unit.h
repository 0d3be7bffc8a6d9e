/* unit: all tests of a room in one program. PROGRAM NAME runs those of NAME_test.c, so that each
 * file has a process of its own. */
#ifndef TARE_TESTS_UNIT_H
#define TARE_TESTS_UNIT_H

struct unit_file {
    const char *path; /* __FILE__ */
    int (*run)(void); /* returns the exit status */
    struct unit_file *next;
};

void unit_add(struct unit_file *file);

/* The arguments of main, of which the first is NAME. */
extern int unit_argc;
extern char **unit_argv;

/* What a test file has in place of main: UNIT_TESTS(void) { ... } */
#define UNIT_TESTS                                                            \
    static int unit_tests(void);                                              \
    __attribute__((constructor)) static void unit_tests_add(void)             \
    {                                                                         \
        static struct unit_file file = {.path = __FILE__, .run = unit_tests}; \
        unit_add(&file);                                                      \
    }                                                                         \
    static int unit_tests

#endif
