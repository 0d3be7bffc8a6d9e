#!/bin/bash
# Options: -r, --rate RATE; -q, --quiet. There is no --help.
rate=0.5 quiet=no
words=$(getopt -o r:q -l rate:,quiet -n train.sh -- "$@") || exit 2
eval set -- "$words"
while [ "$1" != -- ]; do
    case $1 in
    -r | --rate) rate=$2; shift ;;
    -q | --quiet) quiet=yes ;;
    esac
    shift
done
shift
python3 "$(dirname "$0")/dump_shell.py" "$$" "$0" "rate=$rate" "quiet=$quiet" "rest=$*"
