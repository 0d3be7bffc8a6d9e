#include "run/background.h"

enum background_next background_ended(struct background_tally *tally, enum outcome outcome, bool beside)
{
    if (outcome == OUTCOME_SUCCEEDED) {
        tally->succeeded++;
        tally->failed_in_a_row = 0;
        return BACKGROUND_AGAIN;
    }
    tally->failed++;
    tally->failed_in_a_row++;
    tally->failed_beside += beside;
    tally->gave_up = tally->failed_in_a_row >= (beside ? BACKGROUND_TRIES_BESIDE : BACKGROUND_TRIES_ALONE);
    if (tally->gave_up)
        return BACKGROUND_GIVE_UP;
    return beside && tally->failed_beside == BACKGROUND_FAILURES_TOLD ? BACKGROUND_TELL : BACKGROUND_AGAIN;
}
