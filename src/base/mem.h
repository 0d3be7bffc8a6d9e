/* mem: allocation that does not fail: without memory the program ends with a line on stderr and
 * SIGABRT (the journal is written before acting, so nothing recorded is lost). Everything given is
 * freed with free(). */
#ifndef TARE_BASE_MEM_H
#define TARE_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t size); /* zeroed */
/* zeroed; aborts when count * size overflows */
void *mem_array(size_t count, size_t size);
/* as reallocarray; what is new is not zeroed */
void *mem_resize(void *old, size_t count, size_t size);
char *mem_strdup(const char *s); /* NULL gives NULL */
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Room for one more: items = mem_room(items, count, sizeof *items). The capacity follows from the
 * count (8, doubled at each power of two), so the array must be NULL first and grow in this way
 * alone. Fewer items later are fine. */
void *mem_room(void *items, size_t count, size_t size);

/* The same with the next place, counted: MEM_ADD(items, count) = item. */
#define MEM_ADD(items, count) \
    (*((items) = mem_room((items), (count), sizeof *(items)), &(items)[(count)++]))

/* Loops over an array with a pointer to each element. Neither the array nor the count may change
 * meanwhile; items may be NULL where there are none. EACH_OF: over all of an array whose size the
 * compiler knows. */
#define EACH(item, items, count)                                                           \
    for (__typeof__(*(items)) *item = (items), *item##_end = item ? item + (count) : NULL; \
         item != item##_end; item++)
#define EACH_OF(item, array) EACH (item, array, sizeof(array) / sizeof *(array))

/* Below 0, 0 or above 0, as comparisons for qsort give it. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Of the places from low to before high, the first at which condition (which names the place)
 * holds; below it does not, from there on it does. high: at none. */
#define FIRST_PLACE(place, low, high, condition)      \
    __extension__({                                   \
        size_t low_ = (low), high_ = (high);          \
        while (low_ < high_) {                        \
            size_t place = low_ + (high_ - low_) / 2; \
            if (condition)                            \
                high_ = place;                        \
            else                                      \
                low_ = place + 1;                     \
        }                                             \
        low_;                                         \
    })

#endif
