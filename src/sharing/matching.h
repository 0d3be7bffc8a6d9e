/* matching: the pairs of a graph whose weights add up to most: exact, for any graph (Edmonds' blossoms with the
 * dual variables of Galil's survey, ACM Computing Surveys 18, 1986), in time that grows with the cube of its
 * points. Pure. */
#ifndef TARE_SHARING_MATCHING_H
#define TARE_SHARING_MATCHING_H

#include <stddef.h>
#include <stdint.h>

enum { MATCHING_POINTS_MAX = 1000 };

/* weights: count rows of count columns, symmetric; at most 0: no edge; below 2^40. mates: for each point the other,
 * or its own number where it stays alone. Gives the weight of all pairs. count is at most MATCHING_POINTS_MAX. */
int64_t matching_heaviest(const int64_t *weights, size_t count, size_t *mates);

#endif
