"""Trains a small network on the UCI handwritten digits with PyTorch (any version from 1.12), on the GPU when there is one.

The data is ../digits/digits.csv (see ../digits/README.md for its source and licence); every fifth image is the test set.
"""
import argparse
import csv

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 128)
        self.out = nn.Linear(128, 10)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 32, 3, padding=1)
        self.out = nn.Linear(32 * 4, 10)

    def forward(self, x):
        x = x.view(-1, 1, 8, 8)
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        return self.out(x.flatten(1))


def read_digits(path):
    with open(path, newline="") as file:
        rows = torch.tensor([[float(cell) for cell in row] for row in csv.reader(file)])
    return rows[:, :64] / 16, rows[:, 64].long()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["mlp", "cnn"], default="mlp")
    parser.add_argument("--data", default="../digits/digits.csv")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=0.001)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(f"device: {device}", flush=True)
    images, classes = (part.to(device) for part in read_digits(args.data))
    is_test = torch.arange(len(classes), device=device) % 5 == 0
    train_x, train_y = images[~is_test], classes[~is_test]
    test_x, test_y = images[is_test], classes[is_test]

    model = (Mlp() if args.model == "mlp" else Cnn()).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        model.train()
        total = 0.0
        for part in torch.randperm(len(train_y), device=device).split(args.batch_size):
            loss = F.cross_entropy(model(train_x[part]), train_y[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(part)
        model.eval()
        with torch.no_grad():
            scores = model(test_x)
            test_loss = F.cross_entropy(scores, test_y).item()
            accuracy = 100 * (scores.argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch}/{args.epochs}: train loss {total / len(train_y):.4f}, test accuracy {accuracy:.2f} %", flush=True)
    print(f"test loss: {test_loss:.4f}\ntest accuracy: {accuracy:.2f} %", flush=True)


if __name__ == "__main__":
    main()
