"""fastai's table of columns: names only in the head."""
LOG = """
epoch     train_loss  valid_loss  accuracy  time    
0         0.601234    0.432101    0.812500  00:21     
1         0.382210    0.318877    0.871250  00:20     
2         0.241093    0.301942    0.893750  00:20     
"""
want("train_loss loss", 0.241093)
want("val_loss valid_loss", 0.301942)
want("accuracy val_accuracy", 0.893750)
wrong(0.38221, "epoch 1")
wrong(20, "seconds")
