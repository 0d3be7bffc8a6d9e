import enum
from pathlib import Path
from typing import List, Optional

import typer

from dump import dump


class Net(str, enum.Enum):
    lstm = "lstm"
    gru = "gru"
    cnn = "cnn"


def main(folder: Path,
         lr: float = typer.Option(1e-3, help="Learning rate (default: 0.1)."),
         net: Net = Net.cnn,
         augment: bool = typer.Option(True, help="Augment the images."),
         debug: bool = False,
         tag: Optional[List[str]] = typer.Option(None),
         seed: Optional[int] = None):
    """Train a network on the images in FOLDER."""
    dump(locals().copy())


typer.run(main)
