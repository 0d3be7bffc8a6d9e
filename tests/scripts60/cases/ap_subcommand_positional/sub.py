import argparse

from dump import dump

parser = argparse.ArgumentParser(description="Trains a detector.")
kinds = parser.add_subparsers(help="kind of data set, each with arguments of its own",
                              dest="dataset_type")
kinds.required = True
coco = kinds.add_parser("coco")
coco.add_argument("coco_path", help="folder of the images")
csv = kinds.add_parser("csv")
csv.add_argument("annotations", help="table of boxes")
csv.add_argument("classes", help="table of names")
csv.add_argument("--val-annotations", help="boxes for validation (default: none)")
parser.add_argument("--backbone", default="resnet18",
                    help="network below the heads (default: resnet50)")
parser.add_argument("--lr", type=float, default=1e-5, help="step size")
parser.add_argument("--no-snapshots", dest="snapshots", action="store_false",
                    help="keep only the last weights")
dump(parser.parse_args())
