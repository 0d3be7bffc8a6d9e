"""CSV lines with a head, as Keras's CSVLogger or a CSVLogger callback prints them."""
LOG = """
epoch,train_loss,val_loss,val_acc,lr
1,1.2011,1.1020,0.5810,0.1
2,0.8123,0.8830,0.6932,0.1
3,0.5517,0.7401,0.7480,0.01
"""
want("train_loss loss", 0.5517)
want("val_loss", 0.7401)
want("val_accuracy accuracy", 0.7480)
wrong(0.01, "the learning rate")
wrong(3, "the epoch")
