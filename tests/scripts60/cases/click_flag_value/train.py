import click

from dump import dump


@click.command()
@click.option("--no-cache", "cache", is_flag=True, flag_value=False, default=True,
              show_default=True,
              help="Read each file again.")
@click.option("--small", "size", flag_value="small", default=True, show_default=True)
@click.option("--big", "size", flag_value="big", show_default=True)
@click.option("--k", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--dry/--no-dry", default=None, help="[default: (dynamic)]")
def main(**values):
    dump(values)


main()
