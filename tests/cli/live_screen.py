"""A command on a terminal whose screen is kept: live_screen.py COLUMNSxROWS KEPT RULES COMMAND... KEPT gets the screens, one after the
other, as JSON: lists of rows; the last is what is there at the end. RULES: JSON, [[PATTERN, "touch" or "resize", FILE or COLUMNSxROWS], ...]:
done in this order, each when its pattern is on the screen. Rows that the terminal broke are put together again when it is resized, as tmux and most
others do. The exit status is the command's; 99 when it took more than a minute."""
import codecs, fcntl, json, os, pty, re, select, signal, struct, sys, termios, time, unicodedata


class Screen:
    """What the program uses of a terminal: line ends, \\r, ESC [ K, ESC [ A and colours. All other controls are a mistake."""

    def __init__(self, columns, rows):
        self.columns, self.height, self.screens = columns, rows, []
        self.rows, self.broken, self.row, self.column = [[]], [False], 0, 0

    def width(self, c):
        return 0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1

    def down(self, broken):
        self.broken[self.row] = broken
        self.row, self.column = self.row + 1, 0
        if self.row == len(self.rows):
            self.rows.append([])
            self.broken.append(False)

    def put(self, c):
        if self.column + self.width(c) > self.columns:
            self.down(True)
        row = self.rows[self.row]
        row.extend(" " * (self.column + self.width(c) - len(row)))
        row[self.column] = c
        for i in range(1, self.width(c)):
            row[self.column + i] = ""
        self.column += self.width(c)

    def keep(self):
        rows = ["".join(row).rstrip() for row in self.rows]
        while rows and not rows[-1]:
            rows.pop()
        if not self.screens or self.screens[-1] != rows:
            self.screens.append(rows)

    def feed(self, text):
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]|\x1b", text):
            if part == "\r":
                self.keep()
                self.column = 0
            elif part == "\n":
                self.down(False)
            elif part == "\x1b[K":
                del self.rows[self.row][self.column:]
                self.broken[self.row] = False
            elif part == "\x1b[A":
                assert self.row > max(0, len(self.rows) - self.height), "above the screen"
                self.row -= 1
            elif re.fullmatch(r"\x1b\[[0-9;]*m", part):
                pass
            else:
                assert part >= " " and part != "\x7f", repr(part)
                self.put(part)

    def resize(self, columns, rows):
        text, at, breaks = [], None, []
        for i, row in enumerate(self.rows):
            if i == self.row:
                at = (len(breaks), len(text) + self.column)
            text += row
            if not self.broken[i]:
                breaks.append(text)
                text = []
        (line, place), self.columns, self.height = at, columns, rows
        self.rows, self.broken = [], []
        for i, text in enumerate(breaks):
            pieces = [text[k:k + columns] for k in range(0, max(len(text), 1), columns)]
            if i == line:
                inside = min(place // columns, len(pieces) - 1)
                self.row, self.column = len(self.rows) + inside, place - inside * columns
            self.rows += pieces
            self.broken += [True] * (len(pieces) - 1) + [False]


def size(text):
    return [int(n) for n in text.split("x")]


(columns, rows), kept, rules, command = size(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), sys.argv[4:]
pid, terminal = pty.fork()
if pid == 0:
    sys.stdin.readline()  # the size is set before the program looks
    os.execvp(command[0], command)
settings = termios.tcgetattr(terminal)
settings[3] &= ~termios.ECHO
termios.tcsetattr(terminal, termios.TCSANOW, settings)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
os.write(terminal, b"\n")
screen, decoder, end, late = Screen(columns, rows), codecs.getincrementaldecoder("utf-8")(), time.monotonic() + 60, False
while True:
    if not select.select([terminal], [], [], 1)[0]:
        if time.monotonic() > end and not late:
            late = True
            os.kill(pid, signal.SIGKILL)
        continue
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    screen.feed(decoder.decode(data).replace("\r\n", "\n"))
    shown = "\n".join("".join(row).rstrip() for row in screen.rows)
    while rules and re.search(rules[0][0], shown):
        _, action, what = rules.pop(0)
        if action == "touch":
            open(what, "w").close()
        else:
            columns, rows = size(what)
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            screen.resize(columns, rows)
screen.keep()
json.dump(screen.screens, open(kept, "w"))
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if rules:
    print("never seen:", rules, "\n".join(screen.screens[-1]))
sys.exit(99 if late or rules else status)
