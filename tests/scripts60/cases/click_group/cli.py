import click

from dump import dump


@click.group()
@click.option("-v", "--verbose", count=True, help="Repeat for more.  [default: 1]")
@click.pass_context
def cli(context, verbose):
    """Models of the lab."""
    context.obj = verbose


@cli.command()
@click.option("--lr", default=0.5, envvar="LAB_LR", show_envvar=True, show_default="tuned by size")
@click.option("--layer", "layers", multiple=True, type=int, default=[8], show_default=True)
@click.option("--betas", nargs=2, type=float, default=(0.8, 0.9), show_default=True)
@click.argument("files", nargs=-1)
@click.pass_obj
def train(verbose, **values):
    """Trains."""
    dump({**values, "verbose": verbose})


@cli.command()
def evaluate():
    """Evaluates (default: the newest checkpoint)."""


cli()
