#!/usr/bin/env bats
# What stands in the documents is true of this program: links, commands, options.

load helpers

pages() { (cd "$ROOT" && { ls -- *.md examples/*/README.md; find docs -name "*.md" | sort; }); }

@test "every link between the documents leads to a file and a heading that are there" {
    pages | python3 -c '
import os, re, sys
root = sys.argv[1]
def anchors(path):
    text = re.sub(r"```.*?```", "", open(path, encoding="utf-8").read(), flags=re.S)
    found = set(re.findall(r"<a (?:id|name)=.([\w-]+)", text))
    for heading in re.findall(r"^#+ (.*)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        anchor = name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = 0
        while anchor in found:  # as GitHub numbers headings of the same name
            count += 1
            anchor = f"{name}-{count}"
        found.add(anchor)
    return found
wrong, seen = [], 0
for page in sys.stdin.read().split():
    text = open(os.path.join(root, page), encoding="utf-8").read()
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = re.sub(r"`[^`\n]*`", "", text)
    # [text](target), [text](target "title"), [name]: target, and what is written in HTML.
    targets = re.findall(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", text) + re.findall(r"^\[[^\]]+\]:\s*(\S+)", text, re.M)
    targets += re.findall(r"(?:href|src)=\"([^\"]+)\"", text)
    seen += len(targets)
    for target in targets:
        if "://" in target or target.startswith("mailto:"):
            continue
        if target.startswith("/"):
            wrong.append((page, target, "not relative"))
            continue
        name, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(root, os.path.dirname(page), name)) if name else os.path.join(root, page)
        if not os.path.exists(path):
            wrong.append((page, target, "no such file"))
        elif anchor and path.endswith(".md") and anchor not in anchors(path):
            wrong.append((page, target, "no such heading"))
print(*wrong, sep="\n")
sys.exit(bool(wrong) or seen < 30)' "$ROOT"
}

@test "every file that a comment or a document names is there" {
    git -C "$ROOT" rev-parse HEAD > /dev/null 2>&1 || skip "not a clone of git"
    python3 - "$ROOT" <<'END'
import functools, os, re, subprocess, sys
root = sys.argv[1]
listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
                        capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
files = [f for f in listed if os.path.exists(os.path.join(root, f))]
text = {f: open(os.path.join(root, f), encoding="utf-8", errors="replace").read() for f in files
        if f.endswith((".c", ".h", ".sh", ".bash", ".bats", ".md", "meson.build", "Makefile")) and f != "CHANGELOG.md"}
# Of the system, of the Linux kernel, of a reference implementation, and what tare itself writes.
elsewhere = {name for t in text.values() for name in re.findall(r"^#include <([^>]+)>", t, re.M)}
elsewhere |= {"linux/magic.h", "linux/nsfs.h", "linux/openat2.h", "linux/proc_ns.h", "linux/capability.h", "cudaTypedefs.h", "arch/x86/events/rapl.c", "splitmix64.c", "sqlite3.h", "sd-event.h", "libsmartcols.h", "submit.sh"}

@functools.cache
def split(name, text):
    """Comments (of a document: all but its examples), and the rest."""
    if name.endswith((".c", ".h")):
        pattern = r"/\*.*?\*/|//[^\n]*"
    elif name.endswith(".md"):
        return re.sub(r"```.*?```", "", text, flags=re.S), ""
    else:
        pattern = r"(?m)(?:^|(?<=\s))#.*$"
    return "\n".join(re.findall(pattern, text, re.S if name.endswith((".c", ".h")) else 0)), re.sub(pattern, "", text, flags=re.S if name.endswith((".c", ".h")) else 0)

@functools.cache
def beside(folder):
    """The code of a folder of tests."""
    return "".join(split(f, t)[1] for f, t in text.items() if os.path.dirname(f) == folder) if (folder + "/").startswith("tests/") else ""

wrong, seen = [], 0
for name, whole in text.items():
    said, code = split(name, whole)
    own = os.path.dirname(name)
    code += beside(own)
    folders = ["", own, os.path.dirname(own), "src", "include", "tests", "tests/cli", own.replace("tests/unit", "src")]
    for cited in set(re.findall(r"(?<![\w./<*~{$-])\w[\w./-]*\.(?:c|h|md|sh|bats|bash|js|css)\b(?![\w/(])", said)):
        if "NAME" in cited or cited in elsewhere or os.path.basename(cited) in code:
            continue  # a pattern; somebody else's; made by the file itself, or by a test beside it
        seen += 1
        if not any(os.path.exists(os.path.join(root, folder, cited)) for folder in folders):
            wrong.append(f"{name}: {cited}")
print(*wrong, sep="\n")
sys.exit(bool(wrong) or seen < 200)
END
}

@test "each promise of the list is in its page and has its test, or the page says that it has none" {
    python3 - "$ROOT" <<'END'
import os, re, sys
root = sys.argv[1]
wrong, pages = [], {}
def read(name):
    path = os.path.join(root, name)
    return open(path, encoding="utf-8").read() if os.path.exists(path) else ""
for line in read("tests/promises.txt").splitlines():
    if not line or line.startswith("#"):
        continue
    page, words, file, *name = line.split(" :: ")
    pages[page] = pages.get(page, 0) + 1
    if words not in re.sub(r"\s+", " ", read("docs/" + page)):
        wrong.append(f"docs/{page} does not say: {words}")
    if file == "none":
        if "no test" not in words:
            wrong.append(f"docs/{page} does not say that this has no test: {words}")
    elif f'@test "{name[0]}"' not in read(file) and f"static void {name[0]}(void **" not in read(file):
        wrong.append(f"{file} has no test: {name[0]}")
# The table of threats names every file of attacks.
table = read("docs/explanation/containment.md")
for file in os.listdir(os.path.join(root, "tests/attack")):
    if file.endswith(".bats") and f"`attack/{file[:-5]}`" not in table:
        wrong.append(f"docs/explanation/containment.md does not name tests/attack/{file}")
print(*wrong, sep="\n")
sys.exit(bool(wrong) or any(pages.get(page + ".md", 0) < 20 for page in ("explanation/containment", "reference/machine", "reference/files", "reference/running")))
END
}

@test "every command and option in the documents exists" {
    commands > commands
    while read -r command; do
        "$TARE" "$command" --help > "$command.help"
    done < commands
    pages | python3 -c '
import os, re, sys
root = sys.argv[1]
commands = open("commands").read().split()
processes = ["meter"]  # what the program starts itself as
options = {c: set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", open(c + ".help").read().split("\nOptions:\n")[1].split("\n\n")[0])) for c in commands}
wrong, seen = [], 0
for page in sys.stdin.read().split():
    if page == "CHANGELOG.md":
        continue  # of older versions too
    text = open(os.path.join(root, page), encoding="utf-8").read()
    # Lines of blocks, with or without a prompt, and what stands in backticks.
    blocks = re.findall(r"```(?:sh|console)?\n(.*?)```", text, re.S)
    lines = [line.split(" #")[0] for block in blocks for line in block.splitlines()]
    lines += re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    for line in lines:
        for words in re.split(r"[|;&]| -- ", line):
            match = re.match(r"\s*(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S+ )*(?:build/src/cli/)?tare ([a-z-]+)(.*)", words)
            if not match or match[1].isupper():
                continue
            command = "run" if match[1].startswith("-") else match[1]
            if command in processes:
                continue
            if command not in commands:
                wrong.append((page, words.strip()))
                continue
            seen += 1
            # Behind the first word of exec stands somebody elses command.
            unquoted = re.sub(r"'"'"'[^'"'"']*'"'"'|\"[^\"]*\"", "", match[2])
            if command in ("run", "init"):  # and behind a script its own options
                unquoted = re.split(r"(?<=\S)\.py(?= )", unquoted)[0]
            for option in re.findall(r"(?<=\s)--[a-z][\w-]*", unquoted):
                if option not in options[command]:
                    wrong.append((page, words.strip(), option))
print(*wrong, sep="\n")
print(seen, file=sys.stderr)
sys.exit(bool(wrong) or seen < 100)' "$ROOT" "$NAME"
}

@test "the README in Chinese has the same sections, points, commands and examples" {
    python3 - "$ROOT" <<'END'
import re, sys
def parts(name):
    text = open(f"{sys.argv[1]}/{name}", encoding="utf-8").read()
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.S)
    commands = [line.split(" #")[0].strip() for block in blocks for line in block.splitlines()]
    outside = re.sub(r"```.*?```", "", text, flags=re.S)
    return {"headings": len(re.findall(r"^## ", text, re.M)), "points": len(re.findall(r"^- ", outside, re.M)),
            "rows": len(re.findall(r"^\| ", outside, re.M)), "commands": commands,
            "links": {link.replace("docs/zh/", "docs/howto/") for link in re.findall(r"\]\(([^)]+)\)", outside)} -
                     {"README.md", "README.zh.md"}}
english, chinese = parts("README.md"), parts("README.zh.md")
for key in english:
    assert english[key] == chinese[key], (key, english[key], chinese[key])
END
}

@test "the documents build as a website that loads nothing from elsewhere" {
    command -v mkdocs > /dev/null || skip "mkdocs is not installed (make setup FOR=docs)"
    (cd "$ROOT" && timeout 120 mkdocs build --strict --quiet --site-dir "$WORK/site") > said 2>&1 || { cat said; return 1; }
    python3 - "$ROOT" site <<'END_OF_CHECK'
import glob, os, re, sys
root, site = sys.argv[1:]
html = {os.path.relpath(path, site): open(path, encoding="utf-8").read() for path in glob.glob(site + "/**/*.html", recursive=True)}
# Every page, and in the menu.
for page in glob.glob(root + "/docs/**/*.md", recursive=True) + [root + "/README.md"]:
    made = re.sub(r"(?:README|index)\.md$", "index.md", os.path.relpath(page, root))[:-3] + ".html"
    assert made in html, made
    assert re.search(rf"href=\"(?:{re.escape(made)}|\.)\"", html["index.html"]), f"{made} is not in the menu"
for path, text in html.items():
    for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", text):
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", tag), (path, tag)
    # What is a list or a table on GitHub is one here.
    assert not re.search(r"<p>\| [^<]*\|\n", text), path
    assert "&lt;!--" not in text, path
# Anchors too, which --strict leaves alone.
anchors = {path: set(re.findall(r"\bid=\"([^\"]+)\"", text)) for path, text in html.items()}
seen = 0
for path, text in html.items():
    for target, anchor in re.findall(r"href=\"([^\"#:]*)#([^\"]+)\"", text):
        to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if to in anchors and target != "#":
            seen += 1
            assert anchor in anchors[to], (path, target, anchor)
assert seen > 50, seen
assert os.path.exists(site + "/search/search_index.json")
END_OF_CHECK
}
