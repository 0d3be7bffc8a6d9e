import click

from dump import dump


@click.command(context_settings={"show_default": True})
@click.argument("folder", default="data")
@click.option("--lr", type=float, default=3e-4, help="Learning rate.")
@click.option("--arch", type=click.Choice(["resnet", "vgg"]), default="resnet", help="Backbone.")
@click.option("--shuffle/--no-shuffle", default=False, help="Shuffle the data.")
@click.option("--workers", "-w", default=4, help="Loader processes.")
@click.option("--size", type=(int, int), default=(224, 224))
def main(**values):
    """Train a network on FOLDER (default: ./images)."""
    dump(values)


if __name__ == "__main__":
    main()
