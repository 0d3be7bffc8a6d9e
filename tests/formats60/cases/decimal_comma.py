"""A German locale: decimal commas, semicolons between."""
LOG = """
Epoche 1: loss: 0,9120; accuracy: 61,20; val_loss: 0,8514; val_accuracy: 63,75
Epoche 2: loss: 0,5127; accuracy: 80,41; val_loss: 0,3514; val_accuracy: 91,25
"""
want("loss train_loss", 0.5127)
want("accuracy train_accuracy", 80.41)
want("val_loss", 0.3514)
want("val_accuracy", 91.25)
wrong(0, "cut at the comma")
wrong(91, "cut at the comma")
wrong(80, "cut at the comma")
wrong(5127, "the comma read as a thousands separator")
wrong(3514, "the comma read as a thousands separator")
wrong(0.8514, "epoch 1")
