#!/bin/sh
# make lint: format, static analysis, shell scripts. Prints what is wrong and fails.
set -eu
build=${BUILD:-build}
failed=0
git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror || failed=1
git ls-files '*.sh' 'bench/*.bash' .ci/run | xargs shellcheck -x -P SCRIPTDIR || failed=1
git ls-files 'src/*.c' | xargs -P 2 -n 8 clang-tidy -p "$build" --quiet 2>/dev/null || failed=1
[ $failed -eq 0 ] && echo "lint: nothing found"
exit $failed
