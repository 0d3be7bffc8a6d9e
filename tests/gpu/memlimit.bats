#!/usr/bin/env bats
# libtare-cuda.so on a real GPU: what it counts and what it holds (memlimit.py says how each is measured). BATS shows what failed; all
# that was measured stands in lines that begin with "# ".

bats_require_minimum_version 1.5.0
ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

setup() {
    PYTHON=$(command -v "${PYTHON:-python3}")
    TARE=${TARE:-${BUILD:-$ROOT/build}/src/cli/tare}
    command -v nvidia-smi >/dev/null || skip "there is no NVIDIA driver here"
}

# One test of memlimit.py; 77: this machine lacks something.
measured() {
    run "$PYTHON" "$ROOT/tests/gpu/memlimit.py" "$@"
    echo "$output" | grep '^#' >&3 || true
    echo "$output"
    [ "$status" -ne 77 ] || skip "$(echo "$output" | grep '^SKIP' | head -1)"
    [ "$status" -eq 0 ]
}

@test "plain, pitched, managed and array memory is counted byte for byte, and held as NVML says" { measured plain kinds; }
@test "virtual memory counts until its last handle and its last mapping are gone" { measured virtual; }
@test "memory of streams and pools is counted, and what pools keep" { measured async streams; }
@test "PyTorch's native allocator is followed to the byte" { measured torch; }
@test "PyTorch on cudaMallocAsync is followed" { measured torch_async; }
@test "PyTorch's expandable segments are followed to the byte" { measured torch_expandable; }
@test "JAX is followed" { measured jax; }
@test "CuPy is followed to the byte" { measured cupy; }
@test "a plain program never exceeds its limit, and nearly reaches it" { measured limit_plain; }
@test "eight threads together never exceed the limit" { measured limit_threads; }
@test "processes of one job share the limit" { measured limit_children; }
@test "a forked child is held to the limit, and knows nothing of its parent's memory" { measured limit_fork; }
@test "what killed processes had is free, and adds to no peak" { measured limit_dead; }
@test "a process at its limit of open files is held to the limit" { measured limit_files; }
@test "cuCtxCreate is followed in each of its versions" { measured abis; }
@test "a request that the driver refuses raises no peak" { measured refused; }
@test "PyTorch never exceeds its limit, and nearly reaches it" { measured limit_torch; }
@test "PyTorch on cudaMallocAsync never exceeds its limit" { measured limit_torch_async; }
@test "PyTorch's expandable segments never exceed the limit" { measured limit_torch_expandable; }
@test "JAX never exceeds its limit" { measured limit_jax; }
@test "CuPy never exceeds its limit" { measured limit_cupy; }
@test "an allocation-heavy loop slows down by less than 5 %" { measured cost_loop; }
@test "so does a PyTorch loop of nothing but tensors, on cudaMallocAsync" { measured cost_torch_loop; }
@test "a training step slows down by less than 0.2 %" { measured cost_step; }

@test "exec holds a PyTorch program to its limit and tells its peak" {
    [ -x "$TARE" ] || skip "no $TARE"
    "$TARE" --version >/dev/null || skip "$TARE does not run here"
    "$PYTHON" -c 'import torch' || skip "no torch"
    cd "$BATS_TEST_TMPDIR" || return 1
    export XDG_STATE_HOME=$PWD/state
    "$TARE" exec --gpu-memory-limit 5GiB --json out.json -- "$PYTHON" -c '
import torch
kept = []
try:
    while True: kept.append(torch.empty(256 << 20, dtype=torch.uint8, device="cuda").fill_(1))
except torch.cuda.OutOfMemoryError: print("held", len(kept), torch.cuda.mem_get_info())
'
    cat out.json
    "$PYTHON" -c '
import json
gpu = json.load(open("out.json"))["gpu_memory"]["gpus"][0]
assert gpu["limit_bytes"] == 5 << 30 and gpu["refused"] > 0 and gpu["over_limit_bytes"] == 0, gpu
assert 4 << 30 < gpu["footprint_peak_bytes"] <= 5 << 30, gpu
assert gpu["context_source"] == "driver", gpu'
}
