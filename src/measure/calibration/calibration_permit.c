#include "measure/calibration/calibration_permit.h"
#include "measure/calibration/calibration_measure.h"

static const double MIB = 1048576;
/* As the guard has it before an attempt; where the driver counts its own memory with the rest, an
 * empty GPU has some hundred MiB in use. */
static const double EMPTY_MIB = 64, EMPTY_WITH_DRIVER_MIB = 1024;

static bool check_undivided(const struct gpu_identity *identity, struct err *err)
{
    if (identity->mig == GPU_MIG_ON || identity->mig == GPU_MIG_PART)
        return err_set(err, "it is divided into parts (MIG)");
    if (identity->shared_by_host == GPU_ANSWER_YES)
        return err_set(err, "it is a vGPU, or divided into some");
    if (identity->shared_by_host != GPU_ANSWER_NO)
        return err_set(err, "its driver does not say whether it is a vGPU");
    if (identity->display == GPU_ANSWER_YES)
        return err_set(err, "a display is active on it");
    return identity->display == GPU_ANSWER_NO ||
           err_set(err, "its driver does not say whether a display is active");
}

static bool check_unused(const struct calibration_look *look, struct err *err)
{
    const struct gpu_users *users = &look->users;
    struct reading used = look->readings.of[GPU_MEMORY_USED_BYTES];
    bool apart = look->readings.of[GPU_MEMORY_RESERVED_BYTES].valid;
    if (!users->told)
        return err_set(err, "its driver does not list the processes on it");
    if (users->count > 0)
        return err_set(err, "process %d is on it", (int)users->users[0].pid);
    if (!used.valid)
        return err_set(err, "its driver does not say how much of its memory is in use");
    return used.value <= (apart ? EMPTY_MIB : EMPTY_WITH_DRIVER_MIB) * MIB ||
           err_set(err, "%.0f MiB of its memory are in use, and no process is listed",
                   used.value / MIB);
}

static bool is_at_rest(const struct gpu_readings *readings, struct err *err)
{
    static const unsigned slowed = GPU_CLOCK_HW_SLOWDOWN | GPU_CLOCK_HW_THERMAL |
                                   GPU_CLOCK_POWER_BRAKE | GPU_CLOCK_SW_THERMAL |
                                   GPU_CLOCK_POWER_CAP;
    struct reading reasons = readings->of[GPU_CLOCK_REASONS],
                   busy = readings->of[GPU_UTILISATION_PERCENT];
    if (!reasons.valid)
        return err_set(err, "its driver does not say whether heat or power slow it down");
    if ((unsigned)reasons.value & slowed)
        return err_set(err, "heat or power slow it down");
    if (!busy.valid)
        return err_set(err, "its driver does not say whether it is busy");
    return busy.value <= 0 || err_set(err, "it is busy (%.0f %%)", busy.value);
}

bool calibration_permits(const struct calibration_look *look, struct err *err)
{
    return check_undivided(&look->identity, err) && check_unused(look, err) &&
           is_at_rest(&look->readings, err);
}
