#!/bin/sh
# symbols.sh BUILD: what the compiler and the linker let pass in silence.
# 1. No two modules define a function or variable of one name that others can see: the linker takes the first library that has it, and
#    the other module's callers get the wrong one.
# 2. Every function that others can see is used by the program, be it in its own file: one that only its own test calls is dead.
command -v nm >/dev/null && command -v objdump >/dev/null || exit 0
status=0
# shellcheck disable=SC2046 # each library is a word
doubled=$(nm --defined-only $(find "$1"/src -name 'lib*.a') 2>/dev/null | awk 'NF == 3 && $2 ~ /^[TDBRC]$/ { print $3 }' | sort | uniq -d)
[ -z "$doubled" ] || {
    echo "defined by more than one module: $doubled"
    status=1
}

# 3. jansson's json_real gives NULL for what is not finite, and the key it was for is silently left out: json_finite (base/json.h) says null.
reals=$(find "$1"/src -name '*.o' -path '*.p/*' ! -path "$1/src/base/*" -exec nm -A -u {} + 2>/dev/null | grep ' json_real$')
[ -z "$reals" ] || {
    echo "json_real outside of base/ (json_finite writes null for what is not finite):"
    echo "$reals"
    status=1
}

# 4. No more than eight files form a circle, each of which needs something of the next: nobody reads these one after the other.
circles=$(find "$1"/src -name '*.o' -path '*.p/*' -exec nm -A -g {} + 2>/dev/null | python3 -c '
import re, sys
defined, wanted, needs, below, place, path, found = {}, {}, {}, {}, {}, [], []
for line in sys.stdin:
    name, kind, symbol = re.match(r"(.*?):\S* +(?:[0-9a-f]+ )?(\w) (\S+)", line).groups()
    (wanted.setdefault(name, []).append(symbol) if kind in "Uw" else defined.setdefault(symbol, name))
for name, symbols in wanted.items():
    needs[name] = {defined[symbol] for symbol in symbols if symbol in defined} - {name}
def visit(name): # Tarjan
    place[name] = below[name] = len(place)
    path.append(name)
    for other in needs.get(name, ()):
        if other not in place:
            visit(other)
        if other in path:
            below[name] = min(below[name], below[other])
    if below[name] == place[name]:
        found.append(path[path.index(name):])
        del path[path.index(name):]
sys.setrecursionlimit(10**4)
for name in list(needs):
    if name not in place:
        visit(name)
for circle in found:
    if len(circle) > 8:
        print(len(circle), "files:", *sorted(re.sub(r".*/|\.c\.o$", "", name) for name in circle))')
[ -z "$circles" ] || {
    echo "circles of more than eight files: $circles"
    status=1
}

# For tests on purpose: whom to kill; bytes in for the fuzzer. What the
# dynamic loader or a host program calls has no caller here: main, and all of gpu_memory/preload/, whose own map says what it shows.
allowed='guardian_pid governor_keeper_pid trace_parse main'
# clang calls a function of its own file without naming it: only gcc's objects tell.
if find "$1"/src/base -name '*.o' -exec readelf -p .comment {} + 2>/dev/null | grep -q 'clang version'; then exit $status; fi
objects=$(find "$1"/src -name '*.o' -path '*.p/*' ! -path "$1/src/gpu_memory/preload/*")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/symbols.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
# shellcheck disable=SC2086 # a list of words
{
    nm --defined-only $objects | awk 'NF == 3 && $2 == "T" { print $3 }' | sort -u >"$scratch/defined"
    # With -fPIC a function that others can see is called by its name in its own file, too.
    objdump -r $objects | awk '$2 ~ /^R_/ { sub(/[-+]0x[0-9a-f]+$/, "", $3); print $3 }' | sort -u >"$scratch/used"
    printf '%s\n' $allowed >>"$scratch/used"
    [ -s "$scratch/defined" ] || {
        echo "no object files in $1/src"
        exit 1
    }
}
sort -u -o "$scratch/used" "$scratch/used"
dead=$(comm -23 "$scratch/defined" "$scratch/used")
[ -z "$dead" ] || {
    echo "functions that the program never calls (delete them, or make them a test's own):"
    echo "$dead"
    status=1
}
exit $status
