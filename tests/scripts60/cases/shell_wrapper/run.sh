#!/bin/sh
export OMP_NUM_THREADS=1
exec python3 "$(dirname "$0")/train.py" --epochs 4 "$@"
