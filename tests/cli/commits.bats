#!/usr/bin/env bats
# tare bench --commits: commits of a git repository against each other, each in a worktree of its own.

load helpers

# Two commits of a repository: the first sleeps for 0.1 s, the second for 0.3 s.
make_repository() {
    command -v git >/dev/null || skip "git is not installed"
    export GIT_CONFIG_GLOBAL=$WORK/gitconfig GIT_CONFIG_NOSYSTEM=1
    git config --file "$GIT_CONFIG_GLOBAL" user.name ada
    git config --file "$GIT_CONFIG_GLOBAL" user.email ada@example.org
    git config --file "$GIT_CONFIG_GLOBAL" protocol.file.allow always
    git init -q -b main repo
    commit_trainer 0.1 'First version'
    FIRST=$(git -C repo rev-parse HEAD)
    commit_trainer 0.3 'Slower loader'
    SECOND=$(git -C repo rev-parse HEAD)
}

commit_trainer() {
    printf '#!/bin/sh\nsleep %s\npwd\necho "accuracy: 0.5"\n' "$1" >repo/train.sh
    chmod +x repo/train.sh
    git -C repo add train.sh
    git -C repo commit -qm "$2"
}

bench() { timeout -k 5 200 "$TARE" bench --containment sweep --pause 0 -o results "$@"; }

# json EXPRESSION: of "got", the JSON on standard input.
json() { python3 -c 'import json, sys; got = json.load(sys.stdin); print(json.dumps(eval(sys.argv[1])))' "$1"; }

# Everything about the repository that somebody could see changed.
state_of() {
    git -C "$1" worktree list
    git -C "$1" status --porcelain
    git -C "$1" for-each-ref
    (cd "$1" && find .git -type f ! -path '.git/index' | sort | xargs sha256sum)
}

# Nothing is left of the worktrees: neither in the repository, nor beside the results, nor in the state folder.
nothing_left() {
    [ "$(git -C repo worktree list | wc -l)" = 1 ]
    [ ! -e repo/.git/worktrees ]
    [ -z "$(find results -maxdepth 1 -name '.commits-*' 2>/dev/null)" ]
    [ -z "$(find state -name 'commits-*' 2>/dev/null)" ]
}

@test "two commits are compared, named by hash and subject, and the repository is as it was" {
    make_repository
    state_of repo >before
    bench --commits HEAD~1..HEAD --git repo -n 3 --json ./train.sh >bench.json 2>err
    state_of repo >after
    diff before after
    nothing_left
    python3 - "$FIRST" "$SECOND" <<'LOOK'
import json, sys
got = json.load(open("bench.json"))
first, second = got["commands"]
assert [first["commit"], second["commit"]] == sys.argv[1:], got
assert [first["name"], second["name"]] == [hash[:10] for hash in sys.argv[1:]], got
assert [first["subject"], second["subject"]] == ["First version", "Slower loader"], got
assert first["command"] == second["command"] == "./train.sh", got
assert first["n"] == second["n"] == 3, got
time = [q for q in second["against"]["quantities"] if q["name"] == "duration_s"][0]
assert time["blocks"] == 3, time
assert min(run["duration_s"] for run in first["runs"]) >= 0.1, first
assert min(run["duration_s"] for run in second["runs"]) >= 0.3, second # each ran what is in its commit
# Alternately: each block has each of them once.
blocks = sorted(run["block"] for run in first["runs"])
assert blocks == sorted(run["block"] for run in second["runs"]) == [1, 2, 3], got
LOOK
    # Each ran in a worktree of its own, of that commit, without changes.
    python3 - results/bench_*/machine.json "$FIRST" "$SECOND" <<'LOOK'
import json, sys
repositories = json.load(open(sys.argv[1]))["repositories"]
assert sorted(r["commit"] for r in repositories) == sorted(sys.argv[2:]), repositories
assert [r["dirty"] for r in repositories] == [False, False], repositories
assert len({r["path"] for r in repositories}) == 2, repositories
LOOK
    for log in results/bench_*/*_bench_*/training.log; do
        grep -q "/results/.commits-[A-Za-z0-9]*/[0-9a-f]*$" "$log"
    done
}

@test "the table names the commits, and three of them go in one comparison" {
    make_repository
    git -C repo tag v1 HEAD~1
    commit_trainer 0.2 "Third $(printf '\033[31m\302\233')red"
    bench --commits v1,main~1,HEAD --git repo -n 2 --reference "${SECOND:0:10}" ./train.sh >out 2>err
    grep -q "^3 commits, 2 runs each" out
    grep -q "^${FIRST:0:10}  First version$" out
    grep -q "^${SECOND:0:10}  Slower loader$" out
    grep -q "^each of these commits ran: ./train.sh$" out
    grep -q "^${FIRST:0:10} against ${SECOND:0:10}, paired by 2 blocks" out
    grep -q "  Third ?\[31m?red$" out
    run ! grep -qP '\x1b\[31m' out err
    nothing_left
}

@test "in a folder of the repository the command runs in that folder of each commit" {
    make_repository
    mkdir repo/sub
    printf '#!/bin/sh\npwd\n' >repo/sub/inner.sh
    chmod +x repo/sub/inner.sh
    git -C repo add sub
    git -C repo commit -qm 'A folder'
    git -C repo commit -q --allow-empty -m 'Nothing'
    cd repo/sub
    timeout -k 5 200 "$TARE" bench --pause 0 -n 1 -o "$WORK/results" --commits HEAD~1.. ./inner.sh >out 2>err
    cd "$WORK"
    [ "$(grep -lE "/\.commits-[^/]*/[0-9a-f]{10}/sub$" results/bench_*/*/training.log | wc -l)" = 2 ]
    run bench --commits HEAD~2..HEAD --git repo/sub ./inner.sh
    [ "$status" -eq 2 ]
    [[ $output == *"commit ${SECOND:0:10} has no folder sub/"* ]]
    nothing_left
}

@test "the setup runs once in each commit, unmeasured, before the command that it builds" {
    make_repository
    bench --commits HEAD~1..HEAD --git repo -n 2 --setup 'cp train.sh built' --setup "sh -c 'echo once >>log'" \
        "sh -c 'wc -l <log; exec ./built'" --json >bench.json 2>err
    for log in results/bench_*/*_bench_*/training.log; do grep -qx 1 "$log"; done
    [ "$(ls -d results/bench_*/*_bench_* | wc -l)" = 4 ]
    nothing_left
}

@test "a setup that fails ends the bench with its last lines, and nothing was measured" {
    make_repository
    run bench --commits HEAD~1..HEAD --git repo --setup "sh -c 'echo cannot build >&2; exit 3'" ./train.sh
    [ "$status" -eq 1 ]
    [[ $output == *"cannot build"* ]]
    [[ $output == *"--setup 'sh -c 'echo cannot build >&2; exit 3'' failed in commit ${FIRST:0:10}; nothing was measured"* ]]
    run ! ls -d results/bench_*
    nothing_left
}

@test "what cannot be compared is refused with its reason, before anything is checked out" {
    make_repository
    git -C repo tag same HEAD
    state_of repo >before
    refused() {
        local reason=$1
        shift
        run bench "$@" ./train.sh
        [ "$status" -eq 2 ] || { echo "status $status: $output"; return 1; }
        [[ $output == *"$reason"* ]] || { echo "no '$reason' in: $output"; return 1; }
        [ ! -e results ]
    }
    refused "there is no commit 'nowhere'" --git repo --commits nowhere..HEAD
    refused "'HEAD' and 'same' are one commit, ${SECOND:0:10}" --git repo --commits HEAD,same
    refused "two or more" --git repo --commits HEAD
    refused "A..B or A,B,C" --git repo --commits HEAD~1...HEAD
    refused "A..B or A,B,C" --git repo --commits ..
    refused "A..B or A,B,C" --git repo --commits HEAD~1..HEAD,same
    refused "A..B or A,B,C" --git repo --commits HEAD,
    refused "'--output=x' is no name of a commit" --git repo --commits=--output=x,HEAD
    refused "not a git repository" --git "$WORK" --commits HEAD~1..HEAD
    refused "there is no such folder" --git nofolder --commits HEAD~1..HEAD
    refused "do not go together" --git repo --commits HEAD~1..HEAD --scan a=1,2
    refused "--git goes with --commits" --git repo
    refused "--setup goes with --commits" --setup make
    refused "--setup" --git repo --commits HEAD~1..HEAD --setup 'make | tee log'
    run bench --git repo --commits HEAD~1..HEAD -- ./train.sh fast
    [ "$status" -eq 2 ]
    [[ $output == *"--commits takes one command: quote it, as in './train.sh fast'"* ]]
    state_of repo >after
    diff before after
    PATH=$WORK/empty run "$TARE" bench --git repo --commits HEAD~1..HEAD -o results ./train.sh
    [ "$status" -eq 2 ]
    [[ $output == *"there is none on PATH"* ]]
}

@test "nothing is fetched for a commit that a partial clone does not have, and git's own reasons are told with a fix" {
    make_repository
    git -C repo config uploadpack.allowFilter true
    git clone -q --filter=blob:none --no-checkout "file://$WORK/repo" part
    run bench --commits HEAD~1..HEAD --git part ./train.sh
    [ "$status" -eq 3 ]
    [[ $output == *"error: check out commit ${FIRST:0:10}: git: could not fetch "*"; nothing is fetched here: check that commit out once with git itself"* ]]
    [ -z "$(ls part/.git/worktrees 2>/dev/null)" ] # git itself leaves the empty folder
    [ -z "$(find results -name '.commits-*')" ]
    need_root
    chown -R 65534 part
    run bench --commits HEAD~1..HEAD --git part ./train.sh
    [ "$status" -eq 2 ]
    [[ $output == *"--commits: $WORK/part: git: detected dubious ownership in repository at '$WORK/part'; it belongs to another user"*"safe.directory"* ]]
}

@test "a bare repository will do" {
    make_repository
    git clone -q --bare repo bare.git
    bench --commits HEAD~1..HEAD --git bare.git -n 1 --json ./train.sh >bench.json 2>err
    [ "$(json '[c["commit"] for c in got["commands"]]' <bench.json)" = "[\"$FIRST\", \"$SECOND\"]" ]
    run ! grep -q committed err
    [ "$(git -C bare.git worktree list | wc -l)" = 1 ]
}

@test "a command that is in no commit is refused, and nothing is left" {
    make_repository
    run bench --commits HEAD~1..HEAD --git repo ./nothing.sh
    [ "$status" -eq 2 ]
    [[ $output == *"nothing.sh is not there or cannot be executed"* ]]
    nothing_left
}

@test "changes that are not committed are not measured, which is said, and stay" {
    make_repository
    echo 'exit 7' >repo/train.sh
    bench --commits HEAD~1..HEAD --git repo -n 1 ./train.sh >out 2>err
    grep -q "has changes that are not committed: they are in no commit, so they are not measured" err
    [ "$(cat repo/train.sh)" = 'exit 7' ]
    git -C repo checkout -q train.sh
    rm -r results
    bench --commits HEAD~1..HEAD --git repo -n 1 ./train.sh >out 2>err
    run ! grep -q "not committed" err
}

@test "neither hooks nor filters of the repository's own configuration run, and other worktrees stay" {
    make_repository
    git -C repo worktree add -q "$WORK/other" HEAD~1
    git -C repo worktree add -q "$WORK/moved" HEAD~1
    mv moved elsewhere # as on a disk that is not there now
    printf '#!/bin/sh\ntouch %s/hooked\n' "$WORK" >repo/.git/hooks/post-checkout
    chmod +x repo/.git/hooks/post-checkout
    echo 'train.sh filter=own' >repo/.git/info/attributes
    git -C repo config filter.own.smudge "touch $WORK/filtered; cat"
    git -C repo config filter.own.required true
    git -C repo config core.fsmonitor "$WORK/monitor.sh"
    printf '#!/bin/sh\ntouch %s/monitored\n' "$WORK" >monitor.sh
    chmod +x monitor.sh
    cp -r repo/.git/worktrees before
    bench --commits HEAD~1..HEAD --git repo -n 1 ./train.sh >out 2>err
    [ ! -e hooked ]
    [ ! -e filtered ]
    [ ! -e monitored ]
    diff -r before repo/.git/worktrees
    [ -e other/train.sh ]
}

@test "submodules and files of Git LFS that a checkout leaves out are named, and a setup that gets them silences it" {
    make_repository
    git init -q inner
    git -C inner commit -q --allow-empty -m inner
    git -C repo -c protocol.file.allow=always submodule --quiet add "$WORK/inner" part
    echo 'data.bin filter=lfs -text' >repo/.gitattributes
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 5\n' 1 >repo/data.bin
    git -C repo add .
    git -C repo commit -qm 'With a submodule'
    git -C repo commit -q --allow-empty -m 'Nothing'
    bench --commits HEAD~1..HEAD --git repo -n 1 true >out 2>err
    [ "$(grep -c "submodule part is empty: --setup 'git submodule update --init' fills it" err)" = 2 ]
    [ "$(grep -c "data.bin is a pointer of Git LFS, not the file itself: --setup 'git lfs pull' gets it" err)" = 2 ]
    bench --commits HEAD~1..HEAD --git repo -n 1 --setup 'git submodule update --init' --setup "sh -c 'echo 12345 >data.bin'" \
        true >out 2>err
    run ! grep -q "submodule part\|data.bin" err
    [ "$(git -C repo worktree list | wc -l)" = 1 ]
    [ -z "$(find results -maxdepth 1 -name '.commits-*')" ]
}

@test "Ctrl-C in the setup and in a run leaves nothing, and says so by its exit code" {
    make_repository
    for signal in INT TERM; do
        rm -f started
        # Set INT back to its default: a shell's background job ignores it.
        env --default-signal=INT "$TARE" bench --pause 0 -o results --commits HEAD~1..HEAD --git repo --setup "sh -c 'touch $WORK/started; exec sleep 60'" \
            ./train.sh >out 2>err 3>&- &
        pid=$!
        wait_until test -e started
        kill -"$signal" "$pid"
        code=0
        wait "$pid" || code=$?
        [ "$code" = "$([ $signal = INT ] && echo 130 || echo 143)" ] || { echo "$code"; cat err; false; }
        nothing_left
    done
    rm -f started
    env --default-signal=INT "$TARE" bench --pause 0 -o results --commits HEAD~1..HEAD --git repo "sh -c 'touch $WORK/started; exec sleep 60'" \
        >out 2>err 3>&- &
    pid=$!
    wait_until test -e started
    kill -INT "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" = 130 ]
    nothing_left
    run "$TARE" run --resume results/bench_*
    [ "$status" -eq 2 ]
    [[ $output == *"compared commits of a git repository, and their worktrees are gone"*"bench --commits"* ]]
}

@test "what a killed bench left is found by clean, and removed by clean --kill" {
    make_repository
    state_of repo >before
    "$TARE" bench --pause 0 -o results --commits HEAD~1..HEAD --git repo "sh -c 'touch $WORK/started; exec sleep 60'" >out 2>err 3>&- &
    pid=$!
    wait_until test -e started
    # Of a live one nothing is told.
    "$TARE" clean --json >live.json 2>err.clean || true
    [ "$(json 'got["worktrees_left"]' <live.json)" = '[]' ]
    kill -KILL "$pid"
    wait "$pid" || true
    [ "$(git -C repo worktree list | wc -l)" = 3 ]
    run --separate-stderr "$TARE" clean
    [ "$status" -eq 1 ]
    [[ $stderr == *"a killed bench left worktrees of $WORK/repo in $WORK/results/.commits-"*"clean --kill' removes them"* ]]
    [ "$(git -C repo worktree list | wc -l)" = 3 ]
    [ "$("$TARE" clean --json 2>err.clean | json 'len(got["worktrees_left"])')" = 1 ]
    # As one is whose making was interrupted, and one that somebody has removed.
    git -C repo worktree lock "$(echo "$WORK"/results/.commits-*/"${FIRST:0:10}")"
    rm -r results/.commits-*/"${SECOND:0:10}"
    run --separate-stderr "$TARE" clean --kill
    [[ $stderr == *"removed the worktrees of $WORK/repo that a killed bench left in $WORK/results/.commits-"* ]]
    nothing_left
    state_of repo >after
    diff before after
    [ "$("$TARE" clean --json 2>err.clean | json 'got["worktrees_left"]')" = '[]' ]
}

@test "a record in the state folder removes nothing but a folder of worktrees" {
    make_repository
    mkdir -p precious/.commits state/tare
    chmod 700 state state/tare
    echo kept >precious/file
    for folder in "$WORK/precious" / "$WORK/precious/.commits" "$WORK/repo/" relative/.commits-abcdef; do
        printf '{"host": "%s", "repository": "%s", "folder": "%s"}' "$(uname -n)" "$WORK/repo" "$folder" >state/tare/commits-abcdef.json
        "$TARE" clean --kill >out 2>err || true
        [ "$(cat precious/file)" = kept ]
        [ -d precious/.commits ]
        [ -x repo/train.sh ]
        [ "$("$TARE" clean --json 2>err | json 'got["worktrees_left"]')" = '[]' ]
    done
    printf '{"host": 1, "folder": [' >state/tare/commits-abcdef.json
    "$TARE" clean --kill >out 2>err || true
    [ -e state/tare/commits-abcdef.json ]
}

@test "under sudo git and the commands are the caller's" {
    need_root
    user=65534
    make_repository
    cp "$TARE" "$WORK/program"
    chmod 755 "$WORK/program" "$WORK"
    chown -R $user:$user "$WORK"
    setpriv --reuid=$user --regid=$user --clear-groups test -x "$WORK/program" || skip "other users cannot reach $WORK"
    run env SUDO_UID=$user SUDO_GID=$user SUDO_USER=nobody HOME=/root "$WORK/program" bench --pause 0 -n 1 -o results \
        --commits HEAD~1..HEAD --git repo --setup "sh -c 'id -u >who; id -u >&2; test -O train.sh'" "sh -c 'cat who; id -u; stat -c %u . .git train.sh'"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(cat results/bench_*/*_bench_*/training.log | sort | uniq -c | awk '{ print $1, $2 }')" = "10 $user" ]
    [ -z "$(find results repo/.git ! -uid $user)" ]
    git config --global --add safe.directory "$WORK/repo"
    nothing_left
    # What a killed one left is removed as the caller, too.
    caller=(env SUDO_UID=$user SUDO_GID=$user SUDO_USER=nobody HOME=/root "$WORK/program")
    "${caller[@]}" bench --pause 0 -o results --commits HEAD~1..HEAD --git repo "sh -c 'touch $WORK/started; exec sleep 60'" >out 2>err 3>&- &
    pid=$!
    wait_until test -e started
    kill -KILL "$pid"
    wait "$pid" || true
    # Its lock goes with its last process.
    is_told() {
        run --separate-stderr "${caller[@]}" clean
        [ "$status" -eq 1 ] && [[ $stderr == *"a killed bench left worktrees of $WORK/repo in $WORK/results/.commits-"* ]]
    }
    wait_until is_told
    run --separate-stderr "${caller[@]}" clean --kill
    [[ $stderr == *"removed the worktrees of $WORK/repo that a killed bench left in $WORK/results/.commits-"* ]]
    nothing_left
    [ -z "$(find results repo/.git ! -uid $user)" ]
}

@test "compare names the commits of two runs where they differ, and changes that were not committed" {
    make_repository
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default", "runs_per_config": 2}'
    # run_at COMMIT CHANGED: a run, and where it is in $run.
    run_at() {
        git -C repo checkout -qf "$1"
        [ "$2" = no ] || echo 'echo changed' >>repo/train.sh
        "$TARE" run settings.json -o "$3" >out 2>&1 || { cat out; return 1; }
        run_dir=$(ls -d "$3"/run_*)
    }
    run_at HEAD~1 no one
    one=$run_dir
    run_at "$SECOND" no two
    two=$run_dir
    run_at "$SECOND" yes three
    three=$run_dir
    "$TARE" compare "$one" "$two" >out
    grep -qx "commits: A ran at ${FIRST:0:10}, B at ${SECOND:0:10}" out
    "$TARE" compare "$two" "$three" >out
    grep -qx "commits: A ran at ${SECOND:0:10}, B at ${SECOND:0:10} with changes that are not committed" out
    "$TARE" compare "$two" "$two" >out
    run ! grep -q '^commits:' out
    "$TARE" compare "$one" "$three" --json | json '[got["a"]["commits"], got["b"]["commits"]]' >commits
    [ "$(cat commits)" = '[[{"repository": "toy", "commit": "'"$FIRST"'", "changed": false}], [{"repository": "toy", "commit": "'"$SECOND"'", "changed": true}]]' ]
    # What is no hash is not shown, nor is what two sessions do not agree on.
    sed "s/$SECOND/\\\\u001b[31mred/" "$two/machine.json" >machine.json
    grep -qF '"commit": "\u001b[31mred"' machine.json
    cp machine.json "$two/machine.json"
    "$TARE" compare "$one" "$two" >out
    run ! grep -q '^commits:' out
    [ "$("$TARE" compare "$one" "$two" --json | json 'got["b"]["commits"]')" = '[]' ]
    sed "s/$FIRST/$SECOND/" "$one/machine.json" >"$one/machine.1.json"
    [ "$("$TARE" compare "$one" "$three" --json | json 'got["a"]["commits"]')" = '[]' ]
    run "$TARE" compare --git repo "$one" "$two"
    [ "$status" -eq 2 ]
    [[ $output == *"two commits of a git repository are run and compared by 'bench --commits A..B COMMAND'"* ]]
}
