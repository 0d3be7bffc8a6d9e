#!/usr/bin/env bats
# An installation: what lies where, and that it works from there.

load helpers

setup_installed() {
    BUILT=${TARE%/src/cli/*}
    [ -f "$BUILT/build.ninja" ] || skip "the program does not lie in its build folder"
    command -v meson > /dev/null || skip "meson is not there"
    [ -w "$BUILT/meson-logs" ] || skip "the build folder is somebody else's"
    [ -z "${TARE_SANITIZED:-}" ] || skip "what is installed is the plain build"
    # What 'make uninstall' goes by must stay that of the person's own installation.
    local record=$BUILT/meson-logs/install-log.txt code=0
    [ ! -f "$record" ] || cp -p "$record" record
    meson install -C "$BUILT" --no-rebuild --destdir "$WORK/root" > install.log 2>&1 || code=$?
    if [ -f record ]; then cp -p record "$record"; else rm -f "$record"; fi
    [ "$code" -eq 0 ] || { tail -20 install.log; false; }
    PREFIX=$(meson introspect "$BUILT" --buildoptions | python3 -c '
import json, sys
print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))')
    PLACE=$WORK/root$PREFIX
}

@test "everything is installed below DESTDIR, and the program finds its files from there" {
    setup_installed
    # Nothing beside the prefix.
    [ "$(find "$WORK/root" -type f ! -path "$PLACE/*" | wc -l)" -eq 0 ]
    commands=$(commands)
    [ "$(wc -w <<< "$commands")" -ge 19 ]
    for command in "" $commands; do
        [ -s "$PLACE/share/man/man1/$NAME${command:+-$command}.1" ] || { echo "no page of '$command'"; false; }
    done
    [ -s "$PLACE/share/bash-completion/completions/$NAME.bash" ]
    [ -s "$PLACE/share/zsh/site-functions/_$NAME" ]
    [ -s "$PLACE/share/fish/vendor_completions.d/$NAME.fish" ]
    python3 -m json.tool "$PLACE/share/$NAME/grafana/tare.json" >/dev/null
    run --separate-stderr "$PLACE/bin/$NAME" list
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"share/$NAME/models_config.json (came with the program)"* ]]
}

@test "the pages that the help names are installed, and their links lead somewhere" {
    setup_installed
    documents=$PLACE/share/doc/$NAME
    for page in $(cd "$ROOT" && grep -rhoE 'docs/[a-z/-]+\.md' src | sort -u); do
        [ -s "$documents/$page" ] || { echo "$page is not installed"; false; }
    done
    python3 - "$documents" <<'END'
import os, re, sys
top, missing = sys.argv[1], []
for folder, _, names in os.walk(top):
    for name in names:
        if not name.endswith(".md"):
            continue
        path = os.path.join(folder, name)
        for target in re.findall(r"\]\(([^)#\s]+)", open(path, encoding="utf-8").read()):
            if "://" not in target and not os.path.exists(os.path.join(folder, target)):
                missing.append((os.path.relpath(path, top), target))
print(*missing, sep="\n")
sys.exit(bool(missing))
END
}

@test "a program in C and one in C++ mark their epochs by the installed header" {
    setup_installed
    command -v pkg-config > /dev/null || skip "pkg-config is not there"
    cat > mark.c <<'END'
#include <tare/mark.h>

int main(void)
{
    return tare_mark("epoch", "1") != 0 || tare_mark_end("epoch", NULL) != 0;
}
END
    cp mark.c mark.cc
    export PKG_CONFIG_PATH=$PLACE/share/pkgconfig
    flags=$(pkg-config --define-variable=prefix="$PLACE" --cflags "$NAME")
    [ "$(pkg-config --modversion "$NAME")" = "$(cat "$ROOT/VERSION")" ]
    # shellcheck disable=SC2086
    cc -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror $flags -I"$PLACE/include" mark.c -o mark-c
    programs=mark-c
    if command -v c++ > /dev/null; then
        for standard in c++11 c++17; do
            # shellcheck disable=SC2086
            c++ -std=$standard -Wall -Wextra -Wpedantic -Wconversion -Wold-style-cast -Werror $flags \
                -I"$PLACE/include" mark.cc -o mark-cc
        done
        programs="$programs mark-cc"
    fi
    for program in $programs; do
        # Alone it has nobody to tell; under exec both marks are taken, which cut the time in two.
        run "./$program"
        [ "$status" -eq 1 ]
        "$TARE" exec --energy --json "$program.json" "./$program" || { echo "$program: $?"; false; }
        found=$(python3 -c '
import json, sys
epochs = json.load(open(sys.argv[1]))["epochs"]
print([e["name"] + " " + e["label"] for e in epochs if e["part"] == "epoch"])' "$program.json")
        [ "$found" = "['epoch 1']" ]
    done
}

@test "the files of examples/ and of the study that documents name are installed, and the study runs from there" {
    setup_installed
    need_python
    share=$PLACE/share/$NAME
    python3 - "$ROOT" "$share" <<'END'
import glob, os, re, sys
root, share = sys.argv[1:]
missing, seen = set(), set()
# Read in place of examples/registry.json, which finds its program in the build folder.
moved = {"examples/registry.json": "models_config.json", "share/registry/study.json": "registry/study.json"}
for page in glob.glob(root + "/**/*.md", recursive=True):
    if "/node_modules/" in page or page.endswith("CHANGELOG.md"):
        continue
    text, place = open(page, encoding="utf-8").read(), os.path.relpath(os.path.dirname(page), root)
    named = re.findall(r"(?<![\w-])((?:examples|share/registry)/[\w./-]*\w\.\w+)", text)
    if place.startswith("examples/"):
        named += [f"{place}/{name}" for name in re.findall(r"^\| `([\w-]+\.(?:json|py))` \|", text, re.M)]
    seen.update(named)
    missing.update(name for name in named if not os.path.exists(f"{share}/{moved.get(name, name)}"))
assert not missing, missing
assert {"examples/study/small_data.py", "examples/study/twelve-pairs.json", "share/registry/study.json"} <= seen, seen
END
    # As in the source folder: the settings find the registry, and that the programs of the study.
    mkdir study
    cd study
    python3 "$share/examples/study/stand_in.py" .
    for settings in "$share"/examples/study/*.json; do
        "$PLACE/bin/$NAME" -ec "$settings" --dry-run > plan 2> said
        grep -q "^registry .*registry/study.json" plan
    done
    [ "$(find "$share/examples/study" -name '*.json' | wc -l)" -eq 8 ]
}
