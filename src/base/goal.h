/* goal: whether more or less of a metric is better: as the registry says, else as the words of its
 * name do. The one place that decides it: whoever needs it asks here, the page's data too. */
#ifndef TARE_BASE_GOAL_H
#define TARE_BASE_GOAL_H

#include <stdbool.h>

enum goal { GOAL_UNKNOWN, GOAL_MINIMIZE, GOAL_MAXIMIZE };

/* "minimize", "maximize"; NULL: unknown. */
const char *goal_name(enum goal goal);
extern const char *const goal_names[];             /* those two, and NULL */
bool goal_parse(const char *text, enum goal *out); /* text may be NULL; false: neither of the two */

/* By whole words of the name, whatever their case: they end at what is no letter or digit, between
 * letters and digits, and at a capital ("valLoss"). Of a loss or an error less is better, whatever
 * it is of ("dice_loss", "top1_error"). Unknown: no word says it, two words contradict each other,
 * or one turns the meaning round ("neg_log_loss"). */
enum goal goal_of_name(const char *metric);

/* Whether it is a share, from 0 to 1 or to 100 %, by the same words: accuracy, recall, F1, IoU,
 * top1; no loss, no error. */
bool goal_is_share(const char *metric);

/* What the registry said of it, else what its name says. */
enum goal goal_of(enum goal said, const char *metric);

#endif
