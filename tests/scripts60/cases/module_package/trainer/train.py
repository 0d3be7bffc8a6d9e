from . import options
from dump import dump

if __name__ == "__main__":
    dump(options.parse())
