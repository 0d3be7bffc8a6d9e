#!/usr/bin/env bats
# Every command that the documents show is run. DOCS_PAGES="docs/tutorial.md" runs those of these pages alone.

load helpers

run_pages() { timeout -k 5 300 python3 "$BATS_TEST_DIRNAME/docs_run.py" "$TARE" "$ROOT" "$@"; }

# page TEXT: the page sample.md, of which standard input is the text.
page() { cat > "$WORK/sample.md"; }

@test "every command shown in the documents runs, or its page says why it is not run" {
    need_python
    [ "$NAME" = tare ] || skip "the program has another name here"
    [ -z "${TARE_SANITIZED:-}" ] || skip "the commands take too long under sanitizers"
    local pages
    # shellcheck disable=SC2086 # a list
    pages=${DOCS_PAGES:-$(cd "$ROOT" && ls -d README.md docs/tutorial.md docs/howto/*.md docs/reference/*.md docs/explanation/*.md docs/zh/*.md 2>/dev/null || true)}
    [ -e "$ROOT/docs/tutorial.md" ] || [ -n "${DOCS_PAGES:-}" ] || pages=$(grep -v '^README' <<< "$pages")
    # shellcheck disable=SC2086 # a list
    run_pages $pages > pages.out || { cat pages.out; return 1; }
    sed 's/^/# /' pages.out >&3
    [ "$(wc -l < pages.out)" -eq "$(wc -w <<< "$pages")" ]
}

@test "blocks of a page run in order in one folder with the examples, and what is exported stays" {
    need_python
    page <<'END_OF_PAGE'
```sh
test -e examples/registry.json
test "$HOME" = "$PWD"
mkdir work && cd work
export COLOUR=red
tare --version > version
```
Between them.

  ```console
  $ grep -c tare version
  1
  $ cat <<'END' > note; test "$COLOUR" = red
  $ not a command
  END
  $ grep -q 'not a command' \
      note
  the output that is shown
  ```
END_OF_PAGE
    run -0 run_pages "$WORK/sample.md"
    [ "$output" = "$WORK/sample.md: 2 ran, 0 not run" ]
}

@test "a command that fails makes its page fail, with the line, the command and what it said" {
    need_python
    page <<'END_OF_PAGE'
One.
```sh
tare --no-such-option 2>&1
echo never
```
```sh
echo later > /dev/null
```
END_OF_PAGE
    run -1 run_pages "$WORK/sample.md"
    [[ "$output" == *"sample.md: 1 ran, 0 not run"* ]]
    [[ "$output" == *"line 2: exit code 2, expected 0:"*"tare --no-such-option"*"unknown option"* ]]
    [[ "$output" != *$'\n'"  | never"* ]]
}

@test "a block that must fail is checked for its exit code" {
    need_python
    page <<'END_OF_PAGE'
<!-- exit: 2 -->
```sh
tare rnu
```
END_OF_PAGE
    run -0 run_pages "$WORK/sample.md"
    sed -i 's/exit: 2/exit: 3/' "$WORK/sample.md"
    run -1 run_pages "$WORK/sample.md"
    [[ "$output" == *"exit code 2, expected 3"* ]]
}

@test "blocks that are not run are counted by their reasons, and other languages are left alone" {
    need_python
    page <<'END_OF_PAGE'
<!-- not run: needs a GPU -->
```sh
false
```
<!-- not run: needs a GPU -->
```console
$ false
```
<!-- not run: needs Slurm -->
```sh
false
```
```json
{"false": 1}
```
```python
raise SystemExit(1)
```
```
just a drawing
```
END_OF_PAGE
    run -0 run_pages "$WORK/sample.md"
    [ "$output" = "$WORK/sample.md: 0 ran, 3 not run: 2 needs a GPU; 1 needs Slurm" ]
}

@test "commands where the test would not see them, and comments without a reason, are mistakes" {
    need_python
    local text
    for text in $'```bash\ntrue\n```' $'```\ntare list\n```' $'```\n$ true\n```' $'<!-- not run: -->\n```sh\nfalse\n```' \
        $'<!-- not-run: a GPU -->\n```sh\nfalse\n```' $'<!-- exit 2 -->\n```sh\nfalse\n```' $'```sh\ntrue'; do
        page <<< "$text"
        run run_pages "$WORK/sample.md"
        [ "$status" -eq 1 ] || { echo "accepted: $text"; return 1; }
        [[ "$output" == *"sample.md: line "* ]]
    done
}

@test "a command that hangs is ended with all that it started, and so is what a page leaves behind" {
    need_python
    page <<END_OF_PAGE
\`\`\`sh
sleep 73491 &
setsid sleep 73492 &
echo \$! > $WORK/left
\`\`\`
\`\`\`sh
sleep 73493
\`\`\`
END_OF_PAGE
    local began=$SECONDS
    DOCS_BLOCK_SECONDS=2 run -1 run_pages "$WORK/sample.md"
    [ $((SECONDS - began)) -lt 30 ]
    [[ "$output" == *"line 6: ended after its time:"*"sleep 73493"* ]]
    # Nothing of it is alive.
    [ -s "$WORK/left" ]
    wait_until eval '! kill -0 "$(cat "$WORK/left")" 2>/dev/null'
    run pgrep -f 'sleep 7349[123]'
    [ "$status" -eq 1 ]
}
