#include "doctor/doctor_host.h"
#include "doctor/doctor_text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unit.h"

#include "session/command.h"
#include "tare_build.h"

#include <string.h>

#include "root_folder.h"

/* Nothing in them weighs against the machine, as far as the kernel keeps the promise. */
static bool any_wrong(const struct findings *findings)
{
    const struct doctor_page page = {.findings = findings, .kernel_backed = true};
    return !doctor_fit(&page);
}

static void a_slow_clock_and_hidden_processes_are_told(void **state)
{
    const char *top = *state;
    struct doctor_machine machine = {.root = top, .uid = 1000, .user = "ada"};
    struct findings good = {0}, bad = {0};
    put(top, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    put(top, "/proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw,hidepid=0\n");
    doctor_kernel(&machine, &good);
    assert_string_equal(find(&good, "clock source")->text, "tsc");
    assert_int_equal(find(&good, "clock source")->mark, FINDING_FACT);
    assert_int_equal(good.count, 3);
    put(top, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    put(top, "/proc/self/mountinfo",
        "22 1 0:20 / /proc rw - proc proc rw,hidepid=invisible,gid=4\n");
    doctor_kernel(&machine, &bad);
    assert_int_equal(find(&bad, "clock source")->mark, FINDING_NO);
    same_text(find(&bad, "processes seen")->reason, "/proc is mounted with hidepid=invisible");
    same_text(find(&bad, "processes seen")->mend, "sudo mount -o remount,hidepid=0 /proc");
    assert_false(any_wrong(&bad));
    findings_fini(&good);
    findings_fini(&bad);
}

UNIT_TESTS(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_slow_clock_and_hidden_processes_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
