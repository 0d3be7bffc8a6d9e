"""Progress that never ends a line: one line of more than 1 MB with the epoch's values at its end."""
LOG = "epoch 1 train_loss: 0.9100 val_acc: 0.5500\n" + "\r".join(
    f"epoch 2 batch {batch:6d}/20000 loss_step: {2 - batch / 20000:.4f} eta {20000 - batch:6d} s"
    for batch in range(20000)) + "\repoch 2 train_loss: 0.4127 val_acc: 0.8120\n"
REPORTED = r"\blong(?:er)? lines?\b|\bline[^.]{0,40}\b(?:too long|longer|cut|truncated)\b"
want("train_loss loss", 0.4127)
want("val_accuracy accuracy", 0.8120)
wrong(0.91, "epoch 1")
wrong(0.55, "epoch 1")
