#include "run/load.h"

enum { LOOKS_FEW = 3 };

void load_take(struct load_watch *watch, int64_t t_ns, bool loaded)
{
    watch->visible = true;
    watch->looks++;
    watch->loaded += loaded;
    if (loaded) {
        if (watch->since_ns == 0)
            watch->since_ns = t_ns;
        watch->last_ns = t_ns;
    } else if (watch->missed) {
        watch->since_ns = 0;
    }
    watch->missed = !loaded;
}

enum load_verdict load_decide(const struct load_watch *watch, const struct load_times *times, int64_t begun_ns,
                              int64_t now_ns)
{
    int64_t ran_ns = now_ns - begun_ns;
    if (ran_ns < times->wait_ns)
        return LOAD_WAIT;
    if (times->set)
        return LOAD_SET;
    if (watch->since_ns != 0 && watch->last_ns - watch->since_ns >= times->hold_ns)
        return LOAD_HELD;
    if (!watch->visible)
        return LOAD_UNSEEN;
    return ran_ns < times->limit_ns ? LOAD_WAIT : LOAD_NONE;
}

bool load_share(const struct load_watch *watch, double *out)
{
    *out = watch->looks ? (double)watch->loaded / (double)watch->looks : 0;
    return watch->looks >= LOOKS_FEW;
}
