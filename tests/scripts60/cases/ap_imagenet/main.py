import argparse

from dump import dump

parser = argparse.ArgumentParser(description="Trains on a folder of images.")
parser.add_argument("data", metavar="DIR", nargs="?", default="imagenet",
                    help="folder with train/ and val/ (default: imagenet)")
parser.add_argument("-a", "--arch", metavar="ARCH", default="resnet50",
                    help="network: vgg16 | resnet18 (default: resnet18)")
parser.add_argument("-j", "--workers", default=4, type=int, metavar="N",
                    help="loader processes (default: 4)")
parser.add_argument("-b", "--batch-size", default=256, type=int, metavar="N",
                    help="batch size (default: 256) of all GPUs together when there are "
                    "several, --gpu 0 or not")
parser.add_argument("--lr", "--learning-rate", default=0.1, type=float, metavar="LR", dest="lr",
                    help="learning rate of epoch 0")
parser.add_argument("-e", "--evaluate", dest="evaluate", action="store_true",
                    help="only measure the accuracy")
parser.add_argument("--resume", default="", type=str, metavar="PATH",
                    help="weights to go on from (default: none)")
parser.add_argument("--gpu", default=None, type=int, help="number of the GPU.")
dump(parser.parse_args())
