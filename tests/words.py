#!/usr/bin/env python3
"""Words that a person does not read in this program: in the string literals of src (comments and keys of JSON are not read there), in
docs/ and README.md. Prints FILE:LINE: the word, and what to say instead; ends with 1 where there is one. tests/words.py --self-test
shows that each is found."""
import os
import re
import sys

BANNED = [  # regular expression (case does not count), what to say instead, an example of it
    (r"\bforet(?:old|ell\w*)\b", "predicted, predict", "what was foretold"),
    (r"\bmend(?:s|ed|ing)?\b", "fix, fixes, fixed", "how to mend it"),
    (r"\bheeded\b", "ignored: X sets it", "--runs is not heeded"),
    (r"\bsays it itself\b", "ignored: X sets it", "settings.json says it itself"),
    (r"\b(?:stands? (?:in|there)|what stands)\b", "is in, is there, what is", "it stands in the file"),
    (r"\bstood in\b(?! (?:line|front))", "was used instead", "the samples stood in."),
    (r"\bno known key\b", "unknown key", "'x' is no known key"),
    (r"\bthere twice\b", "duplicate value", "'x' stands there twice"),
    (r"\bone too many\b", "unexpected argument", "'x' is one too many"),
    (r"\bis no library\b", "not a shared library", "x.so is no library"),
    (r"\bwhole numbers?\b", "integer", "expected a whole number"),
    (r"\bis no text\b", "is not a string", "'x' is no text"),
    (r"\b(?:expected a text|a text (?:that is not empty|or a list)|(?:of|numbers,) texts)\b", "a string", "a list of texts"),
    (r"\blooked at\b", "checked, sampled", "the GPUs are looked at"),
    (r"\b(?:of the|two|same|all|several) looks\b|\bone look\b", "checks, samples", "between two looks"),
    (r"\b(?:what|that|which) (?:it|they|each|the \w+(?: \w+)?) drew\b|\bdrew in all\b", "the energy it used", "what it drew"),
    (r"\bbrak(?:es?|ed|ing)\b(?!-)", "throttling, throttled", "the GPU brakes"),
    (r"(?<!pareto )(?<!in )(?<!at the )(?<!at its )\bfront\b(?! of the)", "Pareto front", "the front of energy and quality"),
    (r"\bhalf-width of (?:the|its) read-?out\b|\bof the read-?out\b", "± (95 %, measurement)", "± is the half-width of the read-out"),
    (r"\btold apart\b", "no significant difference; distinguished", "cannot be told apart"),
    (r"\bSIGKILL does not end\b|\bjob does not end\b", "still alive after SIGKILL", "SIGKILL does not end: 17"),
    (r"\bthe night goes on\b|\bfarewell\b|\blast breath\b|\bon (?:his|its|the) way\b", "say what happens", "nobody is on his way"),
    (r"\bbelieved?\b", "passed all checks (verified); trusted", "what can be believed"),
]

# FILE (or ""), the words around it: there it is the name of something else.
ALLOWED = [
    ("", r"\bpower-brake\b"),  # NVIDIA's: HW Power Brake Slowdown
    ("docs/reference/machine.md", r"`mend`|\bmend, mend_is_command\b"),  # keys of --json, which stay
]


def literals(path, text):
    """(line, literal) of C, and of the page's JavaScript and HTML."""
    if path.endswith(".html"):
        yield from enumerate(re.sub(r"<[^>]*>", "", text).split("\n"), 1)
        return
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"' + (r"|'(?:[^'\\\n]|\\.)*'" if path.endswith(".js") else r"|'(?:[^'\\\n]|\\.)+'"), re.S)
    joined = []  # literals with nothing but blanks between are one text
    for found in token.finditer(text):
        if found[0][0] not in "\"'" or (found[0][0] == "'" and not path.endswith(".js")):
            continue
        line = text.count("\n", 0, found.start()) + 1
        if joined and not text[joined[-1][2]:found.start()].strip():
            joined[-1][1].append(found[0][1:-1])
            joined[-1][2] = found.end()
        else:
            joined.append([line, [found[0][1:-1]], found.end()])
    for line, parts, _ in joined:
        # Conversions and escapes hide where a word begins.
        yield line, re.sub(r"%[-+#0-9.*]*(?:hh?|ll?|[ztj])?[diouxXeEfgGcsp]|\\[nt]", " ", "".join(parts))


def prose(text):
    """(line, paragraph's line) of a document; what wraps is found in the line that it ends in."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        before = lines[number - 2].split()[-3:] if number > 1 and lines[number - 2] and line and not line.startswith(("|", "-", "#")) else []
        yield number, " ".join(before + [line]) if before else line, len(" ".join(before)) + 1 if before else 0


def found_in(path, text):
    said = prose(text) if path.endswith(".md") else ((line, literal, 0) for line, literal in literals(path, text))
    for line, words, own in said:
        if not path.endswith(".md") and re.fullmatch(r"[\w.-]+", words):
            continue  # a key, an identifier
        for file, allowed in ALLOWED:
            if not file or file == path:
                words = re.sub(allowed, lambda m: " " * len(m[0]), words)
        for pattern, instead, _ in BANNED:
            for hit in re.finditer(pattern, words, re.I):
                if hit.end() > own:
                    yield line, hit[0], instead


def self_test():
    missed = []
    for pattern, _, example in BANNED:
        for path, text in (("x.c", f'/* fine */ f("a b %*s"\n "{example}");'), ("x.md", f"so\n\n{example}\n")):
            if not any(re.search(pattern, hit, re.I) for _, hit, _ in found_in(path, text)):
                missed.append((path, example))
        if list(found_in("x.c", f"/* {example} */ int x; // {example}")):
            missed.append(("a comment", example))
    if list(found_in("x.c", 'json_set("mend", 1); s = "the Pareto front, in front of it"; c = \'"\'; t = "mend_is_command";')):
        missed.append(("x.c", "what is allowed"))
    print(*missed, sep="\n", end="")
    return bool(missed)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.chdir(root)
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    files = ["README.md"]
    for folder, _, names in os.walk("docs"):
        files += [os.path.join(folder, name) for name in sorted(names) if name.endswith(".md")]
    for folder, _, names in os.walk("src"):
        files += [os.path.join(folder, name) for name in sorted(names) if name.endswith((".c", ".h", ".js", ".html"))]
    count = 0
    for path in files:
        with open(path, encoding="utf-8") as file:
            for line, word, instead in found_in(path, file.read()):
                print(f"{path}:{line}: '{word}': say: {instead}")
                count += 1
    if len(files) < 500:
        print(f"only {len(files)} files were read")
        return 1
    return int(count > 0) or self_test()


sys.exit(main())
