#!/usr/bin/env bats
# The way from the study's mutation.py to this program: its command lines, its folders, its registry.

load helpers

# installed: the program with the files that it is installed with, as $PROGRAM and $STUDY_REGISTRY.
installed() {
    mkdir -p prefix/bin "prefix/share/$NAME/registry"
    cp "$TARE" prefix/bin/
    cp "$ROOT/share/registry/study.json" "prefix/share/$NAME/registry/"
    PROGRAM=$WORK/prefix/bin/$NAME
    STUDY_REGISTRY=$WORK/prefix/share/$NAME/registry/study.json
}

@test "a call of the study's script is answered with the same call of this program" {
    check() { # EXPECTED WORDS...
        local expected=$1
        shift
        run "$TARE" "$@"
        [ "$status" -eq 2 ]
        [ "$output" = "$NAME: error: mutation.py is the study's script; use: $expected" ] || { echo "$output"; return 1; }
    }
    check "$NAME -ec settings/a.json" mutation.py -ec settings/a.json
    check "$NAME -ec a.json" python3 mutation.py -ec a.json
    check "$NAME -ec a.json" python3.11 -u ../mutation.py -ec a.json
    check "sudo $NAME -ec a.json" sudo python3 mutation.py -ec a.json
    check "sudo $NAME -ec a.json" sudo -E CUDA_VISIBLE_DEVICES=0 /usr/bin/python3 ./mutation.py -ec a.json
    check "$NAME -ec 'my settings.json'" mutation.py -ec 'my settings.json'
    check "$NAME -r toy -m small -mt epochs,seed -n 5 -g performance -mr 1 -c models.json -s 42" \
        mutation.py -r toy -m small -mt epochs,seed -n 5 -g performance -mr 1 -c models.json -s 42
    check "$NAME --list" mutation.py --list
    check "$NAME -ec SETTINGS.json" mutation.py
}

@test "other scripts and commands are not treated as the study's script" {
    for words in "mutation.pyc -ec a.json" "python3 train.py mutation.py" "train mutation.py -ec a.json" "python3"; do
        # shellcheck disable=SC2086
        run "$TARE" $words
        [ "$status" -eq 2 ]
        [[ "$output" == *"there is no command '"* ]]
    done
}

@test "run does not start the study's script as a training, but a training of that name" {
    need_python
    echo 'import sys; open("started", "w"); print("accuracy: 0.5")' > mutation.py
    for words in "-ec a.json" "--experiment-config=a.json" "-r toy -m small" "-l"; do
        # shellcheck disable=SC2086
        run "$TARE" run mutation.py $words
        [ "$status" -eq 2 ]
        [[ "$output" == *"mutation.py is the study's script; use: $NAME $words"* ]]
    done
    [ ! -e started ]
    run "$TARE" run -q --gpus none mutation.py --seed 1
    [ "$status" -eq 0 ]
    [ -e started ]
}

@test "exec runs the study's script and only mentions this program's own call" {
    need_python
    echo 'import sys; print(*sys.argv[1:]); sys.exit(5)' > mutation.py
    run --separate-stderr "$TARE" exec python3 mutation.py -ec a.json
    [ "$status" -eq 5 ]
    [ "$output" = "-ec a.json" ]
    [ "$stderr" = "$NAME: mutation.py is the study's script; to run its experiments with checks: $NAME -ec a.json" ]
    run --separate-stderr "$TARE" exec python3 mutation.py --epochs 3
    [ "$status" -eq 5 ]
    [ -z "$stderr" ]
}

# which_registry ARGUMENTS...: the registry that a run reads, and why.
which_registry() { "$TARE" "$@" --dry-run 2>&1 > /dev/null | sed -n "s/^$NAME: registry //p"; }

@test "in settings/ the registry beside that folder is found" {
    make_trainer default
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    mkdir -p project/settings project/mutation project/other
    chmod 755 project
    mv repo settings.json project/settings/
    cp project/settings/settings.json project/other/
    for place in . mutation; do
        sed 's|"path": "repo"|"path": "'"$WORK"'/project/settings/repo"|' models_config.json > project/$place/models_config.json
    done
    rm models_config.json
    cd project/settings
    [ "$(which_registry -ec settings.json)" = "../mutation/models_config.json (beside the folder settings)" ]
    [ "$(which_registry -r toy -m small)" = "../mutation/models_config.json (beside the folder settings)" ]
    rm ../mutation/models_config.json
    [ "$(which_registry -ec settings.json)" = "../models_config.json (beside the folder settings)" ]
    mv ../models_config.json ../registry.json
    [ "$(which_registry -ec settings.json)" = "../registry.json (beside the folder settings)" ]
    cd "$WORK"
    [ "$(which_registry -ec project/settings/settings.json)" = "project/registry.json (beside the folder settings)" ]
    # What was found before is found first.
    cp project/registry.json project/settings/
    [ "$(which_registry -ec project/settings/settings.json)" = "project/settings/registry.json (beside the settings)" ]
    cp project/registry.json .
    rm project/settings/registry.json
    [ "$(which_registry -ec project/settings/settings.json)" = "registry.json (in the working folder)" ]
    # A folder of another name has no such place.
    rm registry.json
    run "$TARE" run project/other/settings.json --dry-run
    [ "$status" -eq 2 ]
    [[ "$output" != *"project/registry.json"* ]]
}

# study_layout FOLDER: mutation/, settings/X.json and repos/toy, whose path the registry gives as repos/toy.
study_layout() {
    make_trainer default
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    mkdir -p "$1"/mutation "$1"/settings "$1"/repos
    chmod 755 "$1"
    mv repo "$1"/repos/toy
    mv settings.json "$1"/settings/X.json
    sed 's|"path": "repo"|"path": "repos/toy"|' models_config.json > "$1"/mutation/models_config.json
    rm models_config.json
}

@test "in settings/ and elsewhere the repositories beside mutation/ are found" {
    study_layout project
    for from in project project/settings "$WORK"; do
        cd "$WORK" && cd "$from"
        run -0 "$TARE" -ec "$WORK/project/settings/X.json" -c "$WORK/project/mutation/models_config.json" --dry-run
    done
    cd "$WORK/project/settings"
    run -0 "$TARE" -ec X.json --dry-run
    [[ "$output" == *"registry ../mutation/models_config.json (beside the folder settings)"* ]]
    # The message of what is not there names the first place.
    rm -r ../repos/toy
    run -2 "$TARE" -ec X.json --dry-run
    [[ "$output" == *"project/mutation/repos/toy is not there"* ]]
}

@test "repositories beside mutation/ are not used where every user can write" {
    study_layout shared
    chmod 1777 shared
    run -2 "$TARE" -ec shared/settings/X.json -c shared/mutation/models_config.json --dry-run
    [[ "$output" == *"shared/mutation/repos/toy is not there"* ]]
}

@test "a registry beside settings/ is not used where every user can write" {
    make_trainer default
    make_registry
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    mkdir -p shared/settings
    mv settings.json shared/settings/
    mv repo models_config.json shared/
    [ "$(which_registry -ec shared/settings/settings.json)" = "shared/models_config.json (beside the folder settings)" ]
    chmod 1777 shared
    run "$TARE" -ec shared/settings/settings.json --dry-run
    [ "$status" -eq 2 ]
    [[ "$output" != *"shared/models_config.json"* ]]
}

@test "a repository that only the installed registry of the study has is answered with its path" {
    make_trainer default
    make_registry
    installed
    make_settings '{"repo": "VulBERTa", "model": "mlp", "mode": "default"},
        {"repo": "tyo", "model": "small", "mode": "default"},
        {"mode": "parallel", "foreground": {"repo": "toy", "model": "small", "mode": "default"},
         "background": {"repo": "examples", "model": "mnist"}}'
    run "$PROGRAM" run settings.json --dry-run
    [ "$status" -eq 2 ]
    [[ "$output" == *"error: unknown repository 'VulBERTa'; the registry of the study has it: --config $STUDY_REGISTRY (at \$.experiments[0].repo)"* ]]
    [[ "$output" == *"error: unknown repository 'tyo'; did you mean 'toy'? (at "* ]]
    [[ "$output" == *"error: unknown repository 'examples'; the registry of the study has it: --config $STUDY_REGISTRY (at "* ]]
    run "$PROGRAM" list VulBERTa
    [ "$status" -eq 2 ]
    [[ "$output" == *"error: models_config.json has no repository 'VulBERTa'; the registry of the study has it: --config $STUDY_REGISTRY" ]]
    # The answer is right.
    run "$PROGRAM" list VulBERTa --config "$STUDY_REGISTRY"
    [ "$status" -eq 0 ]
    # Without that registry, or with a damaged one, the nearest name is all there is.
    echo '{"models": {"VulBERTa": 1}}' > "$STUDY_REGISTRY"
    run "$PROGRAM" run settings.json --dry-run
    [ "$status" -eq 2 ]
    [[ "$output" == *"error: unknown repository 'VulBERTa' (at "* ]]
}
