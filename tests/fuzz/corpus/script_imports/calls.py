exec(open("./c.py").read())
import_module("p.q")
x = r"\\" # "
from a import \
  b
