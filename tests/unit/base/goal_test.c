#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/goal.h"

static void assert_goals(const char *const *metrics, enum goal expected)
{
    for (size_t i = 0; metrics[i]; i++)
        if (goal_of_name(metrics[i]) != expected) {
            const char *found = goal_name(goal_of_name(metrics[i]));
            fail_msg("%s: %s", metrics[i], found ? found : "unknown");
        }
}

static void of_losses_and_errors_less_is_better(void **state)
{
    (void)state;
    static const char *const metrics[] = {
        "loss",      "test_loss",  "val/loss", "valLoss",    "LOSS",      "train.loss.total",
        "error",     "error_rate", "err",      "wer",        "CER",       "test_wer",
        "eval-cer",  "mse",        "rmse",     "valRMSE",    "MAE",       "perplexity",
        "ppl",       "nll",        "bpb",      "FID",        "fid50k",    "eer",
        "dice_loss", "iouLoss",    "f1_error", "top1_error", "err@top-5", "lossG",
        "loss2",     NULL};
    assert_goals(metrics, GOAL_MINIMIZE);
}

static void of_scores_more_is_better(void **state)
{
    (void)state;
    static const char *const metrics[] = {"accuracy",
                                          "test_accuracy",
                                          "best_val_accuracy",
                                          "acc",
                                          "valAcc",
                                          "acc1",
                                          "acc@5",
                                          "f1",
                                          "F1Score",
                                          "macroF1",
                                          "f1_macro",
                                          "auc",
                                          "rocAUC",
                                          "map",
                                          "mAP",
                                          "mAP50",
                                          "mAP50-95",
                                          "iou",
                                          "IoU",
                                          "miou",
                                          "mIoU",
                                          "BLEU",
                                          "bleu4",
                                          "rougeL",
                                          "rouge-1",
                                          "dice",
                                          "mDice",
                                          "PSNR",
                                          "ssim",
                                          "MS-SSIM",
                                          "recall",
                                          "recall@5",
                                          "precision",
                                          "top1",
                                          "top-5",
                                          "Top_1",
                                          "rank1",
                                          "rank-1",
                                          "rank5",
                                          "r2",
                                          "R2",
                                          "r2_score",
                                          "hits@10",
                                          NULL};
    assert_goals(metrics, GOAL_MAXIMIZE);
}

/* "wer" is in "answer" and "lower", "mse" in "semseg", "err" in "terrain", "loss" in "glossary",
 * "acc" in "vacc". */
static void a_word_within_a_word_says_nothing(void **state)
{
    (void)state;
    static const char *const more[] = {"answer_f1",        "semseg_iou",  "lowerbound_acc",
                                       "terrain_accuracy", "glossary_f1", NULL};
    static const char *const unknown[] = {
        "answer", "semseg", "lower",     "terror", "lossless", "vacc", "mapping", "top",
        "rank",   "ranked", "mean_rank", "aucune", "f10",      "r22",  "idf1x",   NULL};
    assert_goals(more, GOAL_MAXIMIZE);
    assert_goals(unknown, GOAL_UNKNOWN);
}

static void what_no_word_says_or_two_contradict_is_unknown(void **state)
{
    (void)state;
    static const char *const metrics[] = {"",
                                          "x",
                                          "steps",
                                          "score",
                                          "throughput",
                                          "temperature",
                                          "psnr_mse",
                                          "....",
                                          "123",
                                          "neg_mean_squared_error",
                                          "neg_log_loss",
                                          "negative_accuracy",
                                          "\xc3\xa9t\xc3\xa9",
                                          NULL};
    assert_goals(metrics, GOAL_UNKNOWN);
    assert_null(goal_name(GOAL_UNKNOWN));
}

static void a_name_of_any_length_is_read(void **state)
{
    (void)state;
    char name[1000];
    for (size_t i = 0; i + 1 < sizeof name; i++)
        name[i] = i % 2 ? 'x' : 'Y';
    name[sizeof name - 1] = '\0';
    assert_int_equal(goal_of_name(name), GOAL_UNKNOWN);
    for (size_t i = 0; i + 1 < sizeof name; i++)
        name[i] = 'l';
    assert_int_equal(goal_of_name(name), GOAL_UNKNOWN);
}

static void what_was_said_goes_before_the_name(void **state)
{
    (void)state;
    enum goal goal = GOAL_UNKNOWN;
    assert_int_equal(goal_of(GOAL_MAXIMIZE, "loss"), GOAL_MAXIMIZE);
    assert_int_equal(goal_of(GOAL_UNKNOWN, "loss"), GOAL_MINIMIZE);
    assert_true(goal_parse("maximize", &goal));
    assert_int_equal(goal, GOAL_MAXIMIZE);
    assert_true(goal_parse("minimize", &goal));
    assert_int_equal(goal, GOAL_MINIMIZE);
    assert_false(goal_parse("maximise", &goal));
    assert_false(goal_parse(NULL, &goal));
    assert_string_equal(goal_name(GOAL_MINIMIZE), "minimize");
}

static void shares_are_told_by_the_same_words(void **state)
{
    (void)state;
    static const char *const shares[] = {"accuracy", "val_acc", "top1",      "rank-5",
                                         "mAP50",    "mIoU",    "answer_f1", "testRecall"};
    static const char *const others[] = {
        "loss", "dice_loss", "top1_error", "neg_accuracy", "wer", "psnr", "bleu", "reward", "x"};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (!goal_is_share(shares[i]))
            fail_msg("%s is no share", shares[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (goal_is_share(others[i]))
            fail_msg("%s is a share", others[i]);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_losses_and_errors_less_is_better),
        cmocka_unit_test(of_scores_more_is_better),
        cmocka_unit_test(a_word_within_a_word_says_nothing),
        cmocka_unit_test(what_no_word_says_or_two_contradict_is_unknown),
        cmocka_unit_test(a_name_of_any_length_is_read),
        cmocka_unit_test(what_was_said_goes_before_the_name),
        cmocka_unit_test(shares_are_told_by_the_same_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
