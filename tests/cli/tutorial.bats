# The tutorial shows what its commands print.
load helpers

@test "the tutorial prints what its commands print now, but for times, verdicts and who else ran" {
    need_python
    [ -z "${TARE_SANITIZED:-}" ] || skip "the commands take too long under sanitizers"
    ! /usr/bin/env python3 -c 'import torch' 2>/dev/null || skip "with PyTorch the numbers differ"
    mkdir bin
    ln -s "$TARE" bin/tare
    PATH=$PWD/bin:$PATH python3 "$BATS_TEST_DIRNAME/tutorial_lines.py" "$ROOT/docs/tutorial.md" >differs
    [ ! -s differs ] || { cat differs; return 1; }
}
