"""Decimal commas in a list without spaces, where a comma also separates."""
LOG = """
[1/2] train_loss=1,2044, val_loss=1,1102, val_acc=58,3 %
[2/2] train_loss=0,8710, val_loss=0,9033, val_acc=70,1 %
"""
want("train_loss loss", 0.8710)
want("val_loss", 0.9033)
want("val_accuracy accuracy", 70.1, percent=True)
wrong(0, "cut at the comma")
wrong(70, "cut at the comma")
wrong(1, "cut at the comma, epoch 1")
