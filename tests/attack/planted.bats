# What one training puts where the next one's files belong, where no mount namespace keeps it from that (tests/attack/readonly.bats).

load ../cli/runs

# plant COMMANDS: the first of two trainings runs them with $RUN, the run's folder, and $NEXT, the folder of the next experiment; both
# print a loss.
plant() {
    job "RUN=\$TARE_RUN_DIR NEXT=\$TARE_RUN_DIR/repo_net_002
if [ \"\$TARE_EXPERIMENT\" = repo_net_001 ]; then
$1
fi
echo loss 0.5"
    settings 2
}

both_succeeded() { is "$(summary training_success)" $'True\nTrue'; }

@test "FIFOs where the files of the next experiment belong hold nobody" {
    plant 'mkdir -p $NEXT/energy
for file in training.log training_times.csv log_times.csv experiment.json energy/gpu.csv energy/cpu.csv energy/marks.csv; do mkfifo $NEXT/$file; done'
    run timeout 60 "$TARE" run settings.json -c registry.json -o results --containment sweep
    is "$status" 0
    is "$(cat "$(run_dir)/repo_net_002/training.log")" "loss 0.5"
}

@test "a link or a second name of somebody's file is replaced, and the file stays as it was" {
    echo precious >precious
    plant "mkdir -p \$NEXT; ln -s $WORK/precious \$NEXT/training.log; ln $WORK/precious \$NEXT/experiment.json"
    run timeout 60 "$TARE" run settings.json -c registry.json -o results --containment sweep
    is "$status" 0
    is "$(cat precious)" precious
    is "$(cat "$(run_dir)/repo_net_002/training.log")" "loss 0.5"
    rm -rf results
    plant "mkdir -p \$NEXT; ln $WORK/precious \$NEXT/training.log"
    run timeout 60 "$TARE" run settings.json -c registry.json -o results --containment sweep
    is "$status" 0
    is "$(cat precious)" precious
    is "$(cat "$(run_dir)/repo_net_002/training.log")" "loss 0.5"
}
