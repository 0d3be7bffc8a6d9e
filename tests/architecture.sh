#!/bin/sh
# The floors of ARCHITECTURE.md, checked from the include lines: an include points down only, siblings never include each other, and
# what belongs to one module alone (sqlite3.h: store, libsmartcols.h: report and cli, sd-event.h: run) stays there; base/lazy.c, which only loads them, reads their headers for the types.
cd "$(dirname "$0")/.." || exit 1
floors='
base 0
stats 1
mutate 1
pattern 1
oom 1
contain 1
allocator 1
preload 1
gpu 1
state 2
config 2
joblog 2
meter 2
guard 3
plan 3
store 4
run 5
audit 5
batch 5
pairs 5
ui 6
report 6
cli 7
'
# shellcheck disable=SC2086
set -- $floors
bad=$(
    grep -nE '^#include "[a-z]+/' -r src --include='*.[ch]' | sed -E 's/^src\/([a-z]+)\/([^:]*):([0-9]+):#include "([a-z]+)\/([^"]*)".*/\1 \4 \2:\3 \5/' |
        awk -v floors="$*" '
            BEGIN { n = split(floors, f, " "); for (i = 1; i < n; i += 2) floor[f[i]] = f[i + 1] }
            !($1 in floor) { print "src/" $1 "/" $3 ": module " $1 " stands on no floor: add it to tests/architecture.sh"; next }
            !($2 in floor) { print "src/" $1 "/" $3 ": includes " $2 "/" $4 ", a module that stands on no floor"; next }
            $1 != $2 && floor[$2] >= floor[$1] { print "src/" $1 "/" $3 ": " $1 " (floor " floor[$1] ") includes " $2 "/" $4 " (floor " floor[$2] ")" }'
    owner()
    {
        grep -nrE "^#include <$1>" src --include='*.[ch]' | grep -vE "^src/(($2)/|base/lazy\.c)" | sed "s;\$;: only $2 may include $1;"
    }
    owner 'sqlite3\.h' store
    owner 'libsmartcols(/libsmartcols)?\.h' 'report|cli'
    owner 'systemd/sd-event\.h' 'run|cli'
    owner 'systemd/sd-bus\.h' contain
    owner 'pcre2\.h' pattern
    # A number may be another process's by now; a pidfd, and a child that was not reaped, stay what they were.
    grep -nE '\<kill(pg)?\(' -r src --include='*.[ch]' | grep -vE 'kill\([^()]*(\([^()]*\))?[^()]*, 0\)|not reaped|everybody in the namespace but its init' |
        sed 's;$;: signal a pidfd, or say on the line that the child is "not reaped";'
    # A vendor's variables, prefixes and device files are in its own files (gpu/vendor.h); help names NVIDIA's as an example.
    grep -nE '"(GPU|MIG)-"|"CUDA_(VISIBLE_DEVICES|DEVICE_ORDER)"|nvidiactl"|"/?nvidia"|"nvml-|"TARE_NVML"|\<(nvml_backend|gpu_vendor_nvidia)\>' -r src --include='*.[ch]' |
        grep -vE '^src/(preload/|gpu/(nvidia|nvml|vendor|cuda_load|sensor\.h)|cli/manual\.c)' |
        sed 's;$;: what vendors differ in is in gpu/vendor.h, and in one file a vendor;'
    # Text from outside reaches a terminal, and an output that fails is overlooked, where another place than this one prints.
    grep -nE '(^|[^a-z_])(v?printf|puts|putchar)\(|\<(stdout|stderr)\>' -r src/cli src/ui src/report --include='*.c' |
        grep -vE '^src/(cli/message|report/embed)\.c' | grep -vE '__attribute__|"[^"]*(stdout|stderr)[^"]*"|->(stdout|stderr)' |
        sed 's;$;: only cli/message.c prints;'
)
[ -z "$bad" ] || {
    echo "$bad"
    exit 1
}
