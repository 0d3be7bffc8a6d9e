#!/usr/bin/env bash
# make check-gpu: the promises on a real NVIDIA GPU, with PyTorch. TARE names the program, PYTHON a Python that has torch (default python3).
# CHECK_GPU: only the tests whose name matches this regular expression. What was measured stands in lines that begin with "# ".
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || { echo "There is no NVIDIA GPU here (nvidia-smi -L lists none): make check-gpu needs one; make check needs none." >&2; exit 1; }
command -v bats >/dev/null || { echo "bats is missing: 'make setup FOR=check' installs it." >&2; exit 1; }
TARE=${TARE:-$(realpath -m "${BUILD:-$here/build}")/src/cli/tare}
export TARE
meter=${BUILD:-$here/build}/bench/bench_meter # what the meter of GPU 0 costs
if [ -x "$meter" ]; then "$meter" "$TARE" '' 0 10; fi
exec bats --formatter tap ${CHECK_GPU:+--filter "$CHECK_GPU"} "$here/tests/gpu/gpu.bats"
