"""One of six real models on random data: feasibility_train.py --model NAME --epochs N [--seconds S]. Each epoch
trains for S seconds (default 6) after its first step, which takes all the memory that the training needs."""
import argparse
import sys
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--seconds", type=float, default=6)
args = parser.parse_args()

torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = True
device = torch.device("cuda")


def images(name, batch, adam=False):
    import torchvision

    model = getattr(torchvision.models, name)(weights=None, num_classes=100).to(device)
    data = torch.randn(batch, 3, 224, 224, device=device)
    labels = torch.randint(0, 100, (batch,), device=device)
    loss = torch.nn.CrossEntropyLoss()
    make = torch.optim.AdamW if adam else torch.optim.SGD
    return model, make(model.parameters(), lr=1e-3), lambda: loss(model(data), labels)


def text(batch, length):
    import transformers

    model = transformers.BertForSequenceClassification(transformers.BertConfig(num_labels=2)).to(device)
    tokens = torch.randint(0, 30000, (batch, length), device=device)
    labels = torch.randint(0, 2, (batch,), device=device)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-5), lambda: model(input_ids=tokens, labels=labels).loss


models = {
    "mobilenet": lambda: images("mobilenet_v3_small", 64),
    "resnet18": lambda: images("resnet18", 48),
    "resnet50": lambda: images("resnet50", 20),
    "densenet121": lambda: images("densenet121", 28),
    "bert": lambda: text(24, 128),
    "vit": lambda: images("vit_b_16", 40, adam=True),
}
model, optimizer, forward = models[args.model]()
model.train()
for epoch in range(1, args.epochs + 1):
    steps, end = 0, None
    while end is None or time.monotonic() < end:
        optimizer.zero_grad(set_to_none=True)
        value = forward()
        value.backward()
        optimizer.step()
        torch.cuda.synchronize()
        end = end or time.monotonic() + args.seconds
        steps += 1
    print(f"epoch {epoch} loss: {value.item():.4f} steps: {steps}", flush=True)
reserved, free = torch.cuda.max_memory_reserved() >> 20, torch.cuda.mem_get_info()[0] >> 20
print(f"reserved at most {reserved} MiB; free on the GPU {free} MiB", file=sys.stderr)
