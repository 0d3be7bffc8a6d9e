import ast
import sys


def configure(values):
    """Overrides values by FILE.py and --key=value of the command line, of the same types."""
    for word in sys.argv[1:]:
        if "=" not in word:
            assert not word.startswith("--"), f"write {word}=VALUE"
            with open(word, encoding="utf-8") as file:
                found = {}
                exec(file.read(), found)
            values.update((key, found[key]) for key in values if key in found)
            continue
        assert word.startswith("--"), word
        key, text = word[2:].split("=", 1)
        if key not in values:
            raise ValueError(f"no setting {key}")
        try:
            value = ast.literal_eval(text)
        except (SyntaxError, ValueError):
            value = text
        assert type(value) is type(values[key]), (key, value)
        values[key] = value
