from fire import Fire

from dump import dump


class Trainer:
    """Trains and evaluates."""

    def __init__(self, name="none"):
        self.values = {"name": name}

    def fit(self, epochs=5, lr=0.5):
        dump({**self.values, "epochs": epochs, "lr": lr})

    def evaluate(self, split="test"):
        dump({**self.values, "split": split})


Fire(Trainer)
