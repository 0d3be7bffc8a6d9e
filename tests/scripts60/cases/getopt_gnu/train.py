from getopt import gnu_getopt
from sys import argv

from dump import dump

options, files = gnu_getopt(argv[1:], "d:w:", ["dim=", "window=", "cbow"])
dump({"options": options, "files": files})
