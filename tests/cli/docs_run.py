#!/usr/bin/env python3
"""Runs the commands that the documents show. docs_run.py PROGRAM ROOT PAGE...: the blocks ```sh and ```console of each page, in order, as a
reader would type them into one shell in an empty folder that has a copy of examples/ and share/, and build/: cd, and what is exported, stay for the next block.
Of a console block only the lines behind "$ " are run. On the lines before a block may stand
  <!-- not run: REASON -->    it is not run, and counted by its reason
  <!-- exit: N -->            it must exit with N, else with 0
A line for each page: how many blocks ran and how many did not, and why. Ends with 1 where a block did not do what its page says."""
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BLOCK_SECONDS = float(os.environ.get("DOCS_BLOCK_SECONDS", "60"))
PAGE_SECONDS = float(os.environ.get("DOCS_PAGE_SECONDS", "240"))
SHELLS = ("sh", "console")
OUTPUT_SHOWN = 30  # lines


class PageError(Exception):
    pass


def blocks(text):
    """(line, language, reason not to run or None, expected exit code, text) of each fence."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        fence = re.match(r"^(\s*)(```+)\s*([\w-]*)", lines[at])
        if not fence:
            at += 1
            continue
        end = next((i for i in range(at + 1, len(lines)) if re.match(rf"^\s*{fence[2]}`*\s*$", lines[i])), None)
        if end is None:
            raise PageError(f"line {at + 1}: the block is not closed")
        reason, code, before = None, 0, at - 1
        while before >= 0 and re.match(r"^\s*<!--.*-->\s*$", lines[before]):
            said = lines[before].strip()[4:-3].strip()
            if re.match(r"not[ -]?run", said):
                if not re.match(r"not run: \S", said):
                    raise PageError(f"line {before + 1}: '{said}': expected 'not run: REASON'")
                reason = said[len("not run: "):]
            elif said.startswith("exit"):
                if not re.fullmatch(r"exit: \d+", said):
                    raise PageError(f"line {before + 1}: '{said}': expected 'exit: N'")
                code = int(said[6:])
            before -= 1
        indent = len(fence[1])
        body = [line[indent:] if not line[:indent].strip() else line for line in lines[at + 1:end]]
        yield at + 1, fence[3], reason, code, body
        at = end + 1


def console_script(body):
    """The commands of a session: lines behind "$ ", with what continues them."""
    script, at = [], 0
    while at < len(body):
        line = body[at]
        at += 1
        if not line.startswith("$ "):
            continue
        line = line[2:]
        script.append(line)
        while script[-1].endswith("\\") and at < len(body):
            script.append(re.sub(r"^> ?", "", body[at]))
            at += 1
        for word in re.findall(r"<<-?\s*['\"]?(\w+)", line):
            while at < len(body):
                script.append(re.sub(r"^> ", "", body[at]))
                at += 1
                if script[-1].strip() == word:
                    break
    return script


def hidden(language, body):
    """Commands in a block that nobody would run."""
    return language in ("bash", "shell", "zsh") or (not language and any(re.match(r"\$ |tare ", line) for line in body))


def end_all(mark):
    """Ends whatever a page left behind: all processes with its mark in their environment."""
    for _ in range(20):
        found = False
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if mark.encode() in file.read().split(b"\0"):
                        os.kill(int(pid), signal.SIGKILL)
                        found = True
            except OSError:
                pass
        if not found:
            return
        time.sleep(0.05)


class Page:
    def __init__(self, program, root, page):
        self.program, self.root, self.page = program, root, page
        self.ran, self.skipped, self.wrong = 0, {}, []

    def run_block(self, number, script, env, home, seconds):
        """(exit code, its output); None: it was ended."""
        out, state = os.path.join(home, ".out"), os.path.join(home, ".state")
        with open(os.path.join(home, ".block"), "w", encoding="utf-8") as file:
            file.write(f"cd {home}\n[ ! -e {state} ] || . {state}\n"
                       f"trap '{{ export -p; printf \"cd %q\\n\" \"$PWD\"; }} >{state}' EXIT\nset -e\n" + "\n".join(script) + "\n")
        with open(out, "wb") as file:
            process = subprocess.Popen(["bash", os.path.join(home, ".block")], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                       env=env, cwd=home, start_new_session=True)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = None
        with open(out, encoding="utf-8", errors="replace") as file:
            return code, file.read()

    def run(self):
        top = tempfile.mkdtemp(prefix="docs-run.")
        home, mark = os.path.join(top, "home"), "DOCS_RUN=" + top
        try:
            os.makedirs(os.path.join(top, "bin"))
            os.makedirs(home)
            os.symlink(self.program, os.path.join(top, "bin", os.path.basename(self.program)))
            for folder in ("examples", "share"):
                shutil.copytree(os.path.join(self.root, folder), os.path.join(home, folder))
            # As in a clone that is built: examples/registry.json finds its program there.
            os.symlink(os.path.normpath(os.path.join(os.path.dirname(self.program), "../..")), os.path.join(home, "build"))
            env = {"HOME": home, "PATH": os.path.join(top, "bin") + ":" + os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8",
                   "TARE_STATE_DIR": os.path.join(top, "state"), "TARE_LOCK_DIR": os.path.join(top, "locks"),
                   "DOCS_RUN": top, **{k: os.environ[k] for k in ("TARE_NVML", "TARE_FAKE_NVML") if k in os.environ}}
            self.run_blocks(home, env)
        finally:
            end_all(mark)
            shutil.rmtree(top, ignore_errors=True)
        return self

    def run_blocks(self, home, env):
        path = self.page if os.path.isabs(self.page) else os.path.join(self.root, self.page)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        until = time.monotonic() + PAGE_SECONDS
        try:
            for line, language, reason, expected, body in blocks(text):
                if hidden(language, body):
                    raise PageError(f"line {line}: commands in a block '{language}': it is to be sh or console")
                if language not in SHELLS:
                    continue
                if reason:
                    self.skipped[reason] = self.skipped.get(reason, 0) + 1
                    continue
                script = console_script(body) if language == "console" else body
                seconds = min(BLOCK_SECONDS, until - time.monotonic())
                code, output = self.run_block(line, script, env, home, seconds) if seconds > 0 else (None, "")
                self.ran += 1
                if code != expected:
                    said = f"exit code {code}, expected {expected}" if code is not None else "ended after its time"
                    shown = [f"    {row}" for row in script] + [f"  | {row}" for row in output.splitlines()[-OUTPUT_SHOWN:]]
                    raise PageError("\n".join([f"line {line}: {said}:"] + shown))
        except PageError as error:  # the blocks behind it build on it
            self.wrong.append(str(error))

    def report(self):
        reasons = "; ".join(f"{count} {reason}" for reason, count in self.skipped.items())
        print(f"{self.page}: {self.ran} ran, {sum(self.skipped.values())} not run{': ' + reasons if reasons else ''}")
        for wrong in self.wrong:
            print(f"{self.page}: {wrong}")


def main():
    program, root, *pages = sys.argv[1:]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda page: Page(os.path.abspath(program), root, page).run(), pages))
    for page in done:
        page.report()
    return int(any(page.wrong for page in done))


sys.exit(main())
