from optparse import OptionParser

from dump import dump

parser = OptionParser(usage="usage: %prog [options] FILE", version="%prog 2.0")
parser.add_option("-r", "--rate", type="float", default=0.05,
                  help="learning rate [default: %default]")
parser.add_option("-e", "--epochs", type="int", default=7, metavar="N",
                  help="epochs [default: %default]")
parser.add_option("-q", "--quiet", action="store_false", dest="verbose", default=True,
                  help="print less [default: %default]")
parser.add_option("--model", default="crf", help="kind of model [default: hmm]")
options, files = parser.parse_args()
dump({**vars(options), "files": files})
