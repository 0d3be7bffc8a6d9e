#include "base/cleanup.h"
#include "doctor/clean.h"
#include "session/commits.h"
#include "session/run_resources.h"

#include <unistd.h>

const struct census_roots clean_roots = {"/proc", "/dev"};

/* On a machine whose GPUs sleep while nobody uses them, the driver first wakes all of them. */
static const double DRIVER_S = 10;

/* The library is asked only where the driver has its device. */
static void ask_driver(const struct clean *clean, struct clean_view *view)
{
    const struct gpu_vendor *vendor = NULL;
    while ((vendor = gpu_vendor_loaded(clean->roots.dev, vendor))) {
        bool told = gpu_memory_users_read(vendor, NULL, DRIVER_S, &view->memory, &view->memory_err);
        view->has_memory = told && (view->has_memory || !view->has_driver);
        view->has_driver = true;
    }
}

bool clean_look(const struct clean *clean, struct clean_view *out, struct err *err)
{
    *out = (struct clean_view){0};
    ask_driver(clean, out);
    if (!leftovers_find_holding(clean->state, &clean->roots, out->has_memory ? &out->memory : NULL, &out->leftovers,
                                err)) {
        gpu_memory_users_fini(&out->memory);
        return false;
    }
    clean_caller_claims(clean->caller, out);
    if (clean->state)
        out->governor = governing_leftover_text(state_folder(clean->state));
    if (clean->state)
        worktrees_left(state_folder(clean->state), &out->worktrees);
    return true;
}

void clean_view_fini(struct clean_view *view)
{
    leftovers_fini(&view->leftovers);
    gpu_memory_users_fini(&view->memory);
    free(view->governor);
    strv_fini(&view->worktrees);
}
