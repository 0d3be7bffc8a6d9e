#!/usr/bin/env bats
# The live pages in a browser.
load serve

@test "both pages fit a telephone and a screen, say nothing to the console, ask nothing of others, and have one stream" {
    under_way
    serve results
    live_page quiet
}

@test "a run is followed: its slot, power, log and rows change as it goes on, and what runs is never clean" {
    under_way
    serve results
    live_page follows "$WORK/go"
    end_program
}

@test "the table can be walked and an experiment opened by keys alone" {
    under_way
    serve results
    live_page keys
}

@test "a page comes back by itself when the server is started again, and goes on where it was" {
    need_browser
    under_way
    serve results
    port=$(port_of_url)
    live_page reconnect "$(children_of "$SERVER" "$NAME" | head -n 1)" "$WORK/lost" &
    looks=$!
    wait_until test -e lost
    serve results --port "$port"
    wait "$looks"
}

@test "a hidden tab has no stream, and goes on behind what it saw when it is shown" {
    under_way
    serve results
    live_page hidden
}

@test "ten thousand experiments are painted within three seconds and can be searched, sorted and walked" {
    made_up 10000
    serve results
    live_page many 10000
}

@test "names of a run, an experiment, a metric and a log that would be elements or scripts are text" {
    hostile='<img src=x onerror=window.hacked=1><script>window.hacked=1</script>'
    made_up 3
    python3 - "$(run_dir)" "$hostile" <<'END'
import json, sqlite3, sys
run, name = sys.argv[1:]
db = sqlite3.connect(run + "/run.db")
for number, text in db.execute("SELECT number, json FROM plan").fetchall():
    plan = json.loads(text)
    plan["foreground"]["metrics"][0]["name"] = name
    db.execute("UPDATE plan SET json = ? WHERE number = ?", (json.dumps(plan), number))
db.execute("INSERT OR REPLACE INTO experiments (number, state, outcome, attempts, retries, duration_s, error, started_realtime_ns, ended_realtime_ns, files_written, result_attempt)"
           " VALUES (2, 'done', 'failed', 1, 0, 3, ?, 1, 2, 1, 1)", (name,))
db.execute("INSERT OR REPLACE INTO experiment_metrics (experiment, name, value) VALUES (2, ?, 1.5)", (name,))
db.commit()
END
    echo "$hostile" >>"$(run_dir)/repo_net_001/training.log"
    mv "$(run_dir)" "results/<img src=x onerror=window.hacked=1>"
    serve results
    RUN='<img src=x onerror=window.hacked=1>'
    live_page hostile
}

@test "a page whose token was replaced says so" {
    need_browser
    mkdir results
    serve results
    port=$(port_of_url)
    live_page denied "$(children_of "$SERVER" "$NAME" | head -n 1)" "$WORK/lost" &
    looks=$!
    wait_until test -e lost
    serve results --port "$port" --new-token
    wait "$looks"
}

@test "the links of the pages lead to a run, its report and back, each with a token, and no cookie is set" {
    under_way
    touch go
    end_program
    serve results
    live_page walks
}
