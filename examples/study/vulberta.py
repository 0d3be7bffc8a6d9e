#!/usr/bin/env python3
"""Fine-tunes VulBERTa-MLP or VulBERTa-CNN on D2A's functions, as the repository's notebooks do.

VulBERTa has notebooks only; this is what their cells for D2A say, as one program that takes its values from the command
line. It runs in the repository's folder."""
import argparse
import random
import re
import sys
import time

DATA = "data/finetune/d2a/function/d2a_lbv1_function_%s.csv"
DEFAULTS = {"mlp": {"batch_size": 2}, "cnn": {"batch_size": 128}}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", dest="model", choices=sorted(DEFAULTS), required=True)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--lr", type=float, required=True)
    parser.add_argument("--weight-decay", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--batch-size", type=int)
    options = parser.parse_args()
    options.batch_size = options.batch_size or DEFAULTS[options.model]["batch_size"]
    return options


def make_tokenizer():
    """clang parts the code, the repository's vocabulary the words."""
    from clang import cindex
    from tokenizers import NormalizedString, Tokenizer, normalizers
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import PreTokenizer
    from tokenizers.processors import TemplateProcessing

    class Parted:
        index = cindex.Index.create()

        def split(self, _, text):
            unit = self.index.parse("a.c", args=[""], unsaved_files=[("a.c", str(text.original))])
            words = (token.spelling.strip() for token in unit.get_tokens(extent=unit.cursor.extent))
            return [NormalizedString(word) for word in words if word]

        def pre_tokenize(self, text):
            text.split(self.split)

    vocabulary, merges = BPE.read_file(vocab="tokenizer/drapgh-vocab.json", merges="tokenizer/drapgh-merges.txt")
    tokenizer = Tokenizer(BPE(vocabulary, merges, unk_token="<unk>"))
    # "\u0120" is how byte-level vocabularies write a blank.
    tokenizer.normalizer = normalizers.Sequence([normalizers.StripAccents(), normalizers.Replace(" ", "\u0120")])
    tokenizer.pre_tokenizer = PreTokenizer.custom(Parted())
    tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[("<s>", 0), ("<pad>", 1), ("</s>", 2), ("<unk>", 3), ("<mask>", 4)])
    tokenizer.enable_truncation(max_length=1024)
    tokenizer.enable_padding(pad_id=1, pad_token="<pad>", length=1024)
    return tokenizer


def load(tokenizer, part):
    import pandas
    import torch
    rows = pandas.read_csv(DATA % part)
    comments = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
    codes = [re.sub(r"[\n\t]", "", comments.sub("", code)) for code in rows.code]
    encodings = tokenizer.encode_batch(codes)
    return torch.utils.data.TensorDataset(
        torch.tensor([encoding.ids for encoding in encodings]),
        torch.tensor([encoding.attention_mask for encoding in encodings]),
        torch.tensor(rows.label.tolist()))


def make_model(name):
    import torch
    from torch import nn
    from transformers import RobertaForSequenceClassification, RobertaModel
    if name == "mlp":
        return RobertaForSequenceClassification.from_pretrained("models/VulBERTa/")

    class Convolutions(nn.Module):
        """Three widths over the frozen embedding of the pre-trained model."""
        def __init__(self):
            super().__init__()
            weights = RobertaModel.from_pretrained("models/VulBERTa/").embeddings.word_embeddings.weight.detach()
            self.embedding = nn.Embedding.from_pretrained(weights.clone(), freeze=True, padding_idx=1)
            self.convolutions = nn.ModuleList(nn.Conv1d(weights.shape[1], 200, width) for width in (3, 4, 5))
            self.rest = nn.Sequential(nn.Dropout(0.5), nn.Linear(600, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
                                      nn.Linear(128, 2))

        def forward(self, ids, attention_mask=None):
            words = self.embedding(ids).permute(0, 2, 1)
            found = [torch.relu(convolution(words)).amax(dim=2) for convolution in self.convolutions]
            return {"logits": self.rest(torch.cat(found, dim=1))}

    return Convolutions()


def run_epoch(model, batches, criterion, device, optimizer=None, scaler=None):
    """Mean loss and the share that was right; learns when there is an optimizer."""
    import torch
    total = right = count = 0
    model.train(optimizer is not None)
    for ids, mask, labels in batches:
        ids, mask, labels = ids.to(device), mask.to(device), labels.to(device)
        with torch.set_grad_enabled(optimizer is not None), torch.autocast(device.type, enabled=scaler is not None):
            logits = model(ids, attention_mask=mask)["logits"]
            loss = criterion(logits.float(), labels)
        if optimizer:
            optimizer.zero_grad()
            (scaler.scale(loss) if scaler else loss).backward()
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
        total += loss.item() * len(labels)
        right += (logits.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    return total / count, right / count


def main():
    options = parse()
    import numpy
    import torch
    random.seed(options.seed)
    numpy.random.seed(options.seed)
    torch.manual_seed(options.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = make_tokenizer()
    training, validation = load(tokenizer, "train"), load(tokenizer, "dev")
    batches = torch.utils.data.DataLoader(training, batch_size=options.batch_size, shuffle=True)
    checks = torch.utils.data.DataLoader(validation, batch_size=options.batch_size)
    model = make_model(options.model).to(device)
    # Rare labels weigh as much as common ones.
    counts = torch.bincount(training.tensors[2], minlength=2).float()
    criterion = torch.nn.CrossEntropyLoss(weight=(counts.sum() / (2 * counts)).to(device))
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=options.lr, weight_decay=options.weight_decay)
    scaler = torch.amp.GradScaler("cuda") if device.type == "cuda" and options.model == "mlp" else None
    loss = 0
    for epoch in range(1, options.epochs + 1):
        began = time.time()
        loss, accuracy = run_epoch(model, batches, criterion, device, optimizer, scaler)
        check_loss, check_accuracy = run_epoch(model, checks, criterion, device)
        if options.model == "mlp":
            print({"eval_loss": check_loss, "eval_runtime": round(time.time() - began, 4), "epoch": float(epoch)})
        else:
            print("Epoch %d - Training acc: %.4f -Training loss: %.4f - Val acc: %.4f - Val loss: %.4f - Time: %.4fs" %
                  (epoch, accuracy, loss, check_accuracy, check_loss, time.time() - began))
    print("Final training loss: %.4f" % loss)
    print("validation accuracy: %.4f" % check_accuracy)
    return 0


if __name__ == "__main__":
    sys.exit(main())
