#!/bin/sh
# record_types.sh SOURCE_ROOT COMPILER...: fields of a type that a record cannot have do not compile.
root=$1
shift
compiles() {
    # shellcheck disable=SC2086 # several words
    printf '%s\n' '#include "base/record.h"' 'enum one { A }; enum two { B };' \
        'static const char *name(enum one of) { return of == A ? "a" : 0; }' \
        'struct s { char array[8]; enum one one; enum two two; float f; int list[3]; size_t count; };' \
        "const struct record_field fields[] = {$1, RECORD_ENUM(struct s, \"one\", one, name), {0}};" |
        "$cc" $flags -std=gnu17 -I"$root/src" -fsyntax-only -x c - 2>/dev/null
}
cc=$1
shift
flags=$*
compiles 'RECORD(struct s, count)' || { echo "a size_t does not compile"; exit 1; }
status=0
for field in 'RECORD(struct s, array)' 'RECORD(struct s, one)' 'RECORD(struct s, f)' 'RECORD_ENUM(struct s, "two", two, name)' \
    'RECORD_STRUCTS(struct s, "list", list, count, NULL)' 'RECORD_BYTES(struct s, "count", count)'; do
    compiles "$field" && { echo "compiles: $field"; status=1; }
done
exit $status
