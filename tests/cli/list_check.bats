#!/usr/bin/env bats
# What a registry's models need and this machine lacks.

load helpers

# A registry with toy, of which all but the data is there, and gone, which is not there. $1: more keys of toy.
make_needs() {
    make_trainer default
    cat > models_config.json <<END
{"models": {
  "toy": {"path": "repo", "train_script": "./train.sh", "models": ["small", "big"],
          "data": [{"path": "data/big.csv", "get": "wget https://example.org/big.csv", "size": "3 MiB", "models": ["big"]}]${1:-}},
  "gone": {"path": "repos/gone", "train_script": "train.py", "venv": ".venv", "models": ["only"],
           "source": {"url": "https://example.org/gone.git", "commit": "0123456789abcdef0123456789abcdef01234567",
                      "licence": "MIT", "size": "1 MiB"},
           "requires": [{"modules": ["torch"], "get": "repos/gone/.venv/bin/pip install torch"}]}}}
END
}

@test "list --check tells per model what is missing, with the commands that mend it" {
    make_needs
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 1 ]
    [ "${lines[0]}" = "REPOSITORY  MODEL  STATE" ]
    [ "${lines[1]}" = "toy         small  ready" ]
    [ "${lines[2]}" = "toy         big    1 missing" ]
    [ "${lines[3]}" = "gone        only   3 missing" ]
    grep -q '^toy  *big  *data  *missing  *data/big.csv  *not there$' <<< "$output"
    grep -q "^gone  *all  *folder  *missing  *repos/gone  *neither beside the registry nor in the working folder\$" <<< "$output"
    grep -q '^gone  *all  *module  *unknown  *torch  *there is no interpreter to ask$' <<< "$output"
    sed -n '/^To fix it:$/,/^$/p' <<< "$output" > mends
    cat > expected <<END
To fix it:
  wget https://example.org/big.csv
  git clone https://example.org/gone.git repos/gone && git -C repos/gone checkout --detach 0123456789abcdef0123456789abcdef01234567
  python3 -m venv repos/gone/.venv
  repos/gone/.venv/bin/pip install torch

END
    diff expected mends
    [ ! -e repos ]
}

@test "of a settings file only the models that it runs are looked at" {
    make_needs
    make_settings '{"repo": "toy", "model": "small", "mode": "default"}'
    run --separate-stderr "$TARE" list --check settings.json
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 2 ]
    [ "${lines[1]}" = "toy         small  ready" ]
    make_settings '{"foreground": {"repo": "toy", "model": "small"}, "background": {"repo": "gone", "model": "only"}}'
    run --separate-stderr "$TARE" list --check settings.json
    [ "$status" -eq 1 ]
    [ "${lines[1]}" = "toy         small  ready" ]
    [ "${lines[2]}" = "gone        only   3 missing" ]
}

@test "a registry and a repository's name are taken too" {
    make_needs
    mv models_config.json mine.json
    run "$TARE" list --check mine.json
    [ "$status" -eq 1 ]
    [[ "$output" == *"registry mine.json (asked for)"* ]]
    run --separate-stderr "$TARE" list --check toy -c mine.json
    [ "$status" -eq 1 ]
    [ "${lines[2]}" = "toy         big    1 missing" ]
    [[ "$output" != *gone* ]]
    run "$TARE" list --check tou -c mine.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"no repository 'tou'; did you mean 'toy'?"* ]]
}

@test "list --check --json says the same in numbers and names" {
    need_python
    make_needs
    "$TARE" list --check --json > check.json 2> err && false
    python3 - "$WORK" <<'END'
import json, sys
check = json.load(open("check.json"))
assert check["ready"] is False
toy, gone = check["repositories"]
assert toy["models"] == [{"name": "small", "ready": True}, {"name": "big", "ready": False}]
data, = [need for need in toy["needs"] if need["kind"] == "data"]
assert data == {"kind": "data", "name": "data/big.csv", "state": "missing", "detail": "not there",
                "mend": "wget https://example.org/big.csv", "models": ["big"]}, data
assert gone["licence"] == "MIT"
disk, = check["disks"]
assert disk["fetch_bytes"] == 4 * 1024 * 1024 and disk["free_bytes"] > 0, disk
END
}

@test "names that the settings have and the registry has not are a mistake" {
    make_needs
    make_settings '{"repo": "toy", "model": "huge"}'
    run "$TARE" list --check settings.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"has no model 'huge' in 'toy'"* ]]
}

@test "a data file that has come makes its model ready" {
    make_needs ', "comment": "nothing more"'
    mkdir repo/data
    : > repo/data/big.csv
    run --separate-stderr "$TARE" list --check toy
    [ "$status" -eq 1 ]
    [[ "$output" == *"the file is empty"* ]]
    echo 1 > repo/data/big.csv
    run --separate-stderr "$TARE" list --check toy
    [ "$status" -eq 0 ]
}

@test "modules are asked of the repository's own interpreter, which is ended when all is said" {
    need_python
    make_trainer default
    mkdir -p repo/.venv/bin
    ln -s "$(command -v python3)" repo/.venv/bin/python
    # A file of the working folder or of the repository is no module that was installed.
    echo 'raise SystemExit(3)' > json.py
    cat > models_config.json <<'END'
{"models": {"toy": {"path": "repo", "train_script": "train.sh", "venv": ".venv", "models": ["m"],
                    "requires": [{"modules": ["json", "no_such_module"]}]}}}
END
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 1 ]
    [ "${lines[1]}" = "toy         m      1 missing" ]
    grep -q "^toy .* module  *missing  *no_such_module  *ModuleNotFoundError: No module named 'no_such_module'\$" <<< "$output"
    [ ! -e repo/__pycache__ ]
    [ ! -e __pycache__ ]
}

# Programs that only say with which words they were called, a line each, and make the folder that is to be made.
stand_ins() {
    mkdir -p bin
    cat > bin/python3 <<'END'
#!/bin/sh
[ "$1 $2" = "-m venv" ] && mkdir -p "$3"
printf '%s\n' "${0##*/}" "$@" >> "$CALLED"
END
    sed 's/"$1 $2" = "-m venv"/"$1" = clone/' bin/python3 > bin/git
    sed '/venv/d' bin/python3 > bin/conda
    chmod +x bin/*
    export CALLED=$WORK/called
}

# The commands under "To fix it:", as they are.
mends() { "$TARE" list --check "$@" 2> err | sed -n '/^To fix it:$/,/^$/{s/^  //p;}'; }

@test "every command that list --check prints works when it is pasted: home, blanks and quotes in paths" {
    stand_ins
    mkdir home
    export HOME=$WORK/home
    cat > models_config.json <<'END'
{"models": {
  "tilde": {"path": "~/src/my repo", "train_script": "t.py", "venv": "~/venvs/it's a torch", "models": ["m"],
            "source": {"url": "https://example.org/gone.git"}},
  "plain": {"path": "~/plain", "train_script": "t.py", "venv": "~/venvs/torch", "models": ["m"]},
  "below": {"path": "re po/$HOME", "train_script": "t.py", "venv": "v env", "models": ["m"],
            "source": {"url": "https://example.org/a;b.git", "commit": "0123456789abcdef0123456789abcdef01234567"}},
  "conda": {"path": "repo", "train_script": "t.py", "conda_env": "~/envs/a b", "models": ["m"]}}}
END
    mends > commands
    cat commands
    [ "$(grep -c . commands)" -eq 6 ]
    grep -qxF "python3 -m venv ~/venvs/torch" commands
    PATH=$WORK/bin:$PATH sh -e commands
    [ -d "home/venvs/torch" ]
    [ -d "home/venvs/it's a torch" ]
    [ -d 're po/$HOME/v env' ]
    [ ! -e '~' ]
    cat > expected <<END
git
clone
https://example.org/gone.git
$HOME/src/my repo
python3
-m
venv
$HOME/venvs/it's a torch
python3
-m
venv
$HOME/venvs/torch
git
clone
https://example.org/a;b.git
re po/\$HOME
git
-C
re po/\$HOME
checkout
--detach
0123456789abcdef0123456789abcdef01234567
python3
-m
venv
re po/\$HOME/v env
conda
create
-p
$HOME/envs/a b
python
END
    diff expected called
}

# Interpreters that count their starts and find every module, but only while all three are running: 6 repositories with 2
# models each, two of which share one, by a link to its folder.
make_interpreters() {
    local number
    for number in 1 2 3; do
        mkdir -p envs/$number/bin
        cat > envs/$number/bin/python <<END
#!/bin/sh
echo start >> $WORK/starts.$number
shift 2
for _ in \$(seq 200); do
    [ -e $WORK/starts.1 ] && [ -e $WORK/starts.2 ] && [ -e $WORK/starts.3 ] && break
    sleep 0.05
done
[ -e $WORK/starts.1 ] && [ -e $WORK/starts.2 ] && [ -e $WORK/starts.3 ] || exit 1
for word; do echo "yes 1.$number"; done
END
        chmod +x envs/$number/bin/python
    done
    make_trainer default
    for number in 1 2 3 4 5 6; do
        cp -r repo "r$number"
        ln -s "../envs/$(((number + 1) / 2))" "r$number/.venv"
    done
    {
        echo '{"models": {'
        for number in 1 2 3 4 5 6; do
            [ $number = 1 ] || echo ,
            echo "\"r$number\": {\"path\": \"r$number\", \"train_script\": \"train.sh\", \"venv\": \".venv\", \"models\": [\"a\", \"b\"],
                  \"requires\": [{\"modules\": [\"torch\", \"m$number\"], \"models\": [\"b\"]}, {\"modules\": [\"torch\", \"numpy\"]}]}"
        done
        echo '}}'
    } > models_config.json
}

@test "each interpreter is started once, whichever repositories use it, and all of them beside each other" {
    make_interpreters
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 0 ]
    [ "$(grep -c ready <<< "$output")" -eq 12 ]
    for number in 1 2 3; do
        [ "$(grep -c . starts.$number)" -eq 1 ]
    done
}

@test "an environment of other variables is another one" {
    make_interpreters
    sed -i 's/"path": "r2"/"path": "r2", "env": {"PYTHONPATH": "elsewhere"}/' models_config.json
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 0 ]
    [ "$(grep -c . starts.1)" -eq 2 ]
    [ "$(grep -c . starts.2)" -eq 1 ]
}

@test "a module that cannot be imported beside those of another repository is asked by itself" {
    need_python
    make_trainer default
    mkdir modules
    echo 'import sys; assert "second" not in sys.modules' > modules/first.py
    echo 'import sys; assert "first" not in sys.modules' > modules/second.py
    cat > models_config.json <<END
{"models": {"one": {"path": "repo", "train_script": "train.sh", "python": "python3", "models": ["m"],
                    "env": {"PYTHONPATH": "$WORK/modules"}, "requires": [{"modules": ["first"]}]},
            "two": {"path": "repo", "train_script": "train.sh", "python": "python3", "models": ["m"],
                    "env": {"PYTHONPATH": "$WORK/modules"}, "requires": [{"modules": ["second"]}]}}}
END
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 0 ]
    [ "${lines[2]}" = "two         m      ready" ]
    echo 'raise ImportError("libcuda.so is not there")' > modules/second.py
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 1 ]
    grep -q '^two .* second  *ImportError: libcuda.so is not there$' <<< "$output"
}

# Modules with and without a distribution of another name, in a folder that PYTHONPATH names; and behind it the machine's own torch, of
# which only its distribution is seen.
make_modules() {
    mkdir -p modules/PyYAML-6.0.1.dist-info modules/opencv_python-4.9.0.80.dist-info machine/torch-1.13.1.dist-info
    printf 'Metadata-Version: 2.1\nName: torch\nVersion: 1.13.1\n' > machine/torch-1.13.1.dist-info/METADATA
    echo torch > machine/torch-1.13.1.dist-info/top_level.txt
    # Installed to be edited: its distribution is elsewhere.
    mkdir machine/edited-3.1.dist-info
    echo > modules/edited.py
    printf 'Metadata-Version: 2.1\nName: edited\nVersion: 3.1\n' > machine/edited-3.1.dist-info/METADATA
    echo edited > machine/edited-3.1.dist-info/top_level.txt
    echo > modules/yaml.py
    echo "__version__ = '4.9.0'" > modules/cv2.py
    echo "__version__ = '2.11.0+cu130'" > modules/torch.py
    echo > modules/nameless.py
    printf 'Metadata-Version: 2.1\nName: PyYAML\nVersion: 6.0.1\n' > modules/PyYAML-6.0.1.dist-info/METADATA
    echo yaml > modules/PyYAML-6.0.1.dist-info/top_level.txt
    printf 'Metadata-Version: 2.1\nName: opencv-python\nVersion: 4.9.0.80\n' > modules/opencv_python-4.9.0.80.dist-info/METADATA
    echo cv2 > modules/opencv_python-4.9.0.80.dist-info/top_level.txt
    make_trainer default
}

# $1: rows of "requires".
make_versions() {
    cat > models_config.json <<END
{"models": {"toy": {"path": "repo", "train_script": "train.sh", "python": "python3", "models": ["m"],
                    "env": {"PYTHONPATH": "$WORK/modules:$WORK/machine"}, "requires": [$1]}}}
END
}

@test "a version that is not wanted is told with the one that is there, and how to get another" {
    need_python
    make_modules
    make_versions '{"modules": ["torch>=2.12"], "get": "pip install torch==2.12"}, {"python": ">=9", "get": "a newer Python"}'
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 1 ]
    [ "${lines[1]}" = "toy         m      2 missing" ]
    grep -q '^toy  *all  *module  *wrong version  *torch  *torch 2.11.0+cu130 is there, >=2.12 is wanted$' <<< "$output"
    grep -q '^toy  *all  *python  *wrong version  *Python  *Python 3[0-9.a-z]* is there, >=9 is wanted$' <<< "$output"
    grep -qx '  pip install torch==2.12' <<< "$output"
    grep -qx '  a newer Python' <<< "$output"
    make_versions '{"modules": ["torch>=2.6,<2.12", "torch!=2.5"], "python": ">=3"}'
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 0 ]
}

@test "a version is that of the module's distribution, whatever its name; an unknown one is never good" {
    need_python
    python3 -c 'from importlib.metadata import packages_distributions' || skip "this Python cannot tell whose module it is"
    make_modules
    make_versions '{"modules": ["yaml>=6.0.1", "cv2==4.9.0.80", "edited==3.1"]}'
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 0 ]
    make_versions '{"modules": ["yaml<6", "nameless>=0", "json!=9"]}'
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 1 ]
    grep -q 'wrong version  *yaml  *yaml 6.0.1 is there, <6 is wanted$' <<< "$output"
    grep -q 'unknown  *nameless  *version not known, >=0 is wanted$' <<< "$output"
    [ "${lines[1]}" = "toy         m      2 missing" ]
}

@test "without the package that compares versions they are not checked, and that is never good" {
    need_python
    make_modules
    mkdir modules/pip
    echo 'raise ImportError' | tee modules/packaging.py > modules/pip/__init__.py
    make_versions '{"modules": ["torch>=2.6"]}'
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 1 ]
    grep -q 'unknown  *torch  *version not checked: 2.11.0+cu130 is there, >=2.6 is wanted$' <<< "$output"
    # pip's own copy of it will do.
    mkdir modules/pip/_vendor
    : > modules/pip/__init__.py
    : > modules/pip/_vendor/__init__.py
    cp -r "$(python3 -c 'import os, packaging; print(os.path.dirname(packaging.__file__))')" modules/pip/_vendor/
    run --separate-stderr "$TARE" list --check
    [ "$status" -eq 0 ]
}

@test "a malformed version specifier is refused with its place" {
    make_modules
    make_versions '{"modules": ["torch>>2.6"]}'
    run "$TARE" list --check
    [ "$status" -eq 2 ]
    [[ "$output" == *"models_config.json:2:"*"error: 'modules': 'torch>>2.6': '>>2.6' is not a version specifier"*"(at \$.models.toy.requires[0].modules)"* ]]
}
