#!/bin/bash
# On a machine with an NVIDIA GPU: every reading of every GPU once, with what it costs, and what the meter of one
# costs over time.
# usage: nvml_probe.sh [SECONDS [DEVICE]]      (default 20, GPU 0)      BUILD=FOLDER: the build folder (default build)
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(realpath -m "${BUILD:-$here/build}")
"$build/src/cli/tare" meter --probe || exit
echo
echo "The meter of GPU ${2:-0} for ${1:-20} s:"
"$build/bench/bench_meter" "$build/src/cli/tare" '' "${2:-0}" "${1:-20}"
