import configargparse

from dump import dump

parser = configargparse.ArgumentParser()
parser.add_argument("-c", "--config", is_config_file=True, help="file of settings")
parser.add_argument("--expname", type=str, default="default", help="names the run (default: lego)")
parser.add_argument("--lrate", type=float, default=1e-2, env_var="LRATE", help="learning rate")
parser.add_argument("--N_rand", type=int, default=4096, help="batch size (default: 32*32*4)")
parser.add_argument("--no_batching", action="store_true",
                    help="rays of one image per step (default: of all)")
parser.add_argument("--use_viewdirs", action="store_true",
                    help="with directions instead of the default 3 coordinates")
dump(parser.parse_args())
