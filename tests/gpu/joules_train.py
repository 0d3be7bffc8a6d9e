"""A small training of one of ten kinds, in epochs of a stated length:
joules_train.py KIND [--epochs N] [--epoch-seconds S] [--seed S].
Each epoch trains, and evaluates for its last tenth; every kind draws power in its own way."""
import argparse
import os
import random
import tempfile
import time

import numpy


def mark(text):
    with open(os.environ["TARE_MARKS"], "w") as marks:
        print(text, f"@{time.monotonic_ns()}", file=marks)


def torch_parts(kind, size):
    """Model, inputs and targets on the GPU, loss."""
    import torch
    from torch import nn
    torch.backends.cuda.matmul.allow_tf32 = True
    if kind in ("cnn", "amp", "loader", "lightning"):
        import torchvision
        model = torchvision.models.resnet18(num_classes=10).cuda()
        inputs = torch.randn(16 * size, 3, 96, 96)
        return model, inputs, torch.randint(0, 10, (16 * size,)), nn.CrossEntropyLoss()
    if kind == "lstm":

        class Lstm(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm, self.head = nn.LSTM(128, 512, 2, batch_first=True), nn.Linear(512, 10)

            def forward(self, x):
                return self.head(self.lstm(x)[0][:, -1])
        inputs = torch.randn(16 * size, 64, 128)
        return Lstm().cuda(), inputs, torch.randint(0, 10, (16 * size,)), nn.CrossEntropyLoss()
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    layers = nn.TransformerEncoder(layer, 6), nn.Flatten(), nn.Linear(512 * 64, 10)
    inputs = torch.randn(4 * size, 64, 512)
    return nn.Sequential(*layers).cuda(), inputs, torch.randint(0, 10, (4 * size,)), nn.CrossEntropyLoss()


def torch_steps(kind, size):
    """(a step of training, a step of evaluation)."""
    import torch
    model, inputs, targets, loss_of = torch_parts(kind, size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if kind == "accelerate":
        from accelerate import Accelerator
        accelerator = Accelerator(mixed_precision="bf16")
        model, optimizer = accelerator.prepare(model, optimizer)
    batches = None
    if kind == "loader":
        data = torch.utils.data.TensorDataset(inputs.repeat(8, 1, 1, 1), targets.repeat(8))
        loader = torch.utils.data.DataLoader(data, batch_size=len(inputs), shuffle=True,
                                             num_workers=2, persistent_workers=True)

        def endless():
            while True:
                yield from loader
        batches = endless()
    else:
        inputs, targets = inputs.cuda(), targets.cuda()

    def train():
        x, y = (part.cuda() for part in next(batches)) if batches else (inputs, targets)
        with torch.autocast("cuda", torch.bfloat16, enabled=kind in ("amp", "accelerate")):
            loss = loss_of(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        accelerator.backward(loss) if kind == "accelerate" else loss.backward()
        optimizer.step()
        return loss.item()

    def evaluate():
        with torch.no_grad():
            model(inputs.cuda())
        torch.cuda.synchronize()
    return train, evaluate


def jax_steps(size):
    import jax
    import jax.numpy as jnp
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    weights = [jax.random.normal(key, (2048, 2048)) * 0.02 for key in keys]
    x, y = jnp.ones((128 * size, 2048)), jnp.zeros((128 * size, 2048))

    def loss_of(weights):
        h = x
        for w in weights:
            h = jax.nn.gelu(h @ w)
        return ((h - y) ** 2).mean()
    gradient = jax.jit(jax.value_and_grad(loss_of))
    forward = jax.jit(loss_of)

    def train():
        nonlocal weights
        loss, gradients = gradient(weights)
        weights = [w - 0.01 * g for w, g in zip(weights, gradients)]
        return float(loss)
    return train, lambda: float(forward(weights))


def cupy_steps(size):
    import cupy
    w = cupy.random.rand(2048, 2048).astype("f4") * 0.01
    x = cupy.random.rand(256 * size, 2048).astype("f4")

    def train():
        nonlocal w
        h = cupy.tanh(x @ w)
        w = w - 1e-4 * (x.T @ (h * (1 - h * h)))
        return float((h * h).mean())
    return train, lambda: float((x @ w).mean())


def lightning(options, size):
    import torch
    import lightning.pytorch as pl
    model, inputs, targets, loss_of = torch_parts("lightning", size)

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = model

        def training_step(self, batch, _):
            return loss_of(self.model(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    class Epochs(pl.Callback):
        done = 0
        due = None

        def on_train_batch_end(self, trainer, *_):
            now = time.monotonic()
            if self.due is None or now >= self.due:
                if self.due is not None:
                    self.done += 1
                if self.done >= options.epochs:
                    mark("/epoch")
                    trainer.should_stop = True
                    self.due = now + 1e9
                    return
                mark(f"epoch {self.done}")
                self.due = now + options.epoch_seconds
    data = torch.utils.data.TensorDataset(inputs.repeat(4, 1, 1, 1), targets.repeat(4))
    fitter = pl.Trainer(max_epochs=10**6, accelerator="gpu", devices=1, logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, callbacks=[Epochs()])
    fitter.fit(Module(), torch.utils.data.DataLoader(data, batch_size=len(inputs), shuffle=True))


def trainer(options, size):
    import torch
    import transformers
    config = transformers.GPT2Config(n_layer=6, n_embd=384, n_head=6, vocab_size=8192)
    model = transformers.GPT2LMHeadModel(config)
    tokens = torch.randint(0, 8192, (64 * size, 256))

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 10**7

        def __getitem__(self, i):
            return {"input_ids": tokens[i % len(tokens)], "labels": tokens[i % len(tokens)]}

    class Epochs(transformers.TrainerCallback):
        done = 0
        due = None

        def on_step_end(self, _, state, control, **__):
            now = time.monotonic()
            if self.due is None or now >= self.due:
                if self.due is not None:
                    self.done += 1
                if self.done >= options.epochs:
                    mark("/epoch")
                    control.should_training_stop = True
                    self.due = now + 1e9
                    return control
                mark(f"epoch {self.done}")
                self.due = now + options.epoch_seconds
            return control
    arguments = transformers.TrainingArguments(
        output_dir=tempfile.mkdtemp(), max_steps=10**6, per_device_train_batch_size=4 * size, bf16=True,
        report_to=[], logging_steps=10**6, save_strategy="no", disable_tqdm=True)
    transformers.Trainer(model=model, args=arguments, train_dataset=Data(), callbacks=[Epochs()]).train()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--epoch-seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    size, pause_s = draw.choice((1, 2, 4, 8)), draw.choice((0, 0, 0.02, 0.3))
    numpy.random.seed(options.seed)
    if options.kind in ("lightning", "trainer"):
        (lightning if options.kind == "lightning" else trainer)(options, size)
        return
    if options.kind in ("jax", "cupy"):
        train, evaluate = (jax_steps if options.kind == "jax" else cupy_steps)(size)
    else:
        train, evaluate = torch_steps(options.kind, size)
    train()
    for epoch in range(options.epochs):
        mark(f"epoch {epoch}")
        end = time.monotonic() + options.epoch_seconds
        loss = 0.0
        while time.monotonic() < end - options.epoch_seconds / 10:
            loss = train()
            if pause_s and draw.random() < 0.1:
                time.sleep(pause_s)
        while time.monotonic() < end:
            evaluate()
        print(f"epoch {epoch} loss: {loss:.4f}", flush=True)
    mark("/epoch")


if __name__ == "__main__":
    main()
