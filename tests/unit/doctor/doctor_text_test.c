/* What doctor makes of containment that was refused, on machines played by files. */
#include "doctor/doctor_text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "base/mem.h"
#include "session/command.h"
#include "tare_build.h"

#include <string.h>

static void the_page_says_first_whether_the_machine_is_fit_and_keeps_a_command_on_one_line(
    void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    const struct containment none = {0};
    struct findings findings = {0};
    findings_add(
        &findings,
        (struct finding){.section = "Containment",
                         .name = "cgroup",
                         .mark = FINDING_NO,
                         .text = mem_strdup("no cgroup v2 can be made for a job"),
                         .reason = mem_strdup("one two three four five six seven eight"),
                         .mend = mem_strdup("a command that is longer than the page is wide")});
    for (int i = 0; i < 2; i++)
        findings_add(
            &findings,
            (struct finding){.section = "State",
                             .name = "leftovers",
                             .mark = FINDING_WRONG,
                             .text = mem_strdup("1 process"),
                             .advice = true,
                             .mend = mem_strdup("this is not to be copied, so it may be broken")});
    const struct doctor_page page = {.containment = &none, .findings = &findings, .width = 60};
    doctor_text(&page, &text);
    assert_string_equal(text_get(&text),
                        "This machine is not fit to measure, because of: containment\n"
                        "(best effort), leftovers; 1 warning: cgroup.\n"
                        "The promise that nothing outlives an experiment is best\n"
                        "effort: sweep. What an experiment leaves behind is searched\n"
                        "for and ended, but a process that hides well may outlive it;\n"
                        "below is what would make it certain.\n"
                        "\n"
                        "Containment\n"
                        "  warn   cgroup           no cgroup v2 can be made for a job\n"
                        "                          why: one two three four five six\n"
                        "                          seven eight\n"
                        "                          fix: a command that is longer than "
                        "the page is wide\n"
                        "\n"
                        "State\n"
                        "  fail   leftovers        1 process\n"
                        "                          fix: this is not to be copied, so\n"
                        "                          it may be broken\n"
                        "  fail   leftovers        1 process\n"
                        "                          fix: this is not to be copied, so\n"
                        "                          it may be broken\n");
    assert_false(doctor_fit(&page));
    findings_fini(&findings);
}

/* Warnings do not make a machine unfit; the promise that is best effort does. */
static void a_machine_is_fit_when_nothing_fails_and_the_kernel_keeps_the_promise(void **state)
{
    (void)state;
    AUTO_TEXT struct text text = {0};
    const struct containment none = {0};
    struct findings findings = {0};
    findings_add(&findings, (struct finding){.section = "Machine",
                                             .name = "turbo",
                                             .mark = FINDING_NO,
                                             .text = mem_strdup("on")});
    struct doctor_page page = {.containment = &none, .findings = &findings, .width = 60};
    assert_false(doctor_fit(&page));
    page.kernel_backed = true;
    assert_true(doctor_fit(&page));
    doctor_text(&page, &text);
    static const char head[] = "This machine is fit to measure, with 1 warning: turbo.\n";
    assert_memory_equal(text_get(&text), head, sizeof head - 1);
    findings_fini(&findings);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_page_says_first_whether_the_machine_is_fit_and_keeps_a_command_on_one_line),
        cmocka_unit_test(a_machine_is_fit_when_nothing_fails_and_the_kernel_keeps_the_promise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
