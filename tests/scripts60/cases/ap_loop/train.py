import argparse

from dump import dump


def boolean(text):
    return {"true": True, "false": False}[text.lower()]


def add_dict(parser, defaults):
    for key, value in defaults.items():
        kind = str if value is None else boolean if isinstance(value, bool) else type(value)
        parser.add_argument(f"--{key}", default=value, type=kind)


parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
add_dict(parser, dict(lr=1e-4, beta_schedule="sqrt", decay_rate="0.9999", use_bias=True,
                      steps=4000, start_from=None, heads_at="16,8"))
dump(parser.parse_args())
