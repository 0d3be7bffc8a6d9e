"""dump_shell.py PID SCRIPT KEY=VALUE...: what dump.py does, for the shell with this PID."""
import sys

from dump import append, words_after

append(dict(word.split("=", 1) for word in sys.argv[3:]), words_after(sys.argv[2], sys.argv[1]))
