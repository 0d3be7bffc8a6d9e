"""tqdm's postfix with carriage returns; the last refresh is that of the last batch."""
STREAM = "stderr"
LOG = """
\rEpoch 1:   0%|          | 0/100 [00:00<?, ?it/s]\rEpoch 1:  50%|#####     | 50/100 [00:01<00:01, 49.80it/s, loss=1.31]\rEpoch 1: 100%|##########| 100/100 [00:02<00:00, 50.11it/s, loss=0.874]
epoch 1: train_loss=1.0213 val_loss=0.9551 val_acc=66.10%
\rEpoch 2:   0%|          | 0/100 [00:00<?, ?it/s]\rEpoch 2:  50%|#####     | 50/100 [00:01<00:01, 51.01it/s, loss=0.79]\rEpoch 2: 100%|##########| 100/100 [00:02<00:00, 50.90it/s, loss=0.602]
epoch 2: train_loss=0.7444 val_loss=0.8012 val_acc=71.90%
"""
want("train_loss loss", 0.7444)
want("val_loss", 0.8012)
want("val_accuracy accuracy", 71.90, percent=True)
may("loss_step", 0.602)
wrong(0.602, "the progress bar's; the epoch line has the mean")
wrong(0.9551, "epoch 1")
wrong(66.1, "epoch 1")
