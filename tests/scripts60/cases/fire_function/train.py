import fire

from dump import dump


def train(lr=0.5, epochs=10, layers=(32,), amp=False, shuffle=True, name="run"):
    """Trains.

    Args:
        lr: learning rate, 0.1 by default
        epochs: how often (default: 90)
        layers: units
    """
    dump(locals().copy())


if __name__ == "__main__":
    fire.Fire(train)
