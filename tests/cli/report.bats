#!/usr/bin/env bats
# The page of a run: made from what the run left, and looked at in a browser.

load energy
load page

# Three experiments of known power; the second fails.
three() {
    scenario 1 'step 0 150
step 1500 600
step 2500 250'
    job "${1:-for epoch in 1 2 3; do echo \"epoch \$epoch\"; sleep 0.7; done; echo \"loss 0.5\"}
[ \"\$(basename \"\$PWD\")\" != repo ] || [ ! -e second ] || { rm second; exit 1; }
[ -e first ] || { touch first second; }"
    registry '"marks": {"epoch": "^epoch ([0-9]+)"}'
    settings 3
    tare_run >out || true
    cp "$(run_dir)/report.html" report.html
}

@test "a run ends with report.html, which says how many can be believed" {
    three 'echo "loss 0.5"'
    grep -q "^report: results/run_.*/report.html$" out
    # As it is and nothing else: no address of the network but in uPlot's licence line.
    is "$(grep -oE 'https?://[a-z0-9.]+' report.html | sort -u | grep -vE 'github.com|www.w3.org' || true)" ""
    page quiet
}

@test "the report of a finished run changes no other byte of it" {
    three 'echo "loss 0.5"'
    (cd "$(run_dir)" && find . -type f ! -name report.html -exec sha256sum {} + | sort) >before
    "$TARE" report "$(run_dir)" >out
    is "$(cat out)" "$(run_dir)/report.html"
    "$TARE" report "$(run_dir)" -o other.html >out
    is "$(cat out)" "other.html"
    (cd "$(run_dir)" && find . -type f ! -name report.html -exec sha256sum {} + | sort) >after
    cmp before after
    # The same page, but for how its links lead to the run.
    sed "s|\"way\":\"results/$(run_folder | sed 's|.*/||')/\"|\"way\":\"\"|" other.html >same.html
    cmp same.html report.html
    if cmp -s other.html report.html; then return 1; fi
}

@test "every point of the curves is a row of gpu.csv, and stands where it must" {
    three
    page curves "$(run_dir)/repo_net_001"
}

@test "the uncertainty budget of an experiment is a table that opens on demand, with a gain that is unknown or stated" {
    three
    page budget "$(run_dir)/repo_net_001"
    rm -r results report.html
    scenario 1 'name Tesla K40m
step 0 150
step 1500 600'
    job 'sleep 2; echo "loss 0.5"'
    settings 1
    tare_run
    cp "$(run_dir)/report.html" report.html
    page budget "$(run_dir)/repo_net_001"
}

@test "the table is sorted and filtered by mouse and keyboard" {
    three 'echo "loss 0.5"'
    page table
}

@test "a log that holds markup stays text" {
    three 'echo "</script><script>planted = 1</script><img src=x onerror=planted=1><!--"; echo "loss 0.5"; printf "\377\n"'
    if grep -q '<script>planted' report.html; then return 1; fi
    page text '</script><script>planted = 1</script><img src=x onerror=planted=1><!--'
}

@test "a thousand experiments can be worked with within two seconds" {
    three 'sleep 1; echo "loss 0.5"'
    mv report.html small.html
    python3 "$ROOT/tests/page/enlarge.py" small.html 1000 >report.html
    page large
}

@test "the page speaks the language that was asked for" {
    three 'echo "loss 0.5"'
    "$TARE" report "$(run_dir)" --lang zh -o report.html
    grep -q '<html lang="zh-Hans">' report.html
    LC_ALL=zh_CN.UTF-8 "$TARE" report "$(run_dir)" -o other.html
    cmp report.html other.html
}

@test "in no language a label is cut or a {name} left in a text, of large and of tiny values" {
    three
    page labels
    "$TARE" report "$(run_dir)" --lang zh -o report.html
    page labels
}

@test "what is no run is refused with its reason" {
    mkdir empty
    run "$TARE" report empty
    is "$status" 3
    [[ "$output" == *"run.db"* ]]
    run "$TARE" report nowhere
    is "$status" 3
    [[ "$output" == *"nowhere"* ]]
}

@test "a damaged trace costs its curves only, and is named in the page" {
    three 'sleep 1; echo "loss 0.5"'
    printf '"open' >>"$(run_dir)/repo_net_001/energy/gpu.csv"
    "$TARE" report "$(run_dir)" -o report.html
    python3 - report.html <<'END'
import json, re, sys
blocks = re.findall(r'id="x\d+">(.*?)</script>', open(sys.argv[1]).read(), re.S)
first, second = json.loads(blocks[0]), json.loads(blocks[1])
assert first["trace"] == [] and "gpu.csv" in first["trace_error"], first["trace_error"]
assert len(second["trace"]) == 1 and "trace_error" not in second
END
}

@test "a memory snapshot is linked with its analysis once it is made, and until then with the command that makes it" {
    scenario 1 'step 0 150'
    job 'echo try >>tries; cp "'"$ROOT"'/tests/data/memory/split.pickle" "$TARE_MEMORY_SNAPSHOT"; sleep 1.2
[ "$(wc -l <tries)" -ne 1 ] || exit 1; echo "loss 0.5"'
    registry '"memory_snapshot": true'
    settings 1
    sed -i 's/"max_retries": 0/"max_retries": 1/' settings.json
    tare_run >out
    cp "$(run_dir)/report.html" report.html
    (cd "$(run_dir)" && find . -type f ! -name report.html -exec sha256sum {} + | sort) >before
    # The first attempt's stands in its own folder. Until somebody asks for them there is no analysis.
    page snapshots "$(run_dir)" 'tare memory repo_net_001/memory_snapshot.pickle --html repo_net_001/memory_snapshot.html' \
        'tare memory repo_net_001/attempt_1/memory_snapshot.pickle --html repo_net_001/attempt_1/memory_snapshot.html'
    "$TARE" report "$(run_dir)" --snapshots >out
    cp "$(run_dir)/report.html" report.html
    page snapshots "$(run_dir)" repo_net_001/memory_snapshot.html repo_net_001/attempt_1/memory_snapshot.html
    # What is written is what "memory" writes, and nothing else is.
    "$TARE" memory "$(run_dir)/repo_net_001/memory_snapshot.pickle" --html alone.html >alone
    python3 - "$(run_dir)/repo_net_001/memory_snapshot.html" alone.html <<'END'
import re, sys
pages = [re.sub(r"[\w./-]*memory_snapshot\.pickle", "SNAPSHOT", open(path, encoding="utf-8").read()) for path in sys.argv[1:]]
assert pages[0] == pages[1] and len(pages[0]) > 1000
END
    (cd "$(run_dir)" && find . -type f ! -name report.html ! -name memory_snapshot.html -exec sha256sum {} + | sort) >after
    cmp before after
}

@test "a snapshot that is none, or a link, costs its analysis only" {
    scenario 1 'step 0 150'
    job 'echo "loss 0.5"; printf "cposix\nsystem\n(S\"touch planted\"\ntR." >"$TARE_MEMORY_SNAPSHOT"'
    registry '"memory_snapshot": true'
    settings 2
    tare_run >out
    mv "$(run_dir)/repo_net_002/memory_snapshot.pickle" elsewhere.pickle
    ln -s "$ROOT/tests/data/memory/split.pickle" "$(run_dir)/repo_net_002/memory_snapshot.pickle"
    "$TARE" report "$(run_dir)" --snapshots -o report.html >out 2>said
    grep -q 'repo_net_001/memory_snapshot.pickle cannot be analysed' said
    if grep -q repo_net_002 said; then return 1; fi
    is "$(find . -name planted -o -name memory_snapshot.html)" ""
    grep -q '<html' report.html
}

@test "a page links the files that are there, wherever it is written, and its figures are those of the guard and the CSV" {
    three
    mkdir -p "some where/deep"
    "$TARE" report "$(run_dir)" -o "some where/deep/report.html"
    cd "some where/deep"
    page links "$(run_dir)"
}

@test "the page counts the unverified rows of the safe table" {
    idle_machine
    local resource
    rm machine/proc/stat
    for resource in cpu memory io; do job_waited $resource unknown; done
    job 'sleep 1.1; echo "loss 0.5"'
    settings 1
    tare_run >out
    is "$(summary verdict)" unverified
    page_of words "$(run_dir)/report.html" "The only finished experiment succeeded, but did not pass its checks." \
        "Rows of summary_safe.csv: 1, 1 of them unverified."
    "$TARE" report "$(run_dir)" --lang zh -o zh.html
    page_of words zh.html "已结束的 1 个实验中没有一个既成功又通过检查。" "summary_safe.csv 的 1 行中有 1 行未核实。"
}

@test "a failed experiment is never counted as one that passed: table, CSV, database, page and audit agree" {
    idle_machine
    job 'exit 1'
    settings 1
    tare_run >out || true
    grep -q '^1 failed$' out
    if grep -E '[1-9][0-9]* clean' out; then return 1; fi
    is "$(summary verdict)" ""
    is "$(wc -l <"$(run_dir)/summary_safe.csv")" 2
    is "$(python3 -c 'import json, sys; t = json.load(open(sys.argv[1]))["tare"]; print(t["verdict"], [a["verdict"] for a in t["attempts"]])' \
        "$(run_dir)/repo_net_001/experiment.json")" "None [None]"
    page_of words "$(run_dir)/report.html" "The only finished experiment failed: there is no result to judge."
    "$TARE" report "$(run_dir)" --lang zh -o zh.html
    page_of words zh.html "已结束的 1 个实验失败：没有可判定的结果。"
    "$TARE" audit "$(run_dir)" --json >audit.json
    is "$(python3 -c 'import json; a = json.load(open("audit.json")); print(a["totals"]["clean"], a["totals"]["failed"], a["experiments"][0]["verdict"])')" \
        "0 1 none"
    "$TARE" audit "$(run_dir)" >audit.txt
    grep -q '^1 experiment: 0 clean, 0 unverified, 0 suspect, 0 contaminated, 1 failed, not judged$' audit.txt
    is "$("$TARE" audit "$(run_dir)" --expect 'clean>0' >/dev/null; echo $?)" 1
}
