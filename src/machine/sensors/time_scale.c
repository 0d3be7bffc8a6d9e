#include "machine/sensors/time_scale.h"

#include "base/value.h"

static const double LEAST = 0.001;

bool time_scale_read(const char *text, double *out, struct err *err)
{
    *out = 1;
    if (!text || !*text)
        return true;
    if (number_parse(text, out) && *out >= LEAST && *out <= 1)
        return true;
    *out = 1;
    return err_set(err, TIME_SCALE_VARIABLE ": '%s' is no number from %g to 1", text, LEAST);
}

bool time_scale_permitted(double scale, const struct gpu_backend *backend, const char *library,
                          struct err *err)
{
    if (scale <= 0 || scale >= 1 || backend->library_kind(library) != GPU_LIBRARY_REAL)
        return true;
    return err_set(err,
                   TIME_SCALE_VARIABLE
                   "=%g is for tests with a driver that is played: here is a real one, whose GPUs "
                   "take their time; unset it",
                   scale);
}
