#!/usr/bin/env bats
# The page as a tool: the find box, the relations of hyperparameters and figures, the table on a telephone, what is left out.
load helpers
load page

setup_file() { command -v python3 >/dev/null || skip "python3 is missing"; }

# space COUNT [SAME]: page.html of as many experiments (tests/page/space.py).
space() {
    python3 "$ROOT/tests/page/space.py" space "$@"
    "$TARE" report space -o page.html --lang en >/dev/null
}

@test "the find box takes words and conditions, says what it cannot read, and is used by keys" {
    space 60
    page_of find page.html "$WORK/space"
}

@test "the id stays in sight on a telephone; outcome, metrics and hyperparameters come before what it cost" {
    space 60
    page_of frozen page.html
}

@test "a metric against a hyperparameter, and a stretch of an axis selects the experiments of the table" {
    space 60
    page_of relations page.html "$WORK/space"
}

@test "without a hyperparameter that varies the relations are left out, and why is said once; of one experiment too" {
    space 6 same
    page_of unrelated page.html "no hyperparameter has two values among the finished experiments"
    rm -r space
    space 1
    page_of unrelated page.html "no hyperparameter has two values among the finished experiments"
    page_of words page.html "The only finished experiment succeeded, but did not pass its checks."
}

@test "two thousand experiments can be selected from" {
    space 2000
    page_of crowd page.html
}

@test "on a telephone labels of drawings are large enough and do not lie on each other" {
    space 60
    page_of readable page.html
    page_of quiet page.html
    "$TARE" report space -o zh.html --lang zh >/dev/null
    page_of readable zh.html
    page_of quiet zh.html
}

@test "one is written as one, and several as several" {
    space 6
    if grep -E '\{id\}|[0-9n}] ×, ' "$ROOT/src/report/page/texts.js"; then false; fi
    page_of singular page.html
}
