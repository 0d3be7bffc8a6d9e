#!/usr/bin/env bats
# Help, version, manual and completion, and what is said to a mistyped command line.

load helpers

@test "the version is the one in VERSION" {
    run "$TARE" --version
    [ "$status" -eq 0 ]
    [ "$output" = "$NAME $(cat "$ROOT/VERSION")" ]
}

@test "without a command the help goes to stderr, and it is a mistake" {
    run --separate-stderr "$TARE"
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ "$stderr" == *"$NAME COMMAND [options]"*$'\n'"  run "* ]]
}

@test "the help names every command, and each command has its own" {
    run --separate-stderr "$TARE" --help
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    # The groups in their order, each with commands; help has no others.
    [ "$(sed -n 's/^\([A-Z][a-z]*\):$/\1/p' <<< "$output" | xargs)" = "Usage Run Measure Judge Memory Machine Cluster" ]
    [ "$(commands | wc -l)" -ge 19 ]
    for command in $(commands); do
        [[ "$output" == *$'\n'"  $command "* ]]
        "$TARE" "$command" --help | grep -q "^$NAME $command: "
        "$TARE" help "$command" | grep -q "^Usage:"
    done
}

@test "docs/reference/exit-codes.md lists every command in the group of the help" {
    python3 - <("$TARE" --help) "$ROOT/docs/reference/exit-codes.md" <<'END'
import re, sys
helped = {}
for block in open(sys.argv[1]).read().split("\n\n"):
    title, _, rows = block.partition(":\n")
    if re.fullmatch(r"[A-Z][a-z]*", title) and title != "Usage":
        helped[title.lower()] = [row.split()[0] for row in rows.splitlines()]
list = open(sys.argv[2]).read().split("\n## ")[0]
documented = {group: re.findall(r"`([a-z]+)`", names) for group, names in re.findall(r"^- ([a-z]+): (.*)$", list, re.M)}
optional = {"serve", "watch"} - set(sum(helped.values(), []))
documented = {group: [name for name in names if name not in optional] for group, names in documented.items()}
assert len(helped) == 6 and documented == helped, (documented, helped)
END
}

@test "the help and the manual of every command have its examples, word for word the same" {
    for command in $(commands); do
        "$TARE" "$command" --help | sed -n '/^Examples:$/,$p' > examples
        "$TARE" --man "$command" | sed -n '/^\.SH EXAMPLES$/,/^\.SH SEE ALSO$/p' | sed 's/\\-/-/g; s/\\e/\\/g' > manual
        grep -n "^  $NAME $command" examples > lines || true
        [ "$(wc -l < lines)" -ge 2 ] || { echo "$command has no two examples"; cat examples; false; }
        sed -n "s/^\\\\fB\\($NAME $command.*\\)\\\\fR$/\\1/p" manual > there
        sed -n "s/^  \\($NAME .*\\)/\\1/p" examples > here
        cmp here there
        # What each is for stands below it.
        [ "$(grep -c '^      [^ ]' examples)" -ge "$(wc -l < lines)" ]
    done
}

@test "the flags of the study's scripts are in docs/reference/running.md and not in the list of commands" {
    if "$TARE" --help | grep -E -- '(^| )-(ec|mt|mr|r|m|n|g|c|s|l|S)\>'; then false; fi
    if "$TARE" --man | grep -E -- '-(ec|mt|mr)\>'; then false; fi
    "$TARE" run --help > help
    python3 - "$ROOT/docs/reference/running.md" <<'END'
import re, sys
section = open(sys.argv[1]).read().split("## The study's command line")[1].split("\n## ")[0]
flags = re.findall(r"`(-\w+)`\s\(`(--[\w-]+)`\)", section)
assert [short for short, _ in flags] == ["-ec", "-r", "-m", "-mt", "-n", "-g", "-mr", "-c", "-s", "-l", "-S"], flags
for short, name in flags:
    assert re.search(rf"^  {short}, {name}\b", open("help").read(), re.M), (short, name)
END
}

@test "a command that is an option of another now is told so" {
    for words in "plan-pairs registry.json --gpu-memory 8GiB" "plan-pairs --help" "help plan-pairs"; do
        # shellcheck disable=SC2086
        run --separate-stderr "$TARE" $words
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [[ "$stderr" == "$NAME: error: there is no command 'plan-pairs' any more: use '$NAME feasibility --plan'"* ]]
    done
}

@test "the help of run tells every flag of the study, short and long" {
    "$TARE" run --help > help
    for flags in "-ec, --experiment-config FILE" "-r, --repo REPO" "-m, --model MODEL" "-mt, --mutate NAMES" \
        "-n, --runs RUNS" "-g, --governor GOVERNOR" "-mr, --max-retries MAX_RETRIES" "-c, --config REGISTRY" \
        "-s, --seed SEED" "-l, --list" "-S, --strict"; do
        grep -qF -- "  $flags" help
    done
}

@test "no line of the help is wider than 80 columns" {
    for command in "" $(commands); do
        "$TARE" $command --help | awk 'length($0) > 80 { print; wide = 1 } END { exit wide }'
    done
}

@test "a mistyped command gets the nearest one" {
    run "$TARE" rnu
    [ "$status" -eq 2 ]
    [[ "$output" == *"there is no command 'rnu'; did you mean 'run'?"* ]]
}

@test "a settings file in a command's place gets the right command" {
    run "$TARE" night.json
    [ "$status" -eq 2 ]
    [[ "$output" == *"$NAME run night.json"* ]]
}

@test "a mistyped option gets the nearest one and runs nothing" {
    make_registry
    make_settings '{"repo": "toy", "model": "small"}'
    run "$TARE" run settings.json --dryrun
    [ "$status" -eq 2 ]
    [[ "$output" == *"unknown option --dryrun; did you mean '--dry-run'?"* ]]
    [ ! -e results ]
}

@test "the manual has the options of the help and is accepted by man" {
    "$TARE" --man run > run.1
    grep -q '^\.TH "' run.1
    grep -qF '\fB\-ec, \-\-experiment\-config FILE\fR' run.1
    "$TARE" --man > program.1
    grep -qF "$NAME-run(1)" <(sed 's/\\-/-/g' program.1)
    command -v groff > /dev/null || skip "groff is not there to read the manual"
    grep -q '^\.SH EXAMPLES' program.1
    for page in run.1 program.1; do
        [ -z "$(groff -man -Tascii -ww -z "$page" 2>&1)" ]
    done
}

@test "the program's manual names the environment that docs/reference/exit-codes.md tells users of" {
    "$TARE" --man | sed 's/\\-/-/g' > program
    for variable in CUDA_VISIBLE_DEVICES NO_COLOR COLUMNS LANG TARE_STATE_DIR XDG_STATE_HOME TARE_LOCK_DIR TARE_NVML; do
        grep -q "^.fB.*$variable" program
        sed -n '/^## Environment$/,/^## Output$/p' "$ROOT/docs/reference/exit-codes.md" | grep -q "^- .*\`$variable\`"
    done
}

@test "an unknown manual page is a mistake" {
    run "$TARE" --man nonsense
    [ "$status" -eq 2 ]
}

@test "docs/reference/exit-codes.md has the exit codes of every command, and no others" {
    for command in $(commands); do
        "$TARE" --man "$command"
        echo "@$command"
    done > manuals
    python3 - "$ROOT/docs/reference/exit-codes.md" <<'END'
import re, sys
manuals = {}
for manual in open("manuals").read().split(".TH ")[1:]:
    command = manual.rsplit("\n@", 1)[1].strip()
    status = manual.split(".SH EXIT STATUS\n")[1].split(".SH ")[0]
    manuals[command] = set(re.findall(r"\.TP\n\\fB([^\\]+)", status))
documented = {}
section = open(sys.argv[1]).read().split("## Exit codes")[1].split("##")[0]
# Of 2 it speaks once, for all.
said = " ".join(section.split())
assert "**2** is a mistake" in said and "Every command but `exec` has it." in said
for line in section.splitlines():
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if not re.fullmatch(r"`[a-z-]+`", cells[0]):
        continue
    codes = {code for code, cell in zip("013", cells[1:4]) if cell and "the command's own" not in cell}
    codes |= set(re.findall(r"(?:^[4-9]|\b1\d\d|\b128\+n)(?= )", cells[4]) if len(cells) > 4 else [])
    codes |= {"2"} - ({"2"} if cells[0] == "`exec`" else set())
    documented[cells[0].strip("`")] = codes
assert len(manuals) >= 17 and set(documented) - {"serve", "watch"} == set(manuals) - {"serve", "watch"}, set(documented) ^ set(manuals)
for command, codes in manuals.items():
    told = codes - {"else"} | ({"143"} if "130" in codes else set())
    assert documented[command] == told, (command, documented[command], told)
END
}

@test "what exec's exit codes mean is said in the same words by help, manual and docs/reference/exit-codes.md" {
    "$TARE" exec --help > help
    "$TARE" --man exec > manual
    python3 - "$ROOT/docs/reference/exit-codes.md" <<'END'
import re, sys
def plain(text):
    return re.sub(r"\s+", " ", text.replace("`", "").replace("\\-", "-")).strip()
codes = r"(124|125|126|127|128\+n)"
help = plain(open("help").read().split("Exit codes:")[1].split(" else ")[0])
manual = plain(re.sub(r"\.TP\n\\fB([^\\]+)\\fR\n", r"\1 ", open("manual").read().split(".SH EXIT STATUS\n")[1].split(".TP\n\\fBelse")[0]))
row = next(line for line in open(sys.argv[1]) if line.startswith("| `exec` | the command's own"))
documented = plain(row.split("|")[5].replace(";", ""))
assert re.findall(codes, help) == ["124", "125", "126", "127", "128+n"], help
assert help == manual == documented, (help, manual, documented)
END
}

# train.py: it ends the shell that runs it.
training_script() {
    cat >train.py <<'END'
import argparse, os, signal
os.kill(os.getppid(), signal.SIGKILL)
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument(
    '-b', '--batch-size', type = int)
parser.add_argument("--data"); parser.add_argument("file")
END
}

@test "bash completes commands, options, choices and files" {
    "$TARE" --completion bash > completion
    bash -n completion
    touch plan.json
    complete_words() {
        bash -c '
            compopt() { :; }
            source ./completion
            function_name=$(complete -p "$1" | sed "s/.*-F \([^ ]*\) .*/\1/")
            COMP_WORDS=("$@")
            COMP_CWORD=$(($# - 1))
            "$function_name"
            echo "${COMPREPLY[*]}"' bash "$@"
    }
    [ "$(complete_words "$NAME" ru)" = run ]
    [ "$(complete_words "$NAME" run --max)" = --max-retries ]
    [ "$(complete_words "$NAME" -ec x --max)" = --max-retries ]
    [ "$(complete_words "$NAME" run --containment s)" = sweep ]
    [ "$(complete_words "$NAME" run pl)" = plan.json ]
    [ "$(complete_words "$NAME" run -ec pl)" = plan.json ]
    [ "$(complete_words "$NAME" audit la)" = latest ]
    [ "$(complete_words "$NAME" list la)" = "" ]
    training_script
    [ "$(complete_words "$NAME" run train.py --)" = "--lr --batch-size --data" ]
    [ "$(complete_words "$NAME" run --max train.py --da)" = --data ]
    [ "$(complete_words "$NAME" run train.py --lr pl)" = "" ]
    [ "$(complete_words "$NAME" run train.py --data pl)" = plan.json ]
    [ "$(complete_words "$NAME" audit train.py --ver)" = --verbose ]
}

# Whatever a shell offers comes from the rows of the help.
@test "the completions of zsh and fish have every command and every option of the help" {
    "$TARE" --completion zsh > zsh
    "$TARE" --completion fish > fish
    [ "$(head -1 zsh)" = "#compdef $NAME" ]
    commands=$(commands)
    [ "$(wc -w <<< "$commands")" -ge 19 ]
    for command in $commands; do
        grep -q "^    '$command:" zsh
        grep -q -- "^complete -c $NAME -n __fish_use_subcommand -f -a $command -d " fish
        # The block of the command, up to the next one.
        sed -n "/^        ($command)$/,/^            ;;$/p" zsh > block
        for option in $("$TARE" "$command" --help | sed -n '/^Options:/,/^Exit codes:/p' |
            sed -n 's/^  \(-[^ ]*, \)\{0,1\}\(--[^ ,[]*\).*/\2/p'); do
            grep -qE -- "[')*]$option(=?)\[" block || { echo "zsh: $command $option"; false; }
            grep -q -- " -l ${option#--} " fish || { echo "fish: $command $option"; false; }
        done
    done
}

@test "zsh accepts its completion" {
    command -v zsh > /dev/null || skip "zsh is not there"
    "$TARE" --completion zsh > "_$NAME"
    zsh -n "_$NAME"
    training_script
    # A terminal of zsh: what Tab adds to a line.
    python3 - "$NAME" "run train.py --da" "audit lat" <<'END'
import os, pty, signal, sys
name = sys.argv[1]
signal.alarm(60)
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(PS1="> ", TERM="dumb")
    os.execvp("zsh", ["zsh", "-f"])
def read_until(text):
    seen = b""
    while text.encode() not in seen:
        seen += os.read(terminal, 4096)
    return seen
os.write(terminal, b"unsetopt zle prompt_cr; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; setopt zle; echo rea''dy\n")
read_until("ready\r\n")
for line, added in (sys.argv[2], "ta "), (sys.argv[3], "est "):
    os.write(terminal, f"{name} {line}\t".encode())
    read_until(added)
    os.write(terminal, b"\x15")
os.close(terminal)
END
}

@test "fish completes commands, options, choices and files" {
    command -v fish > /dev/null || skip "fish is not there"
    "$TARE" --completion fish > completion
    touch plan.json
    complete_words() {
        HOME=$WORK fish --no-config -c "source completion; complete -C '$1'" | cut -f1
    }
    [ "$(complete_words "$NAME ru")" = run ]
    [ "$(complete_words "$NAME run --max")" = --max-retries ]
    [ "$(complete_words "$NAME -ec x --max")" = --max-retries ]
    [ "$(complete_words "$NAME run --containment sw")" = sweep ]
    [ "$(complete_words "$NAME run -ec pl")" = plan.json ]
    [ "$(complete_words "$NAME audit la")" = latest ]
    training_script
    [ "$(complete_words "$NAME run train.py --" | tr '\n' ' ')" = "--batch-size --data --lr " ]
}

@test "a shell that there is no completion for is told those that there are" {
    run "$TARE" --completion tcsh
    [ "$status" -eq 2 ]
    [[ "$output" == *"--completion takes bash, zsh or fish, not tcsh" ]]
    run "$TARE" --completion
    [ "$status" -eq 2 ]
    [[ "$output" == *"--completion takes bash, zsh or fish" ]]
}

@test "output that nobody reads is no crash" {
    run bash -c '"$0" --help | true; exit ${PIPESTATUS[0]}' "$TARE"
    [ "$status" -lt 128 ]
}
