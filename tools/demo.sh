#!/bin/sh
# make demo: runs the quickstart with the program just built, and says where the results are and what to ask of them.
set -eu
build=${BUILD:-build}
program=$(find "$build/src/cli" -maxdepth 1 -type f -perm -u+x | head -n 1)
name=$(basename "$program")
echo "\$ $program run examples/quickstart.json -c examples/registry.json"
"$program" run examples/quickstart.json -c examples/registry.json
run=$(find results -maxdepth 1 -name 'run_*' | sort | tail -n 1)
cat <<END

Your results are in $run:
  report.html                  the run as a page: open it in a browser
  summary.csv                  one row an experiment
  <experiment>/experiment.json everything about one
  <experiment>/training.log    what it printed

Ask them, and your machine:
END
hint()
{
    printf '  %-58s # %s\n' "$1" "$2"
}
hint "export PATH=\"$(realpath "$(dirname "$program")"):\$PATH\"" "or: make install"
hint "$name stats $run" "means with intervals, and what moves them"
hint "$name audit $run" "which rows passed all checks, and why others did not"
hint "$name doctor" "what this machine can measure"
hint "$name exec --energy -- sleep 2" "what one command draws and uses"
hint "$name bench -n 5 'sleep 0.1' 'sleep 0.11'" "one command against another"
echo 'Then your own trainings: docs/tutorial.md.'
