#!/usr/bin/env bats
# Models whose GPU memory is counted in their own process: stand-ins for both of NVIDIA's libraries, one that tells
# what it is told (tests/fake), one that allocates (tests/fake/cuda). Training is python, without any framework.

load energy

GIB=1073741824

# As the stand-in for the CUDA driver has it.
uuid() { printf 'GPU-7f000000-0000-0000-0000-%012x' "$1"; }

# toy BODY: a GPU of 8 GiB, and a model "net" whose training is BODY, python lines that may use: alloc(LIBRARY, MIB)
# gives a block, free(LIBRARY, BLOCK), told(MIB): so much the driver tells of this process; looked(TIMES): the run has
# read that so often.
toy() {
    BUILT=$(cd "$(dirname "$TARE")/../.." && pwd)
    export LD_LIBRARY_PATH=$BUILT/tests/fake/cuda
    [ -e "$LD_LIBRARY_PATH/libcuda.so.1" ] || skip "the stand-in for the CUDA driver is not built"
    mkdir -p repo users
    scenario 1 "memory_total $((8 * GIB))
memory_reserved 0
uuid $(uuid 0)
users $WORK/users"
    cat >repo/train.py <<END
import ctypes, os, sys, time
users = "$WORK/users/"
rows_file = "{TARE_RUN_DIR}/{TARE_EXPERIMENT}/energy/gpu.csv".format(**os.environ)

def rows():
    return sum(1 for line in open(rows_file)) if os.path.exists(rows_file) else 0

def looked(times):
    until, end = rows() + times, time.monotonic() + 60
    while rows() < until and time.monotonic() < end:
        time.sleep(0.1)

def told(mib):
    with open(users + "new", "w") as file:
        file.write(f"0 {mib << 20} 30\n")
    os.rename(users + "new", users + str(os.getpid()))

def cuda():
    library = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert library.cuInit(0) == 0 and library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library.cuCtxSetCurrent(context) == 0
    return library

def alloc(library, mib):
    block = ctypes.c_uint64()
    assert library.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(mib << 20)) == 0
    return block

def free(library, block):
    assert library.cuMemFree_v2(block) == 0

$1
print("accuracy: 0.5")
os.unlink(users + str(os.getpid()))
END
    cat >registry.json <<'END'
{"models": {"toy": {"path": "repo", "train_script": "train.py", "python": "python3", "models": ["net"],
  "model_flag": "--model",
  "supported_hyperparams": {"epochs": {"flag": "--epochs", "type": "int", "default": 20, "range": [1, 500]},
                            "seed": {"flag": "--seed", "type": "int", "default": 1, "range": [0, 9]}},
  "performance_metrics": {"log_patterns": {"accuracy": "accuracy: ([0-9.]+)"}}}}}
END
    cat >settings.json <<END
{"mode": "parallel", "max_retries": 0, "seed": 7, "experiments": [
  {"foreground": {"repo": "toy", "model": "net", "mode": "default", "hyperparameters": {"seed": 1}${2:+, $2}},
   "background": {"repo": "toy", "model": "net", "hyperparameters": {"seed": 1}${2:+, $2}}}],
 "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 20},
  "parallel": {"wait": 0.5, "hold": 0.5, "limit": 100, "restart_delay": 0}, "preflight": {"baseline": 0}}}
END
}

study() {
    "$TARE" feasibility settings.json -c registry.json -o results --containment sweep --predict-only "$@" >out 2>err ||
        { cat out err; return 1; }
}

# told FOLDER PYTHON: "model" is the one model, "pair" the one pair of the newest study below FOLDER.
told() {
    python3 - "$1" <<END
import glob, json, sys
folder = sorted(glob.glob(sys.argv[1] + "/feasibility_*"))[-1]
study = json.load(open(folder + "/feasibility.json"))
GIB, MIB = 1 << 30, 1 << 20
model, pair = study["models"][0], study["pairs"][0]
$2
END
}

# 1 GiB and a context of 300 MiB, which the driver tells; 4 GiB more for a moment that no sample sees.
SPIKE='library = cuda()
first = alloc(library, 1024)
told(1324)
looked(4)
free(library, alloc(library, 4096))
looked(4)'

@test "a peak that no sample sees is in the prediction, to the byte, and the report says how it is known" {
    toy "$SPIKE"
    study
    told results '
assert model["memory_source"] == "counted", model
# 1 GiB, 4 GiB and the context together.
assert model["peak_bytes"] == 5 * GIB + 300 * MIB and model["context_bytes"] == 300 * MIB, model
assert model["steady_bytes"] == GIB + 300 * MIB, model
# 1 %: the peak is known, whatever comes and goes between two looks.
assert model["margin_bytes"] == (5 * GIB + 300 * MIB) // 100, model
assert pair["predicted"]["safe_bytes"] == 2 * (5 * GIB + 300 * MIB) and not pair["predicted"]["fits"], pair'
    grep -q '^net .* 300.00 MiB .* counted ' out
    grep -q '^counted: in the program, to the byte' out
    head -n 2 "$(echo results/feasibility_*)/feasibility.csv" | cut -d, -f5,6 | paste -sd' ' >sources
    is "$(cat sources)" "foreground_memory_source,background_memory_source counted,counted"
    # What was measured is not measured again, by a study of more pairs for another GPU.
    study --alone results/feasibility_* --gpu-memory 12GiB
    grep -q '^1 of 1 models were measured before$' out
    [ "$(echo results/feasibility_*/alone/run_* | wc -w)" -eq 1 ]
    told results '
assert model["peak_bytes"] == 5 * GIB + 300 * MIB and model["memory_source"] == "counted", model
assert study["gpu"]["available_bytes"] == 12 * GIB and pair["predicted"]["fits"], study["gpu"]'
}

@test "without counting the driver's samples stand, and miss it" {
    toy "$SPIKE"
    study --no-track-gpu-memory
    told results '
assert model["memory_source"] == "job" and model["peak_bytes"] == 1324 * MIB and model["context_bytes"] is None, model
assert pair["predicted"]["safe_bytes"] == 2 * 1324 * MIB and pair["predicted"]["fits"], pair'
    rm -rf results
    TARE_CUDA_LIBRARY=$WORK/none study
    grep -q "none is not there: peaks are those of the driver's samples" err
    told results 'assert model["memory_source"] == "job", model'
}

@test "of several processes the books do not tell the sum: the peak has what one of them held, and its context" {
    toy 'told(1324)
if os.fork() == 0:
    library = cuda()
    alloc(library, 512)
    os._exit(0)
os.wait()
'"$SPIKE"
    study
    told results '
# One process held 5 GiB, and its context has 300 MiB, of which no sample showed more than 1324 MiB.
assert model["memory_source"] == "job" and model["peak_bytes"] == 5 * GIB + 300 * MIB, model
assert pair["predicted"]["safe_bytes"] >= 2 * (5 * GIB + 300 * MIB), pair'
}

@test "a limit of the settings holds in the study, too, and is kept apart" {
    # The context takes 512 MiB of the 3 GiB at first, as nobody tells of it in the process.
    toy 'library = cuda()
first = alloc(library, 1024)
told(1324)
looked(4)
block = ctypes.c_uint64()
assert library.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(2048 << 20)) == 2
looked(2)' '"gpu_memory_limit": "3GiB"'
    study
    told results '
assert model["succeeded"] and model["memory_source"] == "counted" and model["peak_bytes"] == 1324 * MIB, model'
    sed -i 's/3GiB/6GiB/g' settings.json
    "$TARE" feasibility settings.json -c registry.json -o results --containment sweep --predict-only --quiet \
        --alone results/feasibility_* >out 2>err || true
    # The same model under another limit is another: it ran, and failed as it now gets what it was refused.
    told results 'assert not model["succeeded"] and model["ran"], model'
}

@test "a study that measured nothing, or is none, is named before anything is written" {
    toy "$SPIKE"
    mkdir -p none
    run "$TARE" feasibility settings.json -c registry.json -o results --alone none
    [ "$status" -eq 2 ]
    [[ "$output" == *"measured.json"* ]]
    [ ! -e results ]
}
