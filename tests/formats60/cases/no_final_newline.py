"""The last line has no newline, and the process ends."""
LOG = "epoch 1: loss 0.9120, val_acc 0.6120\nepoch 2: loss 0.6612, val_acc 0.7144\n" \
      "epoch 3: loss 0.5120, val_acc 0.7533"
want("loss train_loss", 0.5120)
want("val_accuracy accuracy", 0.7533)
wrong(0.6612, "epoch 2")
wrong(0.7144, "epoch 2")
