"""Words and constructions that comments, messages and identifiers avoid, and what to write instead.

tools/measure.py counts them and keeps a limit for each; tests/words.py has those that no message and no page may have at all.
"""
import re

# Name, pattern (case does not count; a blank matches a line break, too), what to write instead, an example, what it must not find.
PROSE = [
    ("heading", r"(?:^|(?<=: ))(?-i:What|Of|Whose)\b(?!\s+(?:is|are)\b)", "a noun",
     "What several lanes come to together", "What is this?"),
    ("inversion", r"(?:^|(?<=[.;:] ))(?-i:Nor|Neither|So many|As many|Not even)\b", "the subject first", "Nor a fence, but",
     "neither is"),
    ("nobody", r"\b(?:nobody|somebody|no[- ]one|everybody|whoever|none (?:is|are|has|have|was|were|can|that|of))\b",
     "the program or the person that does it", "nobody reads it", "none"),
    ("is_no", r"\b(?:is|are|was|were|be) (?:no|none)\b(?! (?:longer|more)\b)", "is not a", "is no power of 2", "is no longer"),
    ("tell", r"\b(?:tells?|telling|told)\b", "report, show, determine", "why it cannot be told", "teller"),
    ("say", r"\b(?:says?|said|saying)\b", "report, state, mean", "as was said", "essay"),
    ("look", r"\b(?:look(?:s|ed|ing)? (?:at|like|into|after|for)|(?:a|the|one|each|every|two|last|first|next|many|between|this|that|of) looks?)\b",
     "check, sample, read", "so many looks", "look-up"),
    ("stand", r"\b(?:stands?|stood|standing)\b(?!-)(?! for\b)", "is in, follows", "what stands in it", "stands for"),
    ("behind", r"\bbehind\b", "after, below", "the words behind the script", "before"),
    ("taken", r"\btaken\b|\btakes? (?:for|in)\b", "parse, accept, treat, reserve", "is taken for this one", "takes 2 s"),
    ("believe", r"\bbelie(?:ves?|ved|ving)\b", "is enforced, is trusted", "must not be believed", "belief"),
    ("and_yet", r"\band yet\b|\bany more\b|\bfor how long\b|\bso (?:many|much)\b|\bhis own\b|\bto and fro\b",
     "but, no longer, how long, this many", "and yet not proven", "as yet"),
]

# A part of an identifier between underscores.
IDENTIFIERS = [
    ("look", ("look", "looks"), "check, sample"),
    ("take", ("take", "takes", "taken"), "next, parse, reserve"),
    ("way", ("way", "ways"), "timeline, path"),
    ("former", ("former",), "previous"),
    ("tell", ("tell", "tells", "told"), "report"),
    ("mend", ("mend", "mends"), "fix"),
    ("metaphor", ("deaf", "alone", "seen_off", "give_back", "nobody", "somebody", "stranger", "strangers", "dead", "night"),
     "the term of the field"),
]

# Where a pattern finds the name of something else; "": in every file.
ALLOWED = [
    ("", r"\bpower-brake\b"),
    ("", r"\blook(?:s|ed|ing)? up\b"),
]

ESCAPES = re.compile(r"%[-+#0-9.*]*(?:hh?|ll?|[ztj])?[diouxXeEfgGcsp]|\\[nt]")
COMPILED = [(name, re.compile(pattern.replace(" ", r"\s+") if "(?<" not in pattern else pattern, re.I), instead)
            for name, pattern, instead, _, _ in PROSE]
PARTS = {name: re.compile(r"(?:^|_)(?:" + "|".join(parts) + r")(?=_|$)") for name, parts, _ in IDENTIFIERS}


def blank(found):
    """As many blanks, with the line breaks, so that places stay."""
    return re.sub(r"[^\n]", " ", found[0])


def comment_text(comment):
    """The words of a comment, each on the line that it is on."""
    text = re.sub(r"\A/\*+ ?|\*/\Z|\A// ?", "", comment)
    return re.sub(r"\n[ \t]*\*? ?", "\n", text).strip(" ")


def texts(source):
    """(offset, words) of comments and of messages; a literal that is one word is a key or a name. Literals with nothing but blanks
    between are one text."""
    for offset, comment in source.comments:
        yield offset, comment_text(comment)
    end, joined, start = -1, "", 0
    for offset, literal in source.literals + [(len(source.text) + 1, '""')]:
        if end >= 0 and source.text[end:offset].strip() == "" and offset <= len(source.text):
            joined += source.text[end:offset].replace(" ", "") + literal[1:-1]
        else:
            if joined and not re.fullmatch(r"[\w.-]+", joined):
                yield start, ESCAPES.sub(" ", joined)
            start, joined = offset, literal[1:-1]
        end = offset + len(literal)


def found_in(path, words):
    """(pattern's name, offset, what was found)."""
    for file, allowed in ALLOWED:
        if not file or file == path:
            words = re.sub(allowed, blank, words)
    for name, pattern, _ in COMPILED:
        for found in pattern.finditer(words):
            yield name, found.start(), " ".join(found[0].split())[:60]


def offenders(sources):
    """(measure's name, title, [(path, line, what was found)]) of each pattern. An identifier counts once, where it is found first:
    in a header, if it is in one."""
    prose = {name: [] for name, *_ in PROSE}
    names = {name: {} for name, *_ in IDENTIFIERS}
    for source in sorted(sources, key=lambda source: (source.path.endswith(".c"), source.path)):
        for offset, words in texts(source):
            for name, at, found in found_in(source.path, words):
                prose[name].append((source.path, source.line_of(offset) + words.count("\n", 0, at), found))
        for offset, token in source.tokens:
            if token[0].isalpha():
                for name, pattern in PARTS.items():
                    if token not in names[name] and pattern.search(token.lower()):
                        names[name][token] = (source.path, source.line_of(offset), token)
    for name, _, instead, *_ in PROSE:
        yield f"words_{name}", f"comments and messages, '{name.replace('_', ' ')}': write {instead}", prose[name]
    for name, _, instead in IDENTIFIERS:
        yield f"identifiers_{name}", f"identifiers, '{name}': write {instead}", list(names[name].values())
