#!/bin/sh
# Writes what the program says of itself into files: said.sh PROGRAM FOLDER "FILE WORD..."...
set -eu
program=$1 folder=$2
shift 2
for row; do
    file=${row%% *}
    # shellcheck disable=SC2086 # the words of the row
    "$program" ${row#* } >"$folder/$file"
done
