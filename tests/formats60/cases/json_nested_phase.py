"""JSON lines in which the phase tells train from validation and a nested dict holds the metrics."""
LOG = """
{"phase": "train", "epoch": 1, "metrics": {"loss": 0.9317, "accuracy": 0.6611}}
{"phase": "val", "epoch": 1, "metrics": {"loss": 0.8123, "accuracy": 0.7010}}
{"phase": "train", "epoch": 2, "metrics": {"loss": 0.6120, "accuracy": 0.7731}}
{"phase": "val", "epoch": 2, "metrics": {"loss": 0.6904, "accuracy": 0.7542}}
"""
want("loss train_loss", 0.6120)
want("accuracy train_accuracy", 0.7731)
want("val_loss", 0.6904)
want("val_accuracy", 0.7542)
wrong(0.8123, "epoch 1")
