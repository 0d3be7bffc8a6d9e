from dump import dump
from options.base import BaseOptions

if __name__ == "__main__":
    dump(BaseOptions().parse())
