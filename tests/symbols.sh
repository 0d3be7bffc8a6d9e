#!/bin/sh
# symbols.sh BUILD: no two modules define a function or variable of one name that others can see: the linker takes the first library
# that has it, silently, and the other module's callers get the wrong one.
command -v nm >/dev/null || exit 0
doubled=$(nm --defined-only "$1"/src/*/lib*.a 2>/dev/null | awk 'NF == 3 && $2 ~ /^[TDBRC]$/ { print $3 }' | sort | uniq -d)
[ -z "$doubled" ] || {
    echo "defined by more than one module: $doubled"
    exit 1
}
