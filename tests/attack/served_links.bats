#!/usr/bin/env bats
# A live page shows the folder that was found, whatever takes its path later: the owner of the results may replace it by a link between two
# of the server's scans.
load ../cli/serve

# finished LOG: a run of one experiment that printed the line.
finished() {
    unset TARE_NVML
    job "echo 'loss 0.5'; echo '$1'"
    settings 1
    tare_run -q
}

@test "a link that replaces a run's folder after the scan leads nowhere" {
    finished 'the secret of another'
    mv results secret
    echo 'the secret of another' >"$(echo secret/run_*)/report.html"
    finished 'what may be seen'
    serve results
    ln -s "$WORK/secret/"run_* link
    client '
import os
path = "/run/%s/%s/1" % (RUN, "%s")
of_report = report_token(RUN)
seen = ask(path % "log").json()["log_end"]
assert "what may be seen" in seen, seen
status("/api/runs") # the scan: the next one is two seconds away
moved = "results/" + RUN
os.rename(moved, "moved")
os.rename("link", moved)
end = time.monotonic() + 3
while time.monotonic() < end: # before the next scan, in it, and after it
    for what in ("log", "experiment"):
        answer = ask(path % what)
        assert b"the secret of another" not in answer.body, answer.body
    answer = ask("/run/%s/report.html" % RUN, token=of_report)
    assert b"the secret" not in answer.body, answer.body
    time.sleep(0.1)
assert status("/api/run/" + RUN) == 404
assert ask("/api/runs").json()["runs"] == []
'
}

@test "another folder in a run's place is a run of its own; what was kept of the first one is gone" {
    finished 'the first'
    mv results first
    finished 'the second'
    second=$(run_dir)
    mv "$second" second
    mv first/run_* "$second"
    serve results
    client '
import os
log = "/run/%s/log/1" % RUN
assert "the first" in ask(log).json()["log_end"]
os.rename("results/" + RUN, "away")
os.rename("second", "results/" + RUN)
end = time.monotonic() + 20
while (answer := ask(log)).status != 200 or "the second" not in answer.json()["log_end"]:
    assert time.monotonic() < end, answer.body
    time.sleep(0.1)
assert [run["run"] for run in ask("/api/runs").json()["runs"]] == [RUN]
'
}
