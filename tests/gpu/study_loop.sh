#!/bin/bash
# The usual way: nvidia-smi once a second, a line a sample. usage: study_loop.sh FILE SAMPLES
for ((i = 0; i < $2; i++)); do
    now=$(date +%s)
    power=$(nvidia-smi --query-gpu=power.draw --format=csv,noheader,nounits -i 0)
    echo "$now,$power" >>"$1"
    sleep 1
done
