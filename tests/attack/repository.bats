# What a repository that somebody else wrote may make tare do: nothing. Where a plan's code comes from is asked of git, and git obeys
# the configuration of the repository that it is asked about.

load ../cli/runs

# witness NAME: a program that leaves a trace when it is started.
witness() {
    printf '#!/bin/sh\necho started >>"%s/witness.%s"\ncat\n' "$WORK" "$1" >"$WORK/$1.sh"
    chmod +x "$WORK/$1.sh"
    echo "$WORK/$1.sh"
}

nobody_was_started() { ! compgen -G "$WORK/witness.*"; }

repository_value() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["repositories"][0][sys.argv[2]])' "$(run_dir)/machine.json" "$1"; }

commit() { git -C "$1" -c user.name=a -c user.email=a@b.c -c core.hooksPath=/dev/null commit -q -m "$2"; }

make_hostile_repository() {
    command -v git >/dev/null || skip "git is not installed"
    job 'exit 0'
    git -C repo init -q
    echo one >repo/data
    echo 'data filter=evil' >repo/.gitattributes
    git -C repo add .
    commit repo first
    git -C repo config filter.evil.clean "$(witness clean)"
    git -C repo config filter.evil.process "$(witness process)"
    git -C repo config filter.evil.smudge "$(witness smudge)"
    git -C repo config core.fsmonitor "$(witness fsmonitor)"
    git -C repo config core.pager "$(witness pager)"
    git -C repo config core.sshCommand "$(witness ssh)"
    git -C repo config core.hooksPath "$WORK/hooks"
    mkdir hooks
    for hook in post-index-change fsmonitor-watchman reference-transaction; do cp "$(witness "hook-$hook")" "hooks/$hook"; done
    # The same bytes with another time: git has to read the file, and would ask the filter.
    touch -d '2001-01-01' repo/data
    settings 1
}

@test "no filter, hook or monitor of a repository is started by asking where the code comes from" {
    make_hostile_repository
    tare_run
    nobody_was_started
    is "$(repository_value commit)" "$(git -C repo rev-parse HEAD)"
    is "$(repository_value dirty)" False
    # The trap is set: git by itself falls into it.
    git -C repo status --porcelain >/dev/null 2>&1 </dev/null || true
    compgen -G "$WORK/witness.*"
}

@test "a changed file of a repository with filters of its own is seen all the same" {
    make_hostile_repository
    echo two >repo/data
    tare_run
    nobody_was_started
    is "$(repository_value dirty)" True
}

@test "what the configuration of a submodule names is not started, and its other commit is seen" {
    make_hostile_repository
    mkdir inner
    git -C inner init -q
    echo one >inner/data
    echo 'data filter=evil' >inner/.gitattributes
    git -C inner add .
    commit inner first
    git -C repo -c core.fsmonitor=false -c protocol.file.allow=always submodule --quiet add "$WORK/inner" inner >/dev/null
    git -C repo config --unset core.hooksPath
    git -C repo config --unset core.fsmonitor
    commit repo second
    git -C repo/inner config filter.evil.clean "$(witness inner-clean)"
    git -C repo/inner config core.fsmonitor "$(witness inner-fsmonitor)"
    touch -d '2001-01-01' repo/inner/data
    rm -f witness.*
    tare_run
    nobody_was_started
    is "$(repository_value dirty)" False
    rm -rf results
    echo two >repo/inner/more
    git -C repo/inner -c core.fsmonitor=false add more
    commit repo/inner second
    rm -f witness.*
    tare_run
    nobody_was_started
    is "$(repository_value dirty)" True
}

@test "an interpreter that leaves processes behind when it is asked for its version leaves none" {
    mkdir -p repo/bin
    cat >repo/bin/python3 <<END
#!/bin/sh
case \$1 in -*) ;; *) exec sh "\$@" ;; esac
exec 9>"$WORK/lock"
flock 9
setsid sleep 1000 >/dev/null 2>&1 &
echo 3.11.7
END
    chmod +x repo/bin/python3
    printf 'exit 0\n' >repo/job.py
    cat >registry.json <<END
{"models": {"repo": {"path": "repo", "train_script": "job.py", "python": "$WORK/repo/bin/python3", "models": ["net"],
  "supported_hyperparams": {"n": {"flag": "--n", "type": "int", "default": 1, "range": [1, 1000], "distribution": "uniform"}}}}}
END
    settings 1
    run tare_run
    python3 - "$(run_dir)/machine.json" <<'END'
import json, sys
assert json.load(open(sys.argv[1]))["interpreters"][0]["version"] == "3.11.7"
END
    lock_is_free lock
}
