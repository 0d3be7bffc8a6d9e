from typing import List, Tuple

import typer

from dump import dump

app = typer.Typer()


@app.command()
def train(width: int = 256, betas: Tuple[float, float] = (0.9, 0.999),
          size: Tuple[int, int, str] = typer.Option((3, 32, "rgb"), help="channels, pixels, order"),
          tag: List[str] = ["base"], force: bool = typer.Option(False, "--force/--keep", "-f/-F")):
    dump(dict(width=width, betas=betas, size=size, tag=list(tag), force=force))


@app.command()
def test(width: int = 1):
    dump(dict(width=width))


if __name__ == "__main__":
    app()
