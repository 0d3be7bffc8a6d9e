#!/usr/bin/env bash
set -eu
lr=0.5 name=base fp16=no
while [ $# -gt 0 ]; do
    case $1 in
    --help)
        echo "usage: $0 [--lr RATE] [--name NAME] [--fp16]"
        echo "  --lr RATE    learning rate (default: 0.1)"
        echo "  --name NAME  name of the run (default: run)"
        exit 0
        ;;
    --lr) lr=$2; shift ;;
    --lr=*) lr=${1#*=} ;;
    --name) name=$2; shift ;;
    --fp16) fp16=yes ;;
    --) shift; break ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
    esac
    shift
done
python3 "$(dirname "$0")/dump_shell.py" "$$" "$0" "lr=$lr" "name=$name" "fp16=$fp16" "rest=$*"
