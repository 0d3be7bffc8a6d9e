import argparse


class BaseOptions:
    def initialize(self, parser):
        parser.add_argument("--dataroot", required=True,
                            help="folder of the images")
        parser.add_argument("--name", default="experiment_name",
                            help="names the folder of checkpoints")
        parser.add_argument("--model", default="cycle_gan",
                            help="which model: cycle_gan or pix2pix")
        parser.add_argument("--netG", default="resnet_9blocks",
                            help="generator: unet_128 | unet_256 | resnet")
        parser.add_argument("--no_dropout", action="store_true",
                            help="generator without dropout (default: False)")
        parser.add_argument("--gpu_ids", default="0",
                            help="GPUs: 0 or 0,1; -1 is the CPU")
        return parser

    def parse(self):
        kind = argparse.ArgumentDefaultsHelpFormatter
        parser = self.initialize(argparse.ArgumentParser(formatter_class=kind))
        known, _ = parser.parse_known_args()
        if known.model == "pix2pix":
            parser.add_argument("--lambda_L1", type=float, default=50.0,
                                help="share of the L1 term")
            parser.set_defaults(netG="unet_256")
        return parser.parse_args()
