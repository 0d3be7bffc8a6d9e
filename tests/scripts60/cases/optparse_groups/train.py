import optparse

from dump import dump


def split_columns(option, name, value, parser):
    setattr(parser.values, option.dest, [int(word) for word in value.split(",")])


parser = optparse.OptionParser(description="Trains a support vector machine.")
parser.add_option("--kernel", type="choice", choices=["rbf", "linear", "poly"], default="poly",
                  help="rbf, linear or poly (default rbf)")
group = optparse.OptionGroup(parser, "Data",
                             "Caution: --size 32 32 is the default of older versions.")
group.add_option("--size", type="int", nargs=2, default=(16, 16),
                 help="rows and columns [default: %default]")
group.add_option("--use", action="append", help="may be repeated")
group.add_option("--columns", type="string", action="callback", callback=split_columns, default=[0])
parser.add_option_group(group)
parser.add_option("--degree", type="int", default=5, help="of poly (default: 3)")
parser.add_option("--fast", action="store_const", const=1, dest="level", default=9,
                  help="level 1 (default: 9)")
dump(parser.parse_args()[0])
