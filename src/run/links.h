/* links: which of the machine's PCIe links the GPUs of several lanes share (those above a switch), how much goes
 * over them, and whether that is near what they can carry. Times come with the readings. */
#ifndef TARE_RUN_LINKS_H
#define TARE_RUN_LINKS_H

#include "base/strv.h"
#include "machine/gpu/sensor.h"

enum link_direction { LINK_SENT, LINK_RECEIVED, LINK_DIRECTIONS }; /* by the GPU */

struct link_gpu {
    size_t lane;         /* from 1 */
    struct strv bridges; /* PCI addresses above it, of those that GPUs of another lane are below too */
    int64_t t_ns;        /* of the last look; 0: none yet */
    struct reading rate[LINK_DIRECTIONS]; /* bytes a second, then */
};

struct links {
    char *sysroot;
    struct link_gpu *gpus;
    size_t count;
};

/* For GPUs that stay in this order. bus: the PCI address; where sysfs does not know it, it shares nothing. */
void links_init(struct links *links, const char *sysroot);
void links_add(struct links *links, size_t lane, const char *bus);
void links_settle(struct links *links); /* all are added: what nobody shares is forgotten */
void links_fini(struct links *links);

/* Whether anything is shared at all. */
bool links_shared(const struct links *links);

/* What one of them has read. */
void links_take(struct links *links, size_t gpu, int64_t t_ns, const struct gpu_readings *readings);

struct link_pressure {
    char bridge[32];
    enum link_direction direction;
    double share;        /* of what the link carries at most, by all that are below */
    double others_share; /* by the GPUs of other lanes */
};

/* Of all links that this lane shares, the fullest that is contended: at least 70 % of what it carries at most, with
 * a part of others' and a part of the lane's own in it. False: none is. */
bool links_judge(const struct links *links, size_t lane, int64_t now_ns, struct link_pressure *out);

/* Whether that lane's GPUs take part in what goes over the link. */
bool links_uses(const struct links *links, size_t lane, const struct link_pressure *pressure, int64_t now_ns);

/* Bytes a second that a link carries, each direction, by what sysfs says of a device at its end: "16.0 GT/s PCIe",
 * and the number of its lanes. 0: it says nothing of use. */
double links_capacity(const char *speed, const char *width);

#endif
