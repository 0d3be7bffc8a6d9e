"""JSON lines of a logger; the phase is a value."""
LOG = """
{"ts": "2026-03-02T14:40:00Z", "event": "config", "lr": 0.001, "loss": "cross_entropy", "epochs": 3}
{"ts": "2026-03-02T14:40:21Z", "event": "epoch", "epoch": 1, "train_loss": 1.1043, "val_loss": 0.9817, "val_accuracy": 0.612}
{"ts": "2026-03-02T14:40:41Z", "event": "epoch", "epoch": 2, "train_loss": 0.7702, "val_loss": 0.8021, "val_accuracy": 0.7085}
{"ts": "2026-03-02T14:41:01Z", "event": "epoch", "epoch": 3, "train_loss": 5.921e-01, "val_loss": 7.444e-01, "val_accuracy": 7.31e-01}
"""
want("train_loss loss", 0.5921)
want("val_loss", 0.7444)
want("val_accuracy accuracy", 0.731)
wrong(5.921, "the exponent is lost")
wrong(7.444, "the exponent is lost")
wrong(7.31, "the exponent is lost")
