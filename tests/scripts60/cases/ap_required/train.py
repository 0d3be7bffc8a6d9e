import argparse

from dump import dump

parser = argparse.ArgumentParser(description="Tunes an encoder.")
needed = parser.add_argument_group("required arguments")
needed.add_argument("--task_name", required=True, default="sst2",
                    help="name of the task (default: sst2)")
needed.add_argument("--learning_rate", type=float, required=True)
parser.add_argument("--max_length", type=int, default=128,
                    help="tokens kept of a sentence (default: 512)")
parser.add_argument("--pad_to_max_length", action="store_true",
                    help="pad up to --max_length 128; by default each batch is padded")
dump(parser.parse_args())
