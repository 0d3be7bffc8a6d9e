"""logging with a decimal comma in its timestamps, names with hyphens and brackets."""
LOG = """
2026-03-02 14:30:01,120 train.py:61 INFO [epoch 1] [train] loss 1.2031 acc 0.5511
2026-03-02 14:30:02,413 train.py:77 INFO [epoch 1] [valid] loss 1.1012 acc 0.6010
2026-03-02 14:30:31,009 train.py:61 INFO [epoch 2] [train] loss 0.8417 acc 0.7024
2026-03-02 14:30:32,777 train.py:77 INFO [epoch 2] [valid] loss 0.9023 acc 0.6881
"""
want("train_loss loss", 0.8417)
want("train_accuracy accuracy", 0.7024)
want("val_loss valid_loss", 0.9023)
want("val_accuracy valid_accuracy", 0.6881)
wrong(1.1012, "epoch 1")
