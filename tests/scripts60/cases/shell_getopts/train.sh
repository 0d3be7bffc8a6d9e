#!/bin/sh
# usage: train.sh [-l RATE] [-e EPOCHS] [-v] FILE
rate=0.5
epochs=3
verbose=no
while getopts l:e:v option; do
    case $option in
    l) rate=$OPTARG ;;
    e) epochs=$OPTARG ;;
    v) verbose=yes ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
python3 "$(dirname "$0")/dump_shell.py" "$$" "$0" \
    "rate=$rate" "epochs=$epochs" "verbose=$verbose" "file=$1"
