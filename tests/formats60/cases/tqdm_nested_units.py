"""tqdm with numbers that look like metrics: 'Loss: 0.34' in the description, rates, ETA."""
STREAM = "stderr"
LOG = """
\rLoss: 2.3012:   0%|          | 1/600 [00:00<01:12,  8.23it/s]\rLoss: 0.9120:  50%|####9     | 299/600 [00:03<00:03, 89.11it/s]\rLoss: 0.3411: 100%|##########| 600/600 [00:06<00:00, 91.02it/s]
\rValidating:   0%|          | 0/40 [00:00<?, ?it/s]\rValidating: 100%|##########| 40/40 [00:00<00:00, 118.21it/s]
Validation loss: 0.4127 | Validation accuracy: 0.8720
"""
want("val_loss", 0.4127)
want("val_accuracy accuracy", 0.8720)
may("loss train_loss loss_step", 0.3411)
wrong(0.912, "half of the epoch")
wrong(2.3012, "first batch")
