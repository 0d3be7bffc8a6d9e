#!/bin/sh
# tools/lint.sh [PART...]: what make lint checks: format, shell, measures, words, tidy (all of them without PART);
# tidy-changed runs clang-tidy only on what changed since main, on main itself since the commit before: 40 files at
# most, as each takes more than a second. Prints what is wrong and fails.
set -eu
build=${BUILD:-build}
most=40 # files that tidy-changed checks
failed=0

# The .c files of src that changed, also those whose header did; committed or not.
changed()
{
    base=$(git merge-base HEAD main 2>/dev/null || git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
    [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse --verify --quiet HEAD~1 || git rev-parse HEAD)
    { git diff --name-only --diff-filter=d "$base" -- src && git ls-files --others --exclude-standard -- src; } |
        sed -n 's/\.[ch]$/.c/p' | sort -u | while read -r file; do [ ! -e "$file" ] || echo "$file"; done
}

[ $# -gt 0 ] || set -- format shell measures words tidy
for part in "$@"; do
    case "$part" in
    format) git ls-files '*.c' '*.h' | xargs -P 2 -n 100 clang-format --dry-run --Werror || failed=1 ;;
    shell) git ls-files '*.sh' 'bench/*.bash' .ci/run | xargs shellcheck -x -P SCRIPTDIR || failed=1 ;;
    measures) tools/measure.py --check || failed=1 ;;
    words) python3 tests/words.py || failed=1 ;;
    tidy) git ls-files 'src/*.c' | xargs -P 2 -n 8 clang-tidy -p "$build" --quiet 2>/dev/null || failed=1 ;;
    tidy-changed)
        count=$(changed | wc -l)
        [ "$count" -le $most ] || echo "$count files changed: clang-tidy checks $most of them, make lint all"
        changed | head -n $most | xargs -r -P 2 -n 8 clang-tidy -p "$build" --quiet 2>/dev/null || failed=1
        ;;
    *) echo "tools/lint.sh: unknown part '$part'" >&2 && exit 2 ;;
    esac
done
[ $failed -eq 0 ] && echo "lint: nothing found"
exit $failed
