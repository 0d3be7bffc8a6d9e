# Times are those of the clock where a run was measured, with its offset from UTC, whoever reads them and wherever. Zones are
# written as POSIX has them, so that none needs a file: CST-8 is 8 hours ahead of UTC, EST5EDT behind it.
bats_require_minimum_version 1.5.0
load runs
load page

elsewhere() { TZ=EST5EDT "$@"; }

# times: what every file and command says of every experiment's end, against run.db's nanoseconds; OFFSETS is Python: a function
# of seconds since 1970 that gives the minutes ahead of UTC. Leaves the exported table in experiments.csv, the audit in audit.json.
times() {
    elsewhere "$TARE" export "$(run_dir)" > experiments.csv
    elsewhere "$TARE" audit "$(run_dir)" --json > audit.json
    python3 - "$(run_dir)" "$1" <<'END'
import csv, datetime, json, sqlite3, sys
top, offset = sys.argv[1], eval(sys.argv[2])
def local(ns):
    minutes = offset(ns // 10**9)
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=ns // 1000, minutes=minutes)
    return moment.isoformat(timespec="microseconds"), f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
summary = list(csv.DictReader(open(top + "/summary.csv", newline="")))
exported = list(csv.DictReader(open("experiments.csv", newline="")))
audited = json.load(open("audit.json"))["experiments"]
with sqlite3.connect(top + "/run.db") as db:
    ended = db.execute("SELECT p.id, e.ended_realtime_ns FROM experiments e JOIN plan p USING (number) ORDER BY number").fetchall()
assert len(ended) == len(summary) == len(exported) == len(audited)
for (name, ns), row, table, judged in zip(ended, summary, exported, audited):
    time, zone = local(ns)
    assert (row["timestamp"], row["utc_offset"]) == (time, zone), (row["timestamp"], row["utc_offset"], time, zone)
    assert (table["ended"], table["utc_offset"]) == (time, zone), (table["ended"], table["utc_offset"], time, zone)
    assert (judged["ended"], judged["utc_offset_s"]) == (time, 60 * offset(ns // 10**9)), judged["ended"]
    written = json.load(open(f"{top}/{name}/experiment.json"))
    assert (written["timestamp"], written["tare"]["utc_offset"]) == (time, zone), written["timestamp"]
    for key in ("started", "ended"):
        stamp = written["tare"]["attempts"][-1][key]
        assert stamp[-6:] in {local(ns)[1], local(int(datetime.datetime.fromisoformat(stamp).timestamp()) * 10**9)[1]}, stamp
for line in open(top + "/events.jsonl"):
    event = json.loads(line)
    assert event["time"] == "".join(local(event["realtime_ns"])), (event["time"], local(event["realtime_ns"]))
END
}

@test "a run is read in its own zone, wherever its reader is" {
    job 'echo "loss 0.5"'
    settings 2
    TZ=CST-8 tare_run > out
    times 'lambda s: 480'
    elsewhere "$TARE" audit "$(run_dir)" > audit.txt
    grep -q 'times in UTC+08:00' audit.txt
    grep -q "^$(head -n 2 experiments.csv | tail -n 1 | cut -d, -f6 | cut -c1-13 | tr T ' '):00 " audit.txt
    python3 -c '
import json, sys
zone = json.load(open(sys.argv[1] + "/machine.json"))["zone"]
assert zone["name"] == "CST-8" and [offset for _, offset in zone["offsets"]] == [28800], zone' "$(run_dir)"
}

@test "the page shows the run's times, whatever zone its reader's browser is in" {
    job 'echo "loss 0.5"'
    settings 2
    TZ=CST-8 tare_run > out
    elsewhere "$TARE" report "$(run_dir)" -o report.html --lang en > /dev/null
    started=$(python3 - "$(run_dir)" <<'END'
import datetime, sqlite3, sys
with sqlite3.connect(sys.argv[1] + "/run.db") as db:
    (ns,) = db.execute("SELECT started_realtime_ns FROM attempts WHERE experiment = 1").fetchone()
print((datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=ns // 10**6, hours=8)).isoformat(" ", "seconds"))
END
    )
    page zone "UTC+08:00" "$started"
}

@test "a change to summer time within a run is seen in each experiment's offset" {
    # The clocks are put forward an hour, some seconds after the run began; its second experiment waits for that.
    read -r change zone < <(python3 -c '
import time
change = int(time.time()) + 6
local = time.gmtime(change + 3600)
day = local.tm_yday - 1
print(change, f"AAA-1BBB-2,{day}/{local.tm_hour}:{local.tm_min:02}:{local.tm_sec:02},{(day + 180) % 365}/0")')
    job "[ \$2 = 1 ] || until [ \$(date +%s) -gt $change ]; do sleep 0.2; done; echo loss 0.5"
    registry
    python3 - <<'END'
import json
json.dump({"mode": "default", "max_retries": 0, "experiments": [{"repo": "repo", "model": "net", "hyperparameters": {"n": n}} for n in (1, 2)],
           "tare": {"timing": {"between_runs": 0, "between_configurations": 0}}}, open("settings.json", "w"))
END
    TZ=$zone tare_run > out
    times "lambda s: 120 if s >= $change else 60"
    [ "$(summary utc_offset | tail -n 1)" = +02:00 ]
    elsewhere "$TARE" report "$(run_dir)" -o report.html --lang en > /dev/null
    from=$(date -u -d "@$((change + 7200))" '+%F %T')
    [ "$(summary utc_offset | head -n 1)" = +02:00 ] || page zone "UTC+01:00, UTC+02:00 from $from" ""
}

@test "a run that is gone on with in another zone keeps each experiment's own" {
    job "[ \$2 = 1 ] || [ -e '$WORK/go' ] || { touch '$WORK/there'; sleep 60; }; echo loss 0.5"
    registry
    python3 - <<'END'
import json
json.dump({"mode": "default", "max_retries": 0, "experiments": [{"repo": "repo", "model": "net", "hyperparameters": {"n": n}} for n in (1, 2)],
           "tare": {"timing": {"between_runs": 0, "between_configurations": 0, "stop_grace": 1}}}, open("settings.json", "w"))
END
    export TZ=CST-8
    start_run
    wait_until test -e there
    kill -INT "$PID"
    end_program
    touch go
    middle=$(date +%s)
    sleep 1.1
    TZ=IST-5:30 "$TARE" run --resume "$(run_dir)" > out 2>&1
    unset TZ
    times "lambda s: 330 if s > $middle else 480"
    [ "$(summary utc_offset | tr '\n' ' ')" = "+08:00 +05:30 " ]
    elsewhere "$TARE" audit "$(run_dir)" | grep -q 'times in UTC+08:00 and UTC+05:30'
    elsewhere "$TARE" report "$(run_dir)" -o report.html --lang en > /dev/null
    page zone "UTC+08:00" "" "its sessions were in several zones: all times in this one"
}

@test "of a run that recorded no zone the times are UTC, and that is said" {
    job 'echo "loss 0.5"'
    settings 1
    TZ=CST-8 tare_run > out
    python3 - "$(run_dir)" <<'END'
import sqlite3, sys
with sqlite3.connect(sys.argv[1] + "/run.db") as db:
    assert db.execute("DELETE FROM meta WHERE key LIKE 'zone.%'").rowcount == 1
END
    elsewhere "$TARE" export "$(run_dir)" > experiments.csv
    python3 - "$(run_dir)" <<'END'
import csv, datetime, sqlite3, sys
with sqlite3.connect(sys.argv[1] + "/run.db") as db:
    (ns,) = db.execute("SELECT ended_realtime_ns FROM experiments").fetchone()
(row,) = csv.DictReader(open("experiments.csv", newline=""))
assert row["ended"] == (datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=ns // 1000)).isoformat(timespec="microseconds"), row["ended"]
assert row["utc_offset"] == "", row
END
    elsewhere "$TARE" audit "$(run_dir)" | grep -q 'times in UTC, as its zone was not recorded'
    elsewhere "$TARE" report "$(run_dir)" -o report.html --lang en > /dev/null
    page zone "UTC (the run did not record its zone)" ""
}
