/* expect: criteria that a dataset holds or not: "power_cv_between<5%,contaminated=0". */
#ifndef TARE_AUDIT_EXPECT_H
#define TARE_AUDIT_EXPECT_H

#include "audit/dataset.h"

struct expect_item {
    char *text; /* as written */
    size_t what;
    enum { EXPECT_LESS, EXPECT_AT_MOST, EXPECT_MORE, EXPECT_AT_LEAST, EXPECT_EQUAL } how;
    double limit;
};

struct expect {
    struct expect_item *items;
    size_t count;
};

struct expect_result {
    bool held; /* false too where it cannot be told */
    struct reading value;
    char why[300];
};

bool expect_parse(const char *text, struct expect *out, struct err *err);
void expect_fini(struct expect *expect);
void expect_check(const struct expect_item *item, const struct dataset *judged, struct expect_result *out);

#endif
