#!/bin/sh
# The floors of ARCHITECTURE.md, checked from the include lines: an include points down only, siblings never include each other, and
# what belongs to one module alone (sqlite3.h: results/store, libsmartcols.h: report and what stands above it, sd-event.h: run) stays there.
cd "$(dirname "$0")/.." || exit 1
floors='
base 0
base/pattern 1
stats 1
gpu_memory/oom 1
gpu_memory/allocator 1
gpu_memory/preload 1
machine/contain 1
machine/gpu 1
plan/mutate 1
machine/state 2
machine/sensors 2
plan/config 2
run/log 2
machine/governor 3
measure/energy 3
measure/marks 3
plan 3
measure/calibration 4
measure/guard 4
measure 5
results 5
results/store 6
run/environment 7
run 8
results/judge 7
slurm 7
sharing 7
report/live 8
report 8
report/watch 9
session 10
serve 10
doctor 11
cli 12
'
# shellcheck disable=SC2086
set -- $floors
bad=$(
    grep -nE '^#include "[a-z_]+/' -r src --include='*.[ch]' |
        sed -E 's/^src\/([a-z_/]+)\/([^/:]*):([0-9]+):#include "([a-z_/]+)\/([^/"]*)".*/\1 \4 \2:\3 \5/; s/\<run\/observers /run /g' |
        awk -v floors="$*" '
            BEGIN { n = split(floors, f, " "); for (i = 1; i < n; i += 2) floor[f[i]] = f[i + 1] }
            !($1 in floor) { print "src/" $1 "/" $3 ": module " $1 " stands on no floor: add it to tests/architecture.sh"; next }
            !($2 in floor) { print "src/" $1 "/" $3 ": includes " $2 "/" $4 ", a module that stands on no floor"; next }
            $1 != $2 && floor[$2] >= floor[$1] { print "src/" $1 "/" $3 ": " $1 " (floor " floor[$1] ") includes " $2 "/" $4 " (floor " floor[$2] ")" }'
    owner()
    {
        grep -nrE "^#include <$1>" src --include='*.[ch]' | grep -vE "^src/($2)/" | sed "s;\$;: only $2 may include $1;"
    }
    owner 'sqlite3\.h' results/store
    owner 'libsmartcols(/libsmartcols)?\.h' 'report|session|doctor|cli'
    owner 'systemd/sd-event\.h' 'run|run/observers|session|cli'
    owner 'systemd/sd-bus\.h' machine/contain
    owner 'pcre2\.h' base/pattern
    owner 'curses\.h' session
    owner 'yaml\.h' base
    owner 'microhttpd\.h' serve
    # A number may be another process's by now; a pidfd, and a child that was not reaped, stay what they were.
    grep -nE '\<kill(pg)?\(' -r src --include='*.[ch]' | grep -vE 'kill\([^()]*(\([^()]*\))?[^()]*, 0\)|not reaped|everybody in the namespace but its init' |
        sed 's;$;: signal a pidfd, or say on the line that the child is "not reaped";'
    # A vendor's variables, prefixes and device files are in its own files (machine/gpu/vendor.h); help names NVIDIA's as an example.
    grep -nE '"(GPU|MIG)-"|"CUDA_(VISIBLE_DEVICES|DEVICE_ORDER)"|nvidiactl"|"/?nvidia"|"nvml-|"TARE_NVML"|\<(nvml_backend|gpu_vendor_nvidia)\>' -r src --include='*.[ch]' |
        grep -vE '^src/(gpu_memory/preload/|machine/gpu/(nvidia|nvml|vendor|cuda_load|sensor\.h)|cli/manual\.c)' |
        sed 's;$;: what vendors differ in is in machine/gpu/vendor.h, and in one file a vendor;'
    # Text from outside reaches a terminal, and an output that fails is overlooked, where another place than this one prints.
    grep -nE '(^|[^a-z_])(v?printf|puts|putchar)\(|\<(stdout|stderr)\>' -r src/cli src/doctor src/session src/serve src/report --include='*.c' |
        grep -vE '^src/(session/message|report/embed)\.c' | grep -vE '__attribute__|"[^"]*(stdout|stderr)[^"]*"|->(stdout|stderr)' |
        sed 's;$;: only session/message.c prints;'
    # bash's set -e ignores a command behind '!': as a line of its own it fails no test, unless it is the last one.
    grep -rnE '^[[:space:]]*! ' tests --include='*.bats' --include='*.bash' | grep -vE '\|\||&&' |
        sed "s;\$;: this line fails no test: write 'if COMMAND\; then false\; fi', or 'run ! COMMAND';"
    # What is in no list is never called, and no compiler says so.
    sed -nE 's/^const struct observer (\w+) = .*/\1/p' src/run/*.c src/run/observers/*.c | while read -r observer; do
        grep -qE "^ +&$observer," src/run/observers.c || echo "src/run: $observer has no row in observers.c"
    done
    # Phases, the table of experiment.c and the reader's tour of ARCHITECTURE.md are in the same order, and each file is entered where
    # the tour says; a reader returns to a file that was left at most 15 times.
    table=$(sed -nE 's/^    \[PHASE_([A-Z_]+)\] *= *\{(\w+),.*/\1 \2/p' src/run/experiment.c)
    # shellcheck disable=SC2016 # backquotes of Markdown
    tour=$(sed -nE 's/^\| ([A-Z_]+) \| `?([a-z_/.]*)`? ?\| `?(\w*)`? ?\|.*/\1 \3 \2/p' ARCHITECTURE.md)
    phases=$(sed -nE 's/^ +PHASE_([A-Z_]+).*/\1/p' src/run/phases.h | grep -v NONE)
    [ "$(echo "$table" | cut -d' ' -f1)" = "$phases" ] || echo "src/run: phases.h and the table of experiment.c differ"
    [ "$(echo "$tour" | awk '{ print $1, NF == 3 ? $2 : "NULL" }')" = "$table" ] || echo "ARCHITECTURE.md: the tour is not the table of experiment.c"
    echo "$tour" | awk 'NF == 3' | while read -r phase function file; do
        grep -qE "^(static )?void $function\(" "src/$file" || echo "ARCHITECTURE.md: $phase: $function is not in src/$file"
    done
    echo "$tour" | awk 'NF == 3 && $3 != last { returns += $3 in left; if (last) left[last]; last = $3 }
        END { if (returns > 15) print "ARCHITECTURE.md: the tour returns to a file " returns " times; at most 15" }'
)
[ -z "$bad" ] || {
    echo "$bad"
    exit 1
}
