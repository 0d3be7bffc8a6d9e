"""The loop of PyTorch's quickstart: a per-cent sign, two numbers after a colon."""
LOG = """
Epoch 1
-------------------------------
loss: 2.303494  [   64/60000]
loss: 2.294637  [ 6464/60000]
loss: 2.158220  [57664/60000]
Test Error: 
 Accuracy: 41.8%, Avg loss: 2.147880 

Epoch 2
-------------------------------
loss: 2.165223  [   64/60000]
loss: 1.901131  [57664/60000]
Test Error: 
 Accuracy: 58.4%, Avg loss: 1.874611 

Done!
"""
want("test_accuracy accuracy", 58.4, percent=True)
want("test_loss avg_loss test_avg_loss loss", 1.874611)
may("loss train_loss loss_step", 1.901131)
wrong(41.8, "epoch 1")
wrong(2.14788, "epoch 1")
wrong(58, "cut at the point")
