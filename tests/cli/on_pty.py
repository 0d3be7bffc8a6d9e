"""A command on a terminal of its own: on_pty.py COLUMNS FILE COMMAND... What it writes goes to FILE, with line ends as they are written;
the exit status is the command's."""
import fcntl, os, pty, struct, sys, termios, tty

columns, kept, command = int(sys.argv[1]), sys.argv[2], [os.fsencode(word) for word in sys.argv[3:]]
pid, terminal = pty.fork()
if pid == 0:
    tty.setraw(0)
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execv(command[0], command)
said = b""
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    said += data
open(kept, "wb").write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
