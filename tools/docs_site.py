"""What mkdocs is told of the documents (mkdocs.yml): which pages there are, in their four kinds, and how GitHub reads what Python-Markdown
reads otherwise. The site has the files of the project's root at their places, so that every link between them holds."""
import atexit
import os
import re
import shutil
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KINDS = (("How-to guides", "howto"), ("Reference", "reference"), ("Explanation", "explanation"))
TOP = ("README.md", "README.zh.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
FENCE = re.compile(r"^\s*```")
LINK = re.compile(r"""\]\(<?([^)\s>#]+)|src=["']([^"']+)""")


def pages():
    """Paths from the root."""
    found = [name for name in TOP if os.path.exists(os.path.join(ROOT, name))]
    for top in ("docs", "examples"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in sorted(names) if name.endswith(".md")]
    return found


def linked(page):
    """The files that a page links, from the root."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        for target in filter(None, sum(LINK.findall(file.read()), ())):
            path = os.path.normpath(os.path.join(os.path.dirname(page), target))
            if "://" not in target and not path.startswith("..") and os.path.isfile(os.path.join(ROOT, path)):
                yield path


def stage():
    """A folder with the pages, the pictures of docs/ and whatever else they link."""
    folder = tempfile.mkdtemp(prefix="docs-site.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    files = set(pages())
    for page in list(files):
        files.update(linked(page))
    for path in files:
        os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, path), os.path.join(folder, path))
    return folder


def navigation():
    left = sorted(pages())

    def take(wanted):
        taken = [path for path in left if wanted(path)]
        left[:] = [path for path in left if path not in taken]
        return taken

    nav = [{"Home": path} for path in take(lambda path: path == "README.md")]
    nav += [{"中文": path} for path in take(lambda path: path == "README.zh.md")]
    nav += [{"Tutorial": path} for path in take(lambda path: path == "docs/tutorial.md")]
    for title, folder in KINDS:
        found = take(lambda path, start=f"docs/{folder}/": path.startswith(start))
        if found:
            nav.append({title: found})
    nav.append({"More": take(lambda path: path.startswith("docs/")) + left})
    return nav


def slug(heading, _separator):
    """As GitHub makes the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def on_config(config):
    config["docs_dir"] = stage()
    config["nav"] = navigation()
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    return config


def on_page_markdown(markdown, **_):
    """A list, and a table, need a blank line before them here."""
    out, fenced, before = [], False, ""
    for line in markdown.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and before.strip() and not before.startswith(" "):
            for start in (r"(?:[-*]|\d+\.) ", r"\|"):
                if re.match(start, line) and not re.match(start, before):
                    out.append("")
        out.append(line)
        before = line
    return "\n".join(out)
