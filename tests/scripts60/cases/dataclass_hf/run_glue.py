import argparse
import dataclasses
from dataclasses import dataclass, field
from typing import Optional

from dump import dump


@dataclass
class TrainingArguments:
    output_dir: str = field(metadata={"help": "Folder of the checkpoints."})
    do_train: bool = field(default=False, metadata={"help": "Train (default: False)."})
    do_eval: bool = field(default=True, metadata={"help": "Evaluate on the validation part."})
    fp16: bool = field(default=False, metadata={"help": "Half precision."})
    dataloader_pin_memory: bool = field(default=True,
                                        metadata={"help": "Pin memory (default: True)"})
    learning_rate: float = field(default=5e-5,
                                 metadata={"help": "Rate after the warm-up."})
    num_train_epochs: float = field(default=3.0,
                                    metadata={"help": "Epochs, may be a fraction."})
    run_name: Optional[str] = field(default=None,
                                    metadata={"help": "Name of the run, the folder by default."})
    max_grad_norm: float = 1.0


def boolean(text):
    if text.lower() in ("yes", "true", "1"):
        return True
    if text.lower() in ("no", "false", "0"):
        return False
    raise argparse.ArgumentTypeError(f"yes or no, not {text}")


def make_parser(kind):
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for one in dataclasses.fields(kind):
        options = {"help": one.metadata.get("help", "")}
        if one.default is dataclasses.MISSING:
            options["required"] = True
        else:
            options["default"] = one.default
        if one.type is bool:
            parser.add_argument(f"--{one.name}", type=boolean, nargs="?", const=True, **options)
            if one.default:
                parser.add_argument(f"--no_{one.name}", action="store_false", dest=one.name,
                                    help=one.metadata["help"])
        else:
            parser.add_argument(f"--{one.name}",
                                type=str if one.type is Optional[str] else one.type, **options)
    return parser


dump(TrainingArguments(**vars(make_parser(TrainingArguments).parse_args())))
