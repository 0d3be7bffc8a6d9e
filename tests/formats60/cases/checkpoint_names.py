"""File names with metrics, printed after the last values, of the best epoch."""
LOG = """
Epoch 7: val_loss=0.5120 val_acc=0.8211
Saving model-epoch=07-val_loss=0.5120-val_acc=0.8211.ckpt
Epoch 8: val_loss=0.5633 val_acc=0.8140
Keeping model-epoch=07-val_loss=0.5120-val_acc=0.8211.ckpt (best)
Removing model-epoch=03-val_loss=0.9011-val_acc=0.6120.ckpt
"""
want("val_loss", 0.5633)
want("val_accuracy accuracy", 0.8140)
wrong(0.9011, "part of a file's name")
wrong(0.612, "part of a file's name")
wrong(0.512, "part of a file's name, epoch 7")
wrong(0.8211, "part of a file's name, epoch 7")
