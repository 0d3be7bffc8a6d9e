#!/bin/sh
# make demo: runs the quickstart with the program just built, and says where the results are.
set -eu
build=${BUILD:-build}
program=$(find "$build/src/cli" -maxdepth 1 -type f -perm -u+x | head -n 1)
echo "\$ $program run examples/quickstart.json -c examples/registry.json"
"$program" run examples/quickstart.json -c examples/registry.json
run=$(find results -maxdepth 1 -name 'run_*' | sort | tail -n 1)
cat <<END

Your results are in $run:
  report.html                  the run as a page: open it in a browser
  summary.csv                  one row an experiment
  <experiment>/experiment.json everything about one
  <experiment>/training.log    what it printed
Next: README.md, "Your own trainings".
END
